/* SPDX-License-Identifier: MIT */
/* The trampolines of a process, in regions near their functions. */
#ifndef SPEX_ATTACH_PATCHES_TRAMPOLINES_H
#define SPEX_ATTACH_PATCHES_TRAMPOLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/patches/trampoline.h"
#include "attach/slots/region.h"
#include "text/error.h"

struct spex_trampoline_region {
    struct spex_code_region region;
    /* Those that this command has taken, as bits. */
    uint64_t taken;
};
_Static_assert(SPEX_TRAMPOLINES <= 64, "a bit each");

struct spex_trampolines {
    pid_t process;
    /* Its memory, to be read and written. */
    int memory;
    struct spex_trampoline_region *regions;
    size_t count;
};

/* One that was taken. */
struct spex_trampoline {
    struct spex_moved moved;
    uint64_t code;
    unsigned number;
    /* NULL: it was left by another command. */
    const void *counters;
};

/* Takes one, or makes it. 0 or a negative errno value. */
int spex_trampolines_take(struct spex_trampolines *trampolines, const struct spex_moved *moved,
                          struct spex_trampoline *taken, struct spex_error *error);
/* The process keeps them. */
void spex_trampolines_leave(struct spex_trampolines *trampolines);

/* Has one count, or not. Makes system calls alone. */
bool spex_trampoline_switch(int memory, const struct spex_trampoline *trampoline, bool on);

/* Those of commands that have ended. To be freed; NULL: there are none. */
struct spex_trampoline *spex_trampolines_left(pid_t process, size_t *count);

#endif
