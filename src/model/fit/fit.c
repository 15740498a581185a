/* SPDX-License-Identifier: MIT */
/* The steps of a fit: measurements become points (points.c), points a problem with weights and
 * columns (problem.c), for which the best form is searched (search.c), and changes from one form to
 * another (segments.c). The model then gets its
 * coefficients, variances and class: Bhattacharyya and Amza, "ADLER", section 3.2. */
#include "model/fit/fit.h"

#include <errno.h>
#include <math.h>

#include "base/student.h"
#include "model/fit/beyond.h"
#include "model/fit/deviations.h"
#include "model/fit/search.h"
#include "model/fit/segments.h"
#include "model/fit/singles.h"

/* Terms that contribute less than this share of the model's greatest value do not count for its
 * class. */
#define SIGNIFICANT_SHARE    0.01
/* Times with at most this coefficient of variation are constant; the second limit holds where a
 * model of them explains little. */
#define CONSTANT_SPREAD      0.15
#define CONSTANT_SPREAD_NEXT 0.10
/* Times are also constant if they vary no more than those at one point do, and their mean is known
 * this well (standard error by mean). Those are few measurements of a noisy constant. */
#define CONSTANT_ERROR       0.10

/* A model whose relative deviation from the points' means is at most this leaves as little as a
 * constant is allowed to. */
#define LEFT_SPREAD    CONSTANT_SPREAD
/* Of a factor, so that it is a number. */
#define DOUBLINGS_MOST 100
/* A coefficient is certain when it is so many standard errors above 0. */
#define CERTAIN        5

/* Sets the model's variances, and returns that of the points' means, of which the coefficients'
 * covariance is. A single measurement varies as repeated ones at one point do, and in addition by
 * what the means deviate from the model beyond that noise: `squares` after `columns` coefficients
 * were fitted. The means vary by these deviations, or by their noise where that is greater. */
static double model_set_variance(const struct spex_problem *problem, double squares, size_t columns,
                                 struct spex_model *model) {
    double within = problem->within, rows = 0, count = (double)problem->data.count;
    double between_freedom = count - (double)columns;
    double between = between_freedom > 0 ? squares / between_freedom : 0;
    for (size_t i = 0; i < problem->data.count; i++)
        rows += problem->points->rows[i] / count;
    double single = sqrt(within + fmax(between - within / rows, 0));
    model->share = single;
    model->floor = single * problem->floor;
    model->freedom = fmax(between_freedom, within > 0 ? problem->within_freedom : 0);
    return fmax(between, within / rows);
}

/* Sets the covariance of the coefficients of one fit, from column `first` of the model on. */
static void model_set_covariance(const struct spex_least_squares *fit, double variance,
                                 size_t first, struct spex_model *model) {
    for (size_t a = 0; a < fit->columns; a++)
        for (size_t b = 0; b < fit->columns; b++)
            model->covariance[first + a][first + b] = variance * fit->inverse[a][b];
    model->constant_error = sqrt(model->covariance[0][0]);
    for (size_t t = 0; t < model->term_count; t++)
        model->terms[t].error = sqrt(model->covariance[t + 1][t + 1]);
}

/* Whether the terms are certain. */
static bool terms_are_certain(const struct spex_problem *problem,
                              const struct spex_least_squares *fit,
                              const struct spex_hypothesis *hypothesis) {
    double left = fit->squares / ((double)problem->data.count - (double)fit->columns);
    for (size_t c = hypothesis->constant; c < fit->columns; c++)
        if (fit->coefficients[c] < CERTAIN * sqrt(fmax(left, problem->noise) * fit->inverse[c][c]))
            return false;
    return true;
}

/* Whether the residuals of single measurements go by no parameter: those of neighbours are no more alike than others. */
static int residual_goes_by_nothing(const struct spex_problem *problem,
                                    const struct spex_least_squares *fit,
                                    const struct spex_hypothesis *hypothesis, bool *nothing) {
    int err = 0;
    *nothing = problem->points->parameter_count > 0;
    for (size_t p = 0; p < problem->points->parameter_count && *nothing && !err; p++) {
        bool may = true;
        err = spex_deviations_go_by(problem, hypothesis, fit, p, &may);
        *nothing = !may;
    }
    return err;
}

/* Whether the terms are certain, and the residuals are no greater than the noise of repeated
 * measurements explains, or are small, or, where nothing was repeated, are chance. The model is then a good fit, however low R² is
 * because of the noise. 0 or -ENOMEM. */
static int residual_is_noise(const struct spex_problem *problem,
                             const struct spex_least_squares *fit,
                             const struct spex_hypothesis *hypothesis, bool *noise) {
    double freedom = (double)problem->data.count - (double)fit->columns;
    *noise = false;
    if (!(freedom > 0) || !terms_are_certain(problem, fit, hypothesis))
        return 0;
    if (problem->within_freedom < SPEX_NOISE_FREEDOM_MIN)
        return residual_goes_by_nothing(problem, fit, hypothesis, noise);
    *noise =
        spex_left_is_noise(problem, fit) || fit->squares / freedom <= LEFT_SPREAD * LEFT_SPREAD;
    return 0;
}

static double values_mean(const double *values, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* Sum of the squared distances from `mean`. */
static double values_squares(const double *values, size_t count, double mean) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (values[i] - mean) * (values[i] - mean);
    return sum;
}

/* Adjusted R² on the points' means: ADLER, equations 5 and 6. A change counts as a term, and so do
 * all constants but the first. */
static double adjusted_r2(const struct spex_points *points, const struct spex_model *model) {
    double left = 0, count = (double)points->count, terms = (double)model->term_count;
    if (model->change_count)
        terms += (double)model->change_count - 1;
    double all =
        values_squares(points->times, points->count, values_mean(points->times, points->count));
    for (size_t i = 0; i < points->count; i++) {
        double miss = points->times[i] -
                      spex_model_value(model, points->parameters + i * points->parameter_count);
        left += miss * miss;
    }
    if (!(all > 0))
        return 1;
    return 1 - left / all * (count - 1) / fmax(1, count - terms - 1);
}

struct ends {
    double least[SPEX_MODEL_PARAMETERS_MAX], most[SPEX_MODEL_PARAMETERS_MAX];
};

static struct ends points_ends(const struct spex_points *points) {
    struct ends ends = {{0}, {0}};
    for (size_t p = 0; p < points->parameter_count; p++) {
        ends.least[p] = INFINITY;
        ends.most[p] = 0;
        for (size_t i = 0; i < points->count; i++) {
            double x = points->parameters[i * points->parameter_count + p];
            ends.most[p] = fmax(ends.most[p], x);
            ends.least[p] = fmin(ends.least[p], x);
        }
    }
    return ends;
}

/* The value of a term where each parameter makes it least, or greatest. */
static double term_extreme(const struct spex_model_term *term, const struct ends *ends,
                           size_t parameters, bool greatest) {
    double value = term->coefficient;
    for (size_t p = 0; p < parameters; p++) {
        bool grows = term->factors[p].twelfths >= 0;
        double x = grows == greatest ? ends->most[p] : ends->least[p];
        if (spex_exponents_any(term->factors[p]))
            value *= spex_exponents_apply(term->factors[p], x, log2(x));
    }
    return value;
}

/* How the time grows. */
struct growth {
    bool any;
    /* The power and logarithm of the fastest growing term that counts. */
    int twelfths, log;
};

/* Adds a term, of which only parameters that make it greater say how it grows. */
static void growth_add(struct growth *growth, const struct spex_model_term *term,
                       size_t parameters) {
    int twelfths = 0, log = 0;
    for (size_t p = 0; p < parameters; p++)
        if (term->factors[p].twelfths >= 0) {
            twelfths += term->factors[p].twelfths;
            log += term->factors[p].log;
        }
    if (!growth->any || twelfths > growth->twelfths ||
        (twelfths == growth->twelfths && log > growth->log))
        *growth = (struct growth){true, twelfths, log};
}

/* The class by the greatest power and logarithm of the terms that count: ADLER, equations 7 to
 * 9. A term counts if it varies by SIGNIFICANT_SHARE of the model's greatest value over the points,
 * which are those of the last segment. */
static enum spex_model_class terms_class(const struct spex_points *points,
                                         const struct spex_model *model) {
    struct ends ends = points_ends(points);
    size_t parameters = model->parameter_count;
    double all = model->constant;
    struct growth growth = {.any = false};
    for (size_t t = 0; t < model->term_count; t++)
        if (model->terms[t].segment == model->change_count)
            all += term_extreme(&model->terms[t], &ends, parameters, true);
    for (size_t t = 0; t < model->term_count; t++) {
        const struct spex_model_term *term = &model->terms[t];
        double varies = term_extreme(term, &ends, parameters, true) -
                        term_extreme(term, &ends, parameters, false);
        if (term->segment == model->change_count && varies >= SIGNIFICANT_SHARE * all)
            growth_add(&growth, term, parameters);
    }
    if (!growth.any)
        return SPEX_MODEL_CONSTANT;
    if (growth.twelfths == 0)
        return growth.log ? SPEX_MODEL_LOGARITHMIC : SPEX_MODEL_DECREASING;
    return growth.twelfths == 12 && growth.log == 0 ? SPEX_MODEL_LINEAR : SPEX_MODEL_POLYNOMIAL;
}

/* Whether the parameter has three different values. Curves of every class pass through two
 * points, so two values do not tell classes apart. */
static bool has_three_values(const struct spex_points *points, size_t parameter) {
    const double *x = points->parameters + parameter;
    double first = x[0], second = x[0];
    for (size_t i = 1; i < points->count; i++) {
        double value = x[i * points->parameter_count];
        if (value == first || value == second)
            continue;
        if (first != second)
            return true;
        second = value;
    }
    return false;
}

static bool has_enough_values(const struct spex_points *points, const struct spex_model *model) {
    for (size_t t = 0; t < model->term_count; t++)
        for (size_t p = 0; p < model->parameter_count; p++)
            if (spex_exponents_any(model->terms[t].factors[p]) && !has_three_values(points, p))
                return false;
    return true;
}

/* The class of the fitted model. `good`: the residuals are noise (residual_is_noise). A model of
 * one class becomes UNKNOWN or CONSTANT here where the data do not support that class. */
static enum spex_model_class model_classify(const struct spex_points *points,
                                            const struct spex_model *model, bool good) {
    double mean = values_mean(points->times, points->count);
    double deviation =
        sqrt(values_squares(points->times, points->count, mean) / (double)points->count);
    double share = mean > 0 ? deviation / mean : 0;
    enum spex_model_class class = terms_class(points, model);
    if (class == SPEX_MODEL_CONSTANT) {
        bool noisy = good && model->constant_error <= CONSTANT_ERROR * model->constant;
        return share <= CONSTANT_SPREAD || noisy ? class : SPEX_MODEL_UNKNOWN;
    }
    /* Residuals that are noise tell nothing where the times' mean alone leaves less. */
    good = good ? model->adjusted_r2 > 0 : model->adjusted_r2 >= SPEX_MODEL_GOOD_R2;
    if (good && has_enough_values(points, model))
        return class;
    return share <= CONSTANT_SPREAD_NEXT ? SPEX_MODEL_CONSTANT : SPEX_MODEL_UNKNOWN;
}

/* Refuses what the fit cannot use: logarithms and fractional powers need numbers of 0 or more. */
static int measurements_check(const struct spex_measurements *measured) {
    if (measured->count == 0 || measured->parameter_count > SPEX_MODEL_PARAMETERS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < measured->count * measured->parameter_count; i++)
        if (!isfinite(measured->parameters[i]) || measured->parameters[i] < 0)
            return -EINVAL;
    for (size_t i = 0; i < measured->count; i++)
        if (!isfinite(measured->times[i]) || measured->times[i] < 0)
            return -EINVAL;
    for (size_t i = 0; i < measured->count * measured->parameter_count; i++)
        if (measured->parameters[i] > SPEX_FIT_GREATEST)
            return -ERANGE;
    for (size_t i = 0; i < measured->count; i++)
        if (!spex_fit_takes_time(measured->times[i]))
            return -ERANGE;
    return 0;
}

bool spex_fit_takes_time(double seconds) {
    return seconds == 0 || (seconds >= SPEX_FIT_LEAST && seconds <= SPEX_FIT_GREATEST);
}

static bool model_is_finite(const struct spex_model *model) {
    bool finite = isfinite(model->constant) && isfinite(model->adjusted_r2);
    for (size_t t = 0; t < model->term_count; t++)
        finite = finite && isfinite(model->terms[t].coefficient);
    return finite;
}

/* Sets the least values of the parameters that the model divides by. */
static void fit_set_least(const struct spex_points *points, struct spex_fit *fit) {
    const struct spex_model *model = &fit->model;
    struct ends ends = points_ends(points);
    for (size_t t = 0; t < model->term_count; t++)
        for (size_t p = 0; p < model->parameter_count; p++)
            if (model->terms[t].factors[p].twelfths < 0)
                fit->least[p] = ends.least[p];
}

/* Whether there are three values of each parameter that matters in each segment. */
static bool segments_have_values(const struct spex_segments *segments,
                                 const struct spex_model *model) {
    for (size_t t = 0; t < model->term_count; t++)
        for (size_t p = 0; p < model->parameter_count; p++)
            if (spex_exponents_any(model->terms[t].factors[p]) &&
                !has_three_values(&segments->parts[model->terms[t].segment].points, p))
                return false;
    return true;
}

/* Makes the model of the segments the fitted one, if it explains the times. */
static void fit_take_segments(const struct spex_problem *problem,
                              const struct spex_segments *segments, struct spex_fit *fit) {
    struct spex_model model = {.parameter_count = 0};
    size_t columns, first = 1;
    double squares = spex_segments_squares(segments, &columns);
    spex_segments_make_model(segments, &model);
    double variance = model_set_variance(problem, squares, columns, &model);
    for (size_t s = 0; s <= segments->changes; s++) {
        model_set_covariance(&segments->parts[s].fit, variance, first, &model);
        first += segments->parts[s].fit.columns;
    }
    model.adjusted_r2 = adjusted_r2(problem->points, &model);
    model.class = terms_class(&segments->parts[segments->changes].points, &model);
    if (model.adjusted_r2 < SPEX_MODEL_GOOD_R2 || !segments_have_values(segments, &model))
        return;
    fit->model = model;
}

/* The model of the best form. */
static int fit_take_form(const struct spex_problem *problem, const struct spex_hypothesis *best,
                         const struct spex_least_squares *squares, struct spex_model *model) {
    spex_hypothesis_make_model(problem, best, squares, model);
    double variance = model_set_variance(problem, squares->squares, squares->columns, model);
    model_set_covariance(squares, variance, best->constant ? 0 : 1, model);
    model->adjusted_r2 = adjusted_r2(problem->points, model);
    bool noise;
    int err = residual_is_noise(problem, squares, best, &noise);
    model->class = model_classify(problem->points, model, noise);
    return err;
}

/* Beyond the range the uncertainty is that of the last segment. */
static int fit_estimate_beyond(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                               const struct spex_least_squares *squares,
                               struct spex_segments *segments, struct spex_fit *fit) {
    struct spex_part *last = &segments->parts[segments->changes];
    spex_beyond_greatest(workspace->problem, NULL, fit->greatest);
    fit_set_least(workspace->problem->points, fit);
    return fit->model.change_count
               ? spex_beyond_estimate(&last->workspace, &last->form, &last->fit, &fit->power_error)
               : spex_beyond_estimate(workspace, best, squares, &fit->power_error);
}

/* Searches the form, and changes of it, and fits the model. The search keeps scores only, so the
 * best form is fitted once more, without a bound, for its coefficients and their covariance. */
static int fit_points(const struct spex_points *points, struct spex_fit *fit) {
    struct spex_problem problem;
    struct spex_fit_workspace workspace = {.products = NULL};
    struct spex_segments segments = {.changes = 0};
    struct spex_hypothesis best;
    struct spex_least_squares squares = {.columns = 0};
    int err = spex_problem_make(&problem, points);
    err = err ? err : spex_fit_workspace_make(&workspace, &problem);
    err = err ? err : spex_search(&workspace, &best);
    if (!err) {
        spex_hypothesis_judge(&workspace, &best, INFINITY, &squares);
        err = fit_take_form(&problem, &best, &squares, &fit->model);
        err = err ? err : spex_segments_find(&segments, &problem, &best, &squares);
    }
    if (!err && segments.changes)
        fit_take_segments(&problem, &segments, fit);
    err = err ? err : fit_estimate_beyond(&workspace, &best, &squares, &segments, fit);
    spex_segments_free(&segments);
    spex_fit_workspace_free(&workspace);
    spex_problem_free(&problem);
    return err;
}

/* Where no formula follows the points, it may be because of single measurements that are outliers. */
static int fit_without_singles(struct spex_points *points, struct spex_fit *fit) {
    struct spex_fit without = {.points = 0};
    size_t all = points->count;
    int err = spex_points_leave_out_singles(points);
    if (err || points->count == all)
        return err;
    err = fit_points(points, &without);
    if (!err && without.model.class != SPEX_MODEL_UNKNOWN)
        *fit = without;
    return err;
}

int spex_fit(const struct spex_measurements *measured, struct spex_fit *fit) {
    struct spex_points points;
    int err = measurements_check(measured);
    if (err)
        return err;
    *fit = (struct spex_fit){.points = 0};
    err = spex_points_make(&points, measured);
    err = err ? err : fit_points(&points, fit);
    if (!err && fit->model.class == SPEX_MODEL_UNKNOWN)
        err = fit_without_singles(&points, fit);
    if (!err && !model_is_finite(&fit->model))
        err = -ERANGE;
    fit->points = points.count;
    fit->outliers = points.outliers;
    spex_points_free(&points);
    return err;
}

/* Doublings by which the parameters are outside of what was measured, of the one furthest away.
 * Below the least value only that matters which the model divides by: other terms vanish there. */
static double octaves_outside(const struct spex_fit *fit, const double *parameters) {
    size_t count = fit->model.parameter_count;
    double octaves = spex_beyond_octaves(parameters, fit->greatest, count);
    for (size_t p = 0; p < count; p++)
        if (parameters[p] < fit->least[p])
            octaves = fmax(octaves, fmin(log2(fit->least[p] / parameters[p]), DOUBLINGS_MOST));
    return octaves;
}

/* The power's error makes a factor, above and below, that is independent of the model's own
 * interval. */
struct spex_prediction spex_fit_predict(const struct spex_fit *fit, const double *parameters) {
    struct spex_prediction prediction = spex_model_predict(&fit->model, parameters);
    double octaves = octaves_outside(fit, parameters);
    if (octaves == 0)
        return prediction;
    double power = spex_student_two_sided(0.05, fit->model.freedom) * fit->power_error;
    double factor = exp2(fmin(power * octaves, DOUBLINGS_MOST));
    double value = prediction.value, above = value * (factor - 1), below = value * (1 - 1 / factor);
    prediction.high = value + hypot(prediction.high - value, above);
    prediction.low = fmax(value - hypot(value - prediction.low, below), 0);
    return prediction;
}
