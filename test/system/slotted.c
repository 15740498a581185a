/* SPDX-License-Identifier: MIT */
#include "slotted.h"

uint64_t slotted_calls;

uint64_t slotted(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                 double h) {
    __atomic_fetch_add(&slotted_calls, 1, __ATOMIC_RELAXED);
    return a + b + c + d + e + f + g + (uint64_t)h;
}

/* Within the library its address is known. */
__attribute__((noinline)) void slotted_direct(void) {
    __asm__ volatile("");
    __atomic_fetch_add(&slotted_calls, 1, __ATOMIC_RELAXED);
}

extern void hidden_direct(void) __attribute__((alias("slotted_direct"), visibility("hidden")));

void slotted_within(unsigned long count) {
    for (unsigned long c = 0; c < count; c++)
        hidden_direct();
}
