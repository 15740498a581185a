/* SPDX-License-Identifier: MIT */
/* Counts the reasons of failed trials: sorts the trials by reason and merges equal ones. */
#include "explore/findings/failures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_reasons(const void *a, const void *b) {
    return strcmp(((const struct spex_failure *)a)->reason,
                  ((const struct spex_failure *)b)->reason);
}

/* The most frequent first, then by the reason's text. */
static int compare_failures(const void *a, const void *b) {
    const struct spex_failure *one = a, *other = b;
    if (one->trials != other->trials)
        return one->trials > other->trials ? -1 : 1;
    return compare_reasons(a, b);
}

/* Merges neighbours with the same reason; returns how many are left. */
static size_t failures_merge(struct spex_failure *failures, size_t count) {
    size_t kept = 0;
    for (size_t f = 0; f < count; f++) {
        if (kept && compare_reasons(&failures[kept - 1], &failures[f]) == 0)
            failures[kept - 1].trials++;
        else
            failures[kept++] = failures[f];
    }
    return kept;
}

int spex_failures(const struct spex_trials *trials, struct spex_failure **failures, size_t *count) {
    *count = 0;
    *failures = calloc(trials->count + 1, sizeof(**failures));
    if (!*failures)
        return -ENOMEM;
    for (size_t t = 0; t < trials->count; t++)
        if (!trials->items[t].ok)
            (*failures)[(*count)++] = (struct spex_failure){trials->items[t].status, 1};
    qsort(*failures, *count, sizeof(**failures), compare_reasons);
    *count = failures_merge(*failures, *count);
    qsort(*failures, *count, sizeof(**failures), compare_failures);
    return 0;
}
