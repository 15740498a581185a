/* SPDX-License-Identifier: MIT */
/* x86-64: the time stamp counter, the assembly of a probe site, and the constructor of an object
 * with probes. Indirect header: programs include spex/ticks.h or spex/probe.h. */
#ifndef SPEX_ARCH_H
#define SPEX_ARCH_H

#include <stdint.h>

#include <spex/compiler.h>

/* The time stamp counter. spex/ticks.h has the contract. */
SPEX_INLINE uint64_t spex_ticks(void) {
    return __builtin_ia32_rdtsc();
}

/* Ticks that are read behind it are not read before all instructions in front of it have been
 * executed, misses of caches included. */
SPEX_INLINE void spex_ticks_fence_(void) {
    __asm__ volatile("lfence" : : : "memory");
}

/* Loads a site's first two members, the control word and the index, as one word. The load is an
 * acquire, which costs nothing here, so the second macro does nothing. */
#define SPEX_LOAD_SITE_(head)             spex_load_acquire(head) /* P1 (P2 in control_word.c) */
#define SPEX_LOAD_SITE_AGAIN_(head, both) ((void)(both))

/* The constraint of an assembly operand that is the address of something in this object. */
#define SPEX_ASM_SYMBOL_ "i"

/* Puts into `reg` the address of the local label 991, which is defined just before. */
#define SPEX_ASM_ADDRESS_(reg) "leaq 991b(%%rip), " reg "\n"

/* The bodies of the constructor and the destructor of spex/detail/module.h: if the function is
 * linked, jump to it with the bounds of this object's sections as its arguments. */
#define SPEX_ASM_MODULE_ENTER_                                                                     \
    "endbr64\n"                                                                                    \
    "cmpq $0, spex_module_register@GOTPCREL(%rip)\n"                                               \
    "je 1f\n"                                                                                      \
    "movq __start_spex_sites@GOTPCREL(%rip), %rdi\n"                                               \
    "movq __stop_spex_sites@GOTPCREL(%rip), %rsi\n"                                                \
    "movq __start_spex_names@GOTPCREL(%rip), %rdx\n"                                               \
    "movq __stop_spex_names@GOTPCREL(%rip), %rcx\n"                                                \
    "jmp *spex_module_register@GOTPCREL(%rip)\n"                                                   \
    "1: ret\n"
#define SPEX_ASM_MODULE_LEAVE_                                                                     \
    "endbr64\n"                                                                                    \
    "cmpq $0, spex_module_unregister@GOTPCREL(%rip)\n"                                             \
    "je 1f\n"                                                                                      \
    "movq __start_spex_sites@GOTPCREL(%rip), %rdi\n"                                               \
    "jmp *spex_module_unregister@GOTPCREL(%rip)\n"                                                 \
    "1: ret\n"

#endif
