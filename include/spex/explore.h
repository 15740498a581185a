/* SPDX-License-Identifier: MIT */
/* Exploration of a configuration space: runs a program once for each configuration that a policy
 * asks for and keeps every finished trial in a store. What `spex explore` does, for those who want
 * to do it from a program of their own. In libspex-explore.
 *
 * One exploration at a time in a process; not for signal handlers. Makes child processes and waits
 * for them; meanwhile the process is a "child subreaper" (prctl), to which orphans of its children come. */
#ifndef SPEX_EXPLORE_H
#define SPEX_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <spex/compiler.h>

SPEX_EXTERN_C_BEGIN

/* How far an exploration has come. */
struct spex_progress {
    size_t size;              /* sizeof, as compiled by the library */
    uint64_t trials;          /* finished, those found in the store included */
    uint64_t resumed;         /* of them, found in the store */
    uint64_t failed;          /* of them, without a result */
    uint64_t trials_expected; /* in all; 0 when the policy cannot tell */
    bool have_best;           /* whether the next two mean something */
    double best_objective;    /* mean over the trials of the best configuration */
    const char *best;         /* it, "threads=2 cache_mode=private" */
    const char *last_failure; /* reason of the last failed trial, or NULL */
    const char *running;      /* configuration that runs now, or NULL */
    double seconds_per_trial; /* over the trials run so far, 0 before the first */
};

struct spex_explore_options {
    size_t size;       /* sizeof(struct spex_explore_options) */
    const char *space; /* path of the space's XML */
    const char *
        policy; /* name of a built-in policy, or an object's path, which has a "/"; NULL: the default */
    const char *store; /* path; continued when it holds trials of the same exploration */
    char *const *argv; /* the program and its arguments; ends with NULL */
    unsigned jobs;     /* trials at a time, each with CPUs of its own; 0 is 1 */
    bool share_cpus;   /* all of them may use all CPUs, and disturb each other */
    bool mixed;        /* go on in a store with trials of another machine, kernel or build */
    bool retry_failed; /* run those trials again that are in the store as failed */
    int stop_fd;       /* the exploration ends early when this becomes readable; -1 for none */
    void (*progress)(void *user,
                     const struct spex_progress *progress); /* may be NULL; called before
                                                               and after each trial */
    void *user;
};

/* Runs until the policy has had enough. 0; -EINVAL for a bad space, option or policy; -EEXIST for a
 * store of another exploration, -EBUSY for one in use; -EINTR by stop_fd; or what else went wrong,
 * with one line in `why`. Whatever it returns, trials that had finished are in the store. A trial
 * in which the program misbehaves is a failed trial, not an error. */
SPEX_API SPEX_MUST_CHECK int spex_explore(const struct spex_explore_options *options, char *why,
                                          size_t why_size);

struct spex_report_options {
    size_t size;       /* sizeof(struct spex_report_options) */
    const char *store; /* path; may belong to an exploration that is still running */
    FILE *text;        /* where a report for people goes; NULL for none */
    FILE *json;        /* where the same as JSON goes, with every trial; NULL for none */
    FILE *csv;         /* where a table goes that has a row for each trial; NULL for none */

    /* Paths of pictures, PNG for a name that ends in .png and SVG for others, and of a page with all of them; NULL for
     * none. They need gnuplot. */
    const char *heatmap;   /* the first objective over two parameters */
    const char *heatmap_x; /* which; NULL: as the space says */
    const char *heatmap_y;
    const char *effects;     /* the first objective over each parameter */
    const char *pareto;      /* the first objective against each other one */
    const char *convergence; /* the best so far */
    const char *html;

    const char *
        other; /* path of a store to compare it with, as text or JSON; NULL: tells of the one alone */
};

/* Tells what a store holds. 0; -EEXIST when it is no store; -EINVAL for a parameter that the space does not have, or a
 * picture that it has nothing for; -ENODATA when a picture was asked for and no trial has a result; -ENOENT without
 * gnuplot; or what else went wrong, with one line in `why`. */
SPEX_API SPEX_MUST_CHECK int spex_report(const struct spex_report_options *options, char *why,
                                         size_t why_size);

struct spex_explain_options {
    size_t size;       /* sizeof(struct spex_explain_options) */
    const char *store; /* path; may belong to an exploration that is still running */
    const char *
        a; /* a configuration that was run: "best", "worst", "#17" for that of a trial, or as many of its
                          values as make it the only one: "threads=4,cache=16" */
    const char *b;
    FILE *text; /* where a table for people goes; NULL for none */
    FILE *json; /* where the same as JSON goes; NULL for none */
    bool all;   /* in the table also what has not changed, as far as the trials can tell */
};

/* Sets two configurations side by side, in all that their trials recorded. 0; -EEXIST when it is no store; -EINVAL for
 * what names no configuration or several; -ENODATA for one of which no trial has a result; or what else went wrong,
 * with one line in `why`. */
SPEX_API SPEX_MUST_CHECK int spex_explain(const struct spex_explain_options *options, char *why,
                                          size_t why_size);

SPEX_EXTERN_C_END

#endif
