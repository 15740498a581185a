/* SPDX-License-Identifier: MIT */
/* The store's contents: what is put in is read back, only the same exploration goes on, and
 * tampered tables are found. */
#include <errno.h>

#include <spex/explore.h>

#include "explore/store/store.h"
#include "explore/store/store_metrics.h"
#include "scratch.h"
#include "spaces.h"
#include "store_bench.h"
#include "text/printable.h"

TEST(new_store) {
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
                    {3, 1, 0, "exited with status 3: \xc3\xa9'\"?;"},
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
        assert_int_equal(trial->retried, expected[t].threads == 0);
        assert_int_equal(trial->records_used, 3);
        assert_int_equal(trial->records_lost, 12345678901);
        assert_true(trial->seconds == 0.1 + expected[t].objective);
    }
    spex_trials_free(&trials);
}

TEST(read_back) {
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

TEST(metrics) {
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

/* Joins the names of the throughputs. */
static int note_throughput(void *user, size_t trial, const char *name, const char *unit,
                           double value) {
    (void)trial, (void)unit, (void)value;
    if (strstr(name, " throughput"))
        strcat(strcat(user, name), ",");
    return 0;
}

static void expect_throughputs(const char *expected) {
    struct spex_store *store;
    struct spex_error why = {""};
    char names[256] = "";
    assert_int_equal(spex_store_read(PATH, &store, &why), 0);
    assert_int_equal(spex_store_metrics(store, note_throughput, names, &why), 0);
    assert_string_equal(names, expected);
    spex_store_close(store);
}

/* Names have their provider where there are several. */
TEST(providers) {
    struct bench bench = {0};
    begin(&bench);
    must_add(&bench, 0, 0, 0.5, NULL);
    end(&bench);
    sql(PATH, "UPDATE trial_metric SET id = 3, provider = 'liba' WHERE probe = 8;"
              "UPDATE trial_metric SET provider = 'liba' WHERE probe = 7");
    expect_throughputs("q:lat throughput,3:cnt throughput,");
    sql(PATH, "UPDATE trial_metric SET provider = 'libb' WHERE probe = 7");
    expect_throughputs("libb/q:lat throughput,liba/3:cnt throughput,");
}

TEST(another_exploration) {
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

/* Arguments in another encoding are told apart, though JSON has no text for them. */
TEST(arguments_that_are_no_text) {
    static const char *const one[] = {"./taxi", "\xff-", NULL};
    static const char *const other[] = {"./taxi", "\xfe-", NULL};
    struct bench bench = {.file = space_of(xml)};
    struct spex_error why = {""};
    unlink(PATH);
    assert_int_equal(spex_store_open(PATH, bench.file, "grid", (char *const *)(uintptr_t)one,
                                     &bench.store, &why),
                     0);
    spex_store_close(bench.store);
    expect_refused(PATH, bench.file, "grid", (char *const *)(uintptr_t)other, -EEXIST,
                   "another program: [\"./taxi\", {\"bytes\": \"ff2d\"}], not [");
    assert_int_equal(spex_store_open(PATH, bench.file, "grid", (char *const *)(uintptr_t)one,
                                     &bench.store, &why),
                     0);
    end(&bench);
}

TEST(second_writer) {
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

TEST(reader_beside) {
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

TEST(tampered) {
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
TEST(damaged_tables) {
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

/* Line ends are ours. */
static void expect_printable(FILE *file, char **text) {
    char *rest = NULL;
    assert_int_equal(fclose(file), 0);
    for (char *line = strtok_r(*text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (!spex_is_printable(line))
            fail_msg("%s", line);
    free(*text);
}

static void expect_printable_report(const char *other, bool json) {
    struct spex_report_options options = {.size = sizeof(options), .store = PATH, .other = other};
    char *text, why[512] = "";
    size_t size;
    FILE *out = open_memstream(&text, &size);
    *(json ? &options.json : &options.text) = out;
    if (spex_report(&options, why, sizeof(why)))
        fail_msg("%s", why);
    expect_printable(out, &text);
}

static void expect_printable_explanation(bool json) {
    struct spex_explain_options options = {
        .size = sizeof(options), .store = PATH, .a = "best", .b = "worst", .all = true};
    char *text, why[512] = "";
    size_t size;
    FILE *out = open_memstream(&text, &size);
    *(json ? &options.json : &options.text) = out;
    if (spex_explain(&options, why, sizeof(why)))
        fail_msg("%s", why);
    expect_printable(out, &text);
}

/* The title of a window, a control character of two bytes, and a line that is not ours. */
#define ESCAPES "char(27)||']0;x'||char(7)||char(155)||'31m'||char(127)||char(10)||'best'"

/* What somebody else has written into a store does nothing to a terminal. */
TEST(a_store_of_another_user) {
    char unknown[] = "unknown";
    struct spex_circumstances now;
    struct bench bench = {0};
    struct spex_error why = {""};
    begin(&bench);
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        now.texts[c] = unknown;
    assert_int_equal(spex_store_begin(bench.store, &now, true, &why), 0);
    must_add(&bench, 0, 0, 1, NULL);
    must_add(&bench, 1, 0, 2, NULL);
    must_add(&bench, 2, 0, 0, "failed");
    end(&bench);
    sql(PATH, "VACUUM INTO 'other.db'");
    sql(PATH, "UPDATE exploration SET policy=" ESCAPES ", program='[\"'||char(155)||'\\u009b\"]';"
              "UPDATE machine SET host=" ESCAPES ", build=" ESCAPES ";"
              "UPDATE trial SET status=" ESCAPES " WHERE number=3;"
              "UPDATE trial_metric SET name=" ESCAPES " WHERE name NOT NULL;"
              "INSERT INTO trial_note VALUES (1," ESCAPES ");"
              "INSERT INTO trial_load (trial,load,stressor,workers) VALUES (1,0," ESCAPES ",1);"
              "INSERT INTO trial_usage (trial, user_seconds) VALUES (1, 1), (2, 1);"
              "ALTER TABLE trial_usage RENAME COLUMN user_seconds TO \"\33[31m\"");
    for (int json = 0; json < 2; json++) {
        expect_printable_report(NULL, json);
        expect_printable_report("other.db", json);
        expect_printable_explanation(json);
    }
    sql(PATH, "DROP TABLE trial; CREATE VIEW trial AS SELECT * FROM \"no\33[31m\"");
    struct spex_report_options options = {.size = sizeof(options), .store = PATH};
    assert_true(spex_report(&options, why.text, sizeof(why.text)) < 0);
    assert_non_null(strstr(why.text, "no?[31m"));
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
