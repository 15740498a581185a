/* SPDX-License-Identifier: MIT */
/* Some of the points of a problem, with a form of their own. */
#ifndef SPEX_MODEL_FIT_PART_H
#define SPEX_MODEL_FIT_PART_H

#include "model/fit/hypothesis.h"

/* The points of a range of the parameter, and their best form. */
struct spex_part {
    struct spex_points points;
    struct spex_problem problem;
    struct spex_fit_workspace workspace;
    struct spex_hypothesis form;
    struct spex_least_squares fit;
};

/* The points of the problem whose value of the parameter is `low` or more and less than `high`.
 * `behind`: there is a change before them. 0 or -ENOMEM; to be freed in any case. */
int spex_part_make(struct spex_part *part, const struct spex_problem *whole, size_t parameter,
                   double low, double high, bool behind);
void spex_part_free(struct spex_part *part);

/* Costs of forms, summed over parts. */
struct spex_cost {
    /* Points. */
    double count;
    /* count times the mean square of the errors of prediction. */
    double errors;
    double price;
    double squares;
    double columns;
};

/* The cost of a part by its best form, or with this score and price. */
struct spex_cost spex_part_cost(const struct spex_part *part);
struct spex_cost spex_part_cost_of(const struct spex_part *part, double score, double price);
void spex_cost_add(struct spex_cost *sum, const struct spex_cost *cost);
double spex_cost_score(const struct spex_cost *cost);

#endif
