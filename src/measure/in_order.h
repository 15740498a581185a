/* SPDX-License-Identifier: MIT */
/* Puts records of several rings and collectors in the order of their time. */
#ifndef SPEX_MEASURE_IN_ORDER_H
#define SPEX_MEASURE_IN_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

/* All zero: empty. */
struct spex_in_order {
    struct spex_record *records; /* [0, handed_out) are the caller's, the rest wait */
    size_t count;
    size_t room;
    size_t handed_out;
};

void spex_in_order_free(struct spex_in_order *waiting);

/* 0 or -ENOMEM. */
int spex_in_order_add(struct spex_in_order *waiting, const struct spex_record *records,
                      size_t count);

/* Those made before `until`, sorted; they stay until the next call. */
const struct spex_record *spex_in_order_take(struct spex_in_order *waiting, uint64_t until,
                                             size_t *count);

#endif
