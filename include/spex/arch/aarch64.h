/* SPDX-License-Identifier: MIT */
/* aarch64: the virtual counter and the placing of a probe site. Indirect header. */
#ifndef SPEX_ARCH_H
#define SPEX_ARCH_H

#include <stdint.h>

#include <spex/compiler.h>

/* Virtual counter, in ticks: the same on all CPUs, at 1 GHz (ARMv8.6) or a few tens of MHz. Not
 * ordered against the instructions around it. */
SPEX_INLINE uint64_t spex_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* A site's control word and index: to be told on from off, and again where it is on, for only that load must acquire,
 * which costs here. */
#define SPEX_LOAD_SITE_(head) spex_load_relaxed(head)
#define SPEX_LOAD_SITE_AGAIN_(head, both)                                                          \
    ((both) = spex_load_acquire(head)) /* P1 (P2 in control_word.c) */

/* Assembly operand for the address of something in this object; "i" is none in code that does not
 * depend on its position. */
#define SPEX_ASM_SYMBOL_ "S"

/* Puts into `reg` the address of the local label 991, defined just before. */
#define SPEX_ASM_ADDRESS_(reg)                                                                     \
    "adrp " reg ", 991b\n"                                                                         \
    "add " reg ", " reg ", :lo12:991b\n"

#endif
