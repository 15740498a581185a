/* SPDX-License-Identifier: MIT */
/* A space from options: `--set threads=1..8 --minimise wall`. It is written as XML and read as any
 * other, so that the options can do nothing that a file cannot. */
#ifndef SPEX_TOOLS_EXPLORE_SET_SPACE_H
#define SPEX_TOOLS_EXPLORE_SET_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explore/space/space.h"
#include "text/error.h"
#include "tools/common/options.h"

/* The longest run of a command, in seconds. */
#define SPEX_SET_DURATION 3600

struct spex_set_space {
    const char *name;
    /* --set, and --minimise and --maximise in their order; without any of these wall time counts. */
    const struct spex_option_texts *sets, *goals;
    /* --service and --ready in their order, as many of both; NULL: there are none. */
    const struct spex_option_texts *services, *readies;
    const size_t *first; /* configurations to be tried first, levels of each */
    uint64_t first_count;
    const struct spex_space *first_of; /* whose levels they are */
    const char *pool;                  /* the path of --pool in the place of --set; NULL: none */
    /* "25%" or "none", "2%", "95%"; NULL: as the policy has it. */
    const char *finals, *zone, *sure;
    bool threads; /* the parameter "threads" is what reports look at as such */
};

/* Whether a space that was read can have that. */
bool spex_set_space_threads(const struct spex_space *space);

/* Writes the XML; *xml is to be freed. 0; -EINVAL for a wrong option, which `error` names; or
 * -ENOMEM. */
int spex_set_space_write(const struct spex_set_space *set, char **xml, struct spex_error *error);

/* Writes <first> with configurations of a space; nothing where there is none. */
void spex_set_space_write_first(const struct spex_space *space, const size_t *levels,
                                uint64_t count, FILE *out);

/* Where the space is kept beside a store: "explore-zstd.xml" of "explore-zstd.db"; to be freed. NULL: out
 * of memory. */
char *spex_set_space_path(const char *store);

/* Reads it. The error names the option that is wrong. */
int spex_set_space_read(const struct spex_set_space *set, const char *xml,
                        struct spex_space_file **file, struct spex_error *error);

/* Checks that each parameter is in an argument of the program, a service, or a command that measures:
 * another would change nothing. Not of a program with probes, which may read its configuration. */
int spex_set_space_check(const struct spex_space_file *file, char *const *argv,
                         struct spex_error *error);

#endif
