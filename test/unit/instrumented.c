/* SPDX-License-Identifier: MIT */
#include "instrumented.h"

#include <spex/functions.h>

#define NOTHING() __asm__ volatile("" ::: "memory")

__attribute__((used)) static void twin(void) {
    NOTHING();
}

void fn_inner(uint64_t n) {
    spex_parameter("n", n);
    NOTHING();
}

void fn_plain(void) {
    NOTHING();
}

/* Other names of the same code. */
void fn_plain_alias(void) __attribute__((alias("fn_plain")));
void fn_outer_alias(uint64_t) __attribute__((alias("fn_outer")));

void fn_outer(uint64_t n) {
    spex_parameter("n", n);
    fn_inner(n + 1);
    fn_plain();
}

void fn_calls(work *what, void *user) {
    what(user);
    NOTHING();
}

void fn_left_out(void) {
    fn_plain();
    NOTHING();
}

void fn_recursive(unsigned depth) {
    if (depth > 1)
        fn_recursive(depth - 1);
    NOTHING();
}

void fn_jumps(jmp_buf *to) {
    longjmp(*to, 1);
}

#define MANY(n)                                                                                    \
    __attribute__((used)) static void many_##n(void) {                                             \
        NOTHING();                                                                                 \
    }
#define MANY_10(n)                                                                                 \
    MANY(n##0)                                                                                     \
    MANY(n##1) MANY(n##2) MANY(n##3) MANY(n##4) MANY(n##5) MANY(n##6) MANY(n##7) MANY(n##8) MANY(n##9)
#define MANY_100(n)                                                                                \
    MANY_10(n##0)                                                                                  \
    MANY_10(n##1) MANY_10(n##2) MANY_10(n##3) MANY_10(n##4) MANY_10(n##5) MANY_10(n##6)            \
    MANY_10(n##7) MANY_10(n##8) MANY_10(n##9)

/* MANY_FUNCTIONS of them. */
MANY_100(1)
MANY_100(2)
MANY_100(3)
MANY_100(4)
MANY_100(5)
MANY_100(6)

void give_size(uint64_t size) {
    spex_parameter("size", size);
}
