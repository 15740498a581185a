/* SPDX-License-Identifier: MIT */
/* Tuning from within: a program explores its configuration space while it works, and continues with
 * the best configuration. It is the explorer of Go and Colmenares (EWiLi'16), section 3.2, in one
 * process. The program provides the space and a function that applies a configuration. A policy
 * (policy.h) decides which configuration is next and when a run has enough records. The program's
 * own probes measure each run. No process is started and nothing is stored; libspex is all that is
 * linked. docs/tuning.md is an introduction, examples/tune a complete program.
 *
 *     struct spex_tune_options options = {.size = sizeof(options), .space = &space,
 *                                         .policy = spex_policy_named("grid"), .configure = apply};
 *     spex_start(NULL);
 *     spex_tune_start(&options, why, sizeof(why));
 *     …                      the program's work
 *     spex_tune_stop();      applies the best configuration, if that has not happened yet
 *     spex_stop();
 *
 * A run begins when configure() has returned. Records that are made later belong to it, including
 * those of executions that began before; the warm-up is there to leave them out. The probes that
 * the criteria need are on while the program is tuned, unless the user's selection (SPEX_PROBES,
 * spex_set, `spex set`) says otherwise. The user's budget holds for them, too.
 *
 * Threads: one tuning at a time in a process. Any thread may call these functions; starts and stops
 * wait for each other. No function here may be called in a signal handler. The child of a fork has
 * no tuning, and may start its own. */
#ifndef SPEX_TUNE_H
#define SPEX_TUNE_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>
#include <spex/policy.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

/* The most runs of one tuning, whatever the rules say: all of them are kept in memory. */
#define SPEX_TUNE_TRIALS_MAX 10000

/* The configuration in which a tuning leaves the program, however it ends. */
enum spex_tune_leave {
    /* The best configuration; where there is none, the defaults. */
    SPEX_TUNE_BEST,
    /* The defaults of all parameters. */
    SPEX_TUNE_DEFAULTS,
    /* The configuration that was applied last. */
    SPEX_TUNE_LAST
};

/* The progress of a tuning. */
struct spex_tune_report {
    /* Set by the caller: sizeof(struct spex_tune_report). */
    size_t size;
    /* False when everything is done, finished() included. */
    bool running;
    /* After the end: 0 when the policy has ended the tuning, or the number of runs that is allowed
     * was reached; -ECANCELED when it was stopped; or the error that ended it. */
    int result;
    /* Runs that have ended, and those of them without a result. */
    uint64_t trials;
    uint64_t failed;
    /* Runs in all; 0 when the policy cannot tell. */
    uint64_t trials_expected;
    /* Runs of the best configuration that have a result; 0: there is no best configuration yet. */
    uint64_t best_trials;
    /* The best configuration keeps to the limits. False: none that does has been found. */
    bool best_allowed;
    /* A configuration that configure() has applied is in force. */
    bool applied;

    /* For spex_tune_look the caller sets these to arrays, one element for each parameter or
     * criterion of the space, or to NULL.
     *
     * The best configuration. */
    size_t *best_levels;
    /* Its criteria: means over its runs. The standard error is the larger one of that of the runs
     * and that of the differences between them; NaN where unknown. */
    struct spex_measured *best_measured;
    /* The configuration in force, which is measured while the tuning is running. */
    size_t *levels;

    /* Why the last failed run failed, or the error that ended the tuning; "" for none. */
    char why[256];
};

/* A run that has ended. */
struct spex_tune_trial {
    /* sizeof, as compiled by the library. */
    size_t size;
    /* Counted from 1. */
    uint64_t number;
    /* The configuration: a level of each parameter. */
    const size_t *levels;
    /* The run has a result. */
    bool ok;
    /* "ok", or why the run failed. */
    const char *status;
    /* One for each criterion; NaN when the run failed. */
    const struct spex_measured *measured;
    /* Records that count for the result. */
    uint64_t records_used;
    /* Records lost in all rings during the run. */
    uint64_t records_lost;
    /* The length of the run. */
    double seconds;
};

/* What to tune, and how. */
struct spex_tune_options {
    /* sizeof(struct spex_tune_options). */
    size_t size;

    /* The space. spex_tune_start copies it with all that it points to, except `context`, and fills
     * in what is left out:
     *   values      their text and position, and the number of an integer
     *   booleans    false and true where there are no values
     *   rules       those that are 0, except precision, warmup_seconds and least_seconds, as in
     *               docs/spaces.md
     *   objectives  all criteria, where objective_count is 0
     * threads_parameter must be set: parameter_count where no parameter sets the number of threads.
     * */
    const struct spex_space *space;

    /* From spex_policy_named(), or the program's own. Its init is called within spex_tune_start,
     * everything else on the tuning thread. */
    const struct spex_policy_ops *policy;

    /* Applies a configuration, after tearing down the last one where necessary, and returns when it
     * is in force. Returns 0, or a negative errno value: the run fails. Called on the tuning
     * thread. That thread and the threads that it starts take no signals, and no lock of spex is
     * held. It may call everything of spex; spex_tune_stop does not wait there. */
    int (*configure)(void *user, const struct spex_space *space, const size_t *levels);

    /* Called at the end, after the last configure(), on the tuning thread; may be NULL. */
    void (*finished)(void *user, const struct spex_tune_report *report);

    /* Passed to the functions. */
    void *user;
    /* The configuration in which the tuning leaves the program. */
    enum spex_tune_leave leave;
};

/* Returns a built-in exploration policy, such as "grid"; NULL when none has that name. A program
 * that does not call this function contains no built-in policy. Any thread. */
SPEX_API const struct spex_policy_ops *spex_policy_named(const char *name);

/* Starts a tuning on a thread of its own, and returns. After spex_start. Returns 0; -EINVAL for
 * wrong options, a wrong space or a policy of another size; -ENOTSUP for a policy for another
 * version of spex; -EBUSY while another tuning is running, and within configure() and finished();
 * -EPERM before spex_start; -ENOMEM; or the error of the policy's init or of starting a thread.
 * After an error `why` holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_tune_start(const struct spex_tune_options *options, char *why,
                                             size_t why_size);

/* Ends the tuning: breaks off the current run, waits for a configure() that is going on, configures
 * what `leave` says, and calls finished(). Within configure() and finished() it only asks for the
 * end. The caller must not hold a lock that these wait for. Returns 0, also when no tuning is
 * running. spex_stop() also ends a tuning, and does not wait for it. */
SPEX_API int spex_tune_stop(void);

/* Fills in the report of the tuning that is running, or of the last one. Returns 0; -EINVAL for a
 * size that this library does not know; -ENODATA when there has been none. */
SPEX_API int spex_tune_look(struct spex_tune_report *report);

/* Calls see() for every run that has ended, in the order of the runs, and returns their number. The
 * tuning waits meanwhile; see() must not call a spex_tune_… function. */
SPEX_API uint64_t spex_tune_trials(void (*see)(void *user, const struct spex_tune_trial *trial),
                                   void *user);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
