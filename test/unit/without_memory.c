/* SPDX-License-Identifier: MIT */
/* A program with probes without memory, one allocation at a time, of whichever thread: what fails
 * says so, and leaves nothing behind when spex has stopped. */
#define _GNU_SOURCE
#include <spex/kernel.h>
#include <spex/watch.h>

#include "../scarce_memory.h"
#include "messages.h"
#include "tuned.h"

enum { ROWS = 70 };

SPEX_PROBE_NAME(ROWS, "memory.rows");

static char folder[] = "/tmp/spex-memory-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[sizeof(folder) + 32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void folder_empty(void) {
    char command[sizeof(folder) + 32];
    snprintf(command, sizeof(command), "rm -rf %s/*", folder);
    assert_int_equal(system(command), 0);
}

COMPILED_ONCE static void execute(unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        KERNEL_PROBE_BEGIN(ROWS, 1, i);
        LAT_PROBE_BEGIN(ROWS, 2);
        KERNEL_PROBE_END(ROWS);
        LAT_PROBE_END(ROWS);
    }
}

/* Started, selected anew and stopped; `user` are its options. */
static int lives(void *user) {
    messages_begin();
    int err = spex_start(user);
    if (!err) {
        int on = spex_set("memory.rows:kernel, tune.*@2");
        err = on < 0 ? on : 0;
        execute(100);
        on = spex_set_for("*@~3", 0.5);
        err = err || on >= 0 ? err : on;
        execute(100);
        spex_stop();
    }
    messages_end();
    folder_empty();
    return err;
}

static void expect_life(const char *out, const char *budget) {
    struct spex_options options = {.size = sizeof(options),
                                   .probes = "*",
                                   .out = out,
                                   .budget = budget,
                                   .no_calibration = !budget};
    assert_int_equal(lives(&options), 0);
    assert_true(without_each_allocation(lives, &options) > 3);
}

TEST(a_table) {
    char path[sizeof(folder) + 32];
    strcpy(path, in_folder("table"));
    expect_life(path, NULL);
}

TEST(a_budget) {
    expect_life("/dev/null", "3%");
}

static const char models_text[] =
    "spex-models 3\nkernel memory.rows\nexecutions 5000\nleast 9e-05\nparameters 1\n"
    "parameter 1 1000 rows\nclass constant\nadjusted-r2 1\nspread 0 0.05 100\n"
    "constant 0.0001 1e-07\nchanges 0 0\nterms 0\ncovariance 1e-14\npoints 0\nend 1\n";

static void told(void *user, const struct spex_watch_anomaly *anomaly) {
    (void)user;
    (void)anomaly;
}

/* Twice, since the second replaces what a stop of spex has ended. */
static int watches(void *user) {
    const struct spex_watch_options watched = {
        .size = sizeof(watched), .models = user, .told = told};
    char why[256] = "";
    int err = 0;
    for (int n = 0; n < 2 && !err; n++) {
        err = spex_watch_start(&watched, why, sizeof(why));
        assert_true(!err || strstr(why, "memory"));
        if (!err) {
            messages_begin();
            err = start_spex("*");
            execute(10);
            spex_stop();
            messages_end();
        }
    }
    spex_watch_stop();
    return err;
}

TEST(a_watching) {
    char path[sizeof(folder) + 32];
    strcpy(path, in_folder("models"));
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(models_text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(watches(path), 0);
    assert_true(without_each_allocation(watches, path) > 10);
}

static int tunes(void *user) {
    char why[256] = "";
    int err = spex_tune_start(user, why, sizeof(why));
    if (err)
        return strstr(why, "memory") ? err : -EINVAL;
    struct spex_tune_report end = tune_wait();
    spex_tune_stop();
    return end.result;
}

TEST(a_tuning) {
    struct spex_space space = space_for();
    space.rules.trials_per_config = 1;
    space.rules.records_per_thread = 1;
    struct spex_tune_options options = options_for(&space);
    work_begin();
    assert_int_equal(start_spex(NULL), 0);
    assert_int_equal(tunes(&options), 0);
    assert_true(without_each_allocation(tunes, &options) > 20);
    spex_stop();
    work_end();
}

static int folder_make(void **state) {
    (void)state;
    return mkdtemp(folder) ? setenv("SPEX_CONTROL", folder, 1) : -1;
}

static int folder_remove(void **state) {
    (void)state;
    folder_empty();
    return rmdir(folder);
}

int main(void) {
    return tests_run(folder_make, folder_remove);
}
