/* SPDX-License-Identifier: MIT */
/* Kernels of known growth, which beyond.c measures: what programs spend their time in. */
#ifndef SPEX_BENCH_BEYOND_KERNELS_H
#define SPEX_BENCH_BEYOND_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { BEYOND_ARRAYS = 4, BEYOND_WORDS = 1 << 23 };

/* What a kernel works on: a size, arrays of BEYOND_WORDS numbers, and what it has made itself. */
struct beyond_work {
    size_t size;
    uint32_t *arrays[BEYOND_ARRAYS];
    void *object;
};

struct beyond_kernel {
    const char *name;
    /* How it grows: size^(twelfths / 12) · log2(size)^log. */
    unsigned twelfths;
    unsigned log;
    /* The first size, and how often it is doubled. */
    size_t least;
    unsigned doublings;
    /* Makes the input; it is not timed. NULL: random numbers in the first array. */
    void (*prepare)(struct beyond_work *work);
    /* Returns something that depends on the result, so that no compiler leaves the work out. */
    uint64_t (*run)(struct beyond_work *work);
    /* Frees the object; NULL: there is none. */
    void (*release)(struct beyond_work *work);
};

/* Arrays that end with a row whose name is NULL: kernels on numbers in memory, on matrices and
 * graphs, and in libraries. */
extern const struct beyond_kernel beyond_on_arrays[], beyond_on_graphs[], beyond_in_libraries[];

uint32_t beyond_random(void);
/* Random numbers in array 0. */
void beyond_prepare(struct beyond_work *work);

#endif
