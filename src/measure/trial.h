/* SPDX-License-Identifier: MIT */
/* A finished trial, as it is stored, told to the policy and reported. */
#ifndef SPEX_MEASURE_TRIAL_H
#define SPEX_MEASURE_TRIAL_H

#include <spex/policy.h>

#include "measure/usage.h"

/* What one probe's one value came to; a probe without values has an entry, too. Times in seconds;
 * NaN for what there is none of. */
struct spex_trial_metric {
    uint16_t probe_id;
    uint32_t probe_type;
    unsigned field;
    char *name; /* of the probe; NULL: unnamed */
    uint64_t records;
    double count; /* executions */
    double rate;  /* of them, a second */
    double mean, deviation, min, p50, p90, p99, max;
};

/* What ran beside the program. */
struct spex_trial_load {
    char *stressor;
    unsigned workers;
    struct spex_usage usage;
};

struct spex_trial {
    size_t *levels; /* parameter_count of them */
    bool ok;
    char *status;                   /* "ok" or why it failed */
    struct spex_measured *measured; /* criterion_count of them; NaN when it failed */
    uint64_t records_used;
    uint64_t records_lost;
    double seconds; /* over which it was measured */
    bool steady;    /* there was no sign of a warm-up in what was measured */

    /* Where it stands in what the policy was asked and told, so that the same can be asked and told
     * again. */
    uint64_t asked; /* number of its plan, from 1 */
    uint64_t told;  /* trials that had been told when it was planned */

    /* Before it was told, the policy was asked for one more plan, and wanted to be told first. */
    bool refused;
    bool retried; /* it was run in the stead of one that failed, of which the policy was told */

    struct spex_usage usage; /* of the program */
    struct spex_trial_load *loads;
    size_t load_count;
    char *note; /* what went wrong without making the trial fail; NULL: nothing */

    struct spex_trial_metric *metrics;
    size_t metric_count;
};

/* 0 or -ENOMEM: nothing is to be freed. */
int spex_trial_init(struct spex_trial *trial, const struct spex_space *space, const size_t *levels);
void spex_trial_free(struct spex_trial *trial);

/* Sets the status: "ok", or how the trial failed; NULL when out of memory. Always 1: the run is
 * over. */
__attribute__((format(printf, 2, 3))) int spex_trial_end(struct spex_trial *trial,
                                                         const char *format, ...);

/* 0 or -ENOMEM. */
int spex_trial_add_load(struct spex_trial *trial, const char *stressor, unsigned workers,
                        const struct spex_usage *usage);

/* Trials in the order in which they finished. */
struct spex_trials {
    struct spex_trial *items;
    size_t count;
};

/* Takes over what the trial owns, also when it returns -ENOMEM. */
int spex_trials_add(struct spex_trials *trials, struct spex_trial *trial);
void spex_trials_free(struct spex_trials *trials);

#endif
