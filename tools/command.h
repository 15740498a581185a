/* SPDX-License-Identifier: MIT */
/* The commands of `spex`, one file each, and what they share. */
#ifndef SPEX_COMMAND_H
#define SPEX_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

/* Exit statuses. */
enum {
    SPEX_EXIT_OK = 0,
    SPEX_EXIT_FAILED = 1,           /* the command could not do what it was told */
    SPEX_EXIT_USAGE = 2,            /* it could not be understood */
    SPEX_EXIT_FOUND = 3,            /* it has found what it was to look for, and nobody hopes for */
    SPEX_EXIT_NOT_EXECUTABLE = 126, /* as in shells */
    SPEX_EXIT_NOT_FOUND = 127,
    SPEX_EXIT_INTERRUPTED = 130
};

int spex_command_explain(int argc, char **argv);
int spex_command_explore(int argc, char **argv);
int spex_command_fit(int argc, char **argv);
int spex_command_list(int argc, char **argv);
int spex_command_models(int argc, char **argv);
int spex_command_plan(int argc, char **argv);
int spex_command_probes(int argc, char **argv);
int spex_command_report(int argc, char **argv);
int spex_command_run(int argc, char **argv);
int spex_command_sample(int argc, char **argv);
int spex_command_set(int argc, char **argv);
int spex_command_top(int argc, char **argv);
int spex_command_train(int argc, char **argv);
int spex_command_watch(int argc, char **argv);

/* Where "--" stands, before which arguments are ours and behind which they are a program's; argc where it does not. */
int spex_command_separator(int argc, char **argv);

/* "spex: …" on standard error; returns `status`. */
__attribute__((format(printf, 2, 3))) int spex_complain(int status, const char *format, ...);

/* Writes out what is buffered: 0, or the negative errno value that writing, now or before, has failed with. */
int spex_written(FILE *out);

#endif
