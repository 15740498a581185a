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
struct spex_compiled {
    /* 0: END is not to be called. A result of spex_compiled_begin; or what BEGIN leaves where it has
     * not called the library (below): */
    uint32_t on;
    uint32_t unused;
    /* Of what follows the library sets and reads the site and the span. */
    struct spex_site *site;
    union {
        struct spex_kernel_span kernel;
        struct spex_span span;
    } as;
    /* Of a KERNEL, as many as the site's detail. */
    uint64_t parameters[SPEX_KERNEL_PARAMETERS];
};

/* The execution is counted, and its kernel's node has not been entered. */
#define SPEX_COMPILED_COUNTED (1u << 31)
/* Its node has been entered, and the lower bits are the one to return to. */
#define SPEX_COMPILED_ENTERED (1u << 30)

SPEX_EXTERN_C_BEGIN

/* BEGIN of a site of type KERNEL, LAT or CNT that is on. Returns `on`. A parameter that is not known
 * yet is 0. */
SPEX_PROBE_API uint32_t spex_compiled_begin(struct spex_site *site, struct spex_compiled *frame);

/* Enters the node of a kernel whose `on` is SPEX_COMPILED_COUNTED, and returns another one. */
SPEX_PROBE_API uint32_t spex_compiled_step(struct spex_site *site);

/* END, in which each parameter has its value. */
SPEX_PROBE_API void spex_compiled_end(struct spex_compiled *frame);

/* Regions that the compiler makes (spex/region.h). The code itself enters a pass that is the usual
 * case, as spex_region_enter_ does, and leaves it in the fast copy. These are for the others: enter
 * sets all of the pass and returns whether it takes the fast copy. `begin` is that of a probe in the
 * slow copy, whether its site is on or not: each execution counts. */
SPEX_PROBE_API uint32_t spex_compiled_enter(struct spex_site *region,
                                            struct spex_region_pass *pass);
SPEX_PROBE_API uint32_t spex_compiled_begin_slow(struct spex_site *site,
                                                 struct spex_compiled *frame,
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
#define SPEX_ASM_COMPILED_FUNCTION_(name, ...)                                                     \
    ".ifndef " name "\n"                                                                           \
    ".pushsection .text.spex, \"axG\", %progbits, " name ", comdat\n"                              \
    ".weak " name "\n"                                                                             \
    ".hidden " name "\n"                                                                           \
    ".type " name ", %function\n" name ":\n"                                                       \
    ".cfi_startproc\n" __VA_ARGS__ ".cfi_endproc\n"                                                \
    ".size " name ", . - " name "\n"                                                               \
    ".popsection\n"                                                                                \
    ".endif\n"

#define SPEX_ASM_COMPILED_ONE_(name, more, less, bytes)                                            \
    ".weak " name "\n" SPEX_ASM_COMPILED_FUNCTION_(                                                \
        name "_",                                                                                  \
        ".byte " more "0x51, 0x52, 0x56, 0x57, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52\n"               \
        ".cfi_adjust_cfa_offset " bytes "\n" SPEX_ASM_GOT_(                                        \
            "0xff, 0x15", name,                                                                    \
            "0") ".byte 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58, 0x5f, 0x5e, 0x5a, 0x59" less "\n"      \
                 ".cfi_adjust_cfa_offset -" bytes "\n"                                             \
                 "ret\n")

/* What has no result keeps rax; pushed twice. */
#define SPEX_ASM_COMPILED_                                                                         \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_begin", "", "", "56")                                    \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_step", "", "", "56")                                     \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_end", "0x50, 0x50, ", ", 0x58, 0x58", "72")
#define SPEX_ASM_COMPILED_REGION_                                                                  \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_enter", "", "", "56")                                    \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_begin_slow", "", "", "56")                               \
    SPEX_ASM_COMPILED_ONE_("spex_compiled_leave", "0x50, 0x50, ", ", 0x58, 0x58", "72")

/* What most executions of a probe that is on and sampled do: spex_sample_ counts them, and a kernel's
 * node is entered and left, as in spex/kernel.h.
 *
 *     spex_compiled_counted_(site)          counts, and returns SPEX_COMPILED_COUNTED
 *     spex_compiled_entered_(site)          counts, enters the node, and returns `on`
 *     spex_compiled_context_(site, frame)   enters the node if `on` is SPEX_COMPILED_COUNTED
 *     spex_compiled_kernel_end_(frame)      END
 *
 * The first two return 0 where that is not enough, and have changed nothing: BEGIN of the library is
 * called then. SPEX_ASM_TLS_: the variable's entry in the global offset table, its distance from the
 * thread's. */
#define SPEX_ASM_TLS_(bytes, symbol) ".byte " bytes "\n.long " symbol "@GOTTPOFF - 4\n"
/* clang-format off */
#define SPEX_ASM_COUNT_                                                                            \
    SPEX_ASM_TLS_("0x4c, 0x8b, 0x1d", "spex_executed") /* mov r11, [spex_executed] */              \
    ".byte 0x64, 0x4d, 0x8b, 0x1b\n"       /* mov r11, fs:[r11] */                                 \
    ".byte 0x8b, 0x47, 0x04\n"             /* mov eax, [rdi + 4]: the index */                     \
    ".byte 0x4d, 0x8d, 0x1c, 0x83\n"       /* lea r11, [r11 + rax * 4] */                          \
    ".byte 0x8b, 0x07\n"                   /* mov eax, [rdi]: the control word */                  \
    ".byte 0x41, 0x2b, 0x03\n"             /* sub eax, [r11] */                                    \
    ".byte 0x83, 0xe8, 0x02\n"             /* sub eax, 2 */                                        \
    ".byte 0x3d, 0xfe, 0xff, 0xff, 0x00\n" /* cmp eax, SPEX_CONTROL_PERIOD_MASK - 1 */             \
    "ja 991f\n"
#define SPEX_ASM_NOT_COUNTED_                                                                      \
    "991:\n"                                                                                       \
    ".byte 0x31, 0xc0\n" /* xor eax, eax */                                                        \
    "ret\n"
#define SPEX_ASM_COUNTED_                                                                          \
    SPEX_ASM_COUNT_                                                                                \
    ".byte 0x41, 0xff, 0x03\n"             /* inc dword ptr [r11] */                               \
    ".byte 0xb8, 0x00, 0x00, 0x00, 0x80\n" /* mov eax, SPEX_COMPILED_COUNTED */                    \
    "ret\n" SPEX_ASM_NOT_COUNTED_
/* Jumps to 992 where the node is not at the first place of the table. */
#define SPEX_ASM_CONTEXT_STEP_                                                                     \
    ".byte 0x51, 0x41, 0x50\n"                   /* push rcx, push r8 */                           \
    ".cfi_adjust_cfa_offset 16\n"                                                                  \
    SPEX_ASM_TLS_("0x4c, 0x8b, 0x05", "spex_context") /* mov r8, [spex_context] */                 \
    ".byte 0x64, 0x41, 0x8b, 0x00\n"             /* mov eax, fs:[r8]: the node */                  \
    ".byte 0x0f, 0xb7, 0x4f, 0x10\n"             /* movzx ecx, word ptr [rdi + 16]: the kernel */  \
    ".byte 0xc1, 0xe0, 0x10\n"                   /* shl eax, 16 */                                 \
    ".byte 0x09, 0xc8\n"                         /* or eax, ecx: the key */                        \
    ".byte 0x69, 0xc8, 0xb1, 0x79, 0x37, 0x9e\n" /* imul ecx, eax, 2654435761 */                   \
    ".byte 0xc1, 0xe9, 0x11\n"                   /* shr ecx, 32 - SPEX_CONTEXT_STEPS_BITS */       \
    ".byte 0xc1, 0xe1, 0x03\n"                   /* shl ecx, 3 */                                  \
    SPEX_ASM_GOT_("0x48, 0x03, 0x0d", "spex_context_steps", "0") /* add rcx, [its address] */      \
    ".byte 0x48, 0x8b, 0x09\n"                   /* mov rcx, [rcx]: the step */                    \
    ".byte 0x48, 0xc1, 0xc1, 0x20\n"             /* rol rcx, 32 */                                 \
    ".byte 0x39, 0xc8\n"                         /* cmp eax, ecx */                                \
    "jne 992f\n"                                                                                   \
    ".byte 0x48, 0xc1, 0xe9, 0x20\n"             /* shr rcx, 32 */                                 \
    ".byte 0x64, 0x41, 0x89, 0x08\n"             /* mov fs:[r8], ecx */                            \
    ".byte 0xc1, 0xe8, 0x10\n"                   /* shr eax, 16 */                                 \
    ".byte 0x0d, 0x00, 0x00, 0x00, 0x40\n"       /* or eax, SPEX_COMPILED_ENTERED */               \
    ".byte 0x41, 0x58, 0x59\n"                   /* pop r8, pop rcx */                             \
    ".cfi_adjust_cfa_offset -16\n"
#define SPEX_ASM_CONTEXT_MISSED_                                                                   \
    "992:\n"                                                                                       \
    ".cfi_adjust_cfa_offset 16\n"                                                                  \
    ".byte 0x41, 0x58, 0x59\n"                                                                     \
    ".cfi_adjust_cfa_offset -16\n"
#define SPEX_ASM_ENTERED_                                                                          \
    SPEX_ASM_COUNT_ SPEX_ASM_CONTEXT_STEP_                                                         \
    ".byte 0x41, 0xff, 0x03\n" /* inc dword ptr [r11] */                                           \
    "ret\n" SPEX_ASM_CONTEXT_MISSED_ SPEX_ASM_NOT_COUNTED_
#define SPEX_ASM_CONTEXT_                                                                          \
    ".byte 0x83, 0x3e, 0x00\n" /* cmp dword ptr [rsi], 0 */                                        \
    "js 990f\n"                                                                                    \
    "ret\n"                                                                                        \
    "990:\n" SPEX_ASM_CONTEXT_STEP_                                                                \
    ".byte 0x89, 0x06\n" /* mov [rsi], eax */                                                      \
    "ret\n" SPEX_ASM_CONTEXT_MISSED_                                                               \
    ".byte 0x50\n"       /* push rax */                                                            \
    ".cfi_adjust_cfa_offset 8\n"                                                                   \
    "call spex_compiled_step_\n"                                                                   \
    ".byte 0x89, 0x06\n"                                                                           \
    ".byte 0x41, 0x5b\n" /* pop r11 */                                                             \
    ".cfi_adjust_cfa_offset -8\n"                                                                  \
    "ret\n"
#define SPEX_ASM_KERNEL_END_                                                                       \
    ".byte 0x44, 0x8b, 0x1f\n"             /* mov r11d, [rdi] */                                   \
    ".byte 0x41, 0xf7, 0xc3, 0x00, 0x00, 0x00, 0x40\n" /* test r11d, SPEX_COMPILED_ENTERED */      \
    "jz spex_compiled_end_\n"                                                                      \
    ".byte 0x50\n"                         /* push rax */                                          \
    ".cfi_adjust_cfa_offset 8\n"                                                                   \
    SPEX_ASM_TLS_("0x48, 0x8b, 0x05", "spex_context") /* mov rax, [spex_context] */                \
    ".byte 0x45, 0x0f, 0xb7, 0xdb\n"       /* movzx r11d, r11w */                                  \
    ".byte 0x64, 0x44, 0x89, 0x18\n"       /* mov fs:[rax], r11d */                                \
    ".byte 0x58\n"                         /* pop rax */                                           \
    ".cfi_adjust_cfa_offset -8\n"                                                                  \
    "ret\n"
#define SPEX_ASM_COMPILED_COUNTED_                                                                 \
    ".weak spex_executed\n"                                                                        \
    ".weak spex_context\n"                                                                         \
    ".weak spex_context_steps\n"                                                                   \
    SPEX_ASM_COMPILED_FUNCTION_("spex_compiled_counted_", SPEX_ASM_COUNTED_)                       \
    SPEX_ASM_COMPILED_FUNCTION_("spex_compiled_entered_", SPEX_ASM_ENTERED_)                       \
    SPEX_ASM_COMPILED_FUNCTION_("spex_compiled_context_", SPEX_ASM_CONTEXT_)                       \
    SPEX_ASM_COMPILED_FUNCTION_("spex_compiled_kernel_end_", SPEX_ASM_KERNEL_END_)
/* clang-format on */
#endif

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
