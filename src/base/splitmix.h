/* SPDX-License-Identifier: MIT */
/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014): a
 * counter and a bijection that mixes its bits. For seeds and hashes. */
#ifndef SPEX_BASE_SPLITMIX_H
#define SPEX_BASE_SPLITMIX_H

#include <stdint.h>

/* The counter's step, an odd number near 2^64 / the golden ratio. */
#define SPEX_SPLITMIX_STEP 0x9e3779b97f4a7c15u

/* Mixes the bits of x. A bijection; 0 stays 0. */
static inline uint64_t spex_splitmix_mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Advances the counter, and returns 64 random bits. */
static inline uint64_t spex_splitmix_next(uint64_t *counter) {
    return spex_splitmix_mix(*counter += SPEX_SPLITMIX_STEP);
}

#endif
