/* SPDX-License-Identifier: MIT */
/* The segments of a model: the points between changes are fitted by themselves. */
#ifndef SPEX_MODEL_FIT_SEGMENTS_H
#define SPEX_MODEL_FIT_SEGMENTS_H

#include "model/fit/changes.h"

struct spex_segments {
    size_t parameter;
    /* 0: one form is enough. */
    size_t changes;
    struct spex_model_change at[SPEX_MODEL_CHANGES_MAX];
    /* One more than changes, if there are any. */
    struct spex_part parts[SPEX_MODEL_CHANGES_MAX + 1];
};

/* Looks for changes that make the points more likely than the best form of all of them, with this
 * fit. 0 or -ENOMEM; to be freed in any case. */
int spex_segments_find(struct spex_segments *segments, const struct spex_problem *whole,
                       const struct spex_hypothesis *best, const struct spex_least_squares *fit);
void spex_segments_free(struct spex_segments *segments);

/* Fills in the model's changes, terms and coefficients; the model must be zero. */
void spex_segments_make_model(const struct spex_segments *segments, struct spex_model *model);

/* The sum of the squared residuals of all segments, and their number of coefficients. */
double spex_segments_squares(const struct spex_segments *segments, size_t *columns);

#endif
