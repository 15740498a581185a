/* SPDX-License-Identifier: MIT */
/* Exploration policies. A policy decides which configuration to run next, which probes to record,
 * when a run has enough records, and when the exploration is complete. This header is all that a
 * policy needs, whether it is built in or a shared object of its own. policies/grid.c is a complete
 * example.
 *
 * The explorer's main loop (Go and Colmenares, EWiLi'16, section 3.2), with the calls that it
 * makes:
 *
 *     init
 *     while next() fills in a plan:
 *         tear down the last run, configure, run
 *         per batch of records:   process_records(), then stop_run() until it returns true
 *         run_finished()
 *     fini
 *
 * Where several runs go on at a time, calls of next() and run_finished() of other runs come in
 * between.
 *
 * Threads: one call at a time, but not always on the same thread. Never in a signal handler.
 *
 * Determinism: given the same space and the same calls of next() and run_finished() in the same
 * order, a policy must make the same plans. An interrupted exploration is resumed by repeating
 * these calls with the trials in the store, instead of running them. What a policy learns in
 * process_records() and stop_run() must therefore not change a plan.
 *
 * ABI: structures begin with their size, and members are only appended. SPEX_POLICY_ABI changes
 * when that is not possible. */
#ifndef SPEX_POLICY_H
#define SPEX_POLICY_H

#include <spex/detail/names_begin.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/record.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

#define SPEX_POLICY_ABI 4

/* The configuration space. A configuration is one level of each parameter: levels[p] is less than
 * parameters[p].count, and stands for parameters[p].values[levels[p]]. A real parameter has levels,
 * too: the points that the space gives it. */

enum spex_parameter_kind { SPEX_INTEGER = 1, SPEX_CATEGORICAL, SPEX_REAL, SPEX_BOOLEAN };

struct spex_value {
    /* As in the space's file, or as it is written for the program. */
    const char *text;
    /* The value of an integer parameter; 0 or 1 of a boolean one. */
    int64_t integer;
    /* The value of an integer or real parameter. */
    double number;
    /* Integer and real: 0 at the lowest value, 1 at the highest, in between in proportion to the
     * value, or to its logarithm where the parameter is logarithmic. */
    double position;
};

struct spex_parameter {
    const char *name;
    const char *unit; /* "" when none was given */
    enum spex_parameter_kind kind;
    /* Ratios of values matter, not differences. */
    bool logarithmic;
    /* Number of levels; 1 for a fixed parameter. */
    size_t count;
    /* Numbers in ascending order; categories as in the file; false, true. */
    const struct spex_value *values;
    /* A good guess, and the level of a parameter that does not apply. */
    size_t default_level;
};

/* True when the values have an order, so that neighbours are likely to give similar results. */
SPEX_INLINE bool spex_parameter_ordered(const struct spex_parameter *parameter) {
    return parameter->kind == SPEX_INTEGER || parameter->kind == SPEX_REAL;
}

/* A criterion of a run: an objective, or a limit that a configuration must keep to be usable. */
enum spex_goal { SPEX_MAXIMISE = 1, SPEX_MINIMISE, SPEX_AT_MOST, SPEX_AT_LEAST };

struct spex_criterion {
    /* A selection in SPEX_PROBES' syntax that names one probe of one type. Without a colon it is
     * what else a figure is from: command, output, json or measure. */
    const char *probe;
    /* Throughput, mean, min, max, or a quantile: p50, p99, p99.9. Without a probe, what is taken:
     * of a command wall, cpu, memory, faults or switches. */
    const char *metric;
    unsigned field; /* which of a record's values */
    enum spex_goal goal;
    double bound; /* of a limit; in the metric's unit */
};

SPEX_INLINE bool spex_criterion_is_limit(const struct spex_criterion *criterion) {
    return criterion->goal == SPEX_AT_MOST || criterion->goal == SPEX_AT_LEAST;
}

/* True for min and max. They have no interval: a longer run may have any other extreme. */
SPEX_INLINE bool spex_criterion_is_extreme(const struct spex_criterion *criterion) {
    return criterion->metric[0] == 'm' && criterion->metric[1] != 'e';
}

struct spex_rules {
    unsigned trials_per_config;
    /* A run has enough when each thread has made this many records */
    unsigned records_per_thread;
    /* and the 95 % interval of every criterion but the extremes reaches at most this share of its
     * value to either side; 0: intervals do not matter. */
    double precision;
    /* Seconds from the first record whose records do not count; negative: until the run is steady.
     * */
    double warmup_seconds;
    /* The longest wait for the first record. */
    double startup_seconds;
    /* The longest run from the first record on, with the warm-up. */
    double duration_seconds;
    /* The most trials of a policy that has no end of its own; 0: the policy chooses. */
    uint64_t trials_max;
    uint64_t seed;
    /* Seconds after the warm-up that a run is measured at least; stop_run() is not asked before,
     * unless no more records can come. The longest run may be shorter. */
    double least_seconds;
    /* The share of all trials that finals have, in which the best few race (docs/policies.md); 0: the
     * policy chooses; negative: there are none. */
    double finals;
    /* Two figures that differ by no more than this share are as good as the same; 0: 2 %. */
    double finals_zone;
    /* The probability with which the winner is known; 0: 95 %. */
    double finals_sure;
};

struct spex_space {
    size_t size; /* sizeof, as compiled by the host */
    const char *name;
    size_t parameter_count;
    const struct spex_parameter *parameters;
    /* Index of the parameter that sets the number of recording threads; parameter_count: none. */
    size_t threads_parameter;
    /* At least 1. */
    size_t objective_count;
    size_t criterion_count;
    /* The objectives, then the limits. The first objective counts most. */
    const struct spex_criterion *criteria;
    struct spex_rules rules;

    /* What follows is for the functions below. */
    void *context;
    /* Sets parameters that do not apply to their default, so that configurations that are the same
     * to the program become equal. Returns whether the configuration is allowed. NULL: all are
     * allowed, and all differ. */
    bool (*settle)(const struct spex_space *space, size_t *levels);
    /* Returns whether a parameter applies, given the others. NULL: all apply. */
    bool (*applies)(const struct spex_space *space, const size_t *levels, size_t parameter);

    /* Where the space is a list: its only configurations, parameter_count levels of each. All are
     * allowed, settled and different. settle() refuses all others. */
    uint64_t listed_count; /* 0: the space has all that settle() allows */
    const size_t *listed;

    /* Configurations to try before others, the best of another exploration for instance:
     * parameter_count levels of each. All are allowed, settled and different. */
    uint64_t first_count;
    const size_t *first;
};

/* The number of configurations, those of a list or all combinations, allowed or not. The explorer
 * refuses a space of more than 2^40. */
SPEX_INLINE uint64_t spex_space_configurations(const struct spex_space *space) {
    uint64_t count = 1;
    if (space->listed_count)
        return space->listed_count;
    for (size_t p = 0; p < space->parameter_count; p++)
        count *= space->parameters[p].count;
    return count;
}

/* Calls settle(). A policy must not plan a configuration for which it returns false: the explorer
 * then ends with an error. */
SPEX_INLINE bool spex_space_settle(const struct spex_space *space, size_t *levels) {
    return !space->settle || space->settle(space, levels);
}

SPEX_INLINE bool spex_space_applies(const struct spex_space *space, const size_t *levels,
                                    size_t parameter) {
    return !space->applies || space->applies(space, levels, parameter);
}

/* The number of threads of a configuration that make records. */
SPEX_INLINE uint64_t spex_space_threads(const struct spex_space *space, const size_t *levels) {
    size_t p = space->threads_parameter;
    return p < space->parameter_count
               ? SPEX_CAST_(uint64_t, space->parameters[p].values[levels[p]].integer)
               : 1;
}

/* What next() fills in. Before the call it holds the default levels, the probes of the criteria and
 * the duration of the rules. */
struct spex_plan {
    size_t size;             /* sizeof, as compiled by the host */
    size_t *levels;          /* parameter_count of them */
    const char *probes;      /* selection; must live until the next call of next() or fini() */
    double duration_seconds; /* of this run, at most as long as the rules say */
    /* Before the call: the time for finals has come, whatever trials are left. */
    bool finals_due;
    /* 0; in finals the number of the block that the run belongs to, from 1. */
    uint64_t block;
    /* Before the call: about how many trials there is time for in all, by the host's clock; 0: time
     * does not matter, or is not known yet. */
    uint64_t trials;
    /* False; set for a run of a reference configuration, which is repeated every so often whatever its
     * figures: reports tell by these runs whether the machine has changed meanwhile. */
    bool reference;
};

/* A criterion as measured so far. */
struct spex_measured {
    /* NaN while there is no value. */
    double value;
    /* Standard error of the value, which takes the correlation of records into account; NaN while
     * it is unknown. */
    double error;
};

/* A run that is going on: what has been counted since the warm-up ended. */
struct spex_run {
    size_t size; /* sizeof, as compiled by the host */
    const size_t *levels;
    uint64_t records;
    uint64_t threads;      /* threads that have made a record */
    uint64_t threads_done; /* of them, those that have made rules.records_per_thread */
    double seconds;        /* since the warm-up ended */
    const struct spex_measured *measured; /* criterion_count of them */
};

/* Half the width of the 95 % interval as a share of the value; infinite while it is unknown. */
SPEX_INLINE double spex_measured_precision(const struct spex_measured *measured) {
    double share = 1.96 * measured->error / fabs(measured->value);
    return share >= 0 ? share : __builtin_inf();
}

/* True when a run has enough records by the rules. */
SPEX_INLINE bool spex_run_enough(const struct spex_space *space, const struct spex_run *run) {
    if (run->threads_done < spex_space_threads(space, run->levels))
        return false;
    for (size_t c = 0; space->rules.precision > 0 && c < space->criterion_count; c++)
        if (!spex_criterion_is_extreme(&space->criteria[c]) &&
            spex_measured_precision(&run->measured[c]) > space->rules.precision)
            return false;
    return true;
}

struct spex_result {
    size_t size; /* sizeof, as compiled by the host */
    const size_t *levels;
    bool ok;
    const struct spex_measured *measured; /* criterion_count of them, when ok; all have values */
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
    /* Plans the next run. Returns 1; 0 when there is nothing left to explore; -EAGAIN when there is
     * no plan before a run that is going on has finished; or another negative errno value, which
     * ends the exploration with an error. */
    int (*next)(void *state, struct spex_plan *plan);

    /* Optional, may be NULL. */

    /* Returns true when the run has enough records. Called after every batch, so it should be
     * quick. NULL: spex_run_enough. */
    bool (*stop_run)(void *state, const struct spex_run *run);
    /* The number of runs that the policy will plan in all, as far as it knows: for the progress
     * bar. */
    uint64_t (*runs)(const void *state);
    /* Takes records of the run since its warm-up, in batches. */
    void (*process_records)(void *state, const struct spex_record *records, size_t count);
    /* Takes the result of a run that was planned; also when it failed. */
    void (*run_finished)(void *state, const struct spex_result *result);
    void (*fini)(void *state);
};

/* Calls stop_run(), or applies the rules. For programs that run a policy. */
SPEX_INLINE bool spex_policy_stop_run(const struct spex_policy_ops *ops, void *state,
                                      const struct spex_space *space, const struct spex_run *run) {
    return ops->stop_run ? ops->stop_run(state, run) : spex_run_enough(space, run);
}

/* The first members of a policy that is compiled with this header. */
#define SPEX_POLICY_NAMED(name_, summary_)                                                         \
    .size = sizeof(struct spex_policy_ops), .abi = SPEX_POLICY_ABI, .name = (name_),               \
    .summary = (summary_)

/* Defines a policy. A built-in policy is also named in the list of policies/. The same file
 * compiles to a shared object of its own with -DSPEX_POLICY_AS_OBJECT. */
#ifdef SPEX_POLICY_AS_OBJECT
#define SPEX_POLICY(ident) SPEX_POLICY_OBJECT
#else
#define SPEX_POLICY(ident) const struct spex_policy_ops spex_policy_##ident
#endif

/* Defines the policy of a shared object: the host looks for this symbol. */
#define SPEX_POLICY_OBJECT                                                                         \
    extern SPEX_API const struct spex_policy_ops spex_policy;                                      \
    const struct spex_policy_ops spex_policy

/* Checks a policy; for programs that load one. Returns 0; -ENOTSUP when it was compiled for another
 * version of this header; -EINVAL when a mandatory member is missing. */
SPEX_INLINE int spex_policy_check(const struct spex_policy_ops *ops) {
    if (ops->size < sizeof(*ops) || ops->abi != SPEX_POLICY_ABI)
        return -ENOTSUP;
    if (!ops->name || !ops->summary || !ops->state_size || !ops->init || !ops->next)
        return -EINVAL;
    return 0;
}

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
