/* SPDX-License-Identifier: MIT */
/* Candidates of parameters without slices, against LASSO in its plainest form: all columns are made
 * first, and each penalty is solved until nothing changes any more. */
#include "model/fit/lasso.h"

#include <math.h>

#include "../check.h"
#include "base/random.h"

enum { POINTS_MOST = 700, USED_MOST = 256, COLUMNS_MOST = 500, WIDTH = 3, STEPS = 40 };

struct made {
    size_t count;
    double parameters[POINTS_MOST * WIDTH], times[POINTS_MOST], rows[POINTS_MOST],
        variances[POINTS_MOST];
    struct spex_points points;
    struct spex_problem problem;
};

/* A column, and the parameters and functions that it is made of; `factors` of them. */
struct column {
    size_t parameters[2], functions[2], factors;
    double values[USED_MOST], coefficient;
};

struct path {
    struct column columns[COLUMNS_MOST];
    size_t count, used;
    double left[USED_MOST];
};

static struct spex_random random_state;

/* Between `low` and `high`. */
static double between(double low, double high) {
    return low + (high - low) * (double)(spex_random_next(&random_state) >> 11) /
                     (double)(UINT64_C(1) << 53);
}

typedef double law(const double *x);

static double sum_of_powers(const double *x) {
    return 3 + 0.2 * x[0] * x[0] + 4 * x[1];
}

static double product(const double *x) {
    return 1 + 0.1 * x[0] * log2(x[1]);
}

static double one_parameter(const double *x) {
    return 2 + 0.5 * x[1] * log2(x[1]);
}

static double with_decreasing(const double *x) {
    return 500 + pow(x[0], 1.5) - 2 * x[1];
}

/* All parameters move at random; the third one has a 0 where `zero` is set, and else is the same
 * for all points. */
static struct made *made_of(law *of, size_t count, double noise, bool zero) {
    struct made *made = calloc(1, sizeof(*made));
    assert_non_null(made);
    for (size_t i = 0; i < count; i++) {
        double *x = made->parameters + i * WIDTH;
        x[0] = floor(between(1, 200));
        x[1] = floor(between(2, 90));
        x[2] = zero ? (double)(i % 17) : 5;
        made->times[i] = of(x) * (1 + noise * between(-1, 1)) + (zero ? 3 * x[2] : 0);
        made->rows[i] = 1;
    }
    made->points = (struct spex_points){.parameter_count = WIDTH,
                                        .count = count,
                                        .parameters = made->parameters,
                                        .times = made->times,
                                        .rows = made->rows,
                                        .variances = made->variances};
    assert_int_equal(spex_problem_make(&made->problem, &made->points), 0);
    return made;
}

/* Without the weighted mean, times the roots of the weights. Returns the length. */
static double centre(const struct spex_problem *problem, double *values, size_t used,
                     size_t stride) {
    double sum = 0, weights = 0, squares = 0;
    for (size_t i = 0; i < used; i++) {
        sum += problem->weights[i * stride] * values[i];
        weights += problem->weights[i * stride];
    }
    for (size_t i = 0; i < used; i++) {
        values[i] = (values[i] - sum / weights) * sqrt(problem->weights[i * stride]);
        squares += values[i] * values[i];
    }
    return sqrt(squares);
}

static void add_column(struct path *path, const struct spex_problem *problem, size_t stride,
                       const struct column *like) {
    struct column *column = &path->columns[path->count];
    *column = *like;
    for (size_t f = 0; f < like->factors; f++)
        if (!problem->usable[like->parameters[f]][like->functions[f]])
            return;
    for (size_t i = 0; i < path->used; i++) {
        column->values[i] = 1;
        for (size_t f = 0; f < like->factors; f++)
            column->values[i] *=
                spex_problem_column(problem, like->parameters[f], like->functions[f])[i * stride];
    }
    double length = centre(problem, column->values, path->used, stride);
    for (size_t i = 0; i < path->used; i++)
        column->values[i] /= length;
    path->count++;
}

/* Functions of one parameter, and products of simple functions of it and of one before it. */
static void add_columns(struct path *path, const struct spex_problem *problem, size_t stride) {
    for (size_t p = 0; p < WIDTH; p++) {
        for (size_t f = 0; f < SPEX_FUNCTIONS; f++)
            add_column(path, problem, stride,
                       &(struct column){.parameters = {p}, .functions = {f}, .factors = 1});
        for (size_t q = 0; q < p; q++)
            for (size_t f = 0; f < SPEX_FUNCTIONS_SIMPLE; f++)
                for (size_t g = 0; g < SPEX_FUNCTIONS_SIMPLE; g++)
                    add_column(
                        path, problem, stride,
                        &(struct column){.parameters = {p, q}, .functions = {f, g}, .factors = 2});
    }
}

static double with_left(const struct path *path, const struct column *column) {
    double sum = 0;
    for (size_t i = 0; i < path->used; i++)
        sum += column->values[i] * path->left[i];
    return sum;
}

/* Changes one coefficient after the other, at most 60 times each. */
static void solve(struct path *path, double penalty, double tolerance) {
    double most = INFINITY;
    for (int sweep = 0; sweep < 60 && most > tolerance; sweep++) {
        most = 0;
        for (size_t c = 0; c < path->count; c++) {
            struct column *column = &path->columns[c];
            double next = with_left(path, column) + column->coefficient - penalty;
            double change = (next > 0 ? next : 0) - column->coefficient;
            for (size_t i = 0; i < path->used; i++)
                path->left[i] -= change * column->values[i];
            column->coefficient += change;
            if (next <= 0)
                column->coefficient = 0;
            most = fmax(most, fabs(change));
        }
    }
}

static void add_candidate(struct spex_candidates *candidates, size_t function) {
    for (size_t c = 0; c < candidates->count; c++)
        if (candidates->functions[c] == function)
            return;
    if (candidates->count < SPEX_CANDIDATES_MAX)
        candidates->functions[candidates->count++] = (uint8_t)function;
}

static size_t add_chosen(const struct path *path, struct spex_candidates *candidates) {
    size_t chosen = 0;
    for (size_t c = 0; c < path->count; c++) {
        const struct column *column = &path->columns[c];
        if (column->coefficient <= 0)
            continue;
        chosen++;
        for (size_t f = 0; f < column->factors; f++) {
            struct spex_candidates *of = &candidates[column->parameters[f]];
            add_candidate(of, column->functions[f]);
            of->gain = fmax(of->gain, pow(column->coefficient, 2) / (double)path->used);
        }
    }
    return chosen;
}

static void expected_of(const struct made *made, struct spex_candidates *candidates) {
    const struct spex_problem *problem = &made->problem;
    size_t stride = 1, chosen = 0;
    struct path *path = calloc(1, sizeof(*path));
    double most = 0;
    assert_non_null(path);
    while ((made->points.count + stride - 1) / stride > USED_MOST)
        stride++;
    path->used = (made->points.count + stride - 1) / stride;
    add_columns(path, problem, stride);
    for (size_t i = 0; i < path->used; i++)
        path->left[i] = made->times[i * stride];
    centre(problem, path->left, path->used, stride);
    for (size_t c = 0; c < path->count; c++)
        most = fmax(most, with_left(path, &path->columns[c]));
    for (int step = 1; step <= STEPS && chosen < 6; step++) {
        solve(path, most * pow(1e-4, step / 40.0), 1e-6 * most);
        chosen = add_chosen(path, candidates);
    }
    for (size_t p = 0; p < WIDTH; p++)
        for (size_t f = 0; f < SPEX_FUNCTIONS_SIMPLE; f++)
            if (problem->usable[p][f])
                add_candidate(&candidates[p], f);
    free(path);
}

static void expect_candidates(struct made *made) {
    struct spex_candidates found[WIDTH] = {{.count = 0}}, expected[WIDTH] = {{.count = 0}};
    assert_int_equal(spex_lasso_candidates(&made->problem, found), 0);
    expected_of(made, expected);
    for (size_t p = 0; p < WIDTH; p++) {
        assert_int_equal(found[p].count, expected[p].count);
        for (size_t c = 0; c < found[p].count; c++)
            assert_int_equal(found[p].functions[c], expected[p].functions[c]);
        assert_true(fabs(found[p].gain - expected[p].gain) <= 1e-6 * expected[p].gain);
    }
    /* A parameter that has candidates keeps them, and the others get the same as before. */
    struct spex_candidates kept[WIDTH] = {{1, {17}, 0.5}};
    assert_int_equal(spex_lasso_candidates(&made->problem, kept), 0);
    assert_int_equal(kept[0].count, 1);
    assert_int_equal(kept[0].functions[0], 17);
    assert_true(kept[0].gain == 0.5);
    assert_memory_equal(kept[1].functions, found[1].functions, found[1].count);
    assert_true(kept[1].count == found[1].count && kept[1].gain == found[1].gain);
    spex_problem_free(&made->problem);
    free(made);
}

TEST(candidates_are_those_of_the_path) {
    static law *const laws[] = {sum_of_powers, product, one_parameter, with_decreasing};
    static const size_t counts[] = {12, 60, 257, 700};
    spex_random_seed(&random_state, 1, 1);
    for (size_t l = 0; l < COUNT_OF(laws); l++)
        for (size_t c = 0; c < COUNT_OF(counts); c++)
            for (int zero = 0; zero < 2; zero++)
                expect_candidates(made_of(laws[l], counts[c], l % 2 ? 0.02 : 0.2, zero));
}

static double decreasing(const double *x) {
    return 1000 - x[0] - x[1];
}

/* Functions that decrease are on the path; the simple ones fill the rest. */
TEST(what_only_decreases_has_what_decreases) {
    spex_random_seed(&random_state, 2, 1);
    struct made *made = made_of(decreasing, 50, 0, false);
    struct spex_candidates found[WIDTH] = {{.count = 0}};
    assert_int_equal(spex_lasso_candidates(&made->problem, found), 0);
    for (size_t p = 0; p < 2; p++) {
        assert_int_equal(found[p].count, SPEX_CANDIDATES_MAX);
        for (size_t c = 0; c < found[p].count; c++)
            assert_true(found[p].functions[c] < SPEX_FUNCTIONS_SIMPLE ||
                        spex_functions()[found[p].functions[c]].exponents.twelfths < 0);
        assert_true(spex_functions()[found[p].functions[0]].exponents.twelfths < 0);
    }
    assert_int_equal(found[2].count, 0);
    spex_problem_free(&made->problem);
    free(made);
}
