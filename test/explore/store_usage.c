/* SPDX-License-Identifier: MIT */
/* What trials have used goes into the store and comes out as it was, what is not known included. */
#include <math.h>

#include "explore/store/store.h"
#include "scratch.h"
#include "spaces.h"

#define PATH "trials.db"

static const char xml[] = "<space name='s'><parameter name='a' type='integer' values='1'/>"
                          "<objective probe='q:lat' metric='mean' goal='minimise'/></space>";

static const struct spex_usage all = {
    .known = true,
    .user_seconds = 1.25,
    .system_seconds = 0.5,
    .max_rss_bytes = UINT64_C(1) << 40,
    .minor_faults = 1,
    .major_faults = 2,
    .voluntary_switches = 3,
    .involuntary_switches = 4,
    .io_known = true,
    .read_bytes = 5,
    .written_bytes = 6,
    .storage_read_bytes = 7,
    .storage_written_bytes = 8,
};
static const struct spex_usage nothing = {.known = false};
static const struct spex_usage idle = {.known = true, .io_known = true};

static void put(struct spex_store *store, const struct spex_space *space, uint64_t number,
                const struct spex_usage *usage, const struct spex_usage *loads, size_t load_count,
                const char *note) {
    struct spex_trial trial;
    struct spex_error why = {""};
    assert_int_equal(spex_trial_init(&trial, space, (size_t[]){0}), 0);
    trial.status = strdup("did not start");
    trial.usage = *usage;
    trial.note = note ? strdup(note) : NULL;
    for (size_t l = 0; l < load_count; l++)
        assert_int_equal(spex_trial_add_load(&trial, l ? "vm" : "cpu", (unsigned)l, &loads[l]), 0);
    if (spex_store_put(store, number, space, &trial, NULL, 0, &why))
        fail_msg("%s", why.text);
    spex_trial_free(&trial);
}

static void expect_usage(const struct spex_usage *usage, const struct spex_usage *expected) {
    assert_int_equal(usage->known, expected->known);
    assert_int_equal(usage->io_known, expected->io_known);
    assert_true(usage->user_seconds == expected->user_seconds);
    assert_true(usage->system_seconds == expected->system_seconds);
    assert_int_equal(usage->max_rss_bytes, expected->max_rss_bytes);
    assert_int_equal(usage->minor_faults, expected->minor_faults);
    assert_int_equal(usage->major_faults, expected->major_faults);
    assert_int_equal(usage->voluntary_switches, expected->voluntary_switches);
    assert_int_equal(usage->involuntary_switches, expected->involuntary_switches);
    assert_int_equal(usage->read_bytes, expected->read_bytes);
    assert_int_equal(usage->written_bytes, expected->written_bytes);
    assert_int_equal(usage->storage_read_bytes, expected->storage_read_bytes);
    assert_int_equal(usage->storage_written_bytes, expected->storage_written_bytes);
}

static void expect(const struct spex_trial *trial, const struct spex_usage *usage,
                   const struct spex_usage *loads, size_t load_count, const char *note) {
    expect_usage(&trial->usage, usage);
    assert_int_equal(trial->load_count, load_count);
    for (size_t l = 0; l < load_count; l++) {
        assert_string_equal(trial->loads[l].stressor, l ? "vm" : "cpu");
        assert_int_equal(trial->loads[l].workers, l);
        expect_usage(&trial->loads[l].usage, &loads[l]);
    }
    if (note)
        assert_string_equal(trial->note, note);
    else
        assert_null(trial->note);
}

TEST(comes_back) {
    struct spex_space_file *file = space_of(xml);
    const struct spex_space *space = &file->space;
    struct spex_usage without_io = all;
    without_io.io_known = false;
    without_io.read_bytes = without_io.written_bytes = 0;
    without_io.storage_read_bytes = without_io.storage_written_bytes = 0;
    const struct spex_usage loads[] = {nothing, all, idle};
    char *argv[] = {(char *)(uintptr_t) "program", NULL};
    struct spex_store *store;
    struct spex_trials trials;
    struct spex_error why = {""};
    assert_int_equal(spex_store_open(PATH, file, "grid", argv, &store, &why), 0);
    put(store, space, 1, &all, loads, 3, "teardown: \xc3\xa9");
    put(store, space, 2, &nothing, NULL, 0, NULL);
    put(store, space, 3, &without_io, loads, 1, NULL);
    put(store, space, 4, &all, loads, 3, "gone");
    put(store, space, 4, &idle, loads, 2, NULL); /* in its stead */
    assert_int_equal(spex_store_trials(store, space, &trials, &why), 0);
    assert_int_equal(trials.count, 4);
    expect(&trials.items[0], &all, loads, 3, "teardown: \xc3\xa9");
    expect(&trials.items[1], &nothing, loads, 0, NULL);
    expect(&trials.items[2], &without_io, loads, 1, NULL);
    expect(&trials.items[3], &idle, loads, 2, NULL);
    spex_trials_free(&trials);
    spex_store_close(store);
    spex_space_free(file);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
