/* SPDX-License-Identifier: MIT */
/* Models without memory, one allocation at a time: what fails says so and leaves nothing behind, and
 * what succeeds has the result that it has with memory. */
#include <math.h>

#include "../scarce_memory.h"
#include "model/anomalies.h"
#include "model/fit/fit.h"
#include "model/fit/groups.h"
#include "model/fit/training.h"

enum { ROWS = 60 };

static const char *const names[] = {"n", "m"};

/* Times that grow with n log n and with m, a tenth of them outliers. */
static double parameters[2 * ROWS], times[ROWS];
static uint32_t runs[ROWS];

static int make_rows(void **state) {
    uint64_t seed = 1;
    (void)state;
    for (size_t r = 0; r < ROWS; r++) {
        double n = parameters[2 * r] = exp2(4 + (double)(r % 6));
        double m = parameters[2 * r + 1] = (double)(1 + r / 6 % 5);
        double noise = 1 + (double)random_below(&seed, 1000) / 1e4;
        times[r] = (1e-8 * n * log2(n) + 1e-6 * m) * noise * (r % 10 ? 1 : 3);
        runs[r] = (uint32_t)(r % 3);
    }
    return 0;
}

static const struct spex_measurements rows = {
    .parameter_count = 2, .count = ROWS, .parameters = parameters, .times = times, .runs = runs};

struct fitting {
    const struct spex_measurements *rows;
    struct spex_fit expected;
};

/* A fit, against the one with memory. */
static int fits(void *user) {
    const struct fitting *fitting = user;
    const struct spex_fit *expected = &fitting->expected;
    static struct spex_fit fit;
    int err = spex_fit(fitting->rows, &fit);
    if (!err) {
        assert_true(fit.points == expected->points && fit.outliers == expected->outliers);
        assert_true(fit.power_error == expected->power_error);
        assert_true(fit.model.constant == expected->model.constant);
        assert_int_equal(fit.model.term_count, expected->model.term_count);
        for (size_t t = 0; t < fit.model.term_count; t++)
            assert_true(fit.model.terms[t].coefficient == expected->model.terms[t].coefficient);
    }
    return err;
}

TEST(a_fit) {
    static struct fitting fitting = {.rows = &rows};
    assert_int_equal(spex_fit(&rows, &fitting.expected), 0);
    assert_true(without_each_allocation(fits, &fitting) > 10);
}

/* So many points that some of them are searched. */
TEST(a_fit_with_a_change) {
    enum { POINTS = 300 };
    static double n[POINTS], jumping[POINTS];
    static const struct spex_measurements points = {1, POINTS, n, jumping, NULL};
    static struct fitting fitting = {.rows = &points};
    uint64_t seed = 1;
    for (size_t i = 0; i < POINTS; i++) {
        n[i] = 100 + (double)i;
        jumping[i] = n[i] * (i < 170 ? 1 : 2) * (1 + (double)random_below(&seed, 1000) / 2e4);
    }
    assert_int_equal(spex_fit(&points, &fitting.expected), 0);
    assert_int_equal(fitting.expected.model.change_count, 1);
    assert_true(without_each_allocation(fits, &fitting) > 100);
}

static const char *const paths[] = {"main/sort", "main", "main/load/sort", "main/load"};

static int train(struct spex_training *training) {
    struct spex_trained *kernel;
    int err = 0;
    for (size_t r = 0; r < ROWS && !err; r++)
        for (size_t k = 0; k < COUNT_OF(paths) && !err; k++) {
            err = spex_training_kernel(training, paths[k], names, 2, &kernel);
            err = err ? err : spex_trained_add(training, kernel, &parameters[2 * r], times[r], 1);
        }
    return err;
}

/* A training from its measurements to its models in a file and their groups. */
static int trains(void *user) {
    struct spex_training *training;
    struct spex_models models = {.count = 0};
    struct spex_groups groups;
    size_t left_out;
    (void)user;
    int err = spex_training_create(&training, 1);
    if (err)
        return err;
    err = train(training);
    if (!err) {
        err = spex_training_fit(training, 0, &models, &left_out);
        assert_true(err || models.count == COUNT_OF(paths));
    }
    if (!err) {
        err = spex_groups_make(&groups, &models, 0);
        assert_true(err || groups.of[1] == SPEX_GROUP_NONE);
        spex_groups_free(&groups);
    }
    spex_models_free(&models);
    spex_training_destroy(training);
    return err;
}

TEST(a_training) {
    assert_int_equal(trains(NULL), 0);
    assert_true(without_each_allocation(trains, NULL) > 100);
}

static char file[4096];

static void make_file(void) {
    struct spex_models models = {.count = 0};
    struct spex_kernel_model *kernel;
    FILE *out = fmemopen(file, sizeof(file), "w");
    assert_non_null(out);
    for (size_t k = 0; k < 5; k++) {
        char path[32];
        snprintf(path, sizeof(path), "main/kernel %zu", k);
        assert_int_equal(spex_models_add(&models, path, names, 2, &kernel), 0);
        kernel->executions = 1;
        kernel->high[0] = kernel->high[1] = 1;
        kernel->model.parameter_count = 2;
    }
    assert_int_equal(spex_models_write(&models, out), 0);
    assert_int_equal(fclose(out), 0);
    spex_models_free(&models);
}

static void told(void *user, enum spex_anomaly_event event, const struct spex_anomaly *anomaly) {
    (void)user;
    (void)event;
    (void)anomaly;
}

/* The models of the file, and watching by them. */
static int reads_and_watches(void *user) {
    struct spex_models models;
    struct spex_anomalies *anomalies;
    struct spex_watched *kernel;
    struct spex_error error = {""};
    FILE *in = fmemopen(file, strlen(file), "r");
    (void)user;
    assert_non_null(in);
    int err = spex_models_read(&models, in, "models", &error);
    fclose(in);
    assert_true(!err || strstr(error.text, "memory"));
    if (!err) {
        assert_int_equal(models.count, 5);
        err = spex_anomalies_create(&anomalies, &models, 1e-3, told, NULL);
        for (size_t k = 0; k < 5 && !err; k++)
            err = spex_anomalies_kernel(anomalies, models.items[k].path, names, 2, &kernel);
        err = err ? err : spex_anomalies_kernel(anomalies, "other", names, 1, &kernel);
        spex_anomalies_destroy(anomalies);
    }
    spex_models_free(&models);
    return err;
}

TEST(a_file_and_a_watch) {
    make_file();
    assert_int_equal(reads_and_watches(NULL), 0);
    assert_true(without_each_allocation(reads_and_watches, NULL) > 10);
}

int main(void) {
    return tests_run(make_rows, NULL);
}
