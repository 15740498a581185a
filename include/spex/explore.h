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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <spex/compiler.h>

SPEX_EXTERN_C_BEGIN

/* The progress of an exploration. */
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
    const char *space; /* path of the space's XML file */
    /* The name of a built-in policy, or the path of a shared object, with a "/"; NULL: the default.
     * */
    const char *policy;
    const char *store; /* path; continued when it holds trials of the same exploration */
    char *const *argv; /* the program and its arguments; ends with NULL */
    unsigned jobs;     /* trials at a time, each with CPUs of its own; 0 is 1 */
    bool share_cpus;   /* all of them may use all CPUs, and disturb each other */
    bool mixed;        /* go on in a store with trials of another machine, kernel or build */
    bool retry_failed; /* run those trials again that are in the store as failed */
    int stop_fd;       /* the exploration ends early when this becomes readable; -1 for none */
    /* Called before and after each trial; may be NULL. */
    void (*progress)(void *user, const struct spex_progress *progress);
    void *user;
};

/* Explores until the policy ends the exploration. Returns 0; -EINVAL for a bad space, option or
 * policy;
 * -EEXIST for a store of another exploration; -EBUSY for a store in use; -EINTR after stop_fd; or
 * another negative errno value. After an error `why` holds one line that names it. The store holds
 * all trials that have finished, whatever is returned. A trial in which the program misbehaves is a
 * failed trial, not an error. */
SPEX_API SPEX_MUST_CHECK int spex_explore(const struct spex_explore_options *options, char *why,
                                          size_t why_size);

struct spex_report_options {
    size_t size;       /* sizeof(struct spex_report_options) */
    const char *store; /* path; may belong to an exploration that is still running */
    FILE *text;        /* where a report for people goes; NULL for none */
    FILE *json;        /* where the same as JSON goes, with every trial; NULL for none */
    FILE *csv;         /* where a table goes that has a row for each trial; NULL for none */

    /* Paths of pictures, PNG for a name that ends in .png and SVG for others, and of a page with
     * all of them; NULL for none. They need gnuplot. */
    const char *heatmap;   /* the first objective over two parameters */
    const char *heatmap_x; /* which; NULL: as the space says */
    const char *heatmap_y;
    const char *effects;     /* the first objective over each parameter */
    const char *pareto;      /* the first objective against each other one */
    const char *convergence; /* the best so far */
    const char *html;

    /* The path of another store, with which to compare this one, as text or JSON; NULL: none. */
    const char *other;
};

/* Reports what a store holds. Returns 0; -EEXIST when the file is not a store; -EINVAL for a
 * parameter that the space does not have, or a picture for which the space has too little; -ENODATA
 * for a picture when no trial has a result; -ENOENT for a picture without gnuplot; or another
 * negative errno value. After an error `why` holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_report(const struct spex_report_options *options, char *why,
                                         size_t why_size);

struct spex_explain_options {
    size_t size;       /* sizeof(struct spex_explain_options) */
    const char *store; /* path; may belong to an exploration that is still running */
    /* Two configurations that were run: "best", "worst", "#17" (of that trial), or as many values
     * as make it the only one: "threads=4,cache=16". */
    const char *a;
    const char *b;
    FILE *text; /* where a table for people goes; NULL for none */
    FILE *json; /* where the same as JSON goes; NULL for none */
    bool all;   /* in the table also what has not changed, as far as the trials can tell */
};

/* Compares two configurations in everything that their trials recorded. Returns 0; -EEXIST when the
 * file is not a store; -EINVAL for a text that names no configuration or several; -ENODATA for a
 * configuration without a successful trial; or another negative errno value. After an error `why`
 * holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_explain(const struct spex_explain_options *options, char *why,
                                          size_t why_size);

SPEX_EXTERN_C_END

#endif
