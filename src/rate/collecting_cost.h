/* SPDX-License-Identifier: MIT */
/* The collectors' cost per record, and per second with hardly any records, in which passes still
 * cost something. Both are moving averages, over which records that are still in rings, and CPU
 * time that collectors have not noted yet, even out. Pure; callers lock. */
#ifndef SPEX_RATE_COLLECTING_COST_H
#define SPEX_RATE_COLLECTING_COST_H

#include <stdint.h>

struct spex_collecting {
    double record;    /* seconds a record */
    double rest;      /* seconds a second without records */
    double at;        /* time of the last note, in seconds */
    uint64_t records; /* at the last note */
    uint64_t ns;      /* CPU time at the last note */
    /* Sums over intervals, of which older ones count exponentially less. */
    double sum_seconds, sum_records;
};

/* `ns`: CPU time of the collectors until now. */
void spex_collecting_begin(struct spex_collecting *collecting, uint64_t ns);

/* `now`: seconds since the beginning; `records`, `ns`: records taken and CPU time used until
 * then. */
void spex_collecting_note(struct spex_collecting *collecting, double now, uint64_t records,
                          uint64_t ns);

#endif
