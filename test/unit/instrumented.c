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

#define MANY_1(n)                                                                                  \
    __attribute__((used)) static void many_##n(void) {                                             \
        NOTHING();                                                                                 \
    }
#define MANY_4(n)   MANY_1(n##0) MANY_1(n##1) MANY_1(n##2) MANY_1(n##3)
#define MANY_16(n)  MANY_4(n##0) MANY_4(n##1) MANY_4(n##2) MANY_4(n##3)
#define MANY_64(n)  MANY_16(n##0) MANY_16(n##1) MANY_16(n##2) MANY_16(n##3)
#define MANY_256(n) MANY_64(n##0) MANY_64(n##1) MANY_64(n##2) MANY_64(n##3)

/* MANY_FUNCTIONS of them. */
MANY_256(0)
MANY_256(1)

void give_size(uint64_t size) {
    spex_parameter("size", size);
}
