/* SPDX-License-Identifier: MIT */
/* The assembly of pushes by restartable sequence (commit_rseq.h) on x86-64. Stores become visible
 * in program order here, so X1 and X2 cost no instruction. Indirect header. */
#ifndef SPEX_QUEUES_COMMIT_RSEQ_X86_64_H
#define SPEX_QUEUES_COMMIT_RSEQ_X86_64_H

/* Kernel ABI: the sequence is [1, 2) and is left for 4, which the signature must precede (the bytes
 * are those of an instruction that nothing else uses). Words go to [slot].
 *
 * PREFETCHW has no effect where its address is not mapped, as behind the last slot, and is no
 * operation on processors that do not know it. */
#define SPEX_RSEQ_PUSH_(words)                                                                     \
    ".pushsection __rseq_cs, \"aw\"\n"                                                             \
    ".balign 32\n"                                                                                 \
    "3: .long 0, 0\n"                                                                              \
    ".quad 1f, 2f - 1f, 4f\n"                                                                      \
    ".popsection\n"                                                                                \
    ".pushsection .text.unlikely, \"ax\"\n"                                                        \
    ".byte 0x0f, 0xb9, 0x3d\n"                                                                     \
    ".long 0x53053053\n"                                                                           \
    "4: xorl %k[commit], %k[commit]\n"                                                             \
    "decl %[attempts]\n"                                                                           \
    "jz 5f\n"                                                                                      \
    "jmp 0f\n"                                                                                     \
    ".popsection\n"                                                                                \
    "0: leaq 3b(%%rip), %[ring]\n"                                                                 \
    "xorl %k[commit], %k[commit]\n"                                                                \
    "movq %[ring], %%fs:8(%[area])\n"                                                              \
    "1: movl %%fs:4(%[area]), %k[ring]\n"                                                          \
    "cmpq %c[cpus](%[set]), %[ring]\n"                                                             \
    "jae 5f\n"                                                                                     \
    "movq %[ring], %[slot]\n"                                                                      \
    "imulq %c[ring_bytes](%[set]), %[slot]\n"                                                      \
    "addq %c[slots](%[set]), %[slot]\n"                                                            \
    "shlq %[shift], %[ring]\n"                                                                     \
    "addq %c[producers](%[set]), %[ring]\n"                                                        \
    "movq 8(%[ring]), %[commit]\n"                                                                 \
    "movq %[commit], %[index]\n"                                                                   \
    "incq %[commit]\n"                                                                             \
    "movq %[commit], (%[ring])\n" /* X1 (Y1 in commit_rseq.c) */                                   \
    "andq %c[mask](%[set]), %[index]\n"                                                            \
    "imulq %c[slot_bytes](%[set]), %[index]\n"                                                     \
    "addq %[index], %[slot]\n" words "movq %[commit], 8(%[ring])\n" /* X2 (Y2 in commit_rseq.c) */ \
    "2: addq %c[slot_bytes](%[set]), %[slot]\n"                                                    \
    "prefetchw 16(%[slot])\n"       /* where the next record of this ring ends or goes on */       \
    "5: movq $0, %%fs:8(%[area])\n" /* the library may be unloaded */

#define SPEX_RSEQ_OUTPUTS_                                                                         \
    [commit] "=&r"(commit), [ring] "=&r"(ring), [slot] "=&r"(slot), [index] "=&r"(index),          \
        [attempts] "+&rm"(attempts)

#define SPEX_RSEQ_REST_OUTPUTS_ , [word] "=&r"(word)

#define SPEX_RSEQ_INPUTS_                                                                          \
    [area] "r"(spex_rseq_area()), [set] "r"(set), SPEX_RSEQ_AT_(cpus), SPEX_RSEQ_AT_(ring_bytes),  \
        SPEX_RSEQ_AT_(slots), SPEX_RSEQ_AT_(producers), SPEX_RSEQ_AT_(mask),                       \
        SPEX_RSEQ_AT_(slot_bytes), [shift] "i"(SPEX_RSEQ_PRODUCER_SHIFT), [w0] "r"(w0),            \
        [w1] "r"(w1)

/* `words` for the first two words, for a third one, and for `count` more at `rest`: `index` serves
 * the copying once the slot is known. */
#define SPEX_RSEQ_TWO_                                                                             \
    "movq %[w0], (%[slot])\n"                                                                      \
    "movq %[w1], 8(%[slot])\n"
#define SPEX_RSEQ_THIRD_ "movq %[w2], 16(%[slot])\n"
#define SPEX_RSEQ_REST_                                                                            \
    "xorl %k[index], %k[index]\n"                                                                  \
    "6: cmpq %[count], %[index]\n"                                                                 \
    "jae 7f\n"                                                                                     \
    "movq (%[rest], %[index], 8), %[word]\n"                                                       \
    "movq %[word], 16(%[slot], %[index], 8)\n"                                                     \
    "incq %[index]\n"                                                                              \
    "jmp 6b\n"                                                                                     \
    "7:\n"

#endif
