/* SPDX-License-Identifier: MIT */
/* Trainings: what comes often weighs no more than what comes rarely, and memory has a bound. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "model/fit/training.h"

static const char *const n[] = {"n"};
static const char *const n_m[] = {"n", "m"};

static struct spex_training *make(void) {
    struct spex_training *training;
    assert_int_equal(spex_training_create(&training, 1), 0);
    return training;
}

/* How many were left out. */
static size_t fit(const struct spex_training *training, double least_seconds,
                  struct spex_models *models) {
    size_t left_out;
    assert_int_equal(spex_training_fit(training, least_seconds, models, &left_out), 0);
    return left_out;
}

static struct spex_trained *kernel_of(struct spex_training *training, const char *path,
                                      const char *const *names, size_t count) {
    struct spex_trained *kernel;
    assert_int_equal(spex_training_kernel(training, path, names, count, &kernel), 0);
    return kernel;
}

/* Between 0.95 and 1.05, the same in each run. */
static double noise(uint64_t *seed) {
    return 0.95 + (double)random_below(seed, 1000) / 10000;
}

TEST(kernels_have_models_by_their_paths) {
    static const char *const paths[] = {"main/sort", "main", "main/load/sort", "main/load"};
    struct spex_training *training = make();
    struct spex_models models;
    uint64_t seed = 1;
    for (double rows = 16; rows <= 65536; rows *= 2)
        for (size_t k = 0; k < COUNT_OF(paths); k++)
            for (int r = 0; r < 5; r++) {
                double time = (k == 0   ? 1e-8 * rows * log2(rows)
                               : k == 1 ? 1e-7 * rows
                               : k == 2 ? 1e-10 * rows * rows
                                        : 1e-6 * log2(rows)) *
                              noise(&seed);
                assert_int_equal(
                    spex_trained_add(training, kernel_of(training, paths[k], n, 1), &rows, time, 2),
                    0);
            }
    fit(training, 0, &models);
    assert_int_equal(models.count, 4);
    assert_string_equal(models.items[0].path, "main");
    assert_int_equal(models.items[0].model.class, SPEX_MODEL_LINEAR);
    assert_int_equal(spex_models_find(&models, "main/load")->model.class, SPEX_MODEL_LOGARITHMIC);
    assert_int_equal(
        spex_models_find(&models, "main/load/sort")->model.terms[0].factors[0].twelfths, 24);
    const struct spex_kernel_model *sort = spex_models_find(&models, "main/sort");
    assert_int_equal(sort->model.terms[0].factors[0].log, 1);
    assert_true(sort->executions == 2 * 5 * 13);
    assert_true(sort->low[0] == 16 && sort->high[0] == 65536);
    assert_true(sort->least_seconds >= 0.95e-8 * 64 && sort->least_seconds <= 1.05e-8 * 64);
    spex_models_free(&models);
    spex_training_destroy(training);
}

/* Of each place the median, of an even number of times the mean of the two in the middle. */
TEST(models_have_the_points_of_their_training) {
    static const double times[] = {2, 10, 1, 11};
    enum { PLACES = 2 * SPEX_MODEL_POINTS };
    for (size_t places = 3; places <= PLACES; places += PLACES - 3) {
        struct spex_training *training = make();
        struct spex_trained *kernel = kernel_of(training, "main", n, 1);
        struct spex_models models;
        for (size_t p = 1; p <= places; p++)
            for (size_t t = 0; t < (p % 2 ? 4 : 3); t++)
                assert_int_equal(
                    spex_trained_add(training, kernel, &(double){(double)p}, times[t], 5), 0);
        fit(training, 0, &models);
        const struct spex_kernel_model *made = &models.items[0];
        assert_int_equal(made->point_count,
                         places < SPEX_MODEL_POINTS ? places : SPEX_MODEL_POINTS);
        for (size_t i = 0; i < made->point_count; i++) {
            bool even = (size_t)made->points[i].values[0] % 2;
            assert_true(made->points[i].seconds == (even ? 6 : 2));
            assert_true(made->points[i].executions == (even ? 20 : 15));
            assert_true(i == 0 || made->points[i].values[0] != made->points[i - 1].values[0]);
        }
        /* They come from all places alike. */
        assert_true(made->points[made->point_count - 1].values[0] > (double)places - 3);
        spex_models_free(&models);
        spex_training_destroy(training);
    }
}

TEST(a_kernel_keeps_its_parameters) {
    struct spex_training *training = make();
    struct spex_trained *kernel = kernel_of(training, "main", n, 1), *other;
    assert_int_equal(spex_training_kernel(training, "main", n_m, 2, &other), -EINVAL);
    assert_int_equal(spex_training_kernel(training, "main", n_m + 1, 1, &other), -EINVAL);
    assert_int_equal(spex_training_kernel(training, "main", n, 1, &other), 0);
    assert_ptr_equal(other, kernel);
    assert_int_equal(
        spex_training_kernel(training, "other", n, SPEX_MODEL_PARAMETERS_MAX + 1, &other), -E2BIG);
    spex_training_destroy(training);
}

/* A million measurements with one value, some with others: all values have their say. */
TEST(the_frequent_do_not_crowd_out_the_rare) {
    struct spex_training *training = make();
    struct spex_trained *kernel = kernel_of(training, "main", n, 1);
    struct spex_models models;
    uint64_t seed = 1;
    for (int r = 0; r < 1000000; r++) {
        double rows = r % 10000 ? 10 : 10 * (double)(1 + r / 10000);
        spex_trained_add(training, kernel, &rows, 1e-6 * rows * noise(&seed), 1);
    }
    fit(training, 0, &models);
    assert_int_equal(models.items[0].model.class, SPEX_MODEL_LINEAR);
    assert_true(fabs(models.items[0].model.terms[0].coefficient / 1e-6 - 1) < 0.02);
    assert_true(models.items[0].executions == 1000000);
    spex_models_free(&models);
    spex_training_destroy(training);
}

/* More combinations than are kept: those that are kept come from all times alike. */
/* A hundredth of the executions take twice as long, and each of them is measured, but of the others
 * one in a hundred. */
TEST(measurements_count_by_what_they_stand_for) {
    struct spex_training *training = make();
    struct spex_models models;
    uint64_t seed = 5;
    for (int r = 0; r < 20000; r++) {
        double rows = 1 + r % 16;
        bool often = random_below(&seed, 2);
        spex_trained_add(training, kernel_of(training, "main", n, 1), &rows, often ? 1 : 2,
                         often ? 100 : 1);
    }
    fit(training, 0, &models);
    assert_int_equal(models.items[0].model.class, SPEX_MODEL_CONSTANT);
    assert_true(fabs(models.items[0].model.constant - 1.0099) < 0.02);
    spex_models_free(&models);
    spex_training_destroy(training);
}

TEST(of_many_combinations_some_are_kept_at_random) {
    struct spex_training *training = make();
    struct spex_trained *kernel = kernel_of(training, "main", n_m, 2);
    struct spex_models models;
    for (int r = 1; r <= 100000; r++) {
        const double values[] = {r, r % 7 + 1};
        spex_trained_add(training, kernel, values, 1e-9 * r, 1);
    }
    fit(training, 0, &models);
    assert_int_equal(models.items[0].model.class, SPEX_MODEL_LINEAR);
    assert_true(models.items[0].low[0] < 1000 && models.items[0].high[0] > 99000);
    const double half[] = {50000, 3};
    assert_true(fabs(spex_model_value(&models.items[0].model, half) / 5e-5 - 1) < 0.01);
    spex_models_free(&models);
    spex_training_destroy(training);
}

/* Wherever the least and the greatest value are among the measurements. */
TEST(ranges_are_those_of_all_measurements) {
    static const double values[][3] = {{1, 2, 3}, {2, 1, 3}, {3, 2, 1}, {2, 3, 1}};
    for (size_t v = 0; v < COUNT_OF(values); v++) {
        struct spex_training *training = make();
        struct spex_models models;
        for (int r = 0; r < 3; r++)
            spex_trained_add(training, kernel_of(training, "main", n, 1), &values[v][r], 1e-6, 1);
        fit(training, 0, &models);
        assert_true(models.items[0].low[0] == 1 && models.items[0].high[0] == 3);
        spex_models_free(&models);
        spex_training_destroy(training);
    }
}

/* Also of as many parameters as there may be. */
TEST(ranges_of_many_parameters) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                        "i", "j", "k", "l", "m", "n", "o", "p"};
    double values[SPEX_MODEL_PARAMETERS_MAX];
    struct spex_training *training = make();
    struct spex_models models;
    assert_true(COUNT_OF(names) >= SPEX_MODEL_PARAMETERS_MAX);
    for (int r = 1; r < 20; r++) {
        for (size_t p = 0; p < COUNT_OF(values); p++)
            values[p] = (double)((size_t)r * (p + 1));
        struct spex_trained *kernel = kernel_of(training, "main", names, COUNT_OF(values));
        spex_trained_add(training, kernel, values, 1e-6, 1);
    }
    fit(training, 0, &models);
    for (size_t p = 0; p < COUNT_OF(values); p++) {
        assert_true(models.items[0].low[p] == (double)(p + 1));
        assert_true(models.items[0].high[p] == 19 * (double)(p + 1));
    }
    spex_models_free(&models);
    spex_training_destroy(training);
}

/* By their means: of three of 1, 2 and 3 us, the second has one execution that is short. */
TEST(short_kernels_can_be_left_out) {
    static const char *const paths[] = {"one", "three", "two"};
    static const double seconds[] = {1e-6, 3e-6, 2e-6};
    struct spex_training *training = make();
    struct spex_models models;
    const double value = 1;
    for (int k = 0; k < 3; k++)
        for (int r = 0; r < 10; r++)
            spex_trained_add(training, kernel_of(training, paths[k], n, 1), &value,
                             k == 2 && r == 0 ? 1e-9 : seconds[k], r ? 1 : 0.01);
    assert_int_equal(fit(training, 1.5e-6, &models), 1);
    assert_int_equal(models.count, 2);
    assert_null(spex_models_find(&models, "one"));
    spex_models_free(&models);
    assert_int_equal(fit(training, 1, &models), 3);
    assert_int_equal(models.count, 0);
    spex_models_free(&models);
    spex_training_destroy(training);
}

/* A kernel whose numbers no model can be reckoned of does not keep the others from theirs. */
TEST(a_kernel_beyond_numbers_is_left_out) {
    struct spex_training *training = make();
    struct spex_models models;
    for (int r = 1; r < 30; r++) {
        double value = r, far = 1e30 * r;
        spex_trained_add(training, kernel_of(training, "far", n, 1), &far, 1e-6, 1);
        spex_trained_add(training, kernel_of(training, "near", n, 1), &value, 1e-6 * r, 1);
    }
    assert_int_equal(fit(training, 0, &models), 1);
    assert_int_equal(models.count, 1);
    assert_string_equal(models.items[0].path, "near");
    spex_models_free(&models);
    spex_training_destroy(training);
}

struct visited {
    size_t count;
    double weight, least, most;
    uint32_t run;
};

static int visit(void *user, const struct spex_trained_row *row) {
    struct visited *visited = user;
    double value = row->parameters[0];
    visited->least = visited->count ? fmin(visited->least, value) : value;
    visited->most = fmax(visited->most, value);
    visited->weight += row->weight;
    visited->run = row->run;
    visited->count++;
    return visited->count == 1000 ? 7 : 0;
}

/* 3000 combinations, of which 1024 are kept, and some of these are visited: in any case they stand
 * for all executions. */
TEST(what_was_kept_stands_for_all_executions) {
    struct spex_training *training = make();
    struct spex_trained_about about;
    spex_training_set_run(training, 9);
    for (int r = 0; r < 3000; r++) {
        double value = r, few = r % 10;
        spex_trained_add(training, kernel_of(training, "many", n, 1), &value, 1e-6, 1 + r % 3);
        spex_trained_add(training, kernel_of(training, "few", n, 1), &few, 1e-6, 2);
    }
    const struct spex_trained *few = spex_training_next(training, NULL, &about);
    assert_string_equal(about.path, "few");
    assert_string_equal(about.names[0], "n");
    assert_int_equal(about.parameter_count, 1);
    for (size_t most = 1; most < 900; most = 3 * most + 1) {
        struct visited visited = {.count = 0};
        assert_int_equal(spex_trained_visit(few, most, visit, &visited), 0);
        assert_int_equal(visited.count, most < 640 ? most : 640);
        assert_true(fabs(visited.weight - 6000) < 1e-6);
        assert_int_equal(visited.run, 9);
        assert_true(most < 100 || (visited.least < 1 && visited.most > 8));
    }
    const struct spex_trained *many = spex_training_next(training, "few", &about);
    assert_string_equal(about.path, "many");
    assert_true(fabs(about.executions - 6000) < 1e-6);
    struct visited visited = {.count = 0};
    assert_int_equal(spex_trained_visit(many, 500, visit, &visited), 0);
    assert_int_equal(visited.count, 500);
    assert_true(fabs(visited.weight - 6000) < 1e-6);
    assert_int_equal(spex_trained_visit(many, 2000, visit, &visited), 7);
    assert_null(spex_training_next(training, "many", &about));
    assert_non_null(spex_training_next(training, "lacking", &about));
    assert_true(spex_training_has(training, "many") && !spex_training_has(training, "man"));
    spex_training_destroy(training);
}

TEST(there_may_be_no_parameter_and_no_measurement) {
    struct spex_training *training = make();
    struct spex_models models;
    kernel_of(training, "never", n, 1);
    for (int r = 0; r < 100; r++)
        spex_trained_add(training, kernel_of(training, "main", NULL, 0), NULL, 1e-3, 1);
    fit(training, 0, &models);
    assert_int_equal(models.count, 1);
    assert_int_equal(models.items[0].model.class, SPEX_MODEL_CONSTANT);
    assert_true(fabs(models.items[0].model.constant - 1e-3) < 1e-9);
    spex_models_free(&models);
    spex_training_destroy(training);
}

TEST(there_are_not_more_kernels_than_may_be) {
    struct spex_training *training = make();
    struct spex_trained *kernel;
    char path[32];
    for (unsigned k = 0; k < SPEX_TRAINING_KERNELS; k++) {
        snprintf(path, sizeof(path), "%u", k * 7919 % SPEX_TRAINING_KERNELS);
        kernel_of(training, path, n, 1);
    }
    assert_int_equal(spex_training_kernel(training, "one more", n, 1, &kernel), -E2BIG);
    assert_int_equal(spex_training_kernel(training, "17", n, 1, &kernel), 0);
    spex_training_destroy(training);
}
