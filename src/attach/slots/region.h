/* SPDX-License-Identifier: MIT */
/* Pages of a process with a stub (stub.h). They stay when the command ends: a thread may be in them, and children of forks have
 * slots as they were. A later command uses them again. */
#ifndef SPEX_ATTACH_SLOTS_REGION_H
#define SPEX_ATTACH_SLOTS_REGION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"

struct spex_stub_region {
    /* Where the function is in the process, and its stub. */
    uint64_t function, stub;
    /* SPEX_STUB_PAGE bytes, which both processes have. */
    uint64_t *counters;
};

/* Makes that of a function, or takes the one that is there. `memory` is the process's, to be read and written. 0 or a negative
 * errno value: the process is left alone, or could not be had do all that is needed. */
int spex_stub_region_make(pid_t process, int memory, struct spex_stub_region *region,
                          struct spex_error *error);
/* The other process keeps it. */
void spex_stub_region_leave(struct spex_stub_region *region);

/* Those of commands that have ended, without counters. To be freed; NULL: there are none. */
struct spex_stub_region *spex_stub_regions_left(pid_t process, size_t *count);

#endif
