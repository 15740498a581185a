/* SPDX-License-Identifier: MIT */
/* A random generator, xoroshiro128++ (Blackman, Vigna: Scrambled linear pseudorandom number
 * generators, ACM TOMS 47:4, 2021). A generator belongs to one thread and the signal handlers on
 * it. Nothing here locks, allocates, changes errno or calls the C library. */
#ifndef SPEX_BASE_RANDOM_H
#define SPEX_BASE_RANDOM_H

#include <stdint.h>

#include <spex/atomic.h>

/* The state is never all zero. */
struct spex_random {
    uint64_t state[2];
};

/* Seeds a generator. Generators with one seed and different streams start at random places of the
 * cycle of 2^128 - 1 numbers, so they are as good as independent. */
void spex_random_seed(struct spex_random *random, uint64_t seed, uint64_t stream);

static inline uint64_t spex_rotate_left(uint64_t x, unsigned bits) {
    return x << bits | x >> (64 - bits);
}

/* Returns 64 random bits. A signal handler that interrupts this function may get the same bits, or
 * leave the two words of different steps, which are as random a state as any other. The accesses
 * are relaxed, because the generator is used by one thread; they keep the words whole for
 * handlers. */
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
