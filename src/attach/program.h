/* SPDX-License-Identifier: MIT */
/* A running process that is looked at: whether it is still the same program, the CPU time of its
 * threads, and its memory. */
#ifndef SPEX_ATTACH_PROGRAM_H
#define SPEX_ATTACH_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "text/error.h"

struct spex_program {
    pid_t process;
    /* One that had not ended when it was opened: the first one may have, and with it what the kernel tells
     * of the process by its number. */
    pid_t thread;
    /* Readable when the process has ended. */
    int pidfd;
    /* Its memory, as long as it runs this program. */
    int memory;
    /* An address with something. */
    uint64_t mapped;
    clockid_t clock;
    /* The name of its command. Printable. */
    char command[64];
    /* The path that it was executed by, as the process sees it; "": it cannot be told. */
    char started[256];
};

enum spex_program_state {
    SPEX_PROGRAM_RUNS,
    SPEX_PROGRAM_ENDED,
    /* It has executed another program. */
    SPEX_PROGRAM_REPLACED
};

/* 0 or a negative errno value: there is no such process, it has no memory (it has ended and nobody has
 * waited for it, or it is a thread of the kernel), or it may not be looked at. */
int spex_program_open(pid_t process, struct spex_program *program, struct spex_error *error);
void spex_program_close(struct spex_program *program);

enum spex_program_state spex_program_state(const struct spex_program *program);

/* CPU time of all its threads, those that have ended included, in nanoseconds; 0: it has ended. */
uint64_t spex_program_cpu_ns(const struct spex_program *program);

/* How many there are; 0: it has ended. */
size_t spex_program_threads(const struct spex_program *program);

/* Whether another process, such as a debugger, traces it. */
bool spex_program_is_traced(const struct spex_program *program);

/* Whether it goes on when it executes a breakpoint that the kernel has not set: it is traced, or handles SIGTRAP itself. */
bool spex_program_handles_traps(const struct spex_program *program);

/* Whether it handles SIGSEGV or SIGBUS. */
bool spex_program_handles_faults(const struct spex_program *program);

/* Reads its memory. Returns how many bytes it got. */
size_t spex_program_read(const struct spex_program *program, uint64_t address, void *bytes,
                         size_t count);

/* Whether it was started by a path of this file: the path may be a link with a name of its own. */
bool spex_program_is_started_by(const struct spex_program *program, const struct stat *file);

/* A number that changes when files with code are mapped or unmapped; 0: it cannot be told. */
uint64_t spex_program_files(const struct spex_program *program);

/* The processes whose command has this name: how many there are. The first `room` are stored. */
size_t spex_programs_called(const char *name, pid_t *processes, size_t room);

/* What is to be done by who lacks a capability. */
const char *spex_without_capability(void);

#endif
