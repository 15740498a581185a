/* SPDX-License-Identifier: MIT */
/* All quantities that the trials of a store recorded, as named numbers: figures of probes, and the
 * use of resources. */
#ifndef SPEX_EXPLORE_STORE_STORE_METRICS_H
#define SPEX_EXPLORE_STORE_STORE_METRICS_H

#include "explore/store/store.h"

/* Called with each number: `name` is such as "query:lat p99" or "usage cpu_seconds"; `unit` may be
 * "". Trials count from 0, as in spex_store_trials. A negative errno value ends the iteration. */
typedef int spex_metric_taker(void *user, size_t trial, const char *name, const char *unit,
                              double value);

/* 0 or a negative errno value. */
int spex_store_metrics(struct spex_store *store, spex_metric_taker *take, void *user,
                       struct spex_error *error);

#endif
