/* SPDX-License-Identifier: MIT */
/* How far a configuration's mean may lie from the truth: by how its own trials vary, moderated by
 * how those of all configurations do, and at least by what the trials say of themselves. */
#ifndef SPEX_EXPLORE_FINDINGS_ACCURACY_H
#define SPEX_EXPLORE_FINDINGS_ACCURACY_H

#include "measure/summary.h"
#include "policies/explore/noise.h"

/* A figure over the trials of a configuration. */
struct spex_sample {
    uint64_t trials; /* 0: the rest means nothing */
    double mean;
    double squares; /* of the distances from it, their sum */
    double error;   /* mean of the standard errors that trials gave; 0: they gave none */
};

typedef struct spex_sample spex_sample_of(const void *user, size_t index);

/* Of one figure. */
struct spex_accuracy {
    bool ratios;   /* the noise is one of logarithms: all values are positive */
    bool repeated; /* some configuration has two trials: the noise is known */
    struct spex_noise noise;
};

/* From the samples of all configurations. */
void spex_accuracy_learn(struct spex_accuracy *accuracy, spex_sample_of *sample_of,
                         const void *user, size_t count);

/* Standard error of the sample's mean; NaN when nothing is known of it. */
double spex_accuracy_error(const struct spex_accuracy *accuracy, const struct spex_sample *sample);

/* Half the width of the mean's 95 % interval; NaN when nothing is known of it. */
double spex_accuracy_margin(const struct spex_accuracy *accuracy, const struct spex_sample *sample);

/* Degrees of freedom that trials of one configuration, or of several together, have for telling the
 * noise. */
double spex_accuracy_freedom(const struct spex_accuracy *accuracy, double trials);

/* The same for a criterion of the space. */
struct spex_sample spex_group_sample(const struct spex_group *group, size_t criterion);
void spex_accuracy_learn_criterion(struct spex_accuracy *accuracy,
                                   const struct spex_summary *summary, size_t criterion);
double spex_group_error(const struct spex_accuracy *accuracy, const struct spex_group *group,
                        size_t criterion);
double spex_group_margin(const struct spex_accuracy *accuracy, const struct spex_group *group,
                         size_t criterion);

#endif
