/* SPDX-License-Identifier: MIT */
/* What every C test includes: cmocka, the headers that most tests need, and random numbers that
 * are the same in every run. */
#ifndef SPEX_TEST_CHECK_H
#define SPEX_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
int check_group(const char *name, const struct CMUnitTest *tests, size_t count,
                CMFixtureFunction setup, CMFixtureFunction teardown);

#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                  \
    check_group(name, tests, COUNT_OF(tests), setup, teardown)
#define cmocka_run_group_tests(tests, setup, teardown)                                             \
    cmocka_run_group_tests_name(#tests, tests, setup, teardown)

/* A test; `state` is cmocka's. All tests of a program run in the order in which they stand: none can
 * be forgotten, and main() is needed only where there is more to do than to run them. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, setup, teardown)                                                           \
    static void name(void **state);                                                                \
    __attribute__((constructor)) static void tests_add_##name(void) {                              \
        static struct check check = {{#name, name, setup, teardown, NULL}, __LINE__, NULL};        \
        tests_add(&check);                                                                         \
    }                                                                                              \
    static void name(__attribute__((unused)) void **state)

struct check {
    struct CMUnitTest test;
    int line;
    struct check *next;
};

void tests_add(struct check *check);

/* Runs all tests of the program. */
int tests_run(CMFixtureFunction setup, CMFixtureFunction teardown);

#endif
