/* SPDX-License-Identifier: MIT */
/* A form of a model, and its score on the points: the lower, the better. */
#ifndef SPEX_MODEL_FIT_HYPOTHESIS_H
#define SPEX_MODEL_FIT_HYPOTHESIS_H

#include "model/fit/problem.h"

struct spex_hypothesis {
    size_t terms;
    /* The function of each parameter in each term, as its index + 1; 0: the parameter is not in
     * the term. */
    uint8_t functions[SPEX_MODEL_TERMS_MAX][SPEX_MODEL_PARAMETERS_MAX];
    /* False where a constant would be negative, so that the form has none. */
    bool constant;
    /* The constant is below 0, which the workspace allows. */
    bool negative;
    /* INFINITY: the form is impossible. */
    double score;
};

/* The score of a form that predicts `count` points with mean square `error` relative to the
 * weights, and has this complexity and number of terms. `noise`: variance of the points' means;
 * errors below it do not tell forms apart. */
double spex_score(double count, double error, double noise, double complexity, size_t terms);

/* The penalty for the form's functions and terms in its score. */
double spex_hypothesis_price(const struct spex_hypothesis *hypothesis, size_t parameters);

/* Room for the columns of one hypothesis at a time. */
struct spex_fit_workspace {
    const struct spex_problem *problem;
    /* A constant may be below 0: the points are behind a change, so that the form need not hold for
     * small values. */
    bool behind;
    /* Memory for the columns of terms with several factors, term by term. */
    double *products;
    const double *columns[SPEX_MODEL_COLUMNS_MAX];
    /* Standard errors by which coefficients of forms with several terms must be above 0, by the
     * number of columns: [0] where more is left than noise, [1] where it is noise. */
    double sure[2][SPEX_MODEL_COLUMNS_MAX + 1];
    double sure_beside_twin[2][SPEX_MODEL_COLUMNS_MAX + 1];
};

int spex_fit_workspace_make(struct spex_fit_workspace *workspace,
                            const struct spex_problem *problem);
void spex_fit_workspace_free(struct spex_fit_workspace *workspace);

/* Degrees of freedom of the variance of repeated measurements, for tests against it. */
#define SPEX_NOISE_FREEDOM_MIN 10

/* Whether the residuals are no greater than the noise of repeated measurements explains. */
bool spex_left_is_noise(const struct spex_problem *problem, const struct spex_least_squares *fit);

/* Fits a form and sets its `constant` and `score`. *fit is valid if the score is finite; the
 * constant comes first, if there is one. The score stays INFINITY if it cannot be below `bound`. */
void spex_hypothesis_judge(struct spex_fit_workspace *workspace, struct spex_hypothesis *hypothesis,
                           double bound, struct spex_least_squares *fit);

/* Fills in the model's form and coefficients; the model must be zero. */
void spex_hypothesis_make_model(const struct spex_problem *problem,
                                const struct spex_hypothesis *hypothesis,
                                const struct spex_least_squares *fit, struct spex_model *model);

/* Judges a form, and copies it to *best if it is better. True: it is. */
bool spex_hypothesis_try(struct spex_fit_workspace *workspace, struct spex_hypothesis hypothesis,
                         struct spex_hypothesis *best);

#endif
