/* SPDX-License-Identifier: MIT */
/* Sorts and selects classes by their worth, without allocation, since rate policies run on a
 * collector and libc's qsort may allocate. The order is total, so equal inputs give equal
 * results. */
#ifndef SPEX_POLICIES_RATE_RATE_ITEMS_H
#define SPEX_POLICIES_RATE_RATE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

struct spex_rate_item {
    bool first;   /* sorts before all items without it */
    double worth; /* then the greatest worth first */
    size_t index; /* then the least index first */
    double cost;
};

/* Heapsort: O(n log n) in any case. */
void spex_rate_items_sort(struct spex_rate_item *items, size_t count);

/* Brings to the front the items that a continuous knapsack of this capacity takes whole (4.1), and
 * returns their number. The next item, if any, gets *rest, which is less than its cost. O(n)
 * expected. */
size_t spex_rate_items_fill(struct spex_rate_item *items, size_t count, double capacity,
                            double *rest);

#endif
