/* SPDX-License-Identifier: MIT */
/* The error of the power has three parts, each in units of the power:
 *
 * - forms that explain the points nearly as well as the best one grow differently beyond them: the
 *   deviation of their powers, weighted by their scores as likelihoods are;
 * - the largest points, predicted from the smaller ones, miss by a power: as if the measurements
 *   had ended earlier;
 * - points that deviate from the model by more than noise show that the form is not all there is;
 *   such deviations (caches, say) go on beyond the range.
 *
 * The factors are calibrated on measured kernels (bench/beyond). */
#include "model/fit/beyond.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit/search.h"

/* Where forms are compared: so many doublings beyond the range. */
#define COMPARED_OCTAVES 2
/* How many doublings are left out at most, and points that must remain. */
enum { LEFT_OUT_MAX = 2, REMAIN_MIN = 3 };
/* Points from which on neighbours tell noise, and what chance may make of it: over the root of
 * their number, three standard errors or so. */
enum { NEIGHBOURS_MIN = 20, NEIGHBOURS_EXCESS = 3 };
/* Factors of the three parts; deviations are relative to the time. */
#define OF_FORMS     1.5
#define OF_LEFT_OUT  1.5
#define OF_DEVIATION 4.0
/* The error is cut here: any greater one says only that little is known. */
#define ERROR_MOST   0.5

/* Greatest values of the parameters that vary, 0 of the others. `left_out` may be NULL. */
void spex_beyond_greatest(const struct spex_problem *problem, const bool *left_out,
                          double *greatest) {
    const struct spex_points *points = problem->points;
    size_t width = points->parameter_count;
    for (size_t p = 0; p < width; p++)
        greatest[p] = 0;
    for (size_t i = 0; i < points->count; i++)
        for (size_t p = 0; p < width && !(left_out && left_out[i]); p++)
            if (problem->varies[p])
                greatest[p] = fmax(greatest[p], points->parameters[i * width + p]);
}

double spex_beyond_octaves(const double *parameters, const double *greatest, size_t count) {
    double octaves = 0;
    for (size_t p = 0; p < count; p++)
        if (greatest[p] > 0 && parameters[p] > greatest[p])
            octaves = fmax(octaves, log2(parameters[p] / greatest[p]));
    return octaves;
}

struct rivals {
    const struct spex_problem *problem;
    const struct spex_hypothesis *best;
    /* Where they are compared, and the best form's value there. */
    double at[SPEX_MODEL_PARAMETERS_MAX];
    double value;
    double weights;
    double squares;
};

static double value_at(const struct spex_problem *problem, const struct spex_hypothesis *form,
                       const struct spex_least_squares *fit, const double *parameters) {
    struct spex_model model = {.parameter_count = 0};
    spex_hypothesis_make_model(problem, form, fit, &model);
    return spex_model_value(&model, parameters);
}

static void rivals_add(void *user, const struct spex_hypothesis *rival,
                       const struct spex_least_squares *fit) {
    struct rivals *rivals = user;
    if (rival->terms == rivals->best->terms &&
        memcmp(rival->functions, rivals->best->functions, sizeof(rival->functions)) == 0)
        return;
    double ratio = value_at(rivals->problem, rival, fit, rivals->at) / rivals->value;
    if (!(ratio > 0) || !isfinite(ratio))
        return;
    double weight = exp(-fmax(rival->score - rivals->best->score, 0) / 2);
    double power = log2(ratio) / COMPARED_OCTAVES;
    rivals->weights += weight;
    rivals->squares += weight * power * power;
}

/* The variance of the power among forms; the best one has the weight 1. */
static double variance_of_forms(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                                const struct spex_least_squares *fit, const double *greatest) {
    const struct spex_problem *problem = workspace->problem;
    struct rivals rivals = {.problem = problem, .best = best, .weights = 1};
    for (size_t p = 0; p < problem->points->parameter_count; p++)
        rivals.at[p] = problem->varies[p] ? ldexp(greatest[p], COMPARED_OCTAVES)
                                          : problem->points->parameters[p];
    rivals.value = value_at(problem, best, fit, rivals.at);
    spex_search_rivals(workspace, best, rivals_add, &rivals);
    return rivals.squares / rivals.weights;
}

/* Marks the points of which a parameter is beyond the greatest value halved so many times. Returns
 * how many remain. */
static size_t leave_out(const struct spex_problem *problem, const double *greatest, int halved,
                        bool *left_out) {
    const struct spex_points *points = problem->points;
    size_t width = points->parameter_count, remain = 0;
    double limits[SPEX_MODEL_PARAMETERS_MAX];
    for (size_t p = 0; p < width; p++)
        limits[p] = ldexp(greatest[p], -halved);
    for (size_t i = 0; i < points->count; i++) {
        left_out[i] = spex_beyond_octaves(points->parameters + i * width, limits, width) > 0;
        remain += !left_out[i];
    }
    return remain;
}

/* The power by which points that were left out grow beyond what `model` predicts for them, by least
 * squares over their distances from those that remain. */
static double power_missed(const struct spex_problem *problem, const struct spex_model *model,
                           const bool *left_out) {
    const struct spex_points *points = problem->points;
    size_t width = points->parameter_count;
    double greatest[SPEX_MODEL_PARAMETERS_MAX], products = 0, squares = 0;
    spex_beyond_greatest(problem, left_out, greatest);
    for (size_t i = 0; i < points->count; i++) {
        const double *x = points->parameters + i * width;
        double ratio = left_out[i] ? points->times[i] / spex_model_value(model, x) : 0;
        double octaves = spex_beyond_octaves(x, greatest, width);
        if (!(ratio > 0) || !isfinite(ratio))
            continue;
        products += octaves * log2(ratio);
        squares += octaves * octaves;
    }
    return squares > 0 ? products / squares : NAN;
}

/* Searches a model of the first `count` points. 0 or -ENOMEM. */
static int model_of_first(const struct spex_fit_workspace *of, size_t count,
                          struct spex_model *model) {
    struct spex_points first = *of->problem->points;
    struct spex_problem problem;
    struct spex_fit_workspace workspace = {.products = NULL};
    struct spex_hypothesis best;
    struct spex_least_squares fit;
    first.count = count;
    int err = spex_problem_make(&problem, &first);
    err = err ? err : spex_fit_workspace_make(&workspace, &problem);
    workspace.behind = of->behind;
    err = err ? err : spex_search(&workspace, &best);
    if (!err) {
        spex_hypothesis_judge(&workspace, &best, INFINITY, &fit);
        spex_hypothesis_make_model(&problem, &best, &fit, model);
    }
    spex_fit_workspace_free(&workspace);
    spex_problem_free(&problem);
    return err;
}

/* Fits the best form to the points that remain, by weights of 0 for the others. Without a fit the
 * model stays empty. 0 or -ENOMEM. */
static int model_of_form(const struct spex_fit_workspace *workspace,
                         const struct spex_hypothesis *best, const bool *left_out,
                         struct spex_model *model) {
    struct spex_problem problem = *workspace->problem;
    struct spex_fit_workspace other = *workspace;
    struct spex_hypothesis form = *best;
    struct spex_least_squares fit = {.columns = 0};
    double *weights = calloc(problem.data.count + 1, sizeof(*weights));
    if (!weights)
        return -ENOMEM;
    for (size_t i = 0; i < problem.data.count; i++)
        weights[i] = left_out[i] ? 0 : problem.weights[i];
    problem.data.weights = weights;
    other.problem = &problem;
    spex_hypothesis_judge(&other, &form, -INFINITY, &fit);
    if (fit.columns)
        spex_hypothesis_make_model(&problem, &form, &fit, model);
    free(weights);
    return 0;
}

static size_t count_varying(const struct spex_problem *problem) {
    size_t count = 0;
    for (size_t p = 0; p < problem->points->parameter_count; p++)
        count += problem->varies[p];
    return count;
}

/* The mean square of the powers that are missed when the largest points are left out; 0 where too
 * few would remain. With one parameter, by whose value points are sorted, the form is searched
 * anew; with several that would take too long. */
static int variance_of_left_out(struct spex_fit_workspace *workspace,
                                const struct spex_hypothesis *best, const double *greatest,
                                double *variance) {
    const struct spex_problem *problem = workspace->problem;
    bool *left_out = calloc(problem->data.count + 1, sizeof(*left_out));
    double sum = 0, count = 0;
    int err = left_out ? 0 : -ENOMEM;
    for (int halved = 1; halved <= LEFT_OUT_MAX && !err; halved++) {
        struct spex_model model = {.parameter_count = 0};
        size_t remain = leave_out(problem, greatest, halved, left_out);
        if (remain < REMAIN_MIN || remain == problem->data.count)
            continue;
        err = count_varying(problem) == 1 ? model_of_first(workspace, remain, &model)
                                          : model_of_form(workspace, best, left_out, &model);
        double power = err ? NAN : power_missed(problem, &model, left_out);
        sum += isfinite(power) ? power * power : 0;
        count += isfinite(power);
    }
    free(left_out);
    *variance = count > 0 ? sum / count : 0;
    return err;
}

/* The variance of what neighbouring points, which the form misses alike, miss differently. */
static double variance_of_neighbours(const struct spex_problem *problem,
                                     const struct spex_hypothesis *best,
                                     const struct spex_least_squares *fit) {
    const struct spex_points *points = problem->points;
    struct spex_model model = {.parameter_count = 0};
    double before = 0, squares = 0;
    spex_hypothesis_make_model(problem, best, fit, &model);
    for (size_t i = 0; i < points->count; i++) {
        double value = spex_model_value(&model, points->parameters + i * points->parameter_count);
        double miss = sqrt(problem->weights[i]) * (points->times[i] - value);
        squares += i > 0 ? (miss - before) * (miss - before) / 2 : 0;
        before = miss;
    }
    return squares / (double)(points->count - 1);
}

/* The relative variance of the points that is more than noise. Without repeated measurements noise
 * is told by neighbours, if they are many; few points are taken for exact. */
static double variance_left(const struct spex_problem *problem, const struct spex_hypothesis *best,
                            const struct spex_least_squares *fit) {
    double freedom = (double)problem->data.count - (double)fit->columns, noise = problem->noise;
    if (!(freedom > 0))
        return 0;
    if (problem->within_freedom < SPEX_NOISE_FREEDOM_MIN && problem->data.count >= NEIGHBOURS_MIN)
        noise = variance_of_neighbours(problem, best, fit) *
                (1 + NEIGHBOURS_EXCESS / sqrt((double)problem->data.count));
    return fmax(fit->squares / freedom - noise, 0);
}

int spex_beyond_estimate(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                         const struct spex_least_squares *fit, double *error) {
    double greatest[SPEX_MODEL_PARAMETERS_MAX], left_out;
    spex_beyond_greatest(workspace->problem, NULL, greatest);
    int err = variance_of_left_out(workspace, best, greatest, &left_out);
    if (err)
        return err;
    double forms = variance_of_forms(workspace, best, fit, greatest),
           left = variance_left(workspace->problem, best, fit);
    *error =
        fmin(ERROR_MOST, sqrt(OF_FORMS * OF_FORMS * forms + OF_LEFT_OUT * OF_LEFT_OUT * left_out +
                              OF_DEVIATION * OF_DEVIATION * left));
    return 0;
}
