/* SPDX-License-Identifier: MIT */
/* The output of `spex run`: tables, or JSON, of the processes that have connected to it. */
#ifndef SPEX_TOOLS_RUN_RUN_OUTPUT_H
#define SPEX_TOOLS_RUN_RUN_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "observe/launch.h"
#include "observe/listener.h"
#include "tools/common/output_file.h"

struct spex_run_output {
    FILE *file;
    struct spex_output_file to;
    bool json;
    bool verbose; /* tables with all notes */
    /* There are tables before the end; JSON has one object a line then. */
    bool intervals;
    /* The first error of writing, a negative errno value. */
    int error;
};

/* `path`: a file; "-" for standard output; NULL for standard error. With intervals a file is
 * emptied, and gets lines as they come; otherwise it is replaced at the end. 0 or a negative
 * errno value. */
int spex_run_output_open(struct spex_run_output *output, const char *path);

/* Prints the figures of a process since its last table. `seconds`: since the program's start. */
void spex_run_output_interval(struct spex_run_output *output, struct spex_caller *caller,
                              double seconds);

/* Prints all figures, after the program's end. */
void spex_run_output_final(struct spex_run_output *output, char *const *argv,
                           const struct spex_launched *program, struct spex_listener *listener,
                           double seconds);

/* 0, or the first error of writing, a negative errno value. */
int spex_run_output_close(struct spex_run_output *output);

#endif
