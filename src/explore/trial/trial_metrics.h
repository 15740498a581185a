/* SPDX-License-Identifier: MIT */
/* Stores the figures of all probes of a run in its trial. */
#ifndef SPEX_EXPLORE_TRIAL_TRIAL_METRICS_H
#define SPEX_EXPLORE_TRIAL_TRIAL_METRICS_H

#include "measure/trial.h"
#include "stats/tracer.h"
#include "wire/stream_format.h"

/* `seconds` is the time over which the tracer has records, `sites` are those that the program told.
 * 0; or -ENOMEM, with the figures so far in the trial. */
int spex_trial_metrics(struct spex_trial *trial, struct spex_tracer *tracer,
                       double ticks_per_second, double seconds,
                       const struct spex_stream_site *sites, size_t site_count);

#endif
