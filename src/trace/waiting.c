/* SPDX-License-Identifier: MIT */
#include "trace/waiting.h"
#include "base/memory/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 1024 };

void spex_waiting_free(struct spex_waiting *waiting) {
    spex_free(waiting->records);
    *waiting = (struct spex_waiting){.count = 0};
}

/* Room for `more` records, and for as many again, where the merge puts a batch meanwhile. */
static int waiting_grow(struct spex_waiting *waiting, size_t more) {
    size_t needed = waiting->count + 2 * more, room = waiting->room ? waiting->room : ROOM_FIRST;
    if (waiting->records && needed <= waiting->room)
        return 0;
    while (room < needed)
        room *= 2;
    struct spex_record *records = spex_realloc(waiting->records, room * sizeof(*records));
    if (!records)
        return -ENOMEM;
    waiting->records = records;
    waiting->room = room;
    return 0;
}

/* Sorts a batch. A record that is out of order, because its thread was suspended before it wrote,
 * moves a few places. */
static void batch_sort(struct spex_record *records, size_t count) {
    for (size_t r = 1; r < count; r++) {
        if (records[r].timestamp >= records[r - 1].timestamp)
            continue;
        struct spex_record early = records[r];
        size_t to = r;
        for (; to > 0 && records[to - 1].timestamp > early.timestamp; to--)
            records[to] = records[to - 1];
        records[to] = early;
    }
}

/* Merges the `batch` behind [0, end) into these, from the back. Its own place is written over, so
 * it is moved out of the way first. */
static void batch_merge(struct spex_record *all, size_t end, size_t batch) {
    struct spex_record *apart = all + end + batch;
    memcpy(apart, all + end, batch * sizeof(*all));
    for (size_t to = end + batch; batch; to--)
        if (end && all[end - 1].timestamp > apart[batch - 1].timestamp)
            all[to - 1] = all[--end];
        else
            all[to - 1] = apart[--batch];
}

struct spex_record *spex_waiting_room(struct spex_waiting *waiting, size_t count) {
    return waiting_grow(waiting, count) ? NULL : waiting->records + waiting->count;
}

int spex_waiting_add(struct spex_waiting *waiting, const struct spex_record *records,
                     size_t count) {
    if (count == 0)
        return 0;
    if (waiting_grow(waiting, count))
        return -ENOMEM;
    struct spex_record *batch = waiting->records + waiting->count;
    if (records != batch)
        memcpy(batch, records, count * sizeof(*records));
    batch_sort(batch, count);
    if (waiting->count && batch[0].timestamp < batch[-1].timestamp)
        batch_merge(waiting->records, waiting->count, count);
    waiting->count += count;
    return 0;
}

size_t spex_waiting_until(const struct spex_waiting *waiting, uint64_t until) {
    size_t low = 0, high = waiting->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (waiting->records[middle].timestamp < until)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void spex_waiting_drop(struct spex_waiting *waiting, size_t count) {
    waiting->count -= count;
    if (waiting->count)
        memmove(waiting->records, waiting->records + count,
                waiting->count * sizeof(*waiting->records));
}
