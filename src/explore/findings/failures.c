/* SPDX-License-Identifier: MIT */
#include "explore/findings/failures.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_reason(const void *a, const void *b) {
    return strcmp(((const struct spex_failure *)a)->reason,
                  ((const struct spex_failure *)b)->reason);
}

static int by_trials(const void *a, const void *b) {
    const struct spex_failure *one = a, *other = b;
    if (one->trials != other->trials)
        return one->trials > other->trials ? -1 : 1;
    return by_reason(a, b);
}

/* Of neighbours with the same reason one is left. */
static size_t merge(struct spex_failure *failures, size_t count) {
    size_t kept = 0;
    for (size_t f = 0; f < count; f++) {
        if (kept && by_reason(&failures[kept - 1], &failures[f]) == 0)
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
    qsort(*failures, *count, sizeof(**failures), by_reason);
    *count = merge(*failures, *count);
    qsort(*failures, *count, sizeof(**failures), by_trials);
    return 0;
}
