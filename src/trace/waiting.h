/* SPDX-License-Identifier: MIT */
/* Records of one CPU wait here, in the order of their time, until none that is earlier can come. A
 * batch of a ring is in order but for few; batches of several rings are merged. */
#ifndef SPEX_TRACE_WAITING_H
#define SPEX_TRACE_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* All zero: empty. */
struct spex_waiting {
    struct spex_record *records;
    size_t count;
    size_t room;
};

void spex_waiting_free(struct spex_waiting *waiting);

/* Where the next batch can be put before it is added, so that it is not copied; NULL: no memory. */
struct spex_record *spex_waiting_room(struct spex_waiting *waiting, size_t count);

/* Adds records at their places. 0 or -ENOMEM. */
int spex_waiting_add(struct spex_waiting *waiting, const struct spex_record *records, size_t count);

/* How many of the first were made before `until`. */
size_t spex_waiting_until(const struct spex_waiting *waiting, uint64_t until);

/* Removes the first `count`. */
void spex_waiting_drop(struct spex_waiting *waiting, size_t count);

#endif
