/* SPDX-License-Identifier: MIT */
/* Tuning from within: a program explores its configuration space while it works, and goes on with the best. It gives the
 * space, and a function that applies a configuration; a policy (spex/policy.h) says which one is next and when a run has
 * said enough; what a run comes to is told by the program's own probes. No process is started, nothing is stored, and
 * nothing is linked beside libspex. docs/tuning.md is an introduction, examples/tune a program.
 *
 *     struct spex_tune_options options = {.size = sizeof(options), .space = &space,
 *                                         .policy = spex_policy_named("grid"), .configure = apply};
 *     spex_start(NULL);
 *     spex_tune_start(&options, why, sizeof(why));
 *     …                      the program's work
 *     spex_tune_stop();      the best is applied, if it has not been yet
 *     spex_stop();
 *
 * A run begins when configure() has returned: records that are made later are its own, also of executions that had begun
 * before, for which there is the warm-up. The probes that it needs are on while it is tuned unless the user's
 * selection (SPEX_PROBES, spex_set, `spex set`) says something else of them; the user's budget holds for them, too.
 *
 * One tuning at a time in a process. The child of a fork has none, and may start its own. Nothing here is for signal
 * handlers. */
#ifndef SPEX_TUNE_H
#define SPEX_TUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/policy.h>

SPEX_EXTERN_C_BEGIN

/* At most as many runs, also where the rules say nothing or more: all of them are kept. */
#define SPEX_TUNE_TRIALS_MAX 10000

/* What is configured when it ends, however it ends. */
enum spex_tune_leave {
    SPEX_TUNE_BEST,     /* the best; where there is none, the defaults */
    SPEX_TUNE_DEFAULTS, /* the defaults of all parameters */
    SPEX_TUNE_LAST      /* whatever has been tried last */
};

/* How far it has come. */
struct spex_tune_report {
    size_t size;  /* in: sizeof(struct spex_tune_report) */
    bool running; /* until all is done, finished() included */
    int result; /* when it has ended: 0: the policy has had enough, or there were as many runs as are allowed;
                     -ECANCELED: stopped; or what went wrong */
    uint64_t trials;          /* runs that have ended */
    uint64_t failed;          /* of them, without a result */
    uint64_t trials_expected; /* in all; 0 when the policy cannot tell */
    uint64_t
        best_trials; /* runs of the best configuration that have a result; 0: there is no best yet */
    bool best_allowed; /* it keeps to the limits; false: no configuration has been found to */
    bool applied;      /* whether there is a configuration in force that configure() has applied */

    /* In, of spex_tune_look: room for as many as the space has parameters or criteria, or NULL. */
    size_t *best_levels;
    struct spex_measured
        *best_measured; /* means over its runs; their errors by the runs' own, or by how its
                                            runs differ if that is more; NaN where unknown */
    size_t *levels;     /* in force; being measured while it is running */

    char why[256]; /* why the last run failed that did, or what went wrong; "" */
};

/* A run that has ended. */
struct spex_tune_trial {
    size_t size;     /* sizeof, as compiled by the library */
    uint64_t number; /* from 1 */
    const size_t *levels;
    bool ok;
    const char *status;                   /* "ok" or why it failed */
    const struct spex_measured *measured; /* criterion_count of them; NaN when it failed */
    uint64_t records_used;
    uint64_t records_lost; /* in all rings, meanwhile */
    double seconds;
};

struct spex_tune_options {
    size_t size; /* sizeof(struct spex_tune_options) */

    /* Copied, with all that it points to but `context`, as are `rules`. What is left out of it is filled in: text and
     * positions of values, numbers of integers; false and true of a boolean parameter without values; rules that are 0,
     * save precision and warmup_seconds, as in docs/spaces.md; criteria that are all objectives when objective_count
     * is 0. threads_parameter must be said: parameter_count where none sets the number of threads. */
    const struct spex_space *space;

    /* spex_policy_named(), or one of the program's own. Called on the tuning thread, save its init, which is called
     * within spex_tune_start. */
    const struct spex_policy_ops *policy;

    /* Applies a configuration and returns when it is in force: 0, or a negative errno value, by which this run
     * fails. Tears down what was there before, if need be. Called on the tuning thread, which takes no signals, nor do
     * threads that it starts, without any lock of spex's held. It may call everything of spex; spex_tune_stop does not
     * wait there. */
    int (*configure)(void *user, const struct spex_space *space, const size_t *levels);

    /* The end, after the last configure(); may be NULL. On the tuning thread, likewise. */
    void (*finished)(void *user, const struct spex_tune_report *report);

    void *user;
    enum spex_tune_leave leave;
};

/* A built-in exploration policy, such as "grid"; NULL when there is none of that name. A program that does not call it has no
 * policy linked but its own. */
SPEX_API const struct spex_policy_ops *spex_policy_named(const char *name);

/* Starts to tune, after spex_start, and returns. 0; -EINVAL when something is wrong with the options, the space or the
 * policy's size; -ENOTSUP for a policy for another version of spex; -EBUSY while another tuning is running, also from
 * its own configure() and finished(); -EPERM before spex_start; -ENOMEM; or what the policy's init or starting a
 * thread failed with. One line in `why` says which. */
SPEX_API SPEX_MUST_CHECK int spex_tune_start(const struct spex_tune_options *options, char *why,
                                             size_t why_size);

/* Ends it if it is running: breaks off the run under way, waits for a configure() that is, configures what is to be
 * left, calls finished(). From configure() and finished() it only asks for the end. Do not hold what these wait for. 0,
 * also when nothing is running. spex_stop() ends a tuning as well, and does not wait for it. */
SPEX_API int spex_tune_stop(void);

/* Of the tuning that is running, or the last one. 0; -EINVAL when the size is not one that this library knows; -ENODATA:
 * there has been none. */
SPEX_API int spex_tune_look(struct spex_tune_report *report);

/* Calls see() for every run that has ended, in their order; the tuning waits meanwhile, and see() must not call
 * spex_tune_... itself. Their number. */
SPEX_API uint64_t spex_tune_trials(void (*see)(void *user, const struct spex_tune_trial *trial),
                                   void *user);

SPEX_EXTERN_C_END

#endif
