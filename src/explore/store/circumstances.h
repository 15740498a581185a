/* SPDX-License-Identifier: MIT */
/* Under which circumstances trials are run: the machine, its kernel, the program's build and our
 * own version. Trials under different ones are not to be compared without a thought. */
#ifndef SPEX_EXPLORE_STORE_CIRCUMSTANCES_H
#define SPEX_EXPLORE_STORE_CIRCUMSTANCES_H

#include <stdbool.h>
#include <stddef.h>

#include "text/error.h"

enum {
    SPEX_ON_HOST, /* its name: told, but no difference */
    SPEX_ON_KERNEL,
    SPEX_ON_CPU,
    SPEX_ON_CPUS,   /* that we may use */
    SPEX_ON_MEMORY, /* in GiB, rounded */
    SPEX_ON_BUILD,  /* the program's build ID; its size and time of change where it has none */
    SPEX_ON_SPEX,
    SPEX_ON_COUNT
};

/* "kernel" and so on: as columns of the store and in messages. */
extern const char *const spex_circumstance_names[SPEX_ON_COUNT];

struct spex_circumstances {
    char *texts[SPEX_ON_COUNT];
};

/* Of this process, and of the program that it would run as argv[0]. 0 or -ENOMEM; what cannot be
 * told is "unknown". */
int spex_circumstances_now(const char *program, struct spex_circumstances *now);
void spex_circumstances_free(struct spex_circumstances *circumstances);

/* The first in which they differ, or SPEX_ON_COUNT. */
size_t spex_circumstances_differ(const struct spex_circumstances *a,
                                 const struct spex_circumstances *b);

#endif
