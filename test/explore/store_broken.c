/* SPDX-License-Identifier: MIT */
/* A store whose database fails, one call at a time: what fails says so with the store's name, and
 * trials are in the store as a whole or not at all. */
#include "../scarce_memory.h"
#include "explore/store/store_metrics.h"
#include "explore/store/store_usage.h"
#include "store_bench.h"

/* Calls up to the one that fails; 0: none does. And how many there were. */
static unsigned long left, calls;
static int failure = SQLITE_IOERR;
static bool failing;

static bool fails(void) {
    calls++;
    return failing = left && --left == 0;
}

int __real_sqlite3_step(sqlite3_stmt *statement);
int __real_sqlite3_prepare_v2(sqlite3 *db, const char *text, int length, sqlite3_stmt **statement,
                              const char **rest);
int __real_sqlite3_prepare_v3(sqlite3 *db, const char *text, int length, unsigned flags,
                              sqlite3_stmt **statement, const char **rest);
int __real_sqlite3_exec(sqlite3 *db, const char *text, int (*row)(void *, int, char **, char **),
                        void *user, char **message);
int __real_sqlite3_errcode(sqlite3 *db);
int __wrap_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *text, int length, sqlite3_stmt **statement,
                              const char **rest);
int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *text, int length, unsigned flags,
                              sqlite3_stmt **statement, const char **rest);
int __wrap_sqlite3_exec(sqlite3 *db, const char *text, int (*row)(void *, int, char **, char **),
                        void *user, char **message);
int __wrap_sqlite3_errcode(sqlite3 *db);

int __wrap_sqlite3_step(sqlite3_stmt *statement) {
    return fails() ? failure : __real_sqlite3_step(statement);
}

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *text, int length, sqlite3_stmt **statement,
                              const char **rest) {
    *statement = NULL;
    return fails() ? failure : __real_sqlite3_prepare_v2(db, text, length, statement, rest);
}

int __wrap_sqlite3_prepare_v3(sqlite3 *db, const char *text, int length, unsigned flags,
                              sqlite3_stmt **statement, const char **rest) {
    *statement = NULL;
    return fails() ? failure : __real_sqlite3_prepare_v3(db, text, length, flags, statement, rest);
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *text, int (*row)(void *, int, char **, char **),
                        void *user, char **message) {
    return fails() ? failure : __real_sqlite3_exec(db, text, row, user, message);
}

int __wrap_sqlite3_errcode(sqlite3 *db) {
    return failing ? failure : __real_sqlite3_errcode(db);
}

/* ---- a store with all that one has ---- */

static struct spex_usage usage_of(double value) {
    return (struct spex_usage){.known = true, .user_seconds = value, .max_rss_bytes = 4096};
}

static int put_trial(struct spex_store *store, const struct spex_space *space, uint64_t number,
                     struct spex_error *why) {
    struct spex_trial trial = trial_of(space, (size_t[]){number, 1}, (double)number);
    const struct spex_unfinished unfinished = {.asked = number + 1, .told = 1};
    trial.usage = usage_of((double)number);
    trial.note = strdup("a note");
    spex_trial_end(&trial, "ok");
    const struct spex_usage of_load = usage_of(7);
    assert_int_equal(spex_trial_add_load(&trial, "cpu", 2, &of_load), 0);
    int err = spex_store_put(store, number, space, &trial, &unfinished, 1, why);
    spex_trial_free(&trial);
    return err;
}

enum { TRIALS = 2 };

static const struct spex_store_fleet fleet = {"an exploration", "a class"};

static int write_all(const struct spex_space_file *file, struct spex_error *why) {
    struct spex_store *store;
    struct spex_circumstances now;
    int err = spex_store_open(PATH, file, "grid", program, &store, why);
    if (err) {
        assert_null(store);
        return err;
    }
    assert_int_equal(spex_circumstances_now(program[0], &now), 0);
    err = spex_store_begin(store, &now, false, why);
    spex_circumstances_free(&now);
    err = err ? err : spex_store_set_directory(store, "/nowhere", why);
    err = err ? err : spex_store_set_fleet(store, &fleet, why);
    for (uint64_t number = 1; !err && number <= TRIALS; number++)
        err = put_trial(store, &file->space, number, why);
    spex_store_close(store);
    return err;
}

static void expect_whole(const struct spex_trials *trials) {
    for (size_t t = 0; t < trials->count; t++) {
        const struct spex_trial *trial = &trials->items[t];
        double value = (double)t + 1;
        assert_true(trial->ok && trial->levels[0] == t + 1 && trial->levels[1] == 1);
        assert_true(trial->measured[0].value == value && trial->measured[0].error == value / 8);
        assert_true(trial->records_lost == 12345678901 && trial->seconds == 0.1 + value);
        assert_true(trial->asked == 17 && trial->told == 12 && trial->retried == 0);
        assert_string_equal(trial->note, "a note");
        assert_true(trial->usage.known && trial->usage.user_seconds == value);
        assert_int_equal(trial->load_count, 1);
        assert_string_equal(trial->loads[0].stressor, "cpu");
        assert_true(trial->loads[0].workers == 2 && trial->loads[0].usage.user_seconds == 7);
    }
}

static int count_metrics(void *user, size_t trial, const char *name, const char *unit,
                         double value) {
    (void)trial;
    (void)name;
    (void)unit;
    (void)value;
    ++*(size_t *)user;
    return 0;
}

/* Returns with no error what is in the store, all of which is whole. */
static int read_all(const struct spex_space_file *file, size_t expected, struct spex_error *why) {
    struct spex_store *store;
    struct spex_trials trials = {NULL, 0};
    struct spex_unfinished *unfinished = NULL;
    struct spex_circumstances *machines = NULL;
    struct spex_store_fleet found = {"", ""};
    char *directory = NULL;
    size_t count = 0, machine_count = 0, metrics = 0;
    int err = spex_store_read(PATH, &store, why);
    if (err) {
        assert_null(store);
        return err;
    }
    err = spex_store_trials(store, &file->space, &trials, why);
    err = err ? err : spex_store_machines(store, &machines, &machine_count, why);
    err = err ? err : spex_store_unfinished(store, &unfinished, &count, why);
    err = err ? err : spex_store_directory(store, &directory, why);
    err = err ? err : spex_store_fleet(store, &found, why);
    err = err ? err : spex_store_metrics(store, count_metrics, &metrics, why);
    if (!err) {
        assert_string_equal(found.exploration, fleet.exploration);
        assert_string_equal(found.class, fleet.class);
        assert_int_equal(trials.count, expected);
        expect_whole(&trials);
        assert_int_equal(machine_count, 1);
        assert_int_equal(count, expected);
        for (size_t u = 0; u < count; u++)
            assert_true(unfinished[u].asked == u + 2 && unfinished[u].told == 1);
        assert_string_equal(directory, "/nowhere");
        assert_true(metrics >= 3 * expected);
    }
    free(unfinished);
    free(directory);
    spex_store_machines_free(&machines, &machine_count);
    spex_trials_free(&trials);
    spex_store_close(store);
    return err;
}

/* ---- its faults ---- */

static void must(int err, const struct spex_error *why) {
    if (err)
        fail_msg("%d: %s", err, why->text);
}

static const char *const said[] = {[SQLITE_IOERR] = "cannot ", [SQLITE_FULL] = "cannot "};

static void expect_said(unsigned long n, int err, const char *why) {
    int expected = failure == SQLITE_FULL ? -ENOSPC : -EIO;
    if (err != expected || !strstr(why, PATH) || !strstr(why, said[failure]))
        fail_msg("call %lu: %d, %s", n, err, why);
}

/* What a writer cannot write it says, but for the log, which a store may do without. */
TEST(writers) {
    static const int failures[] = {SQLITE_IOERR, SQLITE_FULL};
    struct spex_space_file *file = space_of(xml);
    for (size_t f = 0; f < COUNT_OF(failures); f++) {
        unsigned long n = 0, ignored = 0, all;
        failure = failures[f];
        do {
            struct spex_error why = {""};
            struct spex_store *store;
            unlink(PATH);
            unlink(PATH "-wal");
            unlink(PATH "-shm");
            left = ++n;
            calls = 0;
            size_t held = scarce_held.count, descriptors = open_descriptors();
            int err = write_all(file, &why);
            all = calls;
            left = 0;
            failing = false;
            assert_int_equal(scarce_held.count, held);
            assert_int_equal(open_descriptors(), descriptors);
            if (err) {
                expect_said(n, err, why.text);
                if (spex_store_read(PATH, &store, &why) == 0) {
                    struct spex_trials trials;
                    must(spex_store_trials(store, &file->space, &trials, &why), &why);
                    assert_true(trials.count <= TRIALS);
                    expect_whole(&trials);
                    spex_trials_free(&trials);
                    spex_store_close(store);
                }
                continue;
            }
            ignored += n <= all;
            if (n != all) /* the last one makes one file of the store and its log */
                must(read_all(file, TRIALS, &why), &why);
        } while (n <= all);
        assert_in_range(ignored, 1, 5);
    }
    spex_space_free(file);
}

TEST(readers) {
    struct spex_space_file *file = space_of(xml);
    struct spex_error why = {""};
    unlink(PATH);
    must(write_all(file, &why), &why);
    unsigned long n = 0, ignored = 0, all;
    failure = SQLITE_IOERR;
    do {
        left = ++n;
        calls = 0;
        size_t held = scarce_held.count, descriptors = open_descriptors();
        int err = read_all(file, TRIALS, &why);
        all = calls;
        left = 0;
        failing = false;
        assert_int_equal(scarce_held.count, held);
        assert_int_equal(open_descriptors(), descriptors);
        ignored += !err && n <= all;
        if (err)
            expect_said(n, err, why.text);
    } while (n <= all);
    assert_in_range(ignored, 0, 1); /* the end of what only reads */
    spex_space_free(file);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
