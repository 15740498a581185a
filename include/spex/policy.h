/* SPDX-License-Identifier: MIT */
/* Exploration policies: which configuration to run next, which probes to record, when a run has
 * said enough, when everything has. This header is all that a policy needs, built in or in an
 * object of its own; policies/grid.c is a complete one.
 *
 * The explorer's main loop (Go and Colmenares, section 3.2), with the calls it makes:
 *
 *     init
 *     while next() fills in a plan:
 *         tear down the last run, configure, run
 *         per batch of records:   process_records(), then stop_run() until it says true
 *         run_finished()
 *     fini
 *
 * All calls come from one thread, never two at a time. A policy must be deterministic: given the
 * same space and the same results it makes the same plans. An interrupted exploration is resumed by
 * calling next() and run_finished() again with the trials in the store, instead of running them. */
#ifndef SPEX_POLICY_H
#define SPEX_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/record.h>

#define SPEX_POLICY_ABI 1

/* The space. A configuration is one level of each parameter: levels[p] is below parameters[p].count
 * and stands for parameters[p].values[levels[p]]. */

enum spex_parameter_kind { SPEX_INTEGER = 1, SPEX_CATEGORICAL };

struct spex_value {
    const char *text; /* as in the space's file */
    int64_t integer;  /* of an integer parameter */
};

struct spex_parameter {
    const char *name;
    const char *unit; /* "" when none was given */
    enum spex_parameter_kind kind;
    size_t count;
    const struct spex_value *values; /* integers ascending, categories as in the file */
};

struct spex_objective {
    const char *probe;  /* selection in SPEX_PROBES' syntax that names one probe of one type */
    const char *metric; /* throughput, mean, p50, p90, p99 or max */
    bool maximise;
};

struct spex_rules {
    unsigned trials_per_config;
    unsigned records_per_thread; /* a run has enough when each thread has made so many */
    double warmup_seconds;       /* records before it, from the first record on, do not count */
    double startup_seconds;      /* longest wait for the first record */
    double duration_seconds;     /* longest run from the first record on, warm-up included */
    uint64_t seed;
};

struct spex_space {
    size_t size; /* sizeof, as compiled by the host */
    const char *name;
    size_t parameter_count;
    const struct spex_parameter *parameters;
    size_t threads_parameter; /* index of the one that sets the number of recording threads, or
                                 parameter_count when none does */
    struct spex_objective objective;
    struct spex_rules rules;
};

/* How many configurations there are; the explorer takes no space of more than 2^40. */
SPEX_INLINE uint64_t spex_space_configurations(const struct spex_space *space) {
    uint64_t count = 1;
    for (size_t p = 0; p < space->parameter_count; p++)
        count *= space->parameters[p].count;
    return count;
}

/* How many threads a configuration has to make records. */
SPEX_INLINE uint64_t spex_space_threads(const struct spex_space *space, const size_t *levels) {
    size_t p = space->threads_parameter;
    return p < space->parameter_count ? (uint64_t)space->parameters[p].values[levels[p]].integer
                                      : 1;
}

/* What next() fills in; all set to the first level and the objective's probe before the call. */
struct spex_plan {
    size_t *levels;     /* parameter_count of them */
    const char *probes; /* selection; must live until the next call of next() or fini() */
};

/* A run as it goes: what has been counted since the warm-up. */
struct spex_run {
    const size_t *levels;
    uint64_t records;
    uint64_t threads;      /* threads that have made a record */
    uint64_t threads_done; /* of them, those that have made rules.records_per_thread */
    double seconds;        /* since the warm-up ended */
};

struct spex_result {
    const size_t *levels;
    bool ok;
    double objective; /* when ok */
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;
};

struct spex_policy_ops {
    size_t size;  /* sizeof, as compiled by the policy */
    uint32_t abi; /* SPEX_POLICY_ABI */
    const char *name;
    const char *summary; /* one line for users */

    /* Mandatory. */

    /* Bytes of state; the host allocates them, zeroed. */
    size_t (*state_size)(const struct spex_space *space);
    /* `space` stays valid until fini. 0 or a negative errno value. */
    int (*init)(void *state, const struct spex_space *space);
    /* The next run: 1; nothing left to explore: 0; or a negative errno value, which ends
     * everything. */
    int (*next)(void *state, struct spex_plan *plan);
    /* Whether the run can be stopped. After every batch; should be quick. */
    bool (*stop_run)(void *state, const struct spex_run *run);

    /* Optional, may be NULL. */

    /* How many runs this policy will plan in all, as far as it knows now: for the progress bar. */
    uint64_t (*runs)(const void *state);
    /* Records after the warm-up, in batches. */
    void (*process_records)(void *state, const struct spex_record *records, size_t count);
    /* The result of the run last planned, also of one that failed. */
    void (*run_finished)(void *state, const struct spex_result *result);
    void (*fini)(void *state);
};

/* A built-in policy is declared in policies/builtin.c. */
#define SPEX_POLICY(ident) const struct spex_policy_ops spex_policy_##ident

#endif
