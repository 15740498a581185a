/* SPDX-License-Identifier: MIT */
/* Estimates from any set of trials how much each parameter matters for the first objective:
 * functional analysis of variance of the predictions of a Gaussian process over the whole space,
 * with bootstrap intervals. */
#ifndef SPEX_EXPLORE_FINDINGS_SENSITIVITY_H
#define SPEX_EXPLORE_FINDINGS_SENSITIVITY_H

#include <spex/policy.h>

/* The successful trials of a configuration. */
struct spex_sensitivity_input {
    const size_t *levels;
    uint64_t trials;
    double mean; /* of the first objective */
    double squares;
};

/* A share of the variance between the space's configurations, with a 95 % interval. */
struct spex_sensitivity_share {
    double value;
    double low;
    double high;
};

struct spex_sensitivity {
    struct spex_sensitivity_share main; /* explained by the parameter by itself */
    /* Not explained when all parameters but this one are known: its effect by itself and with
     * others. */
    struct spex_sensitivity_share total;
};

/* The least number of configurations for an analysis. */
#define SPEX_SENSITIVITY_LEAST 8

/* Fills in sensitivities[] for each of the space's parameters. Logarithms are analysed if all means
 * are positive. Deterministic. 0; -ENODATA when there are too few configurations or all have equal
 * means; -ENOMEM. */
int spex_sensitivity_of(const struct spex_space *space, const struct spex_sensitivity_input *inputs,
                        size_t count, struct spex_sensitivity *sensitivities);

/* The share that two parameters explain together beyond what each explains by itself. */
int spex_sensitivity_pair(const struct spex_space *space,
                          const struct spex_sensitivity_input *inputs, size_t count, size_t one,
                          size_t other, struct spex_sensitivity_share *share);

#endif
