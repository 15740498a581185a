/* SPDX-License-Identifier: MIT */
/* What a kernel's record is of, for who knows the nodes and sites of a process: its path of names from the outermost
 * kernel, "main/sort", and the names of its parameters. */
#ifndef SPEX_KERNELS_KERNEL_PATHS_H
#define SPEX_KERNELS_KERNEL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "probe/contexts.h"
#include "text/error.h"

/* Of a path and of parameters as text. */
enum { SPEX_KERNEL_PATH_BYTES = 4096, SPEX_KERNEL_TEXT_BYTES = 256 };

/* Who knows. */
struct spex_kernels_known {
    const void *by;
    bool (*node)(const void *by, uint64_t number, struct spex_context_node *node);
    /* A kernel's name and its parameters as they are written; empty or NULL: none. False: there is no such kernel. */
    bool (*site)(const void *by, uint16_t kernel, const char **name, const char **parameters);
};

struct spex_kernel_described {
    const char *path; /* in `buffer` */
    size_t count;     /* of parameters */
    const char *names[SPEX_MAX_FIELDS];
    char text[SPEX_KERNEL_TEXT_BYTES];
    char buffer[SPEX_KERNEL_PATH_BYTES];
};

/* Whether its time is a time and its context its own: not where what was prepared meanwhile is in it, nor where there was
 * no room for its context. */
bool spex_kernel_record_sound(const struct spex_kernels_known *known,
                              const struct spex_record *record);

/* Of a context, which is this kernel's. 0; -E2BIG for a path that is too long. */
int spex_kernel_describe_context(const struct spex_kernels_known *known, uint64_t context,
                                 uint16_t kernel, struct spex_kernel_described *described,
                                 struct spex_error *why);

/* The same, of that of a sound record; -EINVAL for parameters without names, too. */
int spex_kernel_describe(const struct spex_kernels_known *known, const struct spex_record *record,
                         struct spex_kernel_described *described, struct spex_error *why);

/* Its parameters' values; how many. */
size_t spex_kernel_parameters(const struct spex_record *record, double values[SPEX_MAX_FIELDS]);

#endif
