/* SPDX-License-Identifier: MIT */
/* What `spex run` shows, and where: tables, or JSON, of the processes that have called. */
#ifndef SPEX_RUN_OUTPUT_H
#define SPEX_RUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "launch.h"
#include "listener.h"

struct spex_run_output {
    FILE *file;
    const char *name; /* for messages */
    bool json;
    bool intervals; /* more than one table is to come: JSON goes into lines */
    int error;      /* the first, a negative errno value */
};

/* `path`: a file, which is emptied; "-": standard output; NULL: standard error. 0 or a negative errno value. */
int spex_run_output_open(struct spex_run_output *output, const char *path);

/* What has happened in a process since that was shown the last time; `seconds` after the program's start. */
void spex_run_output_interval(struct spex_run_output *output, struct spex_caller *caller,
                              double seconds);

/* All of it; the program has ended. */
void spex_run_output_final(struct spex_run_output *output, char *const *argv,
                           const struct spex_launched *program, struct spex_listener *listener,
                           double seconds);

/* 0, or what writing has failed with first. */
int spex_run_output_close(struct spex_run_output *output);

#endif
