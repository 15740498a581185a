/* SPDX-License-Identifier: MIT */
/* A host's place for trials: its directory, which one process has at a time, since two trials of
 * one host would disturb each other, and the runner. */
#ifndef SPEX_FLEET_TRIALS_WORK_PLACE_H
#define SPEX_FLEET_TRIALS_WORK_PLACE_H

#include "explore/space/space.h"
#include "explore/trial/runner.h"

struct spex_work_place {
    struct spex_space_file *file;
    char *const *argv;
    /* Where the directory is, which is locked by this descriptor. */
    char home[4096], directory[4200];
    int lock;
    struct spex_runner *runner;
};

/* Reads the space, checks that the program is there, and takes the place of this user's: what a
 * process that was killed has left there is removed, with its processes. 0; -EBUSY: another process
 * has it; or another negative errno value with the reason. */
int spex_work_place_open(const char *space, char *const *argv, struct spex_work_place *place,
                         struct spex_error *error);

/* Ends the trial that runs. */
void spex_work_place_close(struct spex_work_place *place);

#endif
