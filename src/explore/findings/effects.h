/* SPDX-License-Identifier: MIT */
/* The effect of each parameter on the first objective, and of pairs: means over the configurations
 * with each value, and shares of the variance. */
#ifndef SPEX_EXPLORE_FINDINGS_EFFECTS_H
#define SPEX_EXPLORE_FINDINGS_EFFECTS_H

#include "explore/findings/bins.h"
#include "explore/findings/sensitivity.h"
#include "measure/summary.h"

/* Most bins of an ordered parameter. */
#define SPEX_EFFECT_BINS 16

/* Number of parameters, those with the greatest interactions, whose pairs are modelled. */
#define SPEX_EFFECT_PAIRS 3

struct spex_effect_bin {
    uint64_t configurations; /* with a result and a value of the bin, which applies */
    double mean;             /* mean of their means; NaN when there are none */
    double best;             /* best of their means */
};

struct spex_effect {
    struct spex_bins bins;
    struct spex_effect_bin *of_bins;
    uint64_t not_applying; /* configurations with a result to which the parameter does not apply */
    /* Share of the variance between the configurations that were run, corrected for chance; NaN
     * with less than two bins or configurations. */
    double share;
    /* Shares over the whole space, if `modelled`. */
    struct spex_sensitivity sensitivity;
};

/* The effect of two parameters together beyond the effects of each. */
struct spex_interaction {
    size_t a, b; /* parameters, a below b */
    /* Over the whole space if `modelled`; else among the configurations that were run, with an
     * interval of NaN. */
    struct spex_sensitivity_share share;
};

struct spex_effects {
    struct spex_effect *parameters; /* parameter_count of them */
    size_t parameter_count;
    bool modelled; /* there are enough configurations for a model of the space */
    struct spex_interaction *interactions; /* strongest first */
    size_t interaction_count;
};

/* 0 or -ENOMEM; to be freed in any case. */
int spex_effects_init(struct spex_effects *effects, const struct spex_summary *summary);
void spex_effects_free(struct spex_effects *effects);

/* The share of one parameter by itself: by the model if there is one. The interval, or all of it,
 * may be NaN. */
struct spex_sensitivity_share spex_effects_share(const struct spex_effects *effects, size_t p);

#endif
