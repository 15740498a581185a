/* SPDX-License-Identifier: MIT */
/* The accuracy of configurations' means: the variance of a configuration's trials, moderated by
 * those of all configurations, and at least the runs' own standard errors. */
#ifndef SPEX_EXPLORE_FINDINGS_ACCURACY_H
#define SPEX_EXPLORE_FINDINGS_ACCURACY_H

#include "measure/summary.h"
#include "policies/explore/noise.h"

/* A figure over the trials of a configuration. */
struct spex_sample {
    uint64_t trials; /* 0: the other members are undefined */
    double mean;
    double squares; /* sum of squared distances from the mean */
    double error;   /* mean of the runs' own standard errors; 0: not given */
};

/* Adds the value of one more trial (Welford's algorithm). */
static inline void spex_sample_add(struct spex_sample *sample, double value) {
    double distance = value - sample->mean;
    sample->mean += distance / (double)++sample->trials;
    sample->squares += distance * (value - sample->mean);
}

/* The sample of configuration `index`. */
typedef struct spex_sample spex_sample_of(const void *user, size_t index);

/* How trials vary in one figure. */
struct spex_accuracy {
    bool ratios;    /* the variance is of logarithms: all values are positive */
    bool repeated;  /* some configuration has two trials, so the variance is known */
    bool exact;     /* repeated trials gave the same */
    double repeats; /* trials beyond the first of each configuration */
    struct spex_noise noise;
};

/* Learns the variance from the samples of all `count` configurations. */
void spex_accuracy_learn(struct spex_accuracy *accuracy, spex_sample_of *sample_of,
                         const void *user, size_t count);

/* The standard error of the sample's mean; NaN when it is not known. */
double spex_accuracy_error(const struct spex_accuracy *accuracy, const struct spex_sample *sample);

/* Half the width of the mean's 95 % interval; NaN when it is not known. */
double spex_accuracy_margin(const struct spex_accuracy *accuracy, const struct spex_sample *sample);

/* The degrees of freedom of the estimated variance, given the residual ones of the configurations
 * in question (trials less the number of means). */
double spex_accuracy_freedom(const struct spex_accuracy *accuracy, double trials);

/* The functions above for a criterion of the space. */
struct spex_sample spex_group_sample(const struct spex_group *group, size_t criterion);
void spex_accuracy_learn_criterion(struct spex_accuracy *accuracy,
                                   const struct spex_summary *summary, size_t criterion);
double spex_group_error(const struct spex_accuracy *accuracy, const struct spex_group *group,
                        size_t criterion);
double spex_group_margin(const struct spex_accuracy *accuracy, const struct spex_group *group,
                         size_t criterion);

/* The 95 % interval of a mean; NaN when it is not known. Of times and rates, and where all values
 * are positive, both ends are: the lower one is as many times below the mean as the upper one,
 * mean + margin, is above. */
void spex_group_interval(const struct spex_accuracy *accuracy, const struct spex_summary *summary,
                         size_t group, size_t criterion, double *low, double *high);

#endif
