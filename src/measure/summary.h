/* SPDX-License-Identifier: MIT */
/* Trials put together by configuration: mean and spread of each, and which is best. */
#ifndef SPEX_MEASURE_SUMMARY_H
#define SPEX_MEASURE_SUMMARY_H

#include "measure/trial.h"

/* A criterion over the successful trials of a configuration. */
struct spex_group_criterion {
    double mean;
    double squares; /* of the trials' differences from it, their sum */
    double low;
    double high;
    /* Mean of the standard errors that the trials gave themselves; 0 while none did. */
    double error;
};

/* The trials of one configuration. */
struct spex_group {
    size_t *levels;
    uint64_t trials; /* successful ones */
    uint64_t failed;
    struct spex_group_criterion
        *criteria; /* criterion_count of them; they mean something when there are trials */
    uint64_t records_used;
    uint64_t records_lost;
    double seconds;
};

struct spex_summary {
    const struct spex_space *space;
    struct spex_group *groups; /* in the order in which the configurations first ran */
    size_t count;
    size_t *table; /* hash table: position + 1 of a group, 0 for none */
    size_t table_size;
};

void spex_summary_init(struct spex_summary *summary, const struct spex_space *space);
void spex_summary_free(struct spex_summary *summary);

/* 0 or -ENOMEM. */
int spex_summary_add(struct spex_summary *summary, const struct spex_trial *trial);

/* The group of a configuration, or NULL. */
const struct spex_group *spex_summary_find(const struct spex_summary *summary,
                                           const size_t *levels);

/* Whether the means are within all limits. */
bool spex_group_allowed(const struct spex_space *space, const struct spex_group *group);

/* Whether a is better than b: within the limits, or else by the mean of the first objective; true
 * when b is NULL. */
bool spex_group_better(const struct spex_space *space, const struct spex_group *a,
                       const struct spex_group *b);

/* Over the groups with a result in which parameter `fixed` has `level`; all groups when `fixed` is
 * parameter_count. NULL when there is none. */
const struct spex_group *spex_summary_best(const struct spex_summary *summary, size_t fixed,
                                           size_t level);
const struct spex_group *spex_summary_worst(const struct spex_summary *summary);

/* The same among those in which two parameters have given levels. */
const struct spex_group *spex_summary_best_of(const struct spex_summary *summary, size_t parameter,
                                              size_t level, size_t fixed, size_t fixed_level);

/* The first level of the threads parameter that no higher one beats by more than this share,
 * looking at the best configuration with each; `fixed` as in spex_summary_best. The parameter's
 * count when there is none: no result, or the highest level with a result beats all others. */
#define SPEX_KNEE_TOLERANCE 0.05
size_t spex_summary_knee(const struct spex_summary *summary, size_t fixed, size_t level);

/* The value of a parameter; "-" when it does not apply. */
const char *spex_level_text(const struct spex_space *space, const size_t *levels, size_t parameter);

/* "threads=2 cache=16 MB": the configuration for people. */
void spex_levels_text(const struct spex_space *space, const size_t *levels, char *text,
                      size_t size);

#endif
