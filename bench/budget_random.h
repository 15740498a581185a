/* SPDX-License-Identifier: MIT */
/* Random numbers for workloads, the same in every run. */
#ifndef SPEX_BENCH_BUDGET_RANDOM_H
#define SPEX_BENCH_BUDGET_RANDOM_H

#include <stdint.h>

/* 0 to `below` - 1, by xorshift64* (Vigna 2016). `state` must not be 0. */
static inline uint32_t budget_random(uint64_t *state, uint32_t below) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    uint32_t high = (uint32_t)((*state * 0x2545F4914F6CDD1Du) >> 32);
    return (uint32_t)((uint64_t)high * below >> 32);
}

#endif
