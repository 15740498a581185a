/* SPDX-License-Identifier: MIT */
/* What each parameter does to the first objective: means over the configurations that were tried
 * with each of its values, whatever the others were. */
#ifndef SPEX_EXPLORE_FINDINGS_EFFECTS_H
#define SPEX_EXPLORE_FINDINGS_EFFECTS_H

#include "explore/findings/bins.h"
#include "explore/findings/sensitivity.h"
#include "measure/summary.h"

#define SPEX_EFFECT_BINS  16 /* at most, of a parameter whose values have an order */
#define SPEX_EFFECT_PAIRS 3  /* of parameters that do most together, of which a model is asked */

struct spex_effect_bin {
    uint64_t configurations; /* with a result and this value, which applies */
    double mean;             /* of their means; NaN when there are none */
    double best;             /* the best of their means */
};

struct spex_effect {
    struct spex_bins bins;
    struct spex_effect_bin *of_bins;
    uint64_t not_applying; /* configurations with a result to which it does not apply */
    /* Of the variance among configurations. */
    /* Among those that were tried: what the means of the bins explain beyond what as many random
     * groups would; NaN with less than two bins or configurations. */
    double share;
    /* Over the whole space, by a model of it; when effects are modelled. */
    struct spex_sensitivity sensitivity;
};

/* What two parameters do together beyond what each does on its own. */
struct spex_interaction {
    size_t a, b; /* parameters, a below b */
    /* Over the whole space, when effects are modelled; else among what was tried, without an
     * interval (NaN). */
    struct spex_sensitivity_share share;
};

struct spex_effects {
    struct spex_effect *parameters; /* parameter_count of them */
    size_t parameter_count;
    bool modelled; /* there are enough configurations for a model of the space */
    struct spex_interaction *interactions; /* the strongest first */
    size_t interaction_count;
};

/* `space` as the summary has it. 0 or -ENOMEM; to be freed in any case. */
int spex_effects_init(struct spex_effects *effects, const struct spex_summary *summary);
void spex_effects_free(struct spex_effects *effects);

/* What a parameter explains on its own: by the model, or else of what was tried; the limits of the
 * 95 % interval may be NaN, as may all. */
struct spex_sensitivity_share spex_effects_share(const struct spex_effects *effects, size_t p);

#endif
