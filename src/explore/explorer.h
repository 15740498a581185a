/* SPDX-License-Identifier: MIT */
/* The state of an exploration: explorer.c sets it up, explorer_loop.c runs it. One thread uses it,
 * the caller of spex_explore(). */
#ifndef SPEX_EXPLORE_EXPLORER_H
#define SPEX_EXPLORE_EXPLORER_H

#include <spex/explore.h>
#include <spex/policy.h>

#include "base/clock.h"
#include "explore/elsewhere.h"
#include "explore/findings/final_race.h"
#include "explore/findings/ranking.h"
#include "explore/policy_object.h"
#include "explore/space/space.h"
#include "explore/store/history.h"
#include "explore/store/store.h"
#include "explore/time_left.h"
#include "explore/trial/cpu_parts.h"
#include "explore/trial/runner.h"
#include "measure/summary.h"

/* A plan that waits for a free place, or the repetition of a failed trial. */
struct spex_waiting {
    size_t *levels;
    char *probes;
    double duration_seconds;
    uint64_t block;
    bool reference;
    uint64_t asked;
    uint64_t told;
    uint64_t number; /* number of the failed trial that it repeats; 0 for none */
    double passed;   /* `passed` and `limit` of that trial */
    double limit;
    unsigned repeat; /* how often that trial is repeated, this time included */
    bool refused;    /* `refused` of that trial */
    struct spex_waiting *next;
};

/* A plan whose trial runs elsewhere. */
struct spex_handed {
    struct spex_unfinished plan;
    unsigned repeat;
    uint64_t block;
    bool reference;
};

struct spex_explorer {
    const struct spex_explore_options *options;
    const struct spex_elsewhere *elsewhere; /* NULL: trials run here */
    struct spex_store_fleet fleet;
    struct spex_handed handed[SPEX_CPU_PARTS_MAX];
    size_t handed_count;
    struct spex_space_file *space;
    struct spex_shared_object object; /* object of a policy that is not built in */
    const struct spex_policy_ops *policy;
    void *state;
    bool initialised; /* `state` is initialised */
    struct spex_store *store;
    struct spex_trials stored; /* trials found in the store, to be replayed */
    struct spex_history history;
    struct spex_cpu_parts parts;
    struct spex_instant begin;
    char *directory;
    struct spex_runner *runner;
    struct spex_summary summary;
    struct spex_final_trials finals;
    struct spex_waiting *waiting; /* plans without a place, oldest first */
    struct spex_waiting *again;   /* repetitions of failed trials that are under way */
    size_t *levels;               /* levels of the plan that the policy makes */
    uint64_t asked;               /* number of plans that the policy has made */
    uint64_t told;                /* number of trials that the policy has been told */
    bool refused;                 /* the policy has answered -EAGAIN since the last trial */
    bool exhausted;               /* the policy has no more plans */
    struct spex_time_left time;
    double before;     /* seconds of the exploration before the first trial that is run */
    uint64_t begin_ns; /* monotonic time of the start of the first trial that is run */
    struct spex_ranking standing; /* of the best, after `ranked` trials */
    size_t best_group;            /* SPEX_RANKING_NONE: no trial has a result */
    uint64_t ranked;
    char best[512];
    char best_figure[48];
    char best_interval[96];
    char race[400]; /* what finals tell */
    char running[512];
    char last_failure[512];
    struct spex_progress progress;
};

/* Runs trials, here or elsewhere, as the functions of the runner do; explorer_trials.c. */
int spex_explorer_open_elsewhere(struct spex_explorer *explorer, struct spex_error *error);
size_t spex_explorer_running(const struct spex_explorer *explorer);
size_t spex_explorer_places(const struct spex_explorer *explorer);
size_t spex_explorer_unfinished(const struct spex_explorer *explorer,
                                struct spex_unfinished all[SPEX_CPU_PARTS_MAX]);
int spex_explorer_start_trial(struct spex_explorer *explorer, const struct spex_plan *plan,
                              const struct spex_waiting *as, struct spex_error *error);
int spex_explorer_wait_trial(struct spex_explorer *explorer, struct spex_trial *trial,
                             struct spex_error *error);
/* The trial that was waited for last is in the store. */
int spex_explorer_stored(const struct spex_explorer *explorer, struct spex_error *error);

/* Asks the policy, runs and stores trials and tells the policy, until it has no more plans. 0;
 * -EINTR; or what went wrong. */
int spex_explorer_loop(struct spex_explorer *explorer, struct spex_error *error);

#endif
