/* SPDX-License-Identifier: MIT */
/* Fits a form by least squares and scores it by its errors of prediction (leave-one-out), by its
 * number of terms and by the complexity of its functions. A form is impossible where a coefficient
 * is not positive or not certain. src/model/README.md tells why. */
#include "model/fit/hypothesis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"

/* Errors of prediction below this share of the time do not tell forms apart. */
#define ERROR_MIN        3e-4
/* Price of a unit of complexity, and of a term, in units of the score. */
#define COMPLEXITY_PRICE 4.5
#define TERM_PRICE       4.0
/* Complexity of a term that has a parameter in common with another. */
#define TWIN_COMPLEXITY  0.45

/* Where there are several terms, each coefficient must be so far above 0 that chance would bring it
 * there, to either side, with this probability; further where another term has a parameter in
 * common with it. Of a normal distribution these are 2.5 and 4 standard errors. */
#define SURE             1.24e-2
#define SURE_BESIDE_TWIN 6.33e-5
/* Limits of an F test that compares the residuals with the variance of repeated measurements at
 * one point: their ratio may exceed 1 by NOISE_EXCESS over the root of the residuals' degrees of
 * freedom, as it does by chance in one of 40 cases. */
#define NOISE_EXCESS     3
/* A constant below this share of the least time is a rounding error. */
#define NOTHING          1e-9

/* Few points leave few degrees of freedom, with which chance makes greater coefficients. */
static void workspace_set_sure(struct spex_fit_workspace *workspace) {
    const struct spex_problem *problem = workspace->problem;
    for (size_t columns = 0; columns <= SPEX_MODEL_COLUMNS_MAX; columns++) {
        double freedom = (double)problem->data.count - (double)columns;
        for (int noise = 0; noise < 2; noise++) {
            double all = freedom + (noise ? problem->within_freedom : 0);
            workspace->sure[noise][columns] = spex_student_two_sided(SURE, all);
            workspace->sure_beside_twin[noise][columns] =
                spex_student_two_sided(SURE_BESIDE_TWIN, all);
        }
    }
}

int spex_fit_workspace_make(struct spex_fit_workspace *workspace,
                            const struct spex_problem *problem) {
    *workspace = (struct spex_fit_workspace){
        .problem = problem,
        .products = calloc(problem->data.count * SPEX_MODEL_TERMS_MAX + 1, sizeof(double))};
    workspace_set_sure(workspace);
    return workspace->products ? 0 : -ENOMEM;
}

void spex_fit_workspace_free(struct spex_fit_workspace *workspace) {
    free(workspace->products);
    workspace->products = NULL;
}

/* The column of a term: the product of its functions, in the workspace's memory, or the function's
 * own column if there is one only. */
static const double *term_column(struct spex_fit_workspace *workspace,
                                 const struct spex_hypothesis *hypothesis, size_t term) {
    const struct spex_problem *problem = workspace->problem;
    size_t count = problem->data.count;
    double *product = workspace->products + term * count;
    const double *first = NULL;
    bool multiplied = false;
    for (size_t p = 0; p < problem->points->parameter_count; p++) {
        size_t function = hypothesis->functions[term][p];
        if (!function)
            continue;
        const double *column = spex_problem_column(problem, p, function - 1);
        if (!first) {
            first = column;
            continue;
        }
        for (size_t i = 0; i < count; i++)
            product[i] = (multiplied ? product[i] : first[i]) * column[i];
        multiplied = true;
    }
    return multiplied ? product : first;
}

/* Minus twice the logarithm of the likelihood of normal errors with this mean square, up to a
 * constant, plus the prices. */
double spex_score(double count, double error, double noise, double complexity, size_t terms) {
    return count * log(error + noise + ERROR_MIN * ERROR_MIN) + COMPLEXITY_PRICE * complexity +
           TERM_PRICE * (double)terms;
}

/* Whether another term has a parameter in common with this one. Functions of one parameter
 * resemble each other, so that two of them together can imitate a third one that is not in the
 * form. */
static bool term_has_twin(const struct spex_hypothesis *hypothesis, size_t term,
                          size_t parameters) {
    for (size_t t = 0; t < hypothesis->terms; t++)
        for (size_t p = 0; p < parameters && t != term; p++)
            if (hypothesis->functions[t][p] && hypothesis->functions[term][p])
                return true;
    return false;
}

/* The sum of the complexities of all functions in the form, and of twins. */
static double hypothesis_complexity(const struct spex_hypothesis *hypothesis, size_t parameters) {
    const struct spex_function *functions = spex_functions();
    double sum = 0;
    for (size_t t = 0; t < hypothesis->terms; t++) {
        sum += term_has_twin(hypothesis, t, parameters) ? TWIN_COMPLEXITY : 0;
        for (size_t p = 0; p < parameters; p++)
            if (hypothesis->functions[t][p])
                sum += functions[hypothesis->functions[t][p] - 1].complexity;
    }
    return sum;
}

bool spex_left_is_noise(const struct spex_problem *problem, const struct spex_least_squares *fit) {
    double freedom = (double)problem->data.count - (double)fit->columns;
    return problem->within_freedom >= SPEX_NOISE_FREEDOM_MIN && freedom > 0 &&
           fit->squares / freedom <= problem->noise * (1 + NOISE_EXCESS / sqrt(freedom));
}

/* Whether all coefficients are above 0, and, if there are several terms, by enough standard
 * errors. The residuals' variance has few degrees of freedom; where they are noise, that of
 * repeated measurements has more. */
static bool coefficients_are_positive(const struct spex_fit_workspace *workspace,
                                      const struct spex_hypothesis *hypothesis,
                                      const struct spex_least_squares *fit) {
    const struct spex_problem *problem = workspace->problem;
    size_t first = hypothesis->constant, parameters = problem->points->parameter_count;
    double freedom = (double)problem->data.count - (double)fit->columns;
    double variance = freedom > 0 ? fit->squares / freedom : 0;
    bool noise = spex_left_is_noise(problem, fit);
    variance = noise ? fmax(variance, problem->noise) : variance;
    for (size_t t = 0; t < hypothesis->terms; t++) {
        double sure = hypothesis->terms == 1 ? 0
                      : term_has_twin(hypothesis, t, parameters)
                          ? workspace->sure_beside_twin[noise][fit->columns]
                          : workspace->sure[noise][fit->columns];
        double error = sqrt(variance * fit->inverse[first + t][first + t]);
        if (!(fit->coefficients[first + t] > sure * error))
            return false;
    }
    return true;
}

double spex_hypothesis_price(const struct spex_hypothesis *hypothesis, size_t parameters) {
    return COMPLEXITY_PRICE * hypothesis_complexity(hypothesis, parameters) +
           TERM_PRICE * (double)(hypothesis->terms + hypothesis->negative);
}

static double hypothesis_score(const struct spex_fit_workspace *workspace,
                               const struct spex_hypothesis *hypothesis, double error) {
    const struct spex_problem *problem = workspace->problem;
    return spex_score((double)problem->data.count, error, problem->noise, 0, 0) +
           spex_hypothesis_price(hypothesis, problem->points->parameter_count);
}

/* Whether a constant below 0 is certain, and all functions grow, so that the time never becomes
 * negative further on. */
static bool may_be_negative(const struct spex_fit_workspace *workspace,
                            const struct spex_hypothesis *hypothesis,
                            const struct spex_least_squares *fit) {
    const struct spex_problem *problem = workspace->problem;
    double freedom = (double)problem->data.count - (double)fit->columns;
    if (!workspace->behind || !(freedom > 0))
        return false;
    for (size_t t = 0; t < hypothesis->terms; t++)
        for (size_t p = 0; p < problem->points->parameter_count; p++)
            if (hypothesis->functions[t][p] &&
                spex_functions()[hypothesis->functions[t][p] - 1].exponents.twelfths < 0)
                return false;
    double error = sqrt(fmax(fit->squares / freedom, problem->noise) * fit->inverse[0][0]);
    return -fit->coefficients[0] > workspace->sure[0][fit->columns] * error;
}

/* Sets the score of a form that has been fitted to these columns, if it can be below `bound`. The
 * error of points left out is never less than that of the fit, so the fit's error gives a lower
 * bound for the score. */
static void hypothesis_set_score(const struct spex_fit_workspace *workspace,
                                 struct spex_hypothesis *hypothesis, const double *const *columns,
                                 double bound, const struct spex_least_squares *fit) {
    const struct spex_data *data = &workspace->problem->data;
    if (coefficients_are_positive(workspace, hypothesis, fit) &&
        hypothesis_score(workspace, hypothesis, fit->squares / (double)data->count) < bound)
        hypothesis->score =
            hypothesis_score(workspace, hypothesis, spex_leave_one_out_error(data, columns, fit));
}

/* Fits without a constant. With one that is certainly below 0 the form is kept, if that is
 * better. */
static void judge_without_constant(struct spex_fit_workspace *workspace,
                                   struct spex_hypothesis *hypothesis, double bound,
                                   struct spex_least_squares *fit) {
    const struct spex_data *data = &workspace->problem->data;
    struct spex_hypothesis with = *hypothesis;
    struct spex_least_squares without = {.columns = 0};
    if (may_be_negative(workspace, hypothesis, fit)) {
        with.negative = true;
        hypothesis_set_score(workspace, &with, workspace->columns, bound, fit);
    }
    hypothesis->constant = false;
    if (spex_least_squares(data, workspace->columns + 1, hypothesis->terms, &without))
        hypothesis_set_score(workspace, hypothesis, workspace->columns + 1, fmin(bound, with.score),
                             &without);
    if (with.score < hypothesis->score)
        *hypothesis = with;
    else
        *fit = without;
}

/* A constant that would be negative, or is nothing but a rounding error, is left out, and the
 * form is fitted without it. */
void spex_hypothesis_judge(struct spex_fit_workspace *workspace, struct spex_hypothesis *hypothesis,
                           double bound, struct spex_least_squares *fit) {
    const struct spex_problem *problem = workspace->problem;
    workspace->columns[0] = problem->ones;
    for (size_t t = 0; t < hypothesis->terms; t++)
        workspace->columns[t + 1] = term_column(workspace, hypothesis, t);
    hypothesis->score = INFINITY;
    hypothesis->constant = true;
    hypothesis->negative = false;
    if (!spex_least_squares(&problem->data, workspace->columns, hypothesis->terms + 1, fit))
        return;
    if (fit->coefficients[0] < NOTHING * problem->least && hypothesis->terms)
        judge_without_constant(workspace, hypothesis, bound, fit);
    else
        hypothesis_set_score(workspace, hypothesis, workspace->columns, bound, fit);
}

bool spex_hypothesis_try(struct spex_fit_workspace *workspace, struct spex_hypothesis hypothesis,
                         struct spex_hypothesis *best) {
    struct spex_least_squares fit;
    spex_hypothesis_judge(workspace, &hypothesis, best->score, &fit);
    if (!(hypothesis.score < best->score))
        return false;
    *best = hypothesis;
    return true;
}

/* Column 0 of the fit is the constant, if the form has one. */
void spex_hypothesis_make_model(const struct spex_problem *problem,
                                const struct spex_hypothesis *hypothesis,
                                const struct spex_least_squares *fit, struct spex_model *model) {
    const struct spex_function *functions = spex_functions();
    size_t first = hypothesis->constant;
    model->parameter_count = problem->points->parameter_count;
    model->constant = first ? fit->coefficients[0] : 0;
    model->term_count = hypothesis->terms;
    for (size_t t = 0; t < hypothesis->terms; t++) {
        model->terms[t].coefficient = fit->coefficients[first + t];
        for (size_t p = 0; p < model->parameter_count; p++)
            if (hypothesis->functions[t][p])
                model->terms[t].factors[p] = functions[hypothesis->functions[t][p] - 1].exponents;
    }
}
