/* SPDX-License-Identifier: MIT */
/* Measures one run of a configuration, for trials of a program and for tuning: finds the probes of
 * the criteria by name, passes records to the measure, asks the policy whether it has seen enough,
 * and fills in the trial's status and values.
 *
 * Functions that return int: 0: the run goes on; 1: the run is over, see the trial's status; or
 * -ENOMEM. */
#ifndef SPEX_MEASURE_MEASURED_RUN_H
#define SPEX_MEASURE_MEASURED_RUN_H

#include <pthread.h>

#include <spex/policy.h>

#include "measure/criterion.h"
#include "measure/measure.h"
#include "measure/trial.h"
#include "site/selection.h"
#include "text/error.h"

struct spex_measured_run {
    /* Set by the caller. */
    const struct spex_space *space;
    const struct spex_plan *plan;
    struct spex_trial *trial;
    const struct spex_policy_ops *policy;
    void *policy_state;
    /* Held in every call of the policy; NULL: one thread alone calls the policy. */
    pthread_mutex_t *policy_lock;
    /* Beginnings of a status: before the name of a probe that was not found, and of a run without
     * records. */
    const char *unknown, *hung;

    struct spex_measure *measure;
    struct spex_measured measured[SPEX_CRITERIA_MAX];
    struct spex_selection selections[SPEX_CRITERIA_MAX];
    /* Whether the criterion's probe has been found. */
    bool known[SPEX_CRITERIA_MAX];
};

/* 0; -EINVAL or -ENOMEM with `error`. To be closed in any case. */
int spex_measured_run_open(struct spex_measured_run *run, double ticks_per_second,
                           struct spex_error *error);
void spex_measured_run_close(struct spex_measured_run *run);

/* The site of the program with this index. False: it is no probe's. */
typedef bool spex_measured_run_site(const void *user, size_t index,
                                    struct spex_selection_probe *site);

/* Looks for the probes of the criteria whose probe has not been found yet. A criterion that matches
 * two probes ends the run. */
int spex_measured_run_find_probes(struct spex_measured_run *run, spex_measured_run_site *site,
                                  const void *user, size_t count);

/* Adds records in the order of their time. */
int spex_measured_run_add(struct spex_measured_run *run, const struct spex_record *records,
                          size_t count);

/* No more records follow: the warm-up ends here if its end was not seen. */
int spex_measured_run_end_records(struct spex_measured_run *run);

/* Ends the run at its longest duration, after spex_measured_run_end_records. A slow configuration
 * succeeds with fewer records than the policy wanted; a program that hangs has failed. `words` end
 * the status. */
int spex_measured_run_end_by_duration(struct spex_measured_run *run, uint64_t ticks,
                                      const char *words);

/* Fills in the trial's records, losses and seconds. 0, or -ENOMEM: the status is missing. */
int spex_measured_run_account(struct spex_measured_run *run, uint64_t lost);

#endif
