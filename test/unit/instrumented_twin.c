/* SPDX-License-Identifier: MIT */
/* A function of the same name as one in instrumented.c. */
#include "instrumented.h"

__attribute__((used)) static void twin(void) {
    __asm__ volatile("" ::: "memory");
}

void link_twin(void) {
}
