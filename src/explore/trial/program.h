/* SPDX-License-Identifier: MIT */
/* The observed program as a process: launched for one run with its configuration, watched, and
 * ended with all processes that it has started. When spex is killed, the kernel kills the program
 * as well (PR_SET_PDEATHSIG), but not its children. */
#ifndef SPEX_EXPLORE_TRIAL_PROGRAM_H
#define SPEX_EXPLORE_TRIAL_PROGRAM_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/descriptor.h"
#include "measure/usage.h"
#include "text/error.h"

#define SPEX_OUTPUT_TAIL_BYTES 2048

struct spex_program {
    pid_t pid;
    char *mark; /* variable that all its descendants inherit; owned; NULL without `sweep` */
    int pidfd;  /* readable once the program has ended */
    int output; /* standard output and error, or with `take` the output alone; -1 once closed */
    int errors; /* standard error, with `take` alone; -1 once closed */
    /* Is shown the standard output as it comes; NULL: nobody is. */
    void (*take)(void *user, const char *text, size_t length);
    void *user;
    bool ended;
    bool by_signal;                    /* ended by a signal */
    int status;                        /* the signal, or the exit status */
    char tail[SPEX_OUTPUT_TAIL_BYTES]; /* end of its output */
    size_t tail_length;
    struct spex_usage usage; /* valid after teardown */
    /* From before its start to when its end was seen, by the monotonic clock. */
    uint64_t begin_ns, end_ns;
};

/* A program that was not launched: tearing it down does nothing. */
#define SPEX_NO_PROGRAM ((struct spex_program){.pid = -1, .pidfd = -1, .output = -1, .errors = -1})

struct spex_launch {
    char *const *argv;  /* ends with NULL; argv[0] is searched in PATH */
    const char *config; /* path of the configuration, for SPEX_CONFIG */
    const char *probes; /* for SPEX_PROBES; NULL: not set */
    const char *socket; /* path for SPEX_OUT; NULL: not set */
    /* What the program inherits for the case that it can reach neither `socket` nor `config`, as
     * after a change of user: for SPEX_OUT_SOCKET and SPEX_CONFIG_FILE. NULL: nothing. */
    const struct spex_descriptor *handover, *config_file;
    /* Teardown kills the processes that the program has started, which it finds by their
     * environment. Needs a socket. */
    bool sweep;
    /* Further variables: "NAME=value", or "NAME" for one to be removed; ends with NULL; may be
     * NULL. */
    char *const *variables;
    /* For `take` and `user` of the program. */
    void (*take)(void *user, const char *text, size_t length);
    void *user;
    int descriptor;        /* descriptor on which `config` is opened as well; 0: none */
    const cpu_set_t *cpus; /* CPUs of the program and its children; NULL: those of this process */
};

/* Starts the program. 0; or a negative errno value with "did not start: …" in `error`. */
int spex_program_launch(struct spex_program *program, const struct spex_launch *launch,
                        struct spex_error *error);

/* The descriptor of the standard error, where that has one of its own; -1. */
static inline int spex_program_errors(const struct spex_program *program) {
    return program->take ? program->errors : -1;
}

/* Reads the program's output, without waiting. */
void spex_program_output(struct spex_program *program);

/* Returns whether the program has ended, without waiting. */
bool spex_program_ended(struct spex_program *program);

/* How it ended, as "exited with status 3: last line of its output". */
void spex_program_describe(const struct spex_program *program, char *text, size_t size);

/* "; its last output: …", or "" when there was none. */
void spex_program_last_output(const struct spex_program *program, char *text, size_t size);

/* Ends the program with SIGTERM, after five seconds with SIGKILL, then the processes that it has
 * left. 0; -EPERM when it does not end. */
int spex_program_teardown(struct spex_program *program, struct spex_error *error);

#endif
