/* SPDX-License-Identifier: MIT */
/* What spex's own threads take: a second, and a record. */
#ifndef SPEX_RATE_COLLECTING_H
#define SPEX_RATE_COLLECTING_H

/* Sums over what was seen, of which older parts weigh less. All zero: nothing was. */
struct spex_rate_collecting {
    double seconds2, both, records2, own_seconds, own_records;
};

struct spex_rate_collecting_cost {
    double second, record;
};

/* In so many seconds, with so many records, spex's threads took `own` seconds of CPU time. */
void spex_rate_collecting_add(struct spex_rate_collecting *sums, double seconds, double records,
                              double own);

/* Both parts, at least 0. */
struct spex_rate_collecting_cost spex_rate_collecting_cost(const struct spex_rate_collecting *sums);

#endif
