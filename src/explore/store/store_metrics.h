/* SPDX-License-Identifier: MIT */
/* What every trial of a store said of its probes and of the machine's means that it used, as named
 * numbers. */
#ifndef SPEX_EXPLORE_STORE_STORE_METRICS_H
#define SPEX_EXPLORE_STORE_STORE_METRICS_H

#include "explore/store/store.h"

/* Called with each number that is there: `name` says of what ("query:lat p99", "usage
 * cpu_seconds"), `unit` may be "". Trials count from 0, as spex_store_trials has them. A negative
 * errno value ends it. */
typedef int spex_metric_taker(void *user, size_t trial, const char *name, const char *unit,
                              double value);

/* 0 or what went wrong. */
int spex_store_metrics(struct spex_store *store, spex_metric_taker *take, void *user,
                       struct spex_error *error);

#endif
