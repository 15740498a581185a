/* SPDX-License-Identifier: MIT */
/* Random numbers of a policy: a Weyl sequence, mixed. The same seed gives the same numbers on every
 * machine, so that an exploration can be resumed by replaying it. */
#ifndef SPEX_POLICIES_EXPLORE_DRAW_H
#define SPEX_POLICIES_EXPLORE_DRAW_H

#include <math.h>
#include <stdint.h>

#include <spex/compiler.h>

struct spex_draw {
    uint64_t state;
};

/* A bijection that spreads its argument over all 64 bits (the finaliser of MurmurHash3). */
SPEX_INLINE uint64_t spex_draw_mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

SPEX_INLINE uint64_t spex_draw_bits(struct spex_draw *draw) {
    draw->state += 0x9e3779b97f4a7c15u;
    return spex_draw_mix(draw->state);
}

/* An integer of 0 to below - 1. The probabilities differ by less than below / 2^64. */
SPEX_INLINE uint64_t spex_draw_below(struct spex_draw *draw, uint64_t below) {
    return spex_draw_bits(draw) % below;
}

/* A number of 0 to 1, 1 excluded, of 53 random bits. */
SPEX_INLINE double spex_draw_share(struct spex_draw *draw) {
    return (double)(spex_draw_bits(draw) >> 11) / 9007199254740992.0;
}

#endif
