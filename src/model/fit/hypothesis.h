/* SPDX-License-Identifier: MIT */
/* A form that a model may have, and how good it is on the points: the smaller its score, the better. */
#ifndef SPEX_MODEL_FIT_HYPOTHESIS_H
#define SPEX_MODEL_FIT_HYPOTHESIS_H

#include "model/fit/problem.h"

struct spex_hypothesis {
    size_t terms;
    /* Of each term and parameter: function + 1, 0 for a parameter that is not in it. */
    uint8_t functions[SPEX_MODEL_TERMS_MAX][SPEX_MODEL_PARAMETERS_MAX];
    bool constant; /* it has one: else it would have been negative */
    double score;  /* INFINITY where it cannot be */
};

/* The score of what misses `count` points by so much in the mean square, relative to the weights, and has this
 * complexity and so many terms. */
double spex_score(double count, double error, double complexity, size_t terms);

/* Room for the columns of one hypothesis. */
struct spex_bench {
    const struct spex_problem *problem;
    double *products; /* term by term */
    const double *columns[SPEX_MODEL_COLUMNS_MAX];
};

int spex_bench_make(struct spex_bench *bench, const struct spex_problem *problem);
void spex_bench_free(struct spex_bench *bench);

/* Fits it; its `constant` and `score` are set. *fit may be used when the score is finite: the constant first, if it has
 * one. The score is not worked out, and INFINITY, where it cannot be below `bound`. */
void spex_hypothesis_judge(struct spex_bench *bench, struct spex_hypothesis *hypothesis,
                           double bound, struct spex_least_squares *fit);

/* Judges it, and takes it for the best if it is. */
bool spex_hypothesis_try(struct spex_bench *bench, struct spex_hypothesis hypothesis,
                         struct spex_hypothesis *best);

#endif
