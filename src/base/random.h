/* SPDX-License-Identifier: MIT */
/* Random bits. A generator belongs to one thread and the signal handlers on it. Nothing here locks,
 * allocates, touches errno or calls the C library. */
#ifndef SPEX_BASE_RANDOM_H
#define SPEX_BASE_RANDOM_H

#include <stdint.h>

#include <spex/atomic.h>

/* xoroshiro128++. The state is never all zero. */
struct spex_random {
    uint64_t state[2];
};

/* Streams of one seed are different, and as good as independent: each starts at a random place of
 * the generator's cycle of 2^128 - 1. */
void spex_random_seed(struct spex_random *random, uint64_t seed, uint64_t stream);

static inline uint64_t spex_rotate_left(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

/* 64 random bits (Blackman, Vigna: Scrambled linear pseudorandom number generators, ACM TOMS 47:4,
 * 2021). A handler that interrupts it may get the same bits, or leave the two words from different
 * steps: a state as random as any other. Relaxed: one thread's. */
static inline uint64_t spex_random_next(struct spex_random *random) {
    uint64_t s0 = spex_load_relaxed(&random->state[0]);
    uint64_t s1 = spex_load_relaxed(&random->state[1]);
    uint64_t next = spex_rotate_left(s0 + s1, 17) + s0;
    s1 ^= s0;
    spex_store_relaxed(&random->state[0], spex_rotate_left(s0, 49) ^ s1 ^ s1 << 21);
    spex_store_relaxed(&random->state[1], spex_rotate_left(s1, 28));
    return next;
}

#endif
