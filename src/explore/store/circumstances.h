/* SPDX-License-Identifier: MIT */
/* The circumstances of trials: machine, kernel, build of the program, version of spex. Results
 * under different circumstances may not be comparable. */
#ifndef SPEX_EXPLORE_STORE_CIRCUMSTANCES_H
#define SPEX_EXPLORE_STORE_CIRCUMSTANCES_H

#include <stdbool.h>
#include <stddef.h>

#include "text/error.h"

enum {
    SPEX_ON_HOST, /* host name: reported, but not compared */
    SPEX_ON_KERNEL,
    SPEX_ON_CPU,
    SPEX_ON_CPUS,   /* number of CPUs that the process may use */
    SPEX_ON_MEMORY, /* GiB, rounded */
    SPEX_ON_BUILD,  /* build ID; without one, size and time of change of the file */
    SPEX_ON_SPEX,
    SPEX_ON_COUNT
};

/* Names as columns of the store and in messages. */
extern const char *const spex_circumstance_names[SPEX_ON_COUNT];

struct spex_circumstances {
    char *texts[SPEX_ON_COUNT];
};

/* The circumstances of this process and of the program that it would run as argv[0]; "unknown" for
 * what cannot be found out. 0 or -ENOMEM. */
int spex_circumstances_now(const char *program, struct spex_circumstances *now);
void spex_circumstances_free(struct spex_circumstances *circumstances);

/* The first circumstance in which they differ, or SPEX_ON_COUNT. */
size_t spex_circumstances_differ(const struct spex_circumstances *a,
                                 const struct spex_circumstances *b);

/* Whether these are of several classes: machines differ in more than the host's name. */
bool spex_circumstances_mixed(const struct spex_circumstances *machines, size_t count);

/* The name of their class. Machines of one class have all in common but the host's name: their
 * results are comparable. */
enum { SPEX_CLASS_BYTES = 17 };
void spex_circumstances_class(const struct spex_circumstances *of, char name[SPEX_CLASS_BYTES]);

#endif
