/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/single_runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explore/trial/leftovers.h"
#include "explore/trial/trial_run.h"
#include "explore/trial_directory.h"

/* Attempts of a run that fails because this process was held up. */
enum { ATTEMPTS = 5 };

/* A run ends by the rules of its space. */
static const struct spex_policy_ops by_the_rules = {.size = sizeof(by_the_rules),
                                                    .abi = SPEX_POLICY_ABI};

static int make_directory(const char *path, struct spex_error *error) {
    if (mkdir(path, 0700) == 0)
        return 0;
    return spex_fail(error, -errno, "cannot make a directory %s: %s", path, strerror(errno));
}

int spex_single_runs_open(struct spex_single_runs *runs, const struct spex_space_file *file,
                          int stop_fd, struct spex_error *error) {
    *runs =
        (struct spex_single_runs){.file = file, .stop_fd = stop_fd, .begin = spex_instant_now()};
    runs->adopted_before = spex_leftovers_adopt();
    int err = spex_trial_directory_name(&runs->directory, error);
    err = err ? err : make_directory(runs->directory, error);
    for (unsigned p = 0; p < SPEX_SINGLE_PLACES && !err; p++) {
        if (asprintf(&runs->places[p], "%s/%u", runs->directory, p) < 0)
            runs->places[p] = NULL;
        err = runs->places[p] ? make_directory(runs->places[p], error)
                              : spex_fail(error, -ENOMEM, "out of memory");
    }
    return err;
}

void spex_single_runs_close(struct spex_single_runs *runs) {
    for (unsigned p = 0; p < SPEX_SINGLE_PLACES; p++) {
        if (runs->places[p])
            rmdir(runs->places[p]);
        free(runs->places[p]);
    }
    if (runs->directory)
        rmdir(runs->directory);
    free(runs->directory);
    spex_leftovers_let_go(runs->adopted_before);
}

int spex_single_run(const struct spex_single_runs *runs, unsigned place, char *const *argv,
                    size_t *levels, const cpu_set_t *cpus, struct spex_trial *trial,
                    struct spex_error *error) {
    const struct spex_space *space = &runs->file->space;
    const struct spex_trial_setup setup = {
        .file = runs->file,
        .policy = &by_the_rules,
        .argv = argv,
        .directory = runs->places[place],
        .ticks_per_second = spex_tick_rate_since(runs->begin),
        .stop_fd = runs->stop_fd,
        .cpus = cpus,
    };
    const struct spex_plan plan = {.size = sizeof(plan),
                                   .levels = levels,
                                   .probes = runs->file->probes,
                                   .duration_seconds = space->rules.duration_seconds};
    int err = -EAGAIN;
    for (int attempt = 0; attempt < ATTEMPTS && err == -EAGAIN; attempt++) {
        if (spex_trial_init(trial, space, levels))
            return spex_fail(error, -ENOMEM, "out of memory");
        err = spex_trial_run(&setup, &plan, trial, error);
        if (err)
            spex_trial_free(trial);
    }
    return err;
}
