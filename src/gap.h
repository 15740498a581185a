/* SPDX-License-Identifier: MIT */
/* How many executions lie between one that is recorded and the next, when executions are sampled at
 * random: each by itself with probability p, which are gaps of the geometric law (a Bernoulli process
 * by its inter-arrival times: Liblit, Aiken, Zheng, Jordan: Bug isolation via remote program sampling,
 * PLDI 2003).
 *
 * A generator belongs to one thread and the signal handlers on it. Nothing here locks, allocates, or
 * touches errno or calls the C library. */
#ifndef SPEX_GAP_H
#define SPEX_GAP_H

#include <stdint.h>

#include <spex/atomic.h>

/* xoroshiro128++. The state is never all zero. */
struct spex_random {
    uint64_t state[2];
};

#define SPEX_GAP_MAX 0xfffffeu

/* Streams of one seed are different, and as good as independent: each starts at a random place of the
 * generator's cycle of 2^128 - 1. */
void spex_random_seed(struct spex_random *random, uint64_t seed, uint64_t stream);

static inline uint64_t spex_rotate_left(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

/* 64 random bits (Blackman, Vigna: Scrambled linear pseudorandom number generators, ACM TOMS 47:4, 2021).
 * A handler that interrupts it may get the same bits, or leave the two words from different steps: a
 * state as random as any other. Relaxed: one thread's. */
static inline uint64_t spex_random_next(struct spex_random *random) {
    uint64_t s0 = spex_load_relaxed(&random->state[0]);
    uint64_t s1 = spex_load_relaxed(&random->state[1]);
    uint64_t next = spex_rotate_left(s0 + s1, 17) + s0;
    s1 ^= s0;
    spex_store_relaxed(&random->state[0], spex_rotate_left(s0, 49) ^ s1 ^ s1 << 21);
    spex_store_relaxed(&random->state[1], spex_rotate_left(s1, 28));
    return next;
}

/* 1 to SPEX_GAP_MAX: k with probability p (1 - p)^(k - 1), where 1/p is the gaps' mean, for which
 * `scale` is spex_sampling_gap_scale. A longer gap is cut. */
uint32_t spex_gap_geometric(struct spex_random *random, double scale);

/* From `from` to `to`, which is not below it; no value is likelier than another by more than 2^-32 of its
 * probability. */
uint32_t spex_gap_even(struct spex_random *random, uint32_t from, uint32_t to);

/* -ln(U), exponentially distributed with mean 1, where U is the middle of one of 2^63 equal parts of 0 to
 * 1, which the upper 63 bits choose. */
double spex_gap_exponential(uint64_t bits);

#endif
