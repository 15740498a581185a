/* SPDX-License-Identifier: MIT */
/* x86-64: the time stamp counter and the placing of a probe site. Indirect header. */
#ifndef SPEX_ARCH_H
#define SPEX_ARCH_H

#include <stdint.h>

#include <spex/compiler.h>

/* Time stamp counter, in ticks. Not ordered against the instructions around it. */
SPEX_INLINE uint64_t spex_ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* A site's control word and index: to be told on from off, and again where it is on. Any load acquires here. */
#define SPEX_LOAD_SITE_(head)             spex_load_acquire(head) /* P1 (P2 in control_word.c) */
#define SPEX_LOAD_SITE_AGAIN_(head, both) ((void)(both))

/* Assembly operand for the address of something in this object: symbol without an immediate sign.
 */
#define SPEX_ASM_SYMBOL_ "i"

/* Puts into `reg` the address of the local label 991, defined just before. */
#define SPEX_ASM_ADDRESS_(reg) "leaq 991b(%%rip), " reg "\n"

#endif
