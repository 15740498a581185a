/* SPDX-License-Identifier: MIT */
/* aarch64: the virtual counter, the assembly of a probe site, and the constructor of an object with
 * probes. Indirect header: programs include spex/ticks.h or spex/probe.h. */
#ifndef SPEX_ARCH_H
#define SPEX_ARCH_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

/* The virtual counter. spex/ticks.h has the contract. */
SPEX_INLINE uint64_t spex_ticks(void) {
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

/* Ticks that are read behind it are not read before all instructions in front of it have been
 * executed, misses of caches included. */
SPEX_INLINE void spex_ticks_fence_(void) {
    __asm__ volatile("dsb ld\n isb" : : : "memory");
}

/* Loads a site's first two members, the control word and the index, as one word. The first load
 * tells a site that is on from one that is off. Only a site that is on needs an acquire, which
 * costs time here, so the word is then loaded again. */
#define SPEX_LOAD_SITE_(head) spex_load_relaxed(head)
#define SPEX_LOAD_SITE_AGAIN_(head, both)                                                          \
    ((both) = spex_load_acquire(head)) /* P1 (P2 in control_word.c) */

/* The constraint of an assembly operand that is the address of something in this object. "i" does
 * not work in position-independent code. */
#define SPEX_ASM_SYMBOL_ "S"

/* Puts into `reg` the address of the local label 991, which is defined just before. */
#define SPEX_ASM_ADDRESS_(reg)                                                                     \
    "adrp " reg ", 991b\n"                                                                         \
    "add " reg ", " reg ", :lo12:991b\n"

/* The bodies of the constructor and the destructor of spex/detail/module.h: if the function is
 * linked, jump to it with the bounds of this object's sections as its arguments. "hint #34" is
 * BTI c, where an indirect call may arrive; a jump by x16 may arrive there, too. */
#define SPEX_ASM_MODULE_LOAD_(reg, symbol)                                                         \
    "adrp " reg ", :got:" symbol "\n"                                                              \
    "ldr " reg ", [" reg ", :got_lo12:" symbol "]\n"
#define SPEX_ASM_MODULE_ENTER_                                                                     \
    "hint #34\n" SPEX_ASM_MODULE_LOAD_(                                                            \
        "x16", "spex_module_register") "cbz x16, 1f\n" SPEX_ASM_MODULE_LOAD_("x0",                 \
                                                                             "__start_spex_sites") \
        SPEX_ASM_MODULE_LOAD_("x1", "__stop_spex_sites")                                           \
            SPEX_ASM_MODULE_LOAD_("x2", "__start_spex_names")                                      \
                SPEX_ASM_MODULE_LOAD_("x3", "__stop_spex_names") "br x16\n"                        \
                                                                 "1: ret\n"
#define SPEX_ASM_MODULE_LEAVE_                                                                     \
    "hint #34\n" SPEX_ASM_MODULE_LOAD_(                                                            \
        "x16", "spex_module_unregister") "cbz x16, 1f\n" SPEX_ASM_MODULE_LOAD_("x0",               \
                                                                               "__start_spex_"     \
                                                                               "sites") "br x16\n" \
                                                                                        "1: ret\n"

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
