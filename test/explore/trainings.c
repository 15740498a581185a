/* SPDX-License-Identifier: MIT */
/* Whole trainings: what is run, which times are taken, what is told. */
#define _GNU_SOURCE
#include "../scarce_memory.h"
#include "explore/train.h"
#include "explored.h"

enum { BARE = 9 };
SPEX_PROBE_NAME(BARE, "bare");

/* The program with a kernel that has no parameters. */
static int be_bare(void) {
    if (spex_start(NULL) != 0)
        return 9;
    for (unsigned r = 0; r < 20; r++) {
        KERNEL_PROBE_BEGIN(BARE, 1);
        KERNEL_PROBE_END(BARE);
    }
    return spex_stop();
}

static struct {
    unsigned calls;
    struct spex_train_progress last;
    char failure[256];
} told;

static void see_progress(void *user, const struct spex_train_progress *progress) {
    assert_ptr_equal(user, &told);
    told.calls++;
    told.last = *progress;
    if (progress->failure)
        snprintf(told.failure, sizeof(told.failure), "%s", progress->failure);
}

static struct spex_training *training;

/* NULL: without a plan. */
static int train(const char *plan, char *const *argv, int stop_fd, struct spex_error *error) {
    memset(&told, 0, sizeof(told));
    if (plan)
        write_space(plan);
    assert_int_equal(spex_training_create(&training, 1), 0);
    const struct spex_train_options options = {.plan = plan ? "space.xml" : NULL,
                                               .argv = argv,
                                               .probes = "kernel,bare",
                                               .stop_fd = stop_fd,
                                               .progress = see_progress,
                                               .user = &told};
    size_t descriptors = open_descriptors();
    int err = spex_train(&options, training, error);
    assert_int_equal(open_descriptors(), descriptors);
    assert_int_equal(adopts_orphans(), 0);
    expect_nothing_left();
    return err;
}

static void train_well(const char *plan, char *const *argv) {
    struct spex_error error = {""};
    if (train(plan, argv, -1, &error))
        fail_msg("%s", error.text);
}

/* The kernels that were trained; to be freed. */
static struct spex_models models_of_training(void) {
    struct spex_models models = {0};
    size_t left_out;
    assert_int_equal(spex_training_fit(training, 0, &models, &left_out), 0);
    spex_training_destroy(training);
    return models;
}

#define PLAN(rest) "<space name='p'>" A("1 2 4") "<run trials_per_config='1'/>" rest "</space>"

#define PLAN_OF_ONE "<space name='p'>" A("1") "<run trials_per_config='1'/></space>"

/* 20 executions in each of three runs; the kernel's parameter is its own. */
TEST(kernels_are_trained) {
    train_well(PLAN(""), PROGRAM("end"));
    assert_int_equal(told.calls, 3);
    assert_int_equal(told.last.done, 3);
    assert_int_equal(told.last.runs, 3);
    assert_int_equal(told.last.failed + told.last.lost, 0);
    assert_int_equal(told.last.records + told.last.left_out, 60);
    assert_true(told.last.records >= 50);
    struct spex_models models = models_of_training();
    assert_int_equal(models.count, 1);
    assert_string_equal(models.items[0].path, "kernel");
    assert_int_equal(models.items[0].executions, told.last.records);
    assert_int_equal(models.items[0].model.parameter_count, 1);
    spex_models_free(&models);
}

/* A kernel without parameters has those of the run: numbers that vary and are not below 0. */
TEST(parameters_of_the_run) {
    static const char plan[] = "<space name='p'>" A(
        "1 2 4") "<parameter name='below' type='integer' values='-1 2'/>"
                 "<parameter name='zero' type='real' values='0 0.5'/>"
                 "<parameter name='one' type='integer' values='3'/>"
                 "<parameter name='mode' type='categorical' values='x y'/>"
                 "<parameter name='flag' type='boolean'/><run trials_per_config='1'/></space>";
    train_well(plan, PROGRAM("bare"));
    assert_int_equal(told.last.done, 48);
    struct spex_models models = models_of_training();
    assert_int_equal(models.count, 1);
    assert_string_equal(models.items[0].path, "bare");
    assert_int_equal(models.items[0].model.parameter_count, 2);
    assert_string_equal(models.items[0].names[0], "a");
    assert_string_equal(models.items[0].names[1], "zero");
    assert_true(models.items[0].low[0] == 1 && models.items[0].high[0] == 4);
    assert_true(models.items[0].low[1] == 0 && models.items[0].high[1] == 0.5);
    spex_models_free(&models);
}

TEST(a_training_without_a_plan) {
    train_well(NULL, (char *const[]){self_path, (char *)(uintptr_t) "program",
                                     (char *)(uintptr_t) "end", (char *)(uintptr_t) "3", NULL});
    assert_int_equal(told.last.runs, 1);
    assert_int_equal(told.last.records + told.last.left_out, 20);
    spex_training_destroy(training);
}

TEST(runs_that_fail) {
    static const struct {
        const char *what, *rest, *failure;
    } cases[] = {
        {"fail", "", "a=4: exited with status 3: no luck"},
        {"plain", "", "a=4: did not connect: no spex_start with the SPEX_OUT given"},
        {"end", SETUP("exit 2", ""), "a=4: setup: exited with status 2"},
        {"end", TEARDOWN("exit 2", ""), "a=4: teardown: exited with status 2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char plan[512];
        snprintf(plan, sizeof(plan), PLAN("%s"), cases[i].rest);
        train_well(plan, PROGRAM(cases[i].what));
        assert_int_equal(told.last.done, 3);
        assert_int_equal(told.last.failed, 3);
        assert_string_equal(told.failure, cases[i].failure);
        spex_training_destroy(training);
    }
}

TEST(an_interrupted_training) {
    struct spex_error error = {""};
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(train(PLAN(""), PROGRAM("silent"), pipes[0], &error), -EINTR);
    assert_string_equal(error.text, "interrupted");
    assert_int_equal(told.calls, 0);
    spex_training_destroy(training);
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(train("<space/>", PROGRAM("end"), -1, &error), -EINVAL);
    spex_training_destroy(training);
}

/* A training that lacks memory says so, and has cleared up; one that ends well has all records. */
static int training_goes(void *user) {
    struct spex_error error = {""};
    (void)user;
    memset(&told, 0, sizeof(told));
    int err = spex_training_create(&training, 1);
    if (err)
        return err;
    const struct spex_train_options options = {.plan = "space.xml",
                                               .argv = PROGRAM("end"),
                                               .probes = "kernel",
                                               .stop_fd = -1,
                                               .progress = see_progress,
                                               .user = &told};
    err = spex_train(&options, training, &error);
    if (err == -ENOMEM ? !strstr(error.text, "memory") : err)
        fail_msg("%d: %s", err, error.text);
    if (!err && told.last.failed)
        assert_non_null(strstr(told.failure, "memory"));
    if (!err && !told.last.failed)
        assert_int_equal(told.last.records + told.last.left_out, 20);
    scarce_left += scarce_left > 0; /* scandir() of expect_nothing_left() */
    expect_nothing_left();
    spex_training_destroy(training);
    return err;
}

TEST(without_memory) {
    write_space(PLAN_OF_ONE);
    assert_int_equal(training_goes(NULL), 0);
    assert_true(without_each_allocation(training_goes, NULL) > 30);
}

int main(int argc, char **argv) {
    int status;
    if (argc > 2 && strcmp(argv[1], "program") == 0 && strcmp(argv[2], "bare") == 0)
        return be_bare();
    if (is_the_program(argc, argv, &status))
        return status;
    return tests_run(explored_enter, explored_leave);
}
