/* SPDX-License-Identifier: MIT */
/* The store: what goes in comes out, only the same exploration goes on, and neither a full disk nor
 * a stranger's file does harm. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

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

static void open_again(struct bench *bench) {
    struct spex_error why = {""};
    if (spex_store_open(PATH, bench->file, "grid", program, &bench->store, &why))
        fail_msg("%s", why.text);
}

static void begin(struct bench *bench) {
    unlink(PATH);
    bench->file = space_of(xml);
    bench->number = 0;
    open_again(bench);
}

static void end(struct bench *bench) {
    spex_store_close(bench->store);
    spex_space_free(bench->file);
}

/* A trial of the probes 7 (lat: 100, 200 and 300 ms) and 8 (cnt). */
static struct spex_trial trial_of(const struct spex_space *space, const size_t *levels,
                                  double objective) {
    static const struct spex_trial_metric metrics[] = {
        {.probe_id = 7,
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
    trial.metrics = malloc(sizeof(metrics));
    assert_non_null(trial.metrics);
    memcpy(trial.metrics, metrics, sizeof(metrics));
    trial.metric_count = COUNT_OF(metrics);
    trial.metrics[0].name = strdup("q");
    return trial;
}

static int add(struct bench *bench, size_t threads, size_t mode, double objective,
               const char *failure, struct spex_error *why) {
    struct spex_trial trial = trial_of(&bench->file->space, (size_t[]){threads, mode}, objective);
    trial.ok = !failure;
    trial.status = strdup(failure ? failure : "ok");
    int err =
        spex_store_put(bench->store, ++bench->number, &bench->file->space, &trial, NULL, 0, why);
    spex_trial_free(&trial);
    return err;
}

static void must_add(struct bench *bench, size_t threads, size_t mode, double objective,
                     const char *failure) {
    struct spex_error why = {""};
    if (add(bench, threads, mode, objective, failure, &why))
        fail_msg("%s", why.text);
}

/* Statements on the file behind the store's back; returns the first column of the first row. */
static double sql(const char *path, const char *text) {
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

static size_t count_trials(struct bench *bench) {
    struct spex_trials trials;
    struct spex_error why = {""};
    if (spex_store_trials(bench->store, &bench->file->space, &trials, &why))
        fail_msg("%s", why.text);
    size_t count = trials.count;
    spex_trials_free(&trials);
    return count;
}

static void new_store(void **state) {
    (void)state;
    struct bench bench = {0};
    begin(&bench);
    assert_string_equal(spex_store_space(bench.store), xml);
    assert_string_equal(spex_store_policy(bench.store), "grid");
    assert_string_equal(spex_store_program(bench.store), "[\"./taxi\", \"--rows\"]");
    assert_int_equal(count_trials(&bench), 0);
    end(&bench);
}

static void check_trials(struct bench *bench) {
    static const struct {
        size_t threads, mode;
        double objective;
        const char *status;
    } expected[] = {{3, 1, 0.5, "ok"},
                    {0, 0, 1e-300, "ok"},
                    {3, 1, 0, "exited with status 3: \xc3\xa9'\"\n;"},
                    {3, 1, 123456789.123456789, "ok"}};
    struct spex_trials trials;
    struct spex_error why = {""};
    assert_int_equal(spex_store_trials(bench->store, &bench->file->space, &trials, &why), 0);
    assert_int_equal(trials.count, COUNT_OF(expected));
    for (size_t t = 0; t < COUNT_OF(expected); t++) {
        const struct spex_trial *trial = &trials.items[t];
        assert_int_equal(trial->levels[0], expected[t].threads);
        assert_int_equal(trial->levels[1], expected[t].mode);
        assert_string_equal(trial->status, expected[t].status);
        assert_int_equal(trial->ok, strcmp(expected[t].status, "ok") == 0);
        if (trial->ok)
            assert_true(trial->measured[0].value == expected[t].objective &&
                        trial->measured[0].error == expected[t].objective / 8);
        assert_true(trial->steady);
        assert_int_equal(trial->asked, 17);
        assert_int_equal(trial->told, 12);
        assert_int_equal(trial->records_used, 3);
        assert_int_equal(trial->records_lost, 12345678901);
        assert_true(trial->seconds == 0.1 + expected[t].objective);
    }
    spex_trials_free(&trials);
}

static void read_back(void **state) {
    (void)state;
    struct bench bench = {0};
    struct spex_error why = {""};
    begin(&bench);
    must_add(&bench, 3, 1, 0.5, NULL);
    must_add(&bench, 0, 0, 1e-300, NULL);
    spex_store_close(bench.store);
    open_again(&bench); /* goes on */
    must_add(&bench, 3, 1, 0, "exited with status 3: \xc3\xa9'\"\n;");
    must_add(&bench, 3, 1, 123456789.123456789, NULL);
    check_trials(&bench);
    spex_store_close(bench.store);
    assert_int_equal(spex_store_read(PATH, &bench.store, &why), 0);
    assert_string_equal(spex_store_space(bench.store), xml);
    check_trials(&bench);
    end(&bench);
}

static void metrics(void **state) {
    (void)state;
    static const struct {
        const char *column;
        double expected;
    } columns[] = {{"records", 3}, {"count", 6}, {"mean", 0.2}, {"min", 0.1}, {"max", 0.3},
                   {"p50", 0.2},   {"p99", 0.3}, {"rate", 10},  {"field", 0}, {"trial", 1}};
    struct bench bench = {0};
    begin(&bench);
    must_add(&bench, 0, 0, 0.5, NULL);
    for (size_t c = 0; c < COUNT_OF(columns); c++) {
        char text[128];
        snprintf(text, sizeof(text), "SELECT %s FROM trial_metric WHERE probe = 7 AND type = 'lat'",
                 columns[c].column);
        double found = sql(PATH, text);
        if (found < columns[c].expected * 0.99 || found > columns[c].expected * 1.01)
            fail_msg("%s: %g", columns[c].column, found);
    }
    assert_true(sql(PATH, "SELECT count(*) FROM trial_metric") == 2);
    assert_true(sql(PATH, "SELECT count FROM trial_metric WHERE type = 'cnt' AND mean IS NULL") ==
                15);
    assert_true(sql(PATH, "SELECT name = 'q' FROM trial_metric WHERE probe = 7") == 1);
    assert_true(sql(PATH, "SELECT name IS NULL FROM trial_metric WHERE probe = 8") == 1);
    assert_true(sql(PATH, "SELECT value FROM trial_measured") == 0.5);
    end(&bench);
}

static void expect_refused(const char *path, const struct spex_space_file *file, const char *policy,
                           char *const *argv, int err, const char *phrase) {
    struct spex_store *store = (void *)1;
    struct spex_error why = {""};
    int got = spex_store_open(path, file, policy, argv, &store, &why);
    if (got != err || store || !strstr(why.text, phrase) || !strstr(why.text, path))
        fail_msg("%s, \"%s\" expected: %d %s", path, phrase, got, why.text);
}

static void another_exploration(void **state) {
    (void)state;
    static const char *const no_arguments[] = {"./taxi", NULL};
    static const char *const joined[] = {"./taxi --rows", NULL};
    struct bench bench = {0};
    begin(&bench);
    must_add(&bench, 0, 0, 0.5, NULL);
    spex_store_close(bench.store);
    struct spex_space_file *longer = space_of(OF("duration='61'"));
    struct spex_space_file *commented = space_of(OF("duration='60'"));
    expect_refused(PATH, longer, "grid", program, -EEXIST, "duration=60 ");
    expect_refused(PATH, longer, "grid", program, -EEXIST, "duration=61 ");
    expect_refused(PATH, bench.file, "model", program, -EEXIST,
                   "belongs to policy \"grid\", not \"model\"");
    expect_refused(PATH, bench.file, "grid", (char *const *)(uintptr_t)no_arguments, -EEXIST,
                   "another program: [\"./taxi\", \"--rows\"], not [\"./taxi\"]");
    expect_refused(PATH, bench.file, "grid", (char *const *)(uintptr_t)joined, -EEXIST,
                   "another program");
    struct spex_error why = {""};
    assert_int_equal(spex_store_open(PATH, commented, "grid", program, &bench.store, &why), 0);
    assert_string_equal(spex_store_space(bench.store), xml); /* as it began */
    assert_int_equal(count_trials(&bench), 1);
    spex_space_free(longer);
    spex_space_free(commented);
    end(&bench);
}

static void strangers(void **state) {
    (void)state;
    static const char text[] = "These are notes, in a file that somebody would be sorry to lose.\n";
    struct bench bench = {0};
    begin(&bench);
    scratch_text("notes", text);
    expect_refused("notes", bench.file, "grid", program, -EEXIST, "is no store of spex");
    char kept[sizeof(text)] = "";
    FILE *in = fopen("notes", "r");
    assert_non_null(in);
    assert_int_equal(fread(kept, 1, sizeof(kept), in), sizeof(text) - 1);
    fclose(in);
    assert_string_equal(kept, text);

    sql("other.db", "CREATE TABLE exploration (x); INSERT INTO exploration VALUES (5)");
    expect_refused("other.db", bench.file, "grid", program, -EEXIST, "is no store of spex");
    assert_true(sql("other.db", "SELECT x FROM exploration") == 5);

    spex_store_close(bench.store);
    bench.store = NULL;
    sql(PATH, "PRAGMA user_version = 1");
    expect_refused(PATH, bench.file, "grid", program, -EEXIST, "another version of spex (format 1");
    sql(PATH, "PRAGMA user_version = 2; DELETE FROM exploration");
    expect_refused(PATH, bench.file, "grid", program, -EEXIST, "no complete store");
    end(&bench);
}

static void no_file(void **state) {
    (void)state;
    struct bench bench = {0};
    begin(&bench);
    expect_refused(".", bench.file, "grid", program, -EISDIR, "Is a directory");
    expect_refused("missing/trials.db", bench.file, "grid", program, -ENOENT, "No such file");
    expect_refused(PATH "/trials.db", bench.file, "grid", program, -ENOTDIR, "Not a directory");
    scratch_text("read-only", "");
    assert_int_equal(chmod("read-only", 0444), 0);
    if (geteuid() != 0) /* root may write everywhere */
        expect_refused("read-only", bench.file, "grid", program, -EACCES, "Permission denied");
    end(&bench);
}

static void nothing_to_read(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int err;
        const char *phrase;
    } cases[] = {
        {"missing.db", -ENOENT, "No such file"},   {"missing/trials.db", -ENOENT, "No such file"},
        {"empty", -EEXIST, "is no store of spex"}, {"words", -EEXIST, "is no store of spex"},
        {".", -EISDIR, "Is a directory"},
    };
    scratch_text("empty", "");
    scratch_text("words",
                 "not a database, but longer than a database's first hundred bytes, so that "
                 "it is looked at and found to be none.\n");
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_store *store = (void *)1;
        struct spex_error why = {""};
        int err = spex_store_read(cases[c].path, &store, &why);
        if (err != cases[c].err || store || !strstr(why.text, cases[c].phrase) ||
            !strstr(why.text, cases[c].path))
            fail_msg("%s: %d %s", cases[c].path, err, why.text);
    }
    assert_int_equal(access("missing.db", F_OK), -1); /* reading makes no file */
}

static void second_writer(void **state) {
    (void)state;
    struct bench bench = {0};
    begin(&bench);
    must_add(&bench, 0, 0, 1, NULL);
    expect_refused(PATH, bench.file, "grid", program, -EBUSY, "in use by another exploration");
    must_add(&bench, 1, 0, 2, NULL); /* the first is not disturbed */
    assert_int_equal(count_trials(&bench), 2);
    spex_store_close(bench.store);
    open_again(&bench);
    end(&bench);
}

static void reader_beside(void **state) {
    (void)state;
    struct bench bench, reader;
    struct spex_error why = {""};
    begin(&bench);
    reader.file = bench.file;
    assert_int_equal(spex_store_read(PATH, &reader.store, &why), 0);
    for (size_t t = 0; t < 4; t++) {
        assert_int_equal(count_trials(&reader), t);
        must_add(&bench, t, 0, 1, NULL);
    }
    assert_int_equal(count_trials(&reader), 4);
    assert_int_not_equal(add(&reader, 0, 0, 1, NULL, &why), 0); /* it only reads */
    spex_store_close(reader.store);
    end(&bench);
}

static void copy(const char *from, const char *to) {
    char bytes[4096];
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    assert_true(in && out);
    for (size_t got; (got = fread(bytes, 1, sizeof(bytes), in)) > 0;)
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

/* Without its log it has not all of its trials. */
static void copied_in_part(void **state) {
    (void)state;
    struct bench bench;
    struct spex_store *store;
    struct spex_error why = {""};
    begin(&bench);
    must_add(&bench, 0, 0, 1, NULL);
    copy(PATH, "copy.db");
    assert_int_equal(spex_store_read("copy.db", &store, &why), -EBADMSG);
    assert_non_null(strstr(why.text, "copy.db-wal"));
    assert_int_equal(spex_store_read("copy.db", &store, &why), -EBADMSG); /* it makes none itself */
    copy(PATH "-wal", "copy.db-wal");
    struct bench whole = {.file = bench.file};
    assert_int_equal(spex_store_read("copy.db", &whole.store, &why), 0);
    assert_int_equal(count_trials(&whole), 1);
    spex_store_close(whole.store);
    end(&bench);
    unlink("copy.db-wal");
    unlink("copy.db-shm");
    copy(PATH, "copy.db"); /* it has become one file */
    assert_int_equal(spex_store_read("copy.db", &store, &why), 0);
    spex_store_close(store);
    unlink("copy.db");
}

static void tampered(void **state) {
    (void)state;
    static const struct {
        const char *sql, *phrase;
    } cases[] = {
        {"DELETE FROM trial_value WHERE trial = 2 AND parameter = 'mode'",
         "trial 2 has no value of parameter \"mode\""},
        {"DELETE FROM trial_value", "trial 1 has no value of parameter \"threads\""},
        {"UPDATE trial_value SET value = '5' WHERE trial = 2 AND parameter = 'threads'",
         "trial 2 has no value of parameter \"threads\""},
        {"UPDATE trial_value SET value = '' WHERE trial = 1 AND parameter = 'mode'",
         "trial 1 has no value of parameter \"mode\""},
        {"UPDATE trial_value SET value = x'00ff' WHERE trial = 1", "trial 1 has no value"},
        {"UPDATE trial_value SET parameter = 'Mode' WHERE parameter = 'mode'",
         "parameter \"mode\""},
        {"DELETE FROM trial_measured WHERE trial = 2", "trial 2 has 0 of 1 figures"},
        {"UPDATE trial_measured SET criterion = 1 WHERE trial = 2", "trial 2 has 0 of 1 figures"},
        {"UPDATE trial_measured SET value = 'fast' WHERE trial = 2", "trial 2 has 0 of 1 figures"},
        {"UPDATE trial_measured SET value = 9e999 WHERE trial = 2", "trial 2 has 0 of 1 figures"},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct bench bench = {0};
        struct spex_trials trials = {(void *)1, 1};
        struct spex_error why = {""};
        begin(&bench);
        must_add(&bench, 0, 0, 1, NULL);
        must_add(&bench, 1, 0, 2, NULL);
        must_add(&bench, 1, 0, 0, "did not start");
        sql(PATH, cases[c].sql);
        int err = spex_store_trials(bench.store, &bench.file->space, &trials, &why);
        if (err != -EBADMSG || trials.items || trials.count || !strstr(why.text, cases[c].phrase))
            fail_msg("%s: %d %s", cases[c].sql, err, why.text);
        end(&bench);
    }
}

/* What cannot be written whole is not written at all. */
static void damaged_tables(void **state) {
    (void)state;
    struct bench bench = {0};
    struct spex_trials trials;
    struct spex_error why = {""};
    begin(&bench);
    must_add(&bench, 0, 0, 1, NULL);
    sql(PATH, "DROP TABLE trial_value");
    assert_int_equal(spex_store_trials(bench.store, &bench.file->space, &trials, &why), -EIO);
    assert_non_null(strstr(why.text, PATH));
    assert_int_equal(add(&bench, 1, 0, 1, NULL, &why), -EIO);
    assert_true(sql(PATH, "SELECT count(*) FROM trial") == 1); /* not half of it */
    end(&bench);
}

/* In a child: no file may grow beyond what the store has now. */
static int add_on_full_disk(void) {
    struct bench bench = {0};
    struct spex_error why = {""};
    struct stat file;
    bench.file = space_of(xml);
    bench.number = 3; /* trials that are there */
    open_again(&bench);
    assert_int_equal(stat(PATH, &file), 0);
    struct rlimit limit = {(rlim_t)file.st_size, (rlim_t)file.st_size};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    size_t added = 0;
    int err = 0;
    while (!err && added < 1000) {
        err = add(&bench, 0, 0, (double)added, NULL, &why);
        added += !err;
    }
    /* Whatever fails, the store in hand still tells the truth. */
    bool right = err && err != -EEXIST && *why.text && count_trials(&bench) == 3 + added;
    end(&bench);
    return right ? (int)added : 255;
}

static void full_disk(void **state) {
    (void)state;
    struct bench bench = {0};
    int status;
    begin(&bench);
    for (size_t t = 0; t < 3; t++)
        must_add(&bench, t, 1, (double)t, NULL);
    spex_store_close(bench.store);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(add_on_full_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), 255);
    size_t whole = 3 + (size_t)WEXITSTATUS(status);
    open_again(&bench);
    assert_int_equal(count_trials(&bench), whole);
    assert_true(sql(PATH, "SELECT count(*) FROM trial_value") == 2 * (double)whole);
    assert_true(sql(PATH, "SELECT count(*) FROM trial_metric") == 2 * (double)whole);
    bench.number = whole;
    must_add(&bench, 3, 0, 9, NULL); /* with room again, it goes on */
    assert_int_equal(count_trials(&bench), whole + 1);
    end(&bench);
}

/* Killed while it made the store: pages are in the file, and a journal says to take them back. */
static void killed_at_the_start(void **state) {
    (void)state;
    sqlite3 *db;
    struct stat file;
    assert_int_equal(sqlite3_open("half.db", &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "PRAGMA cache_size = 1; BEGIN; CREATE TABLE a (b);"
                                  "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c"
                                  " WHERE n < 100) INSERT INTO a SELECT randomblob(4000) FROM c",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    unlink(PATH);
    copy("half.db", PATH);
    copy("half.db-journal", PATH "-journal");
    assert_int_equal(stat(PATH, &file), 0);
    assert_true(file.st_size > 4096);
    struct bench bench = {.file = space_of(xml)};
    open_again(&bench);
    assert_int_equal(count_trials(&bench), 0);
    must_add(&bench, 0, 0, 1, NULL);
    end(&bench);
    sqlite3_close(db);
    unlink("half.db");
}

static void full_from_the_start(void **state) {
    (void)state;
    struct bench bench = {0};
    int status;
    bench.file = space_of(xml);
    unlink(PATH);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit = {0, 0};
        struct spex_error why = {""};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        int err = spex_store_open(PATH, bench.file, "grid", program, &bench.store, &why);
        spex_space_free(bench.file);
        _exit(err < 0 && !bench.store && strstr(why.text, PATH) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    open_again(&bench); /* what was left is nobody's store: it becomes ours */
    must_add(&bench, 0, 0, 1, NULL);
    end(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_store),
        cmocka_unit_test(read_back),
        cmocka_unit_test(metrics),
        cmocka_unit_test(another_exploration),
        cmocka_unit_test(strangers),
        cmocka_unit_test(no_file),
        cmocka_unit_test(nothing_to_read),
        cmocka_unit_test(second_writer),
        cmocka_unit_test(reader_beside),
        cmocka_unit_test(copied_in_part),
        cmocka_unit_test(tampered),
        cmocka_unit_test(damaged_tables),
        cmocka_unit_test(full_disk),
        cmocka_unit_test(full_from_the_start),
        cmocka_unit_test(killed_at_the_start),
    };
    return cmocka_run_group_tests_name("store", tests, scratch_enter, scratch_leave);
}
