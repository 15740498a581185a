/* SPDX-License-Identifier: MIT */
/* The memory of a process, to be written, with a process beside this one that takes back what was written when this one is
 * killed. */
#ifndef SPEX_ATTACH_PROGRAM_MEMORY_H
#define SPEX_ATTACH_PROGRAM_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/tasks/beside.h"
#include "text/error.h"

struct spex_program_memory {
    bool opened;
    int fd;
    struct spex_beside beside;
};

/* Opens it, unless it is. `put_back` makes system calls alone, and is called when this process has been killed. 0 or a negative
 * errno value. */
int spex_program_memory_open(struct spex_program_memory *memory, pid_t process,
                             void (*put_back)(void *left), void *left, struct spex_error *error);
void spex_program_memory_close(struct spex_program_memory *memory);

/* Seconds of CPU time that the process beside has taken. */
double spex_program_memory_used(const struct spex_program_memory *memory);

#endif
