/* SPDX-License-Identifier: MIT */
#include "policies/rate/rate_items.h"

#include <stdint.h>

static bool is_before(const struct spex_rate_item *a, const struct spex_rate_item *b) {
    if (a->first != b->first)
        return a->first;
    if (a->worth != b->worth)
        return a->worth > b->worth;
    return a->index < b->index;
}

static void swap(struct spex_rate_item *items, size_t a, size_t b) {
    struct spex_rate_item item = items[a];
    items[a] = items[b];
    items[b] = item;
}

/* Moves items[root] down the heap until no child sorts after it. */
static void sink(struct spex_rate_item *items, size_t root, size_t count) {
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && is_before(&items[child], &items[child + 1]))
            child++;
        if (!is_before(&items[root], &items[child]))
            return;
        swap(items, root, child);
    }
}

void spex_rate_items_sort(struct spex_rate_item *items, size_t count) {
    for (size_t root = count / 2; root-- > 0;)
        sink(items, root, count);
    for (size_t end = count; end > 1;) {
        swap(items, 0, --end);
        sink(items, 0, end);
    }
}

/* Moves items[pivot] to its sorted place among items[from..to), with those that sort before it in
 * front of it (Lomuto's partition). Returns the place. */
static size_t partition(struct spex_rate_item *items, size_t from, size_t to, size_t pivot) {
    size_t place = from;
    swap(items, pivot, to - 1);
    for (size_t i = from; i + 1 < to; i++)
        if (is_before(&items[i], &items[to - 1]))
            swap(items, i, place++);
    swap(items, place, to - 1);
    return place;
}

/* Divides the items around random pivots as quickselect does. */
size_t spex_rate_items_fill(struct spex_rate_item *items, size_t count, double capacity,
                            double *rest) {
    size_t from = 0, to = count;
    uint64_t random = 1;
    while (from < to) {
        random = random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        size_t pivot = from + (size_t)(random >> 33) % (to - from);
        size_t place = partition(items, from, to, pivot);
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
