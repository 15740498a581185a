/* SPDX-License-Identifier: MIT */
/* The observed program as a process: launched for one run with its configuration, watched, ended
 * with all that it has started. When we are killed, the kernel kills it, too, but not what it
 * has started. */
#ifndef SPEX_EXPLORE_TRIAL_PROGRAM_H
#define SPEX_EXPLORE_TRIAL_PROGRAM_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "measure/usage.h"
#include "text/error.h"

#define SPEX_OUTPUT_TAIL_BYTES 2048

struct spex_program {
    pid_t pid;
    char *mark; /* the variable that all its descendants inherit, owned; NULL: see sweep */
    int pidfd;  /* readable once the program has ended */
    int output; /* its standard output and error; -1 once closed */
    bool ended;
    bool by_signal;                    /* when ended: how, */
    int status;                        /*   and the signal or the exit status */
    char tail[SPEX_OUTPUT_TAIL_BYTES]; /* the last of its output */
    size_t tail_length;
    struct spex_usage usage; /* after teardown */
};

struct spex_launch {
    char *const *argv;  /* ends with NULL; argv[0] is looked for in PATH */
    const char *config; /* path: SPEX_CONFIG */
    const char *probes; /* SPEX_PROBES; NULL for what is not to make records, */
    const char *socket; /*   and the path that is SPEX_OUT */
    /* With a socket: what it has started is looked for at its end, wherever it has gone. */
    bool sweep;
    /* Besides those that we have: "NAME=value", or "NAME" for one that is not to be there; ends
     * with NULL; or is NULL. */
    char *const *variables;
    int descriptor;        /* where `config` is open, too; 0: nowhere */
    const cpu_set_t *cpus; /* that it may use, with all that it starts; NULL: those that we may */
};

/* 0; or a negative errno value with "did not start: …" in `error`. */
int spex_program_launch(struct spex_program *program, const struct spex_launch *launch,
                        struct spex_error *error);

/* Takes what the program has written, without waiting. */
void spex_program_output(struct spex_program *program);

/* Whether the program has ended; without waiting. */
bool spex_program_ended(struct spex_program *program);

/* How it ended, "exited with status 3: last line of its output". */
void spex_program_describe(const struct spex_program *program, char *text, size_t size);

/* "; its last output: …", or nothing when there was none. */
void spex_program_last_output(const struct spex_program *program, char *text, size_t size);

/* Asks the program to end (SIGTERM); makes it (SIGKILL) when it has not after five seconds. Then
 * whatever it has started and left. 0, or -EPERM when it will not end. */
int spex_program_teardown(struct spex_program *program, struct spex_error *error);

#endif
