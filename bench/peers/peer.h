/* SPDX-License-Identifier: MIT */
/* A program of one peer, which bench/peers/run keeps and asks for one burst of pairs at a time, in
 * turn with those of the others. A pair is a begin and an end around nothing. */
#ifndef SPEX_BENCH_PEER_H
#define SPEX_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peer_case {
    /* What the program's argument says; NULL: the end of the array. */
    const char *name;

    /* Executes so many pairs. */
    void (*pairs)(unsigned long count);

    /* The same without the begin and the end; NULL: an empty loop. */
    void (*empty)(unsigned long count);

    /* Prepares the pairs; NULL: nothing to prepare. Returns NULL, or why it cannot be measured. */
    const char *(*start)(void);

    /* Ends what start has begun; NULL: nothing. */
    void (*stop)(void);
};

extern const struct peer_case peer_cases[];

#ifdef __cplusplus
}
#endif

/* What is between a begin and an end: the compiler cannot remove it. */
#define PEER_WORK() __asm__ volatile("" ::: "memory")

/* Defines a function that executes the statements `count` times, with the number `i`. The loop
 * begins a line of the cache, because one of few instructions takes longer where it crosses two. */
#define PEER_LOOP(name, ...)                                                                       \
    static __attribute__((noinline, aligned(64))) void name(unsigned long count) {                 \
        for (unsigned long i = 0; i < count; i++) {                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* Defines a function that is called for a pair where a tracer hooks entries and exits. */
#define PEER_HOOKED(name, ...)                                                                     \
    static __attribute__((noinline, aligned(64), __VA_ARGS__)) void name(unsigned long value) {    \
        __asm__ volatile("" ::"r"(value) : "memory");                                              \
    }

#endif
