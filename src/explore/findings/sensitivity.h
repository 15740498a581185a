/* SPDX-License-Identifier: MIT */
/* Which parameters matter for the first objective, and how much, from whatever trials there are:
 * functional analysis of variance of what a Gaussian process, fitted to them, expects over the
 * whole space, with intervals by the bootstrap. */
#ifndef SPEX_EXPLORE_FINDINGS_SENSITIVITY_H
#define SPEX_EXPLORE_FINDINGS_SENSITIVITY_H

#include <spex/policy.h>

/* A configuration's successful trials. */
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
    struct spex_sensitivity_share main; /* what the parameter explains by itself */
    /* What is left open when all but it are known: with what it does together with others. */
    struct spex_sensitivity_share total;
};

/* Fewer configurations tell nothing. */
#define SPEX_SENSITIVITY_LEAST 8

/* One for each of the space's parameters, in that order: logarithms are analysed if all means are
 * positive. The same for the same input. 0; -ENODATA when there are too few trials, or no
 * configuration differs from another; -ENOMEM. */
int spex_sensitivity_of(const struct spex_space *space, const struct spex_sensitivity_input *inputs,
                        size_t count, struct spex_sensitivity *sensitivities);

/* The same for two parameters together: what they explain beyond what each does by itself. */
int spex_sensitivity_pair(const struct spex_space *space,
                          const struct spex_sensitivity_input *inputs, size_t count, size_t one,
                          size_t other, struct spex_sensitivity_share *share);

#endif
