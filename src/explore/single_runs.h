/* SPDX-License-Identifier: MIT */
/* Runs of programs that belong to no exploration: nothing is stored, and no policy is asked. Before
 * an exploration they tell how long a run takes, and in blocks which of two commands is better. */
#ifndef SPEX_EXPLORE_SINGLE_RUNS_H
#define SPEX_EXPLORE_SINGLE_RUNS_H

#include <sched.h>

#include "base/clock.h"
#include "explore/space/space.h"
#include "measure/trial.h"
#include "text/error.h"

/* Runs that can go on at a time, each in a place of its own. */
enum { SPEX_SINGLE_PLACES = 2 };

struct spex_single_runs {
    const struct spex_space_file *file;
    int stop_fd; /* readable: give up; -1 for none */
    char *directory, *places[SPEX_SINGLE_PLACES];
    struct spex_instant begin;
    int adopted_before;
};

/* Makes the places. 0 or a negative errno value; to be closed in any case. */
int spex_single_runs_open(struct spex_single_runs *runs, const struct spex_space_file *file,
                          int stop_fd, struct spex_error *error);
void spex_single_runs_close(struct spex_single_runs *runs);

/* Runs the program once with these levels, as a trial, which is to be freed after success. Different
 * places may be used by different threads at a time. `cpus`: NULL for those of this process. 0
 * whatever the program did; -EINTR when stop_fd became readable; or another negative errno value. */
int spex_single_run(const struct spex_single_runs *runs, unsigned place, char *const *argv,
                    size_t *levels, const cpu_set_t *cpus, struct spex_trial *trial,
                    struct spex_error *error);

#endif
