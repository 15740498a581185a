/* SPDX-License-Identifier: MIT */
/* Runs of two commands, one after the other or both at a time. */
#ifndef SPEX_TOOLS_EXPLORE_DUET_H
#define SPEX_TOOLS_EXPLORE_DUET_H

#include "explore/single_runs.h"
#include "explore/trial/cpu_parts.h"

/* Lines for /bin/sh, as programs: braces in them are no parameters. */
struct spex_shell_lines {
    const char *names[2]; /* for messages */
    char *lines[2];
    const char *argv[2][4];
};

/* 0 or -ENOMEM; to be freed in any case. */
int spex_shell_lines_make(struct spex_shell_lines *lines, const char *const commands[2]);
void spex_shell_lines_free(struct spex_shell_lines *lines);

/* Who runs where: `cpus` NULL for all. */
struct spex_one_run {
    unsigned side;
    const cpu_set_t *cpus;
    double value; /* the first objective */
};

/* Runs one, or two at a time, of the sides. 0; -EINVAL when a command fails or its figure is not
 * above 0, with the reason; -EINTR; or another negative errno value. */
int spex_run_one(const struct spex_single_runs *runs, const struct spex_shell_lines *lines,
                 struct spex_one_run *one, struct spex_error *error);
int spex_run_both(const struct spex_single_runs *runs, const struct spex_shell_lines *lines,
                  struct spex_one_run both[2], struct spex_error *error);

#endif
