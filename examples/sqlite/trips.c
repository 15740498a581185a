/* SPDX-License-Identifier: MIT */
#include "trips.h"

#include <stdlib.h>

#include "random.h"

/* Where trips begin and end: New York's busy places, as normal distributions. */
static const struct {
    struct position centre;
    int32_t spread; /* standard deviation in millionths of a degree */
    uint32_t share; /* per cent of all pick-ups */
} places[] = {
    {{-73982000, 40756000}, 9000, 30}, /* Midtown */
    {{-73960000, 40772000}, 8000, 15}, /* Upper East Side */
    {{-73976000, 40785000}, 8000, 10}, /* Upper West Side */
    {{-73990000, 40735000}, 7000, 15}, /* Union Square and East Village */
    {{-74008000, 40714000}, 7000, 12}, /* Downtown */
    {{-73786000, 40645000}, 4000, 5},  /* JFK */
    {{-73872000, 40774000}, 3000, 5},  /* LaGuardia */
    {{-73955000, 40690000}, 20000, 5}, /* Brooklyn */
    {{-73920000, 40755000}, 18000, 3}, /* Queens */
};

static const uint32_t passenger_shares[] = {70, 14, 4, 2, 6, 4}; /* per cent, of 1 to 6 */

/* The sum of twelve uniform numbers is normal enough and needs no libm, whose results differ
 * between versions. */
static int32_t normal(uint64_t *random, int32_t centre, int32_t spread) {
    int64_t sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_below(random, 1 << 16);
    return centre + (int32_t)((sum - 6 * (1 << 16)) * spread / (1 << 16));
}

static struct position near_place(uint64_t *random) {
    uint32_t share = random_below(random, 100);
    unsigned p = 0;
    while (share >= places[p].share)
        share -= places[p++].share;
    struct position position;
    position.longitude = normal(random, places[p].centre.longitude, places[p].spread);
    position.latitude = normal(random, places[p].centre.latitude, places[p].spread);
    return position;
}

static int32_t passengers(uint64_t *random) {
    uint32_t share = random_below(random, 100);
    int32_t count = 0;
    while (share >= passenger_shares[count])
        share -= passenger_shares[count++];
    return count + 1;
}

/* Along streets that cross at right angles; at this latitude a degree of longitude has 84 km. */
static int32_t metres_between(struct position a, struct position b) {
    int64_t east = llabs((int64_t)a.longitude - b.longitude) * 84 / 1000;
    int64_t north = llabs((int64_t)a.latitude - b.latitude) * 111 / 1000;
    return (int32_t)(east + north);
}

void trips_begin(struct trips *trips) {
    *trips = (struct trips){.random = 2013, .last.pickup_time = 1356998400 /* 1 January 2013 */};
}

const struct trip *trips_next(struct trips *trips) {
    struct trip *trip = &trips->last;
    trip->id++;
    trip->pickup_time += random_below(&trips->random, 60);
    trip->pickup = near_place(&trips->random);
    trip->dropoff = near_place(&trips->random);
    trip->passengers = passengers(&trips->random);
    trip->metres = metres_between(trip->pickup, trip->dropoff);
    trip->seconds = 60 + trip->metres / (int32_t)(3 + random_below(&trips->random, 8));
    trip->fare_cents = 250 + trip->metres * 5 / 32 + trip->seconds / 10;
    return trip;
}
