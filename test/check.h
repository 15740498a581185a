/* SPDX-License-Identifier: MIT */
/* What every C test includes: cmocka with the headers it wants before it, and random numbers that
 * are the same in every run. */
#ifndef SPEX_TEST_CHECK_H
#define SPEX_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "left_behind.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A function whose probes are as many sites as its source has, at every level of optimisation: it is
 * neither inlined nor, as gcc does it for constants that it is called with, copied. */
#ifdef __clang__
#define COMPILED_ONCE __attribute__((noinline, used))
#else
#define COMPILED_ONCE __attribute__((noipa, used))
#endif

/* A bijection that spreads its argument over all 64 bits (the finaliser of MurmurHash3). */
static inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

static inline uint64_t random_next(uint64_t *state) {
    *state += 0x9e3779b97f4a7c15u;
    return mix(*state);
}

/* 0 to below - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t below) {
    return random_next(state) % below;
}

/* 0 to 1. */
static inline double random_part(uint64_t *state) {
    return (double)(random_next(state) >> 11) / 9007199254740992.0;
}

/* Runs the tests as cmocka does. A group fails, too, if it leaves descriptors open or files mapped. */
static inline int run_group(const char *name, const struct CMUnitTest *tests, size_t count,
                            CMFixtureFunction setup, CMFixtureFunction teardown) {
    struct open_before before;
    open_before_read(&before);
    int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown);
    return failed + left_open(&before) + left_mapped(&before);
}

#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    run_group(name, tests, COUNT_OF(tests), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)

#endif
