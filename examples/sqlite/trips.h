/* SPDX-License-Identifier: MIT */
/* The taxi trips: an endless sequence, the same every time, that looks like a city's. */
#ifndef TAXI_TRIPS_H
#define TAXI_TRIPS_H

#include <stdint.h>

struct position {
    int32_t longitude; /* in millionths of a degree */
    int32_t latitude;
};

struct trip {
    int64_t id;          /* 1, 2, 3, … */
    int64_t pickup_time; /* Unix time, ascending */
    int32_t seconds;
    int32_t metres;
    int32_t fare_cents;
    int32_t passengers; /* 1 to 6 */
    struct position pickup;
    struct position dropoff;
};

struct trips {
    uint64_t random;
    struct trip last;
};

void trips_begin(struct trips *trips);

/* The next trip; valid until the next call. */
const struct trip *trips_next(struct trips *trips);

#endif
