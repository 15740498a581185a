/* SPDX-License-Identifier: MIT */
/* Records of one ring are in order, those of several rings and collectors are not. They wait in one
 * array until all collectors have passed their time; then the earliest are handed out, sorted. One
 * thread at a time. */
#include "measure/in_order.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void spex_in_order_free(struct spex_in_order *waiting) {
    spex_free(waiting->records);
    *waiting = (struct spex_in_order){0};
}

/* Doubles the room until `more` records fit, so that adding costs O(1) a record on average. */
static int in_order_grow(struct spex_in_order *waiting, size_t more) {
    size_t needed = waiting->count + more;
    if (needed <= waiting->room)
        return 0;
    size_t room = waiting->room ? waiting->room : 1024;
    while (room < needed)
        room *= 2;
    struct spex_record *records = spex_realloc(waiting->records, room * sizeof(*records));
    if (!records)
        return -ENOMEM;
    waiting->records = records;
    waiting->room = room;
    return 0;
}

int spex_in_order_add(struct spex_in_order *waiting, const struct spex_record *records,
                      size_t count) {
    if (count == 0)
        return 0;
    if (waiting->most && waiting->count + count > waiting->most)
        return -E2BIG;
    if (in_order_grow(waiting, count))
        return -ENOMEM;
    memcpy(&waiting->records[waiting->count], records, count * sizeof(*records));
    waiting->count += count;
    return 0;
}

/* Order of timestamps, for qsort. */
static int by_time(const void *a, const void *b) {
    const struct spex_record *one = a, *other = b;
    return (one->timestamp > other->timestamp) - (one->timestamp < other->timestamp);
}

/* Sorts all that waits, O(n log n): what has been sorted before stays nearly sorted. Records that
 * the caller had from the last call are removed first. */
const struct spex_record *spex_in_order_take(struct spex_in_order *waiting, uint64_t until,
                                             size_t *count) {
    if (waiting->handed_out) {
        waiting->count -= waiting->handed_out;
        memmove(waiting->records, waiting->records + waiting->handed_out,
                waiting->count * sizeof(*waiting->records));
    }
    if (waiting->count)
        qsort(waiting->records, waiting->count, sizeof(*waiting->records), by_time);
    size_t n = 0;
    while (n < waiting->count && waiting->records[n].timestamp < until)
        n++;
    waiting->handed_out = *count = n;
    return waiting->records;
}
