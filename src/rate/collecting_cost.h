/* SPDX-License-Identifier: MIT */
/* What collectors cost: a record, and a second in which there are hardly any, since passes cost
 * something, too. Both change slowly: what is still in rings evens out, as does what collectors
 * have not noted yet of their time. */
#ifndef SPEX_RATE_COLLECTING_COST_H
#define SPEX_RATE_COLLECTING_COST_H

#include <stdint.h>

struct spex_collecting {
    double record; /* seconds for one, lately */
    double rest;   /* seconds a second without any */
    double at;     /* when last told, in seconds, as is what follows */
    uint64_t records;
    uint64_t ns;
    double sum_seconds, sum_records; /* of which most was lately */
};

/* `ns`: CPU time of collectors until now. */
void spex_collecting_begin(struct spex_collecting *collecting, uint64_t ns);

/* `now`: in seconds since the beginning; `records`: that were taken in until then. */
void spex_collecting_note(struct spex_collecting *collecting, double now, uint64_t records,
                          uint64_t ns);

#endif
