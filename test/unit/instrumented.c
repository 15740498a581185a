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

void give_size(uint64_t size) {
    spex_parameter("size", size);
}
