/* SPDX-License-Identifier: MIT */
/* x86-64: the time stamp counter, the assembly of a probe site, and the constructor of an object
 * with probes. Indirect header: programs include spex/ticks.h or spex/probe.h. */
#ifndef SPEX_ARCH_H
#define SPEX_ARCH_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

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
#define SPEX_ASM_ADDRESS_(reg) "lea{q 991b(%%rip), " reg "| " reg ", 991b[rip]}\n"

/* The bodies of the constructor and the destructor of spex/detail/module.h: if the function is
 * linked, jump to it with the bounds of this object's sections as its arguments.
 *
 * This assembly is outside of functions, where nobody tells in which syntax the compiler writes
 * (-masm=intel). What is written here is the same in both: of an instruction with an operand in
 * memory, the bytes. SPEX_ASM_GOT_(bytes, symbol, rest): such an instruction, whose operand is the
 * symbol's entry in the global offset table. `rest` is how many bytes are behind its place. */
#define SPEX_ASM_GOT_(bytes, symbol, rest)                                                         \
    ".byte " bytes "\n"                                                                            \
    ".long " symbol "@GOTPCREL - 4 - " rest "\n"
#define SPEX_ASM_GOT_IS_NULL_(symbol) SPEX_ASM_GOT_("0x48, 0x83, 0x3d", symbol, "1") ".byte 0\n"
#define SPEX_ASM_GOT_TO_RDI_(symbol)  SPEX_ASM_GOT_("0x48, 0x8b, 0x3d", symbol, "0")
#define SPEX_ASM_GOT_TO_RSI_(symbol)  SPEX_ASM_GOT_("0x48, 0x8b, 0x35", symbol, "0")
#define SPEX_ASM_GOT_TO_RDX_(symbol)  SPEX_ASM_GOT_("0x48, 0x8b, 0x15", symbol, "0")
#define SPEX_ASM_GOT_TO_RCX_(symbol)  SPEX_ASM_GOT_("0x48, 0x8b, 0x0d", symbol, "0")
#define SPEX_ASM_GOT_JUMP_(symbol)    SPEX_ASM_GOT_("0xff, 0x25", symbol, "0")

/* clang-format off */
#define SPEX_ASM_MODULE_ENTER_                                                                     \
    "endbr64\n"                                                                                    \
    SPEX_ASM_GOT_IS_NULL_("spex_module_register")                                                  \
    "je 991f\n"                                                                                    \
    SPEX_ASM_GOT_TO_RDI_("__start_spex_sites")                                                     \
    SPEX_ASM_GOT_TO_RSI_("__stop_spex_sites")                                                      \
    SPEX_ASM_GOT_TO_RDX_("__start_spex_names")                                                     \
    SPEX_ASM_GOT_TO_RCX_("__stop_spex_names")                                                      \
    SPEX_ASM_GOT_JUMP_("spex_module_register")                                                     \
    "991: ret\n"
#define SPEX_ASM_MODULE_LEAVE_                                                                     \
    "endbr64\n"                                                                                    \
    SPEX_ASM_GOT_IS_NULL_("spex_module_unregister")                                                \
    "je 991f\n"                                                                                    \
    SPEX_ASM_GOT_TO_RDI_("__start_spex_sites")                                                     \
    SPEX_ASM_GOT_JUMP_("spex_module_unregister")                                                   \
    "991: ret\n"
/* clang-format on */

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
