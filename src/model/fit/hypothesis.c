/* SPDX-License-Identifier: MIT */
/* Fits a form by least squares and scores it by its errors of prediction (leave-one-out), by its
 * number of terms and by the complexity of its functions. A form is impossible where a coefficient
 * is not positive or not certain. src/model/README.md tells why. */
#include "model/fit/hypothesis.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Errors of prediction below this share of the time do not tell forms apart. */
#define ERROR_MIN        3e-4
/* Price of a unit of complexity, and of a term, in units of the score. */
#define COMPLEXITY_PRICE 4.5
#define TERM_PRICE       4.0

/* Where there are several terms, each coefficient must be so many standard errors above 0; more
 * where another term has a parameter in common with it. */
#define SURE             2.5
#define SURE_BESIDE_TWIN 4.0
/* A constant below this share of the least time is a rounding error. */
#define NOTHING          1e-9

int spex_bench_make(struct spex_bench *bench, const struct spex_problem *problem) {
    *bench = (struct spex_bench){
        .problem = problem,
        .products = calloc(problem->data.count * SPEX_MODEL_TERMS_MAX + 1, sizeof(double))};
    return bench->products ? 0 : -ENOMEM;
}

void spex_bench_free(struct spex_bench *bench) {
    free(bench->products);
    bench->products = NULL;
}

/* The column of a term: the product of its functions, in the bench's memory, or the function's
 * own column if there is one only. */
static const double *term_column(struct spex_bench *bench, const struct spex_hypothesis *hypothesis,
                                 size_t term) {
    const struct spex_problem *problem = bench->problem;
    size_t count = problem->data.count;
    double *product = bench->products + term * count;
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
double spex_score(double count, double error, double complexity, size_t terms) {
    return count * log(error + ERROR_MIN * ERROR_MIN) + COMPLEXITY_PRICE * complexity +
           TERM_PRICE * (double)terms;
}

/* The sum of the complexities of all functions in the form. */
static double hypothesis_complexity(const struct spex_hypothesis *hypothesis, size_t parameters) {
    const struct spex_function *functions = spex_functions();
    double sum = 0;
    for (size_t t = 0; t < hypothesis->terms; t++)
        for (size_t p = 0; p < parameters; p++)
            if (hypothesis->functions[t][p])
                sum += functions[hypothesis->functions[t][p] - 1].complexity;
    return sum;
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

/* Whether all coefficients are above 0, and, if there are several terms, by enough standard
 * errors. */
static bool coefficients_are_positive(const struct spex_bench *bench,
                                      const struct spex_hypothesis *hypothesis,
                                      const struct spex_least_squares *fit) {
    size_t first = hypothesis->constant, parameters = bench->problem->points->parameter_count;
    double freedom = (double)bench->problem->data.count - (double)fit->columns;
    double variance = freedom > 0 ? fit->squares / freedom : 0;
    for (size_t t = 0; t < hypothesis->terms; t++) {
        double sure = hypothesis->terms == 1                     ? 0
                      : term_has_twin(hypothesis, t, parameters) ? SURE_BESIDE_TWIN
                                                                 : SURE;
        double error = sqrt(variance * fit->inverse[first + t][first + t]);
        if (!(fit->coefficients[first + t] > sure * error))
            return false;
    }
    return true;
}

static double hypothesis_score(const struct spex_bench *bench,
                               const struct spex_hypothesis *hypothesis, double error) {
    return spex_score((double)bench->problem->data.count, error,
                      hypothesis_complexity(hypothesis, bench->problem->points->parameter_count),
                      hypothesis->terms);
}

/* A constant that would be negative, or is nothing but a rounding error, is left out, and the
 * form is fitted without it. */
void spex_hypothesis_judge(struct spex_bench *bench, struct spex_hypothesis *hypothesis,
                           double bound, struct spex_least_squares *fit) {
    const struct spex_problem *problem = bench->problem;
    const double *const *columns = bench->columns;
    size_t count = hypothesis->terms + 1;
    bench->columns[0] = problem->ones;
    for (size_t t = 0; t < hypothesis->terms; t++)
        bench->columns[t + 1] = term_column(bench, hypothesis, t);
    hypothesis->score = INFINITY;
    hypothesis->constant = true;
    bool solved = spex_least_squares(&problem->data, columns, count, fit);
    if (solved && fit->coefficients[0] < NOTHING * problem->least && hypothesis->terms) {
        hypothesis->constant = false;
        columns++;
        solved = spex_least_squares(&problem->data, columns, count - 1, fit);
    }
    if (!solved || !coefficients_are_positive(bench, hypothesis, fit))
        return;
    /* The error of points left out is never less than that of the fit, so the fit's error gives a
     * lower bound for the score. */
    if (hypothesis_score(bench, hypothesis, fit->squares / (double)problem->data.count) < bound)
        hypothesis->score = hypothesis_score(
            bench, hypothesis, spex_leave_one_out_error(&problem->data, columns, fit));
}

bool spex_hypothesis_try(struct spex_bench *bench, struct spex_hypothesis hypothesis,
                         struct spex_hypothesis *best) {
    struct spex_least_squares fit;
    spex_hypothesis_judge(bench, &hypothesis, best->score, &fit);
    if (!(hypothesis.score < best->score))
        return false;
    *best = hypothesis;
    return true;
}
