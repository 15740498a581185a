/* SPDX-License-Identifier: MIT */
/* Numbers configurations, in a list by their place, else the last parameter changing fastest, and
 * permutes these numbers. */
#ifndef SPEX_POLICIES_EXPLORE_CONFIGURATIONS_H
#define SPEX_POLICIES_EXPLORE_CONFIGURATIONS_H

#include <string.h>

#include <spex/policy.h>

#include "policies/explore/draw.h"

/* In a larger space, the number of distinct configurations is estimated from a sample. */
#define SPEX_CONFIGURATIONS_COUNTED 65536

/* The levels of configuration `number`, 0 to the size of the space - 1. */
SPEX_INLINE void spex_configuration_levels(const struct spex_space *space, uint64_t number,
                                           size_t *levels) {
    if (space->listed_count) {
        memcpy(levels, space->listed + number * space->parameter_count,
               space->parameter_count * sizeof(*levels));
        return;
    }
    for (size_t p = space->parameter_count; p-- > 0;) {
        levels[p] = number % space->parameters[p].count;
        number /= space->parameters[p].count;
    }
}

/* The inverse of spex_configuration_levels, not in a list. */
SPEX_INLINE uint64_t spex_configuration_number(const struct spex_space *space,
                                               const size_t *levels) {
    uint64_t number = 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        number = number * space->parameters[p].count + levels[p];
    return number;
}

/* Whether the configuration is allowed and unchanged by settling. Parameters that do not apply are
 * settled to one level, so that of all configurations that differ in these alone exactly one
 * is distinct. */
SPEX_INLINE bool spex_configuration_is_distinct(const struct spex_space *space, uint64_t number,
                                                size_t *levels) {
    spex_configuration_levels(space, number, levels);
    return space->listed_count ||
           (spex_space_settle(space, levels) && spex_configuration_number(space, levels) == number);
}

/* The number of distinct configurations; in a large space an estimate from a random sample, at
 * least 1. `levels` is scratch for one configuration. O(number of configurations) up to
 * SPEX_CONFIGURATIONS_COUNTED. */
static inline uint64_t spex_configurations_distinct(const struct spex_space *space,
                                                    size_t *levels) {
    uint64_t all = spex_space_configurations(space), distinct = 0;
    uint64_t looks = all <= SPEX_CONFIGURATIONS_COUNTED ? all : 4096;
    struct spex_draw draw = {space->rules.seed};
    if (!space->settle || space->listed_count)
        return all;
    for (uint64_t n = 0; n < looks; n++)
        distinct += spex_configuration_is_distinct(
            space, looks == all ? n : spex_draw_below(&draw, all), levels);
    return looks == all ? distinct
                        : (uint64_t)((double)all * ((double)distinct / (double)looks)) + 1;
}

/* A permutation of 0 to count - 1 without a table: a Feistel network over the next power of four,
 * applied again while the result is not below `count` (Black and Rogaway, Ciphers with Arbitrary
 * Finite Domains, 2002). */
struct spex_order {
    uint64_t count;
    uint64_t key;
    unsigned half; /* bits of each half of a number */
};

SPEX_INLINE struct spex_order spex_order_of(uint64_t count, uint64_t key) {
    struct spex_order order = {count, spex_draw_mix(key), 1};
    while (order.half < 31 && UINT64_C(1) << 2 * order.half < count)
        order.half++;
    return order;
}

/* Six rounds of the network, over all of 4^half numbers. */
SPEX_INLINE uint64_t spex_order_round(const struct spex_order *order, uint64_t number) {
    uint64_t mask = (UINT64_C(1) << order->half) - 1;
    uint64_t left = number >> order->half, right = number & mask;
    for (uint64_t round = 1; round <= 6; round++) {
        uint64_t mixed = spex_draw_mix(order->key + round * 0x9e3779b97f4a7c15u + right) & mask;
        uint64_t next = left ^ mixed;
        left = right;
        right = next;
    }
    return left << order->half | right;
}

/* The number at `place` of the permutation: fewer than 4 applications in the mean, since the
 * network's range is less than 4 times `count`. */
SPEX_INLINE uint64_t spex_order_at(const struct spex_order *order, uint64_t place) {
    do
        place = spex_order_round(order, place);
    while (place >= order->count);
    return place;
}

#endif
