/* SPDX-License-Identifier: MIT */
#include "slotted.h"

uint64_t slotted_calls;

uint64_t slotted(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                 double h) {
    __atomic_fetch_add(&slotted_calls, 1, __ATOMIC_RELAXED);
    return a + b + c + d + e + f + g + (uint64_t)h;
}

extern uint64_t hidden_slotted(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                               double) __attribute__((alias("slotted"), visibility("hidden")));

#ifdef __x86_64__
__asm__(".text\n"
        ".balign 16\n"
        ".globl slotted_steps\n"
        ".type slotted_steps, @function\n"
        "slotted_steps: endbr64\n"
        "push %rbp\n"
        "mov %rsp, %rbp\n"
        "xor %eax, %eax\n"
        "pop %rbp\n"
        "jmp hidden_slotted\n"
        ".size slotted_steps, . - slotted_steps\n");
#endif

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
