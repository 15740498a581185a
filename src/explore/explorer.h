/* SPDX-License-Identifier: MIT */
/* An exploration under way, inside: what explorer.c sets up and explorer_loop.c runs. */
#ifndef SPEX_EXPLORE_EXPLORER_H
#define SPEX_EXPLORE_EXPLORER_H

#include <spex/explore.h>
#include <spex/policy.h>

#include "base/clock.h"
#include "explore/policy_object.h"
#include "explore/space/space.h"
#include "explore/store/history.h"
#include "explore/store/store.h"
#include "explore/trial/cpu_parts.h"
#include "explore/trial/runner.h"
#include "measure/summary.h"

/* A plan that waits for a place. */
struct spex_waiting {
    size_t *levels;
    char *probes;
    double duration_seconds;
    uint64_t asked;
    uint64_t told;
    uint64_t number; /* of the failed trial in whose stead it is run; 0 for none */
    bool refused;    /* of that trial */
    struct spex_waiting *next;
};

struct spex_explorer {
    const struct spex_explore_options *options;
    struct spex_space_file *space;
    struct spex_shared_object object; /* where the policy is from, when it is not built in */
    const struct spex_policy_ops *policy;
    void *state;
    bool initialised; /* the policy's state */
    struct spex_store *store;
    struct spex_trials stored; /* found in the store, to be replayed */
    struct spex_history history;
    struct spex_cpu_parts parts;
    struct spex_instant begin;
    char *directory;
    struct spex_runner *runner;
    struct spex_summary summary;
    struct spex_waiting *waiting; /* oldest first */
    struct spex_waiting *again;   /* under way or waiting, in the stead of failed trials */
    size_t *levels;               /* of the plan that is asked for */
    uint64_t asked;               /* plans that the policy has made */
    uint64_t told;                /* trials that it has been told */
    bool refused;                 /* since then it has wanted to be told first */
    bool exhausted;               /* it has no more plans */
    int64_t begin_ns;             /* of the first trial that is run */
    char best[512];
    char running[512];
    char last_failure[512];
    struct spex_progress progress;
};

/* Asks, runs, stores and tells until the policy has had enough. */
int spex_explorer_loop(struct spex_explorer *explorer, struct spex_error *error);

#endif
