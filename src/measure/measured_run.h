/* SPDX-License-Identifier: MIT */
/* One run of a configuration as it is measured: its criteria's probes are found by their names,
 * records go to the measure, the policy is asked whether it has seen enough, and the trial gets its
 * status and values. What a trial of a program and a run of a tuning have in common.
 *
 * Functions that return int: 0: the run goes on; 1: it is over, as the trial's status says; or
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
    /* Held in every call of the policy; NULL: one thread alone calls it. */
    pthread_mutex_t *policy_lock;
    /* A status's words before the name of a probe that was not found, and before a run without
     * records. */
    const char *unknown, *hung;

    struct spex_measure *measure;
    struct spex_measured measured[SPEX_CRITERIA_MAX];
    struct spex_selection selections[SPEX_CRITERIA_MAX];
    /* Whether the criterion's probe has been found. */
    bool known[SPEX_CRITERIA_MAX];
};

/* 0; -EINVAL or -ENOMEM. To be closed in any case. */
int spex_measured_run_open(struct spex_measured_run *run, double ticks_per_second,
                           struct spex_error *why);
void spex_measured_run_close(struct spex_measured_run *run);

/* A site of the program, by its index. False: it is no probe's. */
typedef bool spex_measured_run_site(const void *user, size_t index,
                                    struct spex_selection_probe *site);

/* Finds the one probe that a criterion names, for those criteria whose probe has not been found
 * yet. */
int spex_measured_run_find_probes(struct spex_measured_run *run, spex_measured_run_site *site,
                                  const void *user, size_t count);

/* Records in the order of their time. */
int spex_measured_run_add(struct spex_measured_run *run, const struct spex_record *records,
                          size_t count);

/* No more records will come: a warm-up that was not seen to be over ends with this. */
int spex_measured_run_end_records(struct spex_measured_run *run);

/* The longest a run may take is over, and its records have been ended. A slow configuration has
 * been measured with fewer records than the policy wanted; a program that hangs has failed. `words`
 * end the status. */
int spex_measured_run_end_by_duration(struct spex_measured_run *run, uint64_t ticks,
                                      const char *words);

/* What the trial has besides the criteria's values. 0, or -ENOMEM when the status is missing. */
int spex_measured_run_account(struct spex_measured_run *run, uint64_t lost);

#endif
