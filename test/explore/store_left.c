/* SPDX-License-Identifier: MIT */
/* What a store leaves behind when it is closed: neither memory of SQLite's nor a descriptor,
 * whatever was done with it and whatever went wrong, as in a store that somebody has taken a table
 * out of. */
#include "explore/store/store_metrics.h"
#include "store_bench.h"

/* ---- everything that can be done with a store ---- */

static struct spex_error why;

static int do_begin(struct bench *bench) {
    char texts[SPEX_ON_COUNT][2] = {"h", "k", "c", "2", "8", "b", "1"};
    struct spex_circumstances now;
    for (size_t c = 0; c < SPEX_ON_COUNT; c++)
        now.texts[c] = texts[c];
    return spex_store_begin(bench->store, &now, true, &why);
}

/* With usage, a load and a note. */
static int do_put(struct bench *bench) {
    const struct spex_usage usage = {.known = true, .user_seconds = 2, .max_rss_bytes = 4096};
    const struct spex_unfinished plan = {.asked = 9, .told = 3};
    struct spex_trial trial = trial_of(&bench->file->space, (size_t[]){1, 0}, 5);
    trial.status = strdup("ok");
    trial.note = strdup("a note");
    trial.usage = usage;
    assert_int_equal(spex_trial_add_load(&trial, "cpu", 2, &usage), 0);
    int err =
        spex_store_put(bench->store, ++bench->number, &bench->file->space, &trial, &plan, 1, &why);
    spex_trial_free(&trial);
    return err;
}

static int do_plan(struct bench *bench) {
    const struct spex_unfinished plan = {.asked = 17, .told = 3};
    return spex_store_put_plan(bench->store, &plan, &why);
}

static int do_unfinished(struct bench *bench) {
    struct spex_unfinished *all;
    size_t count;
    int err = spex_store_unfinished(bench->store, &all, &count, &why);
    assert_true(count <= (err ? 0 : 2) && !all == !count);
    free(all);
    return err;
}

static int do_set_directory(struct bench *bench) {
    return spex_store_set_directory(bench->store, "/tmp/there", &why);
}

static int do_directory(struct bench *bench) {
    char *directory;
    int err = spex_store_directory(bench->store, &directory, &why);
    if (!err)
        assert_string_equal(directory, "/tmp/there");
    free(directory);
    return err;
}

static int do_set_fleet(struct bench *bench) {
    const struct spex_store_fleet fleet = {"0123456789abcdef", "fedcba9876543210"};
    return spex_store_set_fleet(bench->store, &fleet, &why);
}

static int do_fleet(struct bench *bench) {
    struct spex_store_fleet fleet;
    int err = spex_store_fleet(bench->store, &fleet, &why);
    if (!err)
        assert_string_equal(fleet.class, "fedcba9876543210");
    return err;
}

static int do_machines(struct bench *bench) {
    struct spex_circumstances *machines;
    size_t count;
    int err = spex_store_machines(bench->store, &machines, &count, &why);
    assert_int_equal(count, err ? 0 : 1);
    spex_store_machines_free(&machines, &count);
    return err;
}

static int do_trials(struct bench *bench) {
    struct spex_trials trials;
    int err = spex_store_trials(bench->store, &bench->file->space, &trials, &why);
    assert_true(trials.count <= (err ? 0 : bench->number));
    spex_trials_free(&trials);
    return err;
}

static int do_metrics(struct bench *bench) {
    return spex_store_metrics(bench->store, take_none, NULL, &why);
}

static int do_read(struct bench *bench) {
    struct spex_store *other;
    (void)bench;
    int err = spex_store_read(PATH, &other, &why);
    spex_store_close(other);
    return err;
}

static int (*const steps[])(struct bench *) = {
    do_begin,     do_put,   do_plan,   do_unfinished, do_set_directory, do_directory,
    do_set_fleet, do_fleet, do_trials, do_machines,   do_metrics,       do_read,
};

/* The steps, a letter for each: '.' it is done, 'x' it failed and said where. */
static void do_all(struct bench *bench, char *letters) {
    for (size_t s = 0; s < COUNT_OF(steps); s++) {
        why.text[0] = '\0';
        letters[s] = steps[s](bench) ? 'x' : '.';
        assert_int_equal(letters[s] == 'x', why.text[0] != '\0');
        if (letters[s] == 'x')
            assert_non_null(strstr(why.text, PATH));
    }
    letters[COUNT_OF(steps)] = '\0';
}

/* What is done while the store lacks a table, with a trial or without. */
static void without_table(const char *table, bool trial, char *letters) {
    struct bench bench;
    char drop[64];
    begin(&bench);
    if (trial)
        assert_int_equal(do_put(&bench), 0);
    if (*table) {
        snprintf(drop, sizeof(drop), "DROP TABLE %s", table);
        sql(PATH, drop);
    }
    do_all(&bench, letters);
    end(&bench);
}

TEST(nothing_is_left) {
    static const struct {
        const char *table, *without, *with; /* trials */
    } cases[] = {
        {"", "............", "............"},
        {"machine", "x........x..", "x........x.."},
        {"trial", ".x......x...", ".x......x..."},
        {"trial_value", ".x......x...", ".x......x..."},
        {"trial_measured", ".x......x...", ".x......x..."},
        {"trial_metric", ".x........x.", ".x........x."},
        {"trial_usage", ".x........x.", ".x......x.x."},
        {"trial_load", ".x..........", ".x......x..."},
        {"trial_note", ".x..........", ".x......x..."},
        {"fleet", "......xx....", "......xx...."},
        {"plan", ".xxx........", ".xxx........"},
        {"exploration", "....xx.....x", "....xx.....x"},
    };
    char letters[COUNT_OF(steps) + 1];
    without_table("", true, letters); /* what SQLite keeps for good */
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        for (int trial = 0; trial < 2; trial++) {
            sqlite3_int64 memory = sqlite3_memory_used();
            size_t descriptors = open_descriptors();
            without_table(cases[c].table, trial, letters);
            if (strcmp(letters, trial ? cases[c].with : cases[c].without) != 0)
                fail_msg("without table \"%s\": %s", cases[c].table, letters);
            assert_int_equal(sqlite3_memory_used(), memory);
            assert_int_equal(open_descriptors(), descriptors);
        }
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
