/* SPDX-License-Identifier: MIT */
/* Exploration of a configuration space: runs a program once for each configuration that a policy
 * asks for, and keeps every finished trial in a store (Go and Colmenares, EWiLi'16, section 3.2).
 * `spex explore`, `spex report` and `spex explain` call these functions; so may other programs. In
 * libspex-explore.
 *
 * One exploration at a time in a process; not in signal handlers. spex_explore starts child
 * processes and waits for them. Meanwhile the process is a child subreaper (prctl): it becomes the
 * parent of orphans of its children. */
#ifndef SPEX_EXPLORE_H
#define SPEX_EXPLORE_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

/* The progress of an exploration. */
struct spex_progress {
    /* sizeof, as compiled by the library. */
    size_t size;
    /* Trials that have finished, those found in the store included. */
    uint64_t trials;
    /* Those of `trials` that were found in the store. */
    uint64_t resumed;
    /* Those of `trials` without a result. */
    uint64_t failed;
    /* Trials in all; 0 when the policy cannot tell. */
    uint64_t trials_expected;
    /* There is a best configuration: the next three members are set. */
    bool have_best;
    /* The first objective of the best configuration: the estimate that reports rank by. */
    double best_objective;
    /* The same with its unit, and with the digits that are known: "510 k/s". */
    const char *best_figure;
    /* The best configuration, such as "threads=2 cache_mode=private". */
    const char *best;
    /* Why the last failed trial failed; NULL: none has failed. */
    const char *last_failure;
    /* The configuration that runs now; NULL: none. */
    const char *running;
    /* The time since the start, divided by the trials that have run since; 0 before the first. */
    double seconds_per_trial;
    /* In the last call, if there is a best configuration: the 95 % interval of its objective,
     * "490 to 530 k/s", and the number of configurations that may be as good, itself included.
     * NULL and 0 before. */
    const char *best_interval;
    uint64_t tied;
    /* In the last call: the configurations that have a trial, and all that there are, in a large
     * space about; and whether repeated trials gave the same figures, so that there is no interval. */
    uint64_t tried;
    uint64_t configurations;
    bool exact;
    /* With it, if there were finals: how sure the best is, in a sentence; NULL: there were none. */
    const char *finals;
};

/* Options of spex_explore. A member that is 0 or NULL has its default, except `space`, `store`,
 * `argv` and `stop_fd`. */
struct spex_explore_options {
    /* sizeof(struct spex_explore_options). */
    size_t size;
    /* The path of the space's XML file. */
    const char *space;
    /* The name of a built-in policy, or the path of a shared object, which has a "/"; NULL: the
     * default policy. */
    const char *policy;
    /* The path of the store. The exploration continues when the store holds trials of it. */
    const char *store;
    /* The program and its arguments; ends with NULL. */
    char *const *argv;
    /* Trials at a time, each with CPUs of its own; 0 is 1. */
    unsigned jobs;
    /* The trials may all use all CPUs. They then disturb each other. */
    bool share_cpus;
    /* Continue in a store with trials of another machine, kernel or build. */
    bool mixed;
    /* Run the trials again that are in the store as failed. */
    bool retry_failed;
    /* The exploration ends early when this descriptor becomes readable; -1: none. */
    int stop_fd;
    /* Called before and after each trial, on the thread that has called spex_explore; may be NULL.
     * `progress` and its texts are valid until it returns. */
    void (*progress)(void *user, const struct spex_progress *progress);
    /* Passed to `progress`. */
    void *user;
    /* The exploration takes so many seconds, those that its trials in the store took included, to
     * within half a trial; 0: until the policy ends it. */
    double seconds;
    /* Of them, those that have passed before the first trial. */
    double seconds_before;
};

/* Explores until the policy ends the exploration. Returns 0; -EINVAL for a bad space, option or
 * policy; -EEXIST for a store of another exploration; -EBUSY for a store in use; -EINTR after
 * stop_fd; or another negative errno value. After an error `why` holds one line that names it. The
 * store holds all trials that have finished, whatever is returned. A trial in which the program
 * misbehaves is a failed trial, not an error. */
SPEX_API SPEX_MUST_CHECK int spex_explore(const struct spex_explore_options *options, char *why,
                                          size_t why_size);

/* Options of spex_report: a store, and what is to be written. */
struct spex_report_options {
    /* sizeof(struct spex_report_options). */
    size_t size;
    /* The path of the store. Its exploration may still be running. */
    const char *store;
    /* Where a report for people is written; NULL: none. */
    FILE *text;
    /* Where the same report is written as JSON, with every trial unless `without_trials`; NULL:
     * none. */
    FILE *json;
    /* Where a table is written that has a row for each trial; NULL: none. */
    FILE *csv;

    /* Paths of pictures, PNG for a name that ends in .png and SVG for others, and of a page with
     * all of them; NULL for none. They need gnuplot. */
    /* The first objective over two parameters. */
    const char *heatmap;
    /* The names of these two parameters; NULL: as the space says. */
    const char *heatmap_x;
    const char *heatmap_y;
    /* The first objective over each parameter. */
    const char *effects;
    /* The first objective against each other objective. */
    const char *pareto;
    /* The best result so far over the trials. */
    const char *convergence;
    /* The page. */
    const char *html;

    /* The path of another store, with which to compare this one, as text or JSON; NULL: none. */
    const char *other;

    /* The JSON has the findings alone, without the trials. */
    bool without_trials;
};

/* Reports what a store holds. Returns 0; -EEXIST when the file is not a store; -EINVAL for a
 * parameter that the space does not have, or a picture for which the space has too little; -ENODATA
 * for a picture when no trial has a result; -ENOENT for a picture without gnuplot; or another
 * negative errno value. After an error `why` holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_report(const struct spex_report_options *options, char *why,
                                         size_t why_size);

/* Options of spex_explain: a store, and the two configurations to compare. */
struct spex_explain_options {
    /* sizeof(struct spex_explain_options). */
    size_t size;
    /* The path of the store. Its exploration may still be running. */
    const char *store;
    /* Two configurations that were run: "best", "worst", "#17" (of that trial), or as many values
     * as make it the only one: "threads=4,cache=16". */
    const char *a;
    const char *b;
    /* Where a table for people is written; NULL: none. */
    FILE *text;
    /* Where the same is written as JSON; NULL: none. */
    FILE *json;
    /* The table also has what has not changed, as far as the trials can tell. */
    bool all;
};

/* Compares two configurations in everything that their trials recorded. Returns 0; -EEXIST when the
 * file is not a store; -EINVAL for a text that names no configuration or several; -ENODATA for a
 * configuration without a successful trial; or another negative errno value. After an error `why`
 * holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_explain(const struct spex_explain_options *options, char *why,
                                          size_t why_size);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
