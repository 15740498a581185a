/* SPDX-License-Identifier: MIT */
/* Sorts and selects classes by their worth, without allocation, since rate policies run on a
 * collector and libc's qsort may allocate. The order is total, so equal inputs give equal
 * results. */
#ifndef SPEX_POLICIES_RATE_RATE_ITEMS_H
#define SPEX_POLICIES_RATE_RATE_ITEMS_H

#include <stdint.h>

#include <spex/rate_policy.h>

struct spex_rate_item {
    bool first;   /* sorts before all items without it */
    double worth; /* then the greatest worth first */
    size_t index; /* then the least index first */
    double cost;
};

SPEX_INLINE bool spex_rate_item_before(const struct spex_rate_item *a,
                                       const struct spex_rate_item *b) {
    if (a->first != b->first)
        return a->first;
    if (a->worth != b->worth)
        return a->worth > b->worth;
    return a->index < b->index;
}

SPEX_INLINE void spex_rate_items_swap(struct spex_rate_item *items, size_t a, size_t b) {
    struct spex_rate_item item = items[a];
    items[a] = items[b];
    items[b] = item;
}

/* Moves items[root] down the heap until no child sorts after it. */
SPEX_INLINE void spex_rate_items_sink(struct spex_rate_item *items, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && spex_rate_item_before(&items[child], &items[child + 1]))
            child++;
        if (!spex_rate_item_before(&items[root], &items[child]))
            return;
        spex_rate_items_swap(items, root, child);
    }
}

/* Heapsort: O(n log n) in any case. */
static inline void spex_rate_items_sort(struct spex_rate_item *items, size_t count) {
    for (size_t root = count / 2; root-- > 0;)
        spex_rate_items_sink(items, root, count);
    for (size_t end = count; end > 1;) {
        spex_rate_items_swap(items, 0, --end);
        spex_rate_items_sink(items, 0, end);
    }
}

/* Moves items[pivot] to its sorted place among items[from..to), with those that sort before it in
 * front of it (Lomuto's partition). Returns the place. */
SPEX_INLINE size_t spex_rate_items_partition(struct spex_rate_item *items, size_t from, size_t to,
                                             size_t pivot) {
    size_t place = from;
    spex_rate_items_swap(items, pivot, to - 1);
    for (size_t i = from; i + 1 < to; i++)
        if (spex_rate_item_before(&items[i], &items[to - 1]))
            spex_rate_items_swap(items, i, place++);
    spex_rate_items_swap(items, place, to - 1);
    return place;
}

/* Brings to the front the items that a continuous knapsack of this capacity takes whole (4.1), and
 * returns their number. The next item, if any, gets *rest, which is less than its cost. Divides the
 * items around random pivots as quickselect does: O(n) expected. */
static inline size_t spex_rate_items_fill(struct spex_rate_item *items, size_t count,
                                          double capacity, double *rest) {
    size_t from = 0, to = count;
    uint64_t random = 1;
    while (from < to) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        size_t pivot = from + (size_t)(random >> 33) % (to - from);
        size_t place = spex_rate_items_partition(items, from, to, pivot);
        double before = 0;
        for (size_t i = from; i < place; i++)
            before += items[i].cost;
        if (before > capacity) {
            to = place;
            continue;
        }
        capacity -= before;
        from = place;
        if (items[place].cost > capacity)
            break;
        capacity -= items[place].cost;
        from = place + 1;
    }
    *rest = capacity;
    return from;
}

#endif
