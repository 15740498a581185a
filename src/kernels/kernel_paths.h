/* SPDX-License-Identifier: MIT */
/* Describes the kernel of a record: the path of names from the outermost kernel, as in "main/sort",
 * and the names of its parameters. Where kernels of several providers have one name, the path has
 * "liba:sort". Works on this process (kernels_here.h) and on a profile of
 * another. */
#ifndef SPEX_KERNELS_KERNEL_PATHS_H
#define SPEX_KERNELS_KERNEL_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "probe/contexts.h"
#include "text/error.h"

/* Room for a path, and for a kernel's parameters as text. */
enum { SPEX_KERNEL_PATH_BYTES = 4096, SPEX_KERNEL_TEXT_BYTES = 256 };

/* The name of a kernel. */
struct spex_kernel_site {
    /* NULL, unless a kernel of another provider is called the same. */
    const char *provider;
    /* NULL or empty: none. */
    const char *name;
    int32_t id;
    /* As the source has them; NULL or empty: none. */
    const char *parameters;
    uint32_t kinds; /* of the fields of its records, as these have them */
};

/* Access to the contexts and kernels of a process; `by` is passed to the functions. */
struct spex_kernels_known {
    const void *by;
    /* The context `number`; false: there is none. */
    bool (*node)(const void *by, uint64_t number, struct spex_context_node *node);
    /* The kernel with this number; false: there is none. */
    bool (*site)(const void *by, uint16_t kernel, struct spex_kernel_site *site);
};

struct spex_kernel_described {
    /* Points into `buffer`. */
    const char *path;
    /* Number of parameters; `names` point into `text`. */
    size_t count;
    uint32_t kinds; /* of the fields of its records */
    const char *names[SPEX_MAX_FIELDS];
    char text[SPEX_KERNEL_TEXT_BYTES];
    char buffer[SPEX_KERNEL_PATH_BYTES];
};

/* Whether the record's time and context can be used. Not usable: a record with SPEX_MARK_OPENING,
 * whose time includes the opening of a counter or thread state, and a record of a kernel for whose
 * context there was no room. */
bool spex_kernel_record_sound(const struct spex_kernels_known *known,
                              const struct spex_record *record);

/* Describes a kernel's context. 0; -E2BIG: the path is longer than SPEX_KERNEL_PATH_BYTES. */
int spex_kernel_describe_context(const struct spex_kernels_known *known, uint64_t context,
                                 uint16_t kernel, struct spex_kernel_described *described,
                                 struct spex_error *error);

/* Describes the kernel of a record for which spex_kernel_record_sound is true. Also -EINVAL: the
 * record has parameters whose names are not known. */
int spex_kernel_describe(const struct spex_kernels_known *known, const struct spex_record *record,
                         struct spex_kernel_described *described, struct spex_error *error);

/* Copies the values of a record's parameters; returns their number. */
size_t spex_kernel_parameters(const struct spex_record *record, double values[SPEX_MAX_FIELDS]);

#endif
