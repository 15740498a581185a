/* SPDX-License-Identifier: MIT */
/* Groups trials by configuration: mean and variance of each group, and the best group. */
#ifndef SPEX_MEASURE_SUMMARY_H
#define SPEX_MEASURE_SUMMARY_H

#include "measure/trial.h"

/* A criterion over the successful trials of a configuration. */
struct spex_group_criterion {
    double mean;
    /* Sum of the squared differences of the trials from the mean. */
    double squares;
    double low;
    double high;
    /* Mean of the trials' own standard errors; 0: no trial has one. */
    double error;
};

/* The trials of one configuration. */
struct spex_group {
    size_t *levels;
    /* Successful trials. */
    uint64_t trials;
    uint64_t failed;
    /* criterion_count of them; valid if `trials` is not 0. */
    struct spex_group_criterion *criteria;
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;
};

struct spex_summary {
    const struct spex_space *space;
    /* In the order in which the configurations first ran. */
    struct spex_group *groups;
    size_t count;
    /* Hash table: position + 1 of a group; 0: free. */
    size_t *table;
    size_t table_size;
};

void spex_summary_init(struct spex_summary *summary, const struct spex_space *space);
void spex_summary_free(struct spex_summary *summary);

/* Adds a finished trial to its group. 0 or -ENOMEM. */
int spex_summary_add(struct spex_summary *summary, const struct spex_trial *trial);

/* The group of a configuration; NULL: it has no trial. */
const struct spex_group *spex_summary_find(const struct spex_summary *summary,
                                           const size_t *levels);

/* Returns whether the group's means are within all limits. */
bool spex_group_allowed(const struct spex_space *space, const struct spex_group *group);

/* Returns whether a is better than b: within the limits where b is not, or by the mean of the first
 * objective. True if b is NULL. */
bool spex_group_better(const struct spex_space *space, const struct spex_group *a,
                       const struct spex_group *b);

/* The best of the groups with a result in which parameter `fixed` has `level`. `fixed` equal to
 * parameter_count: of all groups. NULL: there is none. */
const struct spex_group *spex_summary_best(const struct spex_summary *summary, size_t fixed,
                                           size_t level);

/* The best of the groups in which two parameters have these levels. */
const struct spex_group *spex_summary_best_of(const struct spex_summary *summary, size_t parameter,
                                              size_t level, size_t fixed, size_t fixed_level);

/* Share by which a higher number of threads must be better to count. */
#define SPEX_KNEE_TOLERANCE 0.05

/* The knee of scaling: the first level of the threads parameter that no higher one beats by more
 * than the tolerance, comparing the best configuration with each; `fixed` as in spex_summary_best.
 * The parameter's count: there is no result, or the highest level with a result beats all
 * others. */
size_t spex_summary_knee(const struct spex_summary *summary, size_t fixed, size_t level);

/* The parameter's value in a configuration; "-": the parameter does not apply. */
const char *spex_level_text(const struct spex_space *space, const size_t *levels, size_t parameter);

/* Whether the parameter is a number of bytes: its unit is B or bytes. Its values are shown with a
 * prefix. */
bool spex_parameter_is_bytes(const struct spex_parameter *parameter);

/* The heading of the parameter's values: "cache [MB]", "page_size" for bytes, whose values have
 * their unit. Cut to `size`. */
void spex_parameter_heading(const struct spex_parameter *parameter, char *text, size_t size);

/* A value as people read it: as in the space, or "64 KiB" for bytes. Returns `text`. */
const char *spex_value_shown(const struct spex_parameter *parameter, size_t level, char *text,
                             size_t size);

/* The same of a configuration, with "-" for a parameter that does not apply. */
const char *spex_level_shown(const struct spex_space *space, const size_t *levels, size_t parameter,
                             char *text, size_t size);

/* The configuration as text: "threads=2 cache=16 MB page_size=64 KiB". */
void spex_levels_text(const struct spex_space *space, const size_t *levels, char *text,
                      size_t size);

#endif
