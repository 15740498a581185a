/* SPDX-License-Identifier: MIT */
/* A store of made-up trials. */
#ifndef SPEX_TEST_STORE_BENCH_H
#define SPEX_TEST_STORE_BENCH_H

#include <math.h>

#include <sqlite3.h>

#include "explore/store/store.h"
#include "scratch.h"
#include "spaces.h"

#define PATH "trials.db"
#define OF(run)                                                                                    \
    "<space name='s'><!-- kept --><parameter name='threads' type='integer' min='1' max='4'/>"      \
    "<parameter name='mode' type='categorical' values='a &lt;&apos;\xc3\xa9&quot;&gt;'/>"          \
    "<objective probe='q:lat' metric='mean' goal='minimise'/><run " run "/></space>"

static const char xml[] = OF("");

static char *const program[] = {(char *)(uintptr_t) "./taxi", (char *)(uintptr_t) "--rows", NULL};

struct bench {
    struct spex_space_file *file;
    struct spex_store *store;
    uint64_t number; /* of the last trial */
};

static inline void open_again(struct bench *bench) {
    struct spex_error why = {""};
    if (spex_store_open(PATH, bench->file, "grid", program, &bench->store, &why))
        fail_msg("%s", why.text);
}

static inline void begin(struct bench *bench) {
    unlink(PATH);
    bench->file = space_of(xml);
    bench->number = 0;
    open_again(bench);
}

static inline void end(struct bench *bench) {
    spex_store_close(bench->store);
    spex_space_free(bench->file);
}

/* A trial of the probes 7 (lat: 100, 200 and 300 ms) and 8 (cnt). */
static inline struct spex_trial trial_of(const struct spex_space *space, const size_t *levels,
                                         double objective) {
    static const struct spex_trial_metric metrics[] = {
        {.probe_id = 7,
         .id = 7,
         .probe_type = SPEX_LAT,
         .records = 3,
         .count = 6,
         .rate = 10,
         .mean = 0.2,
         .deviation = 0.1,
         .min = 0.1,
         .p50 = 0.2,
         .p90 = 0.3,
         .p99 = 0.3,
         .max = 0.3},
        {.probe_id = 8,
         .id = 8,
         .probe_type = SPEX_CNT,
         .records = 3,
         .count = 15,
         .rate = 25,
         .mean = NAN,
         .deviation = NAN,
         .min = NAN,
         .p50 = NAN,
         .p90 = NAN,
         .p99 = NAN,
         .max = NAN},
    };
    struct spex_trial trial;
    assert_int_equal(spex_trial_init(&trial, space, levels), 0);
    trial.ok = true;
    trial.measured[0] = (struct spex_measured){.value = objective, .error = objective / 8};
    trial.records_used = 3;
    trial.records_lost = 12345678901;
    trial.seconds = 0.1 + objective;
    trial.steady = true;
    trial.asked = 17;
    trial.told = 12;
    trial.retried = levels[0] == 0;
    trial.metrics = malloc(sizeof(metrics));
    assert_non_null(trial.metrics);
    memcpy(trial.metrics, metrics, sizeof(metrics));
    trial.metric_count = COUNT_OF(metrics);
    trial.metrics[0].name = strdup("q");
    trial.metrics[0].provider = strdup("test");
    return trial;
}

static inline int add(struct bench *bench, size_t threads, size_t mode, double objective,
                      const char *failure, struct spex_error *why) {
    struct spex_trial trial = trial_of(&bench->file->space, (size_t[]){threads, mode}, objective);
    trial.ok = !failure;
    trial.status = strdup(failure ? failure : "ok");
    int err =
        spex_store_put(bench->store, ++bench->number, &bench->file->space, &trial, NULL, 0, why);
    spex_trial_free(&trial);
    return err;
}

static inline void must_add(struct bench *bench, size_t threads, size_t mode, double objective,
                            const char *failure) {
    struct spex_error why = {""};
    if (add(bench, threads, mode, objective, failure, &why))
        fail_msg("%s", why.text);
}

/* Statements on the file behind the store's back; returns the first column of the first row. */
static inline double sql(const char *path, const char *text) {
    sqlite3 *db;
    sqlite3_stmt *statement = NULL;
    double value = 0;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    for (const char *rest = text; *rest;) {
        if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK)
            fail_msg("%s: %s", text, sqlite3_errmsg(db));
        if (sqlite3_step(statement) == SQLITE_ROW)
            value = sqlite3_column_double(statement, 0);
        assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return value;
}

static inline size_t count_trials(struct bench *bench) {
    struct spex_trials trials;
    struct spex_error why = {""};
    if (spex_store_trials(bench->store, &bench->file->space, &trials, &why))
        fail_msg("%s", why.text);
    size_t count = trials.count;
    spex_trials_free(&trials);
    return count;
}

static inline void expect_refused(const char *path, const struct spex_space_file *file,
                                  const char *policy, char *const *argv, int err,
                                  const char *phrase) {
    struct spex_store *store = (void *)1;
    struct spex_error why = {""};
    int got = spex_store_open(path, file, policy, argv, &store, &why);
    if (got != err || store || !strstr(why.text, phrase) || !strstr(why.text, path))
        fail_msg("%s, \"%s\" expected: %d %s", path, phrase, got, why.text);
}

/* For a store that has metrics to give. */
static inline int take_none(void *user, size_t trial, const char *name, const char *unit,
                            double value) {
    (void)user;
    (void)trial;
    (void)name;
    (void)unit;
    (void)value;
    return 0;
}

#endif
