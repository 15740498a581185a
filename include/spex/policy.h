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
 * With several runs at a time there are calls of next() and run_finished() of other runs in
 * between. All calls come one at a time, but not always from the same thread.
 *
 * A policy must be deterministic: given the same space and, in the same order, the same calls of
 * next() and run_finished(), it makes the same plans. An interrupted exploration is resumed by
 * these calls again, with the trials in the store, instead of running them; so nothing that
 * process_records() and stop_run() come to know may change a plan. */
#ifndef SPEX_POLICY_H
#define SPEX_POLICY_H

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/record.h>

SPEX_EXTERN_C_BEGIN

#define SPEX_POLICY_ABI 2

/* The space. A configuration is one level of each parameter: levels[p] is below parameters[p].count
 * and stands for parameters[p].values[levels[p]]. Real parameters have levels, too: as many points
 * as the space gives them. */

enum spex_parameter_kind { SPEX_INTEGER = 1, SPEX_CATEGORICAL, SPEX_REAL, SPEX_BOOLEAN };

struct spex_value {
    const char *text; /* as in the space's file, or as it is written for the program */
    int64_t integer;  /* of an integer parameter; 0 or 1 of a boolean one */
    double number;    /* of an integer or real parameter */
    double
        position; /* of these: 0 at the lowest value, 1 at the highest, in between as values differ, or
                         as their logarithms do when the parameter is logarithmic */
};

struct spex_parameter {
    const char *name;
    const char *unit; /* "" when none was given */
    enum spex_parameter_kind kind;
    bool logarithmic; /* what matters are ratios of values */
    size_t count;     /* 1 for a parameter that is fixed */
    const struct spex_value
        *values;          /* numbers ascending, categories as in the file, false and true */
    size_t default_level; /* a good guess, and what it has while it does not apply */
};

/* Whether there is an order among its values, so that a neighbour is likely to do alike. */
SPEX_INLINE bool spex_parameter_ordered(const struct spex_parameter *parameter) {
    return parameter->kind == SPEX_INTEGER || parameter->kind == SPEX_REAL;
}

/* What a run is judged by: objectives, of which one is the first, and limits that a configuration
 * has to keep to be of use. */
enum spex_goal { SPEX_MAXIMISE = 1, SPEX_MINIMISE, SPEX_AT_MOST, SPEX_AT_LEAST };

struct spex_criterion {
    const char *probe;  /* selection in SPEX_PROBES' syntax that names one probe of one type */
    const char *metric; /* throughput, mean, min, max, or a quantile: p50, p99, p99.9 */
    unsigned field;     /* which of a record's values */
    enum spex_goal goal;
    double bound; /* of a limit; in the metric's unit */
};

SPEX_INLINE bool spex_criterion_is_limit(const struct spex_criterion *criterion) {
    return criterion->goal == SPEX_AT_MOST || criterion->goal == SPEX_AT_LEAST;
}

/* Of extremes nobody knows how far they are from those of a longer run. */
SPEX_INLINE bool spex_criterion_is_extreme(const struct spex_criterion *criterion) {
    return criterion->metric[0] == 'm' && criterion->metric[1] != 'e';
}

struct spex_rules {
    unsigned trials_per_config;
    unsigned records_per_thread; /* a run has enough when each thread has made so many */
    double
        precision; /* and when every interval (95 %) but those of extremes is within this share of
                                    its value, to both sides; 0: no matter how wide */
    double warmup_seconds;   /* records before it, from the first record on, do not count;
                                    negative: until the run is steady */
    double startup_seconds;  /* longest wait for the first record */
    double duration_seconds; /* longest run from the first record on, warm-up included */
    uint64_t trials_max; /* a policy that could go on for ever ends after so many; 0: it chooses */
    uint64_t seed;
};

struct spex_space {
    size_t size; /* sizeof, as compiled by the host */
    const char *name;
    size_t parameter_count;
    const struct spex_parameter *parameters;
    size_t threads_parameter; /* index of the one that sets the number of recording threads, or
                                 parameter_count when none does */
    size_t objective_count;   /* at least 1 */
    size_t criterion_count;
    const struct spex_criterion *criteria; /* the objectives, then the limits */
    struct spex_rules rules;

    /* What follows is for the functions below. */
    void *context;
    /* Makes a configuration the one that stands for all that are the same to the program: parameters
     * that do not apply get their default. Whether it is allowed. NULL: all are, and differ. */
    bool (*settle)(const struct spex_space *space, size_t *levels);
    /* Whether a parameter applies, given the others. NULL: they all do. */
    bool (*applies)(const struct spex_space *space, const size_t *levels, size_t parameter);
};

/* How many configurations there are, allowed ones and others; the explorer takes no space of more than
 * 2^40. */
SPEX_INLINE uint64_t spex_space_configurations(const struct spex_space *space) {
    uint64_t count = 1;
    for (size_t p = 0; p < space->parameter_count; p++)
        count *= space->parameters[p].count;
    return count;
}

/* Settles the parameters that do not apply; whether the configuration is allowed. Plan none that is not:
 * the explorer ends with an error. */
SPEX_INLINE bool spex_space_settle(const struct spex_space *space, size_t *levels) {
    return !space->settle || space->settle(space, levels);
}

SPEX_INLINE bool spex_space_applies(const struct spex_space *space, const size_t *levels,
                                    size_t parameter) {
    return !space->applies || space->applies(space, levels, parameter);
}

/* How many threads a configuration has to make records. */
SPEX_INLINE uint64_t spex_space_threads(const struct spex_space *space, const size_t *levels) {
    size_t p = space->threads_parameter;
    return p < space->parameter_count ? (uint64_t)space->parameters[p].values[levels[p]].integer
                                      : 1;
}

/* What next() fills in; set to the defaults, the criteria's probes and the rules before the call. */
struct spex_plan {
    size_t size;             /* sizeof, as compiled by the host */
    size_t *levels;          /* parameter_count of them */
    const char *probes;      /* selection; must live until the next call of next() or fini() */
    double duration_seconds; /* of this run, at most as long as the rules say */
};

/* A criterion as measured so far. */
struct spex_measured {
    double value; /* NaN while there is none */
    double error; /* standard error of the value, with the records' correlation in it; NaN while
                     nothing is known of it */
};

/* A run as it goes: what has been counted since the warm-up. */
struct spex_run {
    size_t size; /* sizeof, as compiled by the host */
    const size_t *levels;
    uint64_t records;
    uint64_t threads;      /* threads that have made a record */
    uint64_t threads_done; /* of them, those that have made rules.records_per_thread */
    double seconds;        /* since the warm-up ended */
    const struct spex_measured *measured; /* criterion_count of them */
};

/* Half the width of a 95 % interval, as a share of the value; infinite while nothing is known. */
SPEX_INLINE double spex_measured_precision(const struct spex_measured *measured) {
    double share = 1.96 * measured->error / fabs(measured->value);
    return share >= 0 ? share : INFINITY;
}

/* Whether a run has enough by the rules. */
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
    /* The next run: 1; nothing left to explore: 0; or a negative errno value, which ends
     * everything; of these -EAGAIN: none before a run that is under way has finished. */
    int (*next)(void *state, struct spex_plan *plan);

    /* Optional, may be NULL. */

    /* Whether the run can be stopped. After every batch; should be quick. NULL: when it has enough by the
     * rules. */
    bool (*stop_run)(void *state, const struct spex_run *run);
    /* How many runs this policy will plan in all, as far as it knows now: for the progress bar. */
    uint64_t (*runs)(const void *state);
    /* Records after the warm-up, in batches. */
    void (*process_records)(void *state, const struct spex_record *records, size_t count);
    /* The result of a run that was planned, also of one that failed. */
    void (*run_finished)(void *state, const struct spex_result *result);
    void (*fini)(void *state);
};

/* For whoever runs one. */
SPEX_INLINE bool spex_policy_stop_run(const struct spex_policy_ops *ops, void *state,
                                      const struct spex_space *space, const struct spex_run *run) {
    return ops->stop_run ? ops->stop_run(state, run) : spex_run_enough(space, run);
}

/* How the table of one begins that is compiled with this header. */
#define SPEX_POLICY_NAMED(name_, summary_)                                                         \
    .size = sizeof(struct spex_policy_ops), .abi = SPEX_POLICY_ABI, .name = (name_),               \
    .summary = (summary_)

/* A built-in policy is declared in policies/builtin.c; the same file makes an object of its own when it is compiled with
 * SPEX_POLICY_AS_OBJECT. */
#ifdef SPEX_POLICY_AS_OBJECT
#define SPEX_POLICY(ident) SPEX_POLICY_OBJECT
#else
#define SPEX_POLICY(ident) const struct spex_policy_ops spex_policy_##ident
#endif

/* An object that is loaded has its policy under this name. */
#define SPEX_POLICY_OBJECT                                                                         \
    extern SPEX_API const struct spex_policy_ops spex_policy;                                      \
    const struct spex_policy_ops spex_policy

/* For whoever loads one: 0; -ENOTSUP when it was compiled for another version of this header, -EINVAL
 * when something mandatory is missing. */
SPEX_INLINE int spex_policy_check(const struct spex_policy_ops *ops) {
    if (ops->size < sizeof(*ops) || ops->abi != SPEX_POLICY_ABI)
        return -ENOTSUP;
    if (!ops->name || !ops->summary || !ops->state_size || !ops->init || !ops->next)
        return -EINVAL;
    return 0;
}

SPEX_EXTERN_C_END

#endif
