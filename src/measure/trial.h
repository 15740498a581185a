/* SPDX-License-Identifier: MIT */
/* A finished trial, as it is stored, told to the policy and reported. */
#ifndef SPEX_MEASURE_TRIAL_H
#define SPEX_MEASURE_TRIAL_H

#include <spex/policy.h>

#include "measure/usage.h"

/* The statistics of one value of one probe; a probe without values has one entry. Times in seconds;
 * NaN: there is none. */
struct spex_trial_metric {
    /* The probe's number in the process that ran. */
    uint16_t probe_id;
    /* The developer's id; -1: none. */
    int32_t id;
    uint32_t probe_type;
    unsigned field;
    /* Name of the probe; NULL: it has none. */
    char *name;
    /* NULL: not known. */
    char *provider;
    uint64_t records;
    /* Executions, counted by their records' weights. */
    double count;
    /* Executions a second. */
    double rate;
    double mean, deviation, min, p50, p90, p99, max;
};

/* A load (stress-ng) that ran beside the program. */
struct spex_trial_load {
    char *stressor;
    unsigned workers;
    struct spex_usage usage;
};

struct spex_trial {
    /* parameter_count of them. */
    size_t *levels;
    bool ok;
    /* "ok", or why the trial failed. */
    char *status;
    /* criterion_count of them; NaN if the trial failed. */
    struct spex_measured *measured;
    uint64_t records_used;
    uint64_t records_lost;
    /* Seconds over which the trial was measured. */
    double seconds;
    /* The measured part shows no sign of a warm-up. */
    bool steady;

    /* Number of the trial's plan, from 1. With `told` and `refused` it lets a resumed exploration
     * ask and tell the policy the same in the same order. */
    uint64_t asked;
    /* Trials that the policy had been told of when it planned this one. */
    uint64_t told;
    /* 0; in finals the number of the block, from 1. */
    uint64_t block;
    /* It is one of the reference configuration. */
    bool reference;
    /* When it ended, in seconds since 1970; of a trial that was read from a store. */
    int64_t finished;
    /* When the policy was told of it: seconds of the exploration, and how many it had in all; 0: no
     * limit. */
    double passed;
    double limit;

    /* The policy was asked for one more plan before it was told of this trial, and wanted to be
     * told first. */
    bool refused;
    /* How often it was repeated after it had failed: the policy has been told the failure. */
    unsigned retried;

    /* The program's usage. */
    struct spex_usage usage;
    struct spex_trial_load *loads;
    size_t load_count;
    /* A problem that did not make the trial fail; NULL: none. */
    char *note;

    struct spex_trial_metric *metrics;
    size_t metric_count;
};

/* Copies the levels; all values are NaN. 0; -ENOMEM: nothing is to be freed. */
int spex_trial_init(struct spex_trial *trial, const struct spex_space *space, const size_t *levels);
void spex_trial_free(struct spex_trial *trial);

/* Sets the status: "ok", or how the trial failed; NULL: out of memory. Always returns 1: the run is
 * over. */
__attribute__((format(printf, 2, 3))) int spex_trial_end(struct spex_trial *trial,
                                                         const char *format, ...);

/* Adds a load. 0 or -ENOMEM. */
int spex_trial_add_load(struct spex_trial *trial, const char *stressor, unsigned workers,
                        const struct spex_usage *usage);

/* Trials in the order in which they finished. */
struct spex_trials {
    struct spex_trial *items;
    size_t count;
};

/* Adds the trial, and takes over what it owns, also if it returns -ENOMEM. */
int spex_trials_add(struct spex_trials *trials, struct spex_trial *trial);
void spex_trials_free(struct spex_trials *trials);

#endif
