/* SPDX-License-Identifier: MIT */
/* A dormant program (wire/dormant.h), seen from outside: finds out that it is one, and calls it. */
#ifndef SPEX_OBSERVE_DORMANT_H
#define SPEX_OBSERVE_DORMANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "text/error.h"
#include "wire/dormant.h"

struct spex_dormant_program {
    pid_t process;
    /* Its memory, of the program that the process runs now: not of one that it executes later. */
    int memory;
    uint64_t address;
    /* The state that it told last. */
    struct spex_dormant told;
};

/* Looks at a process whose socket says that it is dormant. 1: it is; close it. 0: it is not, or not
 * any more. -EACCES: this user may not look at its memory; or another negative errno value. */
int spex_dormant_open(pid_t process, struct spex_dormant_program *program,
                      struct spex_error *error);
void spex_dormant_close(struct spex_dormant_program *program);

/* Whether the program is there still: the process may have ended, or execute another. */
bool spex_dormant_lives(const struct spex_dormant_program *program);

/* Looks again. True: it is dormant still. */
bool spex_dormant_look(struct spex_dormant_program *program);

/* Whether a signal or a debugger has stopped it. */
bool spex_dormant_is_halted(const struct spex_dormant_program *program);

/* Calls it, unless it has been called: it wakes up when it executes one of its probes next. Only one
 * command at a time may. 0; -EPERM: it has restricted its system calls since it started; or another
 * negative errno value. */
int spex_dormant_call(struct spex_dormant_program *program, struct spex_error *error);

#endif
