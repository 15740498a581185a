/* SPDX-License-Identifier: MIT */
/* Sorts records of several rings and collectors by time. */
#ifndef SPEX_MEASURE_IN_ORDER_H
#define SPEX_MEASURE_IN_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* All zero: empty, without a limit. */
struct spex_in_order {
    /* [0, handed_out) are in the caller's hands, the rest wait. */
    struct spex_record *records;
    size_t count;
    size_t room;
    size_t handed_out;
    /* How many records there may be; 0: any number. */
    size_t most;
};

void spex_in_order_free(struct spex_in_order *waiting);

/* Copies records of any order. 0, -ENOMEM, or -E2BIG: they would be too many. */
int spex_in_order_add(struct spex_in_order *waiting, const struct spex_record *records,
                      size_t count);

/* The records made before `until`, in the order of their time; valid until the next call. */
const struct spex_record *spex_in_order_take(struct spex_in_order *waiting, uint64_t until,
                                             size_t *count);

#endif
