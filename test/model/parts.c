/* SPDX-License-Identifier: MIT */
/* The parts of a fit, each against its definition, calculated in the plainest way: the problem's
 * weights and columns, least squares, the scores of forms, and the candidates of slices. */
#include <math.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"
#include "model/fit/candidates.h"
#include "model/fit/hypothesis.h"

enum { POINTS_MAX = 120, WIDTH = 3 };

/* Measured points, made by hand. */
struct made {
    double parameters[POINTS_MAX * WIDTH], times[POINTS_MAX], rows[POINTS_MAX],
        variances[POINTS_MAX];
    struct spex_points points;
    struct spex_problem problem;
};

static struct spex_random random_state;

/* Between `low` and `high`. */
static double between(double low, double high) {
    return low + (high - low) * (double)(spex_random_next(&random_state) >> 11) /
                     (double)(UINT64_C(1) << 53);
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-8 * fmax(fabs(expected), 1e-12)) && found != expected)
        fail_msg("%.12g instead of %.12g", found, expected);
}

static void add_point(struct made *made, double a, double b, double c, double time) {
    size_t at = made->points.count++;
    made->parameters[at * WIDTH] = a;
    made->parameters[at * WIDTH + 1] = b;
    made->parameters[at * WIDTH + 2] = c;
    made->times[at] = time;
    made->rows[at] = 1 + (double)(at % 4);
    made->variances[at] = at % 4 ? pow(between(0.01, 0.04) * time, 2) : 0;
}

static void make_problem(struct made *made) {
    made->points = (struct spex_points){.parameter_count = WIDTH,
                                        .count = made->points.count,
                                        .parameters = made->parameters,
                                        .times = made->times,
                                        .rows = made->rows,
                                        .variances = made->variances};
    assert_int_equal(spex_problem_make(&made->problem, &made->points), 0);
}

/* A grid of two parameters, without some of its points; the third one stays the same. */
static struct made *grid(double noise, double of_second) {
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    for (int a = 0; a < 9; a++)
        for (int b = 0; b < 7; b++)
            if ((a * 7 + b) % 11 != 5 && (a != 3 || b > 4)) {
                double x = 2 + 3 * a * a, y = 5 + 7 * b;
                add_point(made, x, y, 4,
                          (3 + 0.5 * x * log2(x) + of_second * y * y) *
                              (1 + noise * between(-0.5, 0.5)));
            }
    make_problem(made);
    return made;
}

/* Many values of the first parameter; the second one has a 0. */
static struct made *scattered(void) {
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    for (int i = 0; i < POINTS_MAX; i++) {
        double x = 1 + (double)(i * 37 % 100), y = (double)(i % 13) / 2;
        add_point(made, x, y, 1 + (i % 5), 1e-3 * (2 + x + 3 * y * x) * between(0.9, 1.1));
    }
    make_problem(made);
    return made;
}

static void made_free(struct made *made) {
    spex_problem_free(&made->problem);
    free(made);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void expect_problem(struct made *made) {
    const struct spex_problem *problem = &made->problem;
    double sorted[POINTS_MAX], sum = 0, freedom = 0, inverse = 0;
    size_t count = made->points.count;
    memcpy(sorted, made->times, sizeof(sorted));
    qsort(sorted, count, sizeof(*sorted), ascending);
    expect_near(problem->floor, 0.005 * sorted[count / 2]);
    expect_near(problem->least, sorted[0]);
    for (size_t i = 0; i < count; i++) {
        double weight = 1 / (pow(made->times[i], 2) + pow(problem->floor, 2));
        expect_near(problem->weights[i], weight);
        expect_near(problem->ones[i], 1);
        sum += (made->rows[i] - 1) * made->variances[i] * weight;
        freedom += made->rows[i] - 1;
        inverse += 1 / made->rows[i];
    }
    expect_near(problem->within_freedom, freedom);
    expect_near(problem->within, sum / freedom);
    expect_near(problem->noise, sum / freedom * inverse / (double)count);
    assert_ptr_equal(problem->data.values, made->times);
    assert_ptr_equal(problem->data.weights, problem->weights);
    assert_int_equal(problem->data.count, count);
}

static void expect_columns(const struct made *made, size_t parameter, bool varies, bool logs) {
    const struct spex_problem *problem = &made->problem;
    double least = INFINITY;
    for (size_t i = 0; i < made->points.count; i++)
        least = fmin(least, made->parameters[i * WIDTH + parameter]);
    assert_int_equal(problem->varies[parameter], varies);
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++) {
        const struct spex_exponents exponents = spex_functions()[f].exponents;
        const double *column = spex_problem_column(problem, parameter, f);
        bool usable =
            varies && (logs || exponents.log == 0) && (least > 0 || exponents.twelfths >= 0);
        assert_int_equal(problem->usable[parameter][f], usable);
        for (size_t i = 0; i < made->points.count && usable; i++) {
            double x = made->parameters[i * WIDTH + parameter];
            double expected = pow(x, exponents.twelfths / 12.0);
            for (unsigned l = 0; l < exponents.log; l++)
                expected *= log2(x);
            expect_near(column[i], expected);
        }
    }
}

TEST(problems_are_weighted) {
    spex_random_seed(&random_state, 1, 1);
    struct made *of_grid = grid(0.1, 0.01), *of_many = scattered();
    expect_problem(of_grid);
    expect_problem(of_many);
    expect_columns(of_grid, 0, true, true);
    expect_columns(of_grid, 1, true, true);
    expect_columns(of_grid, 2, false, true);
    expect_columns(of_many, 0, true, true);
    expect_columns(of_many, 1, true, false);
    expect_columns(of_many, 2, true, true);
    made_free(of_grid);
    made_free(of_many);
}

/* The residuals have no part of any column, and the inverse times X'WX is one. */
static void expect_solved(const struct spex_data *data, const double *const *columns,
                          const struct spex_least_squares *fit) {
    double squares = 0, left[POINTS_MAX];
    for (size_t i = 0; i < data->count; i++) {
        left[i] = data->values[i];
        for (size_t c = 0; c < fit->columns; c++)
            left[i] -= fit->coefficients[c] * columns[c][i];
        squares += data->weights[i] * left[i] * left[i];
    }
    expect_near(fit->squares, squares);
    for (size_t a = 0; a < fit->columns; a++) {
        double product = 0, size = 0;
        for (size_t i = 0; i < data->count; i++) {
            product += data->weights[i] * columns[a][i] * left[i];
            size += data->weights[i] * fabs(columns[a][i] * data->values[i]);
        }
        assert_true(fabs(product) < 1e-8 * size);
        for (size_t b = 0; b < fit->columns; b++) {
            double sum = 0, most = 0;
            for (size_t c = 0; c < fit->columns; c++) {
                double gram = 0;
                for (size_t i = 0; i < data->count; i++)
                    gram += data->weights[i] * columns[a][i] * columns[c][i];
                sum += gram * fit->inverse[c][b];
                most = fmax(most, fabs(gram * fit->inverse[c][b]));
            }
            assert_true(fabs(sum - (a == b)) < 1e-6 * fmax(most, 1));
        }
    }
}

TEST(least_squares) {
    spex_random_seed(&random_state, 2, 1);
    struct made *made = grid(0.5, 0.01);
    const struct spex_problem *problem = &made->problem;
    const double *columns[SPEX_MODEL_COLUMNS_MAX] = {problem->ones};
    for (size_t c = 1; c < COUNT_OF(columns); c++)
        columns[c] = spex_problem_column(problem, c % 2, c);
    for (size_t count = 1; count <= COUNT_OF(columns); count++) {
        struct spex_least_squares fit;
        assert_true(spex_least_squares(&problem->data, columns, count, &fit));
        assert_int_equal(fit.columns, count);
        expect_solved(&problem->data, columns, &fit);
    }
    made_free(made);
}

/* A function of the first, of the second, and whether they are one term. */
struct form {
    size_t first, second;
    bool product;
};

static struct spex_hypothesis hypothesis_of(const struct form *form) {
    struct spex_hypothesis hypothesis = {.terms = form->product ? 1 : 2};
    hypothesis.functions[0][0] = (uint8_t)(form->first + 1);
    hypothesis.functions[form->product ? 0 : 1][1] = (uint8_t)(form->second + 1);
    return hypothesis;
}

/* Mean square of what each point misses by a fit of all others. */
static double left_out_error(const struct spex_problem *problem, const double *const *columns,
                             size_t count) {
    double kept[POINTS_MAX], sum = 0;
    struct spex_least_squares fit;
    for (size_t out = 0; out < problem->data.count; out++) {
        memcpy(kept, problem->weights, problem->data.count * sizeof(*kept));
        kept[out] = 0;
        const struct spex_data data = {problem->data.count, problem->data.values, kept};
        double miss = problem->data.values[out];
        assert_true(spex_least_squares(&data, columns, count, &fit));
        for (size_t c = 0; c < count; c++)
            miss -= fit.coefficients[c] * columns[c][out];
        sum += problem->weights[out] * miss * miss;
    }
    return sum / (double)problem->data.count;
}

/* Whether the coefficients of `terms` terms behind the constant are surely above 0. */
static bool are_sure(const struct spex_problem *problem, const struct spex_least_squares *fit,
                     size_t terms, double chance) {
    double freedom = (double)(problem->data.count - fit->columns), all = freedom;
    double variance = fit->squares / freedom;
    if (variance <= problem->noise * (1 + 3 / sqrt(freedom)) && problem->within_freedom >= 10) {
        variance = fmax(variance, problem->noise);
        all += problem->within_freedom;
    }
    for (size_t c = fit->columns - terms; c < fit->columns; c++)
        if (fit->coefficients[c] <=
            (terms > 1 ? spex_student_two_sided(chance, all) * sqrt(variance * fit->inverse[c][c])
                       : 0))
            return false;
    return true;
}

/* The score of a form with these columns behind the constant. */
static double score_of(const struct spex_problem *problem, const double **columns, size_t terms,
                       double complexity, double chance, bool *constant) {
    struct spex_least_squares fit;
    double count = (double)problem->data.count;
    columns[0] = problem->ones;
    bool solved = spex_least_squares(&problem->data, columns, terms + 1, &fit);
    *constant = !(solved && fit.coefficients[0] < 1e-9 * problem->least);
    if (!*constant)
        solved = spex_least_squares(&problem->data, ++columns, terms, &fit);
    if (!solved || !are_sure(problem, &fit, terms, chance))
        return INFINITY;
    double error = left_out_error(problem, columns, fit.columns);
    return count * log(error + problem->noise + 9e-8) + 4.5 * complexity + 4 * (double)terms;
}

static void expect_score(struct spex_fit_workspace *workspace, struct spex_hypothesis hypothesis,
                         double expected, bool constant) {
    struct spex_least_squares fit;
    spex_hypothesis_judge(workspace, &hypothesis, INFINITY, &fit);
    assert_int_equal(hypothesis.constant, constant);
    if (isinf(expected)) {
        assert_true(isinf(hypothesis.score));
        return;
    }
    expect_near(hypothesis.score, expected);
    assert_int_equal(fit.columns, hypothesis.terms + constant);
    struct spex_hypothesis best = {.score = hypothesis.score};
    assert_false(spex_hypothesis_try(workspace, hypothesis, &best));
    best.score = hypothesis.score + 1e-6 * fabs(hypothesis.score);
    assert_true(spex_hypothesis_try(workspace, hypothesis, &best));
    assert_int_equal(best.terms, hypothesis.terms);
    expect_near(best.score, expected);
}

/* By Student's distribution: 1.24 %, and 0.00633 % beside a twin. */
static void expect_sure(const struct spex_fit_workspace *workspace) {
    for (size_t columns = 1; columns <= SPEX_MODEL_COLUMNS_MAX; columns++)
        for (int noise = 0; noise < 2; noise++) {
            double freedom = (double)workspace->problem->data.count - (double)columns +
                             noise * workspace->problem->within_freedom;
            expect_near(workspace->sure[noise][columns], spex_student_two_sided(0.0124, freedom));
            expect_near(workspace->sure_beside_twin[noise][columns],
                        spex_student_two_sided(6.33e-5, freedom));
        }
}

/* All sums and products of a function of each parameter, and all sums of two of the first. */
static void expect_scores(struct made *made, unsigned *possible, unsigned *impossible) {
    const struct spex_problem *problem = &made->problem;
    const struct spex_function *functions = spex_functions();
    struct spex_fit_workspace workspace;
    assert_int_equal(spex_fit_workspace_make(&workspace, problem), 0);
    expect_sure(&workspace);
    for (size_t f = 0; f < SPEX_FUNCTIONS; f += 3)
        for (size_t g = 0; g < SPEX_FUNCTIONS; g += 3) {
            double product[POINTS_MAX],
                complexity = functions[f].complexity + functions[g].complexity;
            const double *first = spex_problem_column(problem, 0, f),
                         *second = spex_problem_column(problem, 1, g),
                         *twin = spex_problem_column(problem, 0, g);
            bool constant;
            if (!problem->usable[0][f] || !problem->usable[1][g])
                continue;
            for (size_t i = 0; i < problem->data.count; i++)
                product[i] = first[i] * second[i];
            double score = score_of(problem, (const double *[3]){NULL, first, second}, 2,
                                    complexity, 1.24e-2, &constant);
            expect_score(&workspace, hypothesis_of(&(struct form){f, g, false}), score, constant);
            *possible += isfinite(score);
            *impossible += isinf(score);
            score =
                score_of(problem, (const double *[2]){NULL, product}, 1, complexity, 1, &constant);
            expect_score(&workspace, hypothesis_of(&(struct form){f, g, true}), score, constant);
            if (f == g)
                continue;
            struct spex_hypothesis twins = {.terms = 2};
            twins.functions[0][0] = (uint8_t)(f + 1);
            twins.functions[1][0] = (uint8_t)(g + 1);
            score = score_of(problem, (const double *[3]){NULL, first, twin}, 2, complexity + 0.9,
                             6.33e-5, &constant);
            expect_score(&workspace, twins, score, constant);
        }
    spex_fit_workspace_free(&workspace);
}

TEST(forms_have_their_scores) {
    static const double noises[] = {0.02, 0.4};
    unsigned possible = 0, impossible = 0;
    spex_random_seed(&random_state, 3, 1);
    for (size_t n = 0; n < COUNT_OF(noises); n++) {
        for (int both = 0; both < 2; both++) {
            struct made *made = grid(noises[n], both * 0.01);
            expect_scores(made, &possible, &impossible);
            made_free(made);
        }
    }
    assert_true(possible > 500 && impossible > 100);
}

/* What remains of the slices of a parameter, each of which has a constant and a slope of its own.
 */
static double slices_leave(const struct made *made, size_t parameter, const double *column,
                           double *in_slices) {
    double left = 0;
    size_t other = 1 - parameter;
    bool done[POINTS_MAX] = {false};
    *in_slices = 0;
    for (size_t first = 0; first < made->points.count; first++) {
        double w = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0, count = 0;
        if (done[first])
            continue;
        for (size_t i = first; i < made->points.count; i++) {
            if (made->parameters[i * WIDTH + other] != made->parameters[first * WIDTH + other])
                continue;
            double weight = made->problem.weights[i], value = column ? column[i] : 0;
            done[i] = true;
            count++;
            w += weight;
            x += weight * value;
            y += weight * made->times[i];
            xx += weight * value * value;
            xy += weight * value * made->times[i];
            yy += weight * pow(made->times[i], 2);
        }
        if (count < 3)
            continue;
        double spread = xx - x * x / w, together = xy - x * y / w;
        *in_slices += count;
        left += yy - y * y / w - (spread > 0 && together > 0 ? together * together / spread : 0);
    }
    return left;
}

static void expect_candidates(const struct made *made, size_t parameter) {
    struct spex_candidates candidates[SPEX_MODEL_PARAMETERS_MAX];
    double count, least = INFINITY, scores[SPEX_FUNCTIONS];
    bool taken[SPEX_FUNCTIONS] = {false};
    assert_int_equal(spex_candidates_find(&made->problem, candidates), 0);
    double all = slices_leave(made, parameter, NULL, &count);
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++) {
        double left = slices_leave(made, parameter,
                                   spex_problem_column(&made->problem, parameter, f), &count);
        least = fmin(least, left);
        scores[f] = count * log(left / count + made->problem.noise + 9e-8) +
                    4.5 * spex_functions()[f].complexity;
    }
    assert_int_equal(candidates[parameter].count, SPEX_CANDIDATES_MAX);
    assert_true(fabs(candidates[parameter].gain / ((all - least) / count) - 1) < 1e-6);
    for (size_t c = 0; c < SPEX_CANDIDATES_MAX; c++) {
        size_t best = 0;
        for (size_t f = 1; f < SPEX_FUNCTIONS; f++)
            if (!taken[f] && (taken[best] || scores[f] < scores[best]))
                best = f;
        assert_int_equal(candidates[parameter].functions[c], best);
        taken[best] = true;
    }
}

TEST(candidates_are_the_best_in_slices) {
    static const double noises[] = {0.02, 0.1, 0.4};
    spex_random_seed(&random_state, 4, 1);
    for (size_t n = 0; n < COUNT_OF(noises); n++) {
        struct made *made = grid(noises[n], 0.01);
        expect_candidates(made, 0);
        expect_candidates(made, 1);
        made_free(made);
    }
}

/* Powers up to 3 in quarters and thirds, each without a logarithm, with one and with its square;
 * three that decrease; and what they count as complexity. */
TEST(functions_are_these) {
    static const struct {
        int twelfths;
        double complexities[3];
    } powers[] = {
        {-24, {1.2}},          {-12, {0.6}},        {-6, {1.2}},          {0, {NAN, 0, 0.7}},
        {3, {1.2, 2, 2.5}},    {4, {1.2, 2, 2.5}},  {6, {0.6, 1.2, 2.2}}, {8, {1, 2, 2.5}},
        {9, {1, 2, 2.5}},      {12, {0, 0.6, 1.2}}, {15, {1, 2, 2.5}},    {16, {1.2, 2, 2.5}},
        {18, {0.6, 1.2, 2.2}}, {20, {1, 2, 2.5}},   {21, {1.2, 2, 2.5}},  {24, {0, 0.6, 1.5}},
        {27, {1.2, 2, 2.5}},   {28, {1.2, 2, 2.5}}, {30, {1, 1.5, 2.2}},  {32, {1.2, 2, 2.5}},
        {33, {1.2, 2, 2.5}},   {36, {0, 1.2, 2}}};
    const struct spex_function *functions = spex_functions();
    unsigned found = 0;
    for (size_t p = 0; p < COUNT_OF(powers); p++)
        for (unsigned log = 0; log < 3; log++)
            for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
                if (functions[f].exponents.twelfths == powers[p].twelfths &&
                    functions[f].exponents.log == log) {
                    found++;
                    assert_true(functions[f].complexity == powers[p].complexities[log]);
                    assert_true(f >= SPEX_FUNCTIONS_SIMPLE || functions[f].complexity <= 0.6);
                }
    assert_int_equal(found, SPEX_FUNCTIONS);
}
