/* SPDX-License-Identifier: MIT */
/* Pages of a process: one of code, a gate, which is 0 in children of forks, and counters, which the command shares. They stay
 * when the command ends: a thread may be in them, and children of forks have slots and patches as they were. A later command uses
 * them again. One kind has a stub (stub.h). */
#ifndef SPEX_ATTACH_SLOTS_REGION_H
#define SPEX_ATTACH_SLOTS_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"

/* How a kind of region is made: tells where, and whether an earlier command has left one there; and writes its code. */
struct spex_code_region_way {
    size_t counter_bytes;
    void *user;
    int (*place)(void *user, uint64_t *code, bool *made, struct spex_error *error);
    bool (*fill)(void *user, uint64_t code);
};

/* A region as it was made. */
struct spex_code_region {
    uint64_t code;
    uint64_t *counters;
};

/* Makes one. `memory` is the process's, to be read and written. 0 or a negative errno value: the process is left alone, or could
 * not be had do all that is needed. */
int spex_code_region_make(pid_t process, int memory, const struct spex_code_region_way *way,
                          struct spex_code_region *region, struct spex_error *error);
/* The other process keeps it. */
void spex_code_region_leave(struct spex_code_region *region);

/* Visits the code of all that may be regions; `used`: by a command that goes on. */
void spex_code_regions_visit(pid_t process, void (*seen)(void *user, uint64_t code, bool used),
                             void *user);

/* Visits what is mapped, in ascending order. False: nothing could be read. */
bool spex_mappings_visit(pid_t process, void (*seen)(void *user, uint64_t start, uint64_t end),
                         void *user);

struct spex_stub_region {
    /* Where the function is in the process, and its stub. */
    uint64_t function, stub;
    /* SPEX_STUB_PAGE bytes, which both processes have. */
    uint64_t *counters;
};

/* Makes that of a function, or takes the one that is there. */
int spex_stub_region_make(pid_t process, int memory, struct spex_stub_region *region,
                          struct spex_error *error);
void spex_stub_region_leave(struct spex_stub_region *region);

/* Those of commands that have ended, without counters. To be freed; NULL: there are none. */
struct spex_stub_region *spex_stub_regions_left(pid_t process, size_t *count);

#endif
