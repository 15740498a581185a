/* SPDX-License-Identifier: MIT */
/* Compares two configurations quantity by quantity. The errors of a quantity come from all
 * configurations of the store, where each of the two has more than one trial: of one it is not known
 * whether it was like others, such as a page that was read once. */
#include "explore/findings/explain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* For spex_accuracy_learn: the quantity's sample in each configuration. */
static struct spex_sample sample_of(const void *user, size_t index) {
    const struct spex_quantity *quantity = user;
    return quantity->samples[index];
}

/* Whether it may have changed, though how far values vary is not known. */
static bool is_unknown(const struct spex_change *change) {
    return !change->known && change->size >= SPEX_CHANGE_LEAST;
}

/* Order of quantities: significant changes, then changes of unknown significance, then the rest;
 * each by size, then by name. */
static int compare_explained(const void *a, const void *b) {
    const struct spex_explained *one = a, *other = b;
    int x = one->change.significant ? 2 : is_unknown(&one->change);
    int y = other->change.significant ? 2 : is_unknown(&other->change);
    if (x != y)
        return x > y ? -1 : 1;
    if (one->change.size != other->change.size)
        return one->change.size > other->change.size ? -1 : 1;
    return strcmp(one->name, other->name);
}

/* Quantities that only one of the two has recorded are left out. A 95 % interval is used for each,
 * so among many quantities without a change one in 20 appears significant. */
int spex_explanation_find(struct spex_explanation *explanation,
                          const struct spex_quantities *quantities) {
    explanation->items = calloc(quantities->count + 1, sizeof(*explanation->items));
    if (!explanation->items)
        return -ENOMEM;
    for (size_t q = 0; q < quantities->count; q++) {
        const struct spex_quantity *quantity = &quantities->items[q];
        struct spex_accuracy accuracy;
        struct spex_explained explained = {.name = quantity->name,
                                           .unit = quantity->unit,
                                           .a = quantity->samples[explanation->a],
                                           .b = quantity->samples[explanation->b]};
        if (!explained.a.trials || !explained.b.trials)
            continue;
        spex_accuracy_learn(&accuracy, sample_of, quantity, explanation->study->summary.count);
        explained.change = explained.a.trials > 1 && explained.b.trials > 1
                               ? spex_change_of(&accuracy, &explained.a, &explained.b)
                               : spex_change_by(explained.a.mean, NAN, explained.b.mean, NAN, 1);
        explanation->significant += explained.change.significant;
        explanation->unknown += is_unknown(&explained.change);
        explanation->items[explanation->count++] = explained;
    }
    qsort(explanation->items, explanation->count, sizeof(*explanation->items), compare_explained);
    return 0;
}
