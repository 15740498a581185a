/* SPDX-License-Identifier: MIT */
/* What code calls into which the compiler has put probes (docs/compiler.md). Indirect header: no
 * program includes it.
 *
 * Such code loads the site's control word by itself, and calls BEGIN only where it is not 0. So what
 * stands in the program is short, and one pair of functions serves all types. */
#ifndef SPEX_DETAIL_COMPILED_H
#define SPEX_DETAIL_COMPILED_H

#include <spex/detail/names_begin.h>

#include <spex/detail/recording.h>
#include <spex/kernel.h>
#include <spex/region.h>

SPEX_HEADER_BEGIN_

/* What BEGIN leaves for END, on the program's stack. */
union spex_compiled {
    struct spex_kernel_span kernel;
    struct spex_span span;
};

SPEX_EXTERN_C_BEGIN

/* BEGIN of a site of type KERNEL, LAT or CNT that is on. Returns whether END is to be called; if
 * not, `state` has no value. `parameters` are those of a KERNEL, as many as the site's detail; one
 * that is not known yet is 0. */
SPEX_PROBE_API uint32_t spex_compiled_begin(struct spex_site *site, union spex_compiled *state,
                                            const uint64_t *parameters);

/* END, in which each parameter has its value. */
SPEX_PROBE_API void spex_compiled_end(struct spex_site *site, union spex_compiled *state,
                                      uint64_t *parameters);

/* Regions that the compiler makes (spex/region.h). The code itself enters a pass that is the usual
 * case, as spex_region_enter_ does, and leaves it in the fast copy. These are for the others: enter
 * sets all of the pass and returns whether it takes the fast copy. `begin` is that of a probe in the
 * slow copy, whether its site is on or not: each execution counts. */
SPEX_PROBE_API uint32_t spex_compiled_enter(struct spex_site *region,
                                            struct spex_region_pass *pass);
SPEX_PROBE_API uint32_t spex_compiled_begin_slow(struct spex_site *site, union spex_compiled *state,
                                                 const uint64_t *parameters,
                                                 struct spex_region_pass *pass);
SPEX_PROBE_API void spex_compiled_leave(const struct spex_region_pass *pass);

SPEX_EXTERN_C_END

/* Between the program's code and these functions: spex_compiled_begin_ and others with a "_" behind
 * their names keep all registers of integers but r11 and the result (clang's preserve_most). So the
 * code around a probe need not save what it has in registers, which is most of what a probe that is
 * off would cost. One copy in an object, as in spex/detail/module.h; bytes, because nobody tells in
 * which syntax the compiler writes. Elsewhere than on x86-64 the functions are called as they are.
 *
 *     push rcx, rdx, rsi, rdi, r8, r9, r10   and what `more` pushes; rsp is a multiple of 16 then
 *     call [function in the global offset table]
 *     pop in reverse, ret */
#if defined(__x86_64__)
#define SPEX_ASM_COMPILED_ONE_(name, more, less, bytes)                                            \
    ".ifndef " name "_\n"                                                                          \
    ".weak " name "\n"                                                                             \
    ".pushsection .text.spex, \"axG\", %progbits, " name "_, comdat\n"                             \
    ".weak " name "_\n"                                                                            \
    ".hidden " name "_\n"                                                                          \
    ".type " name "_, %function\n" name "_:\n"                                                     \
    ".cfi_startproc\n"                                                                             \
    ".byte " more "0x51, 0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52\n"                   \
    ".cfi_adjust_cfa_offset " bytes "\n" SPEX_ASM_GOT_(                                            \
        "0xff, 0x15", name,                                                                        \
        "0") ".byte 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59" less "\n"          \
             ".cfi_adjust_cfa_offset -" bytes "\n"                                                 \
             "ret\n"                                                                               \
             ".cfi_endproc\n"                                                                      \
             ".size " name "_, . - " name "_\n"                                                    \
             ".popsection\n"                                                                       \
             ".endif\n"

/* What has no result keeps rax; pushed twice. */
#define SPEX_ASM_COMPILED_                                                                         \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_begin", "", "", "56")                                    \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_end", "0x50, 0x50, ", ", 0x58, 0x58", "72")
#define SPEX_ASM_COMPILED_REGION_                                                                  \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_enter", "", "", "56")                                    \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_begin_slow", "", "", "56")                               \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_leave", "0x50, 0x50, ", ", 0x58, 0x58", "72")
#endif

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
