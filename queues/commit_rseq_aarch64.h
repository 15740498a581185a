/* SPDX-License-Identifier: MIT */
/* The assembly of pushes by restartable sequence (commit_rseq.h) on aarch64. Stores may become
 * visible in any order here: X1 costs a barrier between stores, X2 a store with release. Indirect
 * header. */
#ifndef SPEX_QUEUES_COMMIT_RSEQ_AARCH64_H
#define SPEX_QUEUES_COMMIT_RSEQ_AARCH64_H

/* Kernel ABI: the sequence is [1, 2) and is left for 4, which the signature must precede (a BRK
 * that nothing else uses). Words go to [slot].
 *
 * X1: the barrier keeps the words, which are stores, behind the store to reserve. It need not hold
 *     back loads: what is loaded was stored on this CPU, and the kernel orders everything where it
 *     changes from one thread to the next.
 * X2: the release keeps the store to commit behind the words; being one store, it is also what ends
 *     the sequence. STLR takes an address without an offset. */
#define SPEX_RSEQ_PUSH_(words)                                                                     \
    ".pushsection __rseq_cs, \"aw\"\n"                                                             \
    ".balign 32\n"                                                                                 \
    "3: .4byte 0, 0\n"                                                                             \
    ".8byte 1f, 2f - 1f, 4f\n"                                                                     \
    ".popsection\n"                                                                                \
    "0: adrp %[ring], 3b\n"                                                                        \
    "add %[ring], %[ring], :lo12:3b\n"                                                             \
    "str %[ring], [%[area], #8]\n"                                                                 \
    "1: ldr %w[ring], [%[area], #4]\n"                                                             \
    "ldr %[slot], [%[set], #%c[cpus]]\n"                                                           \
    "cmp %[ring], %[slot]\n"                                                                       \
    "b.hs 5f\n"                                                                                    \
    "ldr %[slot], [%[set], #%c[ring_bytes]]\n"                                                     \
    "ldr %[index], [%[set], #%c[slots]]\n"                                                         \
    "madd %[slot], %[slot], %[ring], %[index]\n"                                                   \
    "ldr %[index], [%[set], #%c[producers]]\n"                                                     \
    "add %[ring], %[index], %[ring], lsl %c[shift]\n"                                              \
    "ldr %[commit], [%[ring], #8]\n"                                                               \
    "ldr %[index], [%[set], #%c[mask]]\n"                                                          \
    "and %[index], %[index], %[commit]\n"                                                          \
    "ldr %[word], [%[set], #%c[slot_bytes]]\n"                                                     \
    "madd %[slot], %[index], %[word], %[slot]\n"                                                   \
    "add %[commit], %[commit], #1\n"                                                               \
    "str %[commit], [%[ring]]\n"                                                                   \
    "dmb ishst\n" /* X1 (Y1 in commit_rseq.c) */                                                   \
    "add %[ring], %[ring], #8\n" words                                                             \
    "stlr %[commit], [%[ring]]\n" /* X2 (Y2 in commit_rseq.c) */                                   \
    "2: ldr %[index], [%[set], #%c[slot_bytes]]\n"                                                 \
    "add %[slot], %[slot], %[index]\n"                                                             \
    "prfm pstl1keep, [%[slot], #16]\n" /* where the next record of this ring ends or goes on */    \
    "b 5f\n"                                                                                       \
    ".inst 0xd428bc00\n"                                                                           \
    "4: mov %[commit], #0\n"                                                                       \
    "sub %w[attempts], %w[attempts], #1\n"                                                         \
    "cbnz %w[attempts], 0b\n"                                                                      \
    "5: str xzr, [%[area], #8]\n" /* the library may be unloaded */

#define SPEX_RSEQ_OUTPUTS_                                                                         \
    [commit] "+&r"(commit), [ring] "=&r"(ring), [slot] "=&r"(slot), [index] "=&r"(index),          \
        [word] "=&r"(word), [attempts] "+&r"(attempts)

#define SPEX_RSEQ_REST_OUTPUTS_ /* the outputs have `word` */

#define SPEX_RSEQ_INPUTS_                                                                          \
    [area] "r"((char *)__builtin_thread_pointer() + spex_rseq_area()), [set] "r"(set),             \
        SPEX_RSEQ_AT_(cpus), SPEX_RSEQ_AT_(ring_bytes), SPEX_RSEQ_AT_(slots),                      \
        SPEX_RSEQ_AT_(producers), SPEX_RSEQ_AT_(mask), SPEX_RSEQ_AT_(slot_bytes),                  \
        [shift] "i"(SPEX_RSEQ_PRODUCER_SHIFT), [w0] "r"(w0), [w1] "r"(w1)

/* `words` for the first two words, for a third one, and for `count` more at `rest`: `index` serves
 * the copying once the slot is known. */
#define SPEX_RSEQ_TWO_   "stp %[w0], %[w1], [%[slot]]\n"
#define SPEX_RSEQ_THIRD_ "str %[w2], [%[slot], #16]\n"
#define SPEX_RSEQ_REST_                                                                            \
    "add %[slot], %[slot], #16\n"                                                                  \
    "mov %[index], #0\n"                                                                           \
    "6: cmp %[index], %[count]\n"                                                                  \
    "b.hs 7f\n"                                                                                    \
    "ldr %[word], [%[rest], %[index], lsl #3]\n"                                                   \
    "str %[word], [%[slot], %[index], lsl #3]\n"                                                   \
    "add %[index], %[index], #1\n"                                                                 \
    "b 6b\n"                                                                                       \
    "7:\n"

#endif
