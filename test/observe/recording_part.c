/* SPDX-License-Identifier: MIT */
/* Profiles of parts of a trace: of one that is made so that all figures are known. */
#include <errno.h>
#include <math.h>

#include "../scarce_memory.h"
#include "made_trace.h"
#include "trace/read/part.h"
#include "trace_folder.h"

static struct made journal;

/* LAT at 100, 300 (stands for 3), 500 (behind 4 lost ones), 600, 1100 and 1700 ms, CNT at 200 and
 * KERNEL at 400. */
static void records_write(void) {
    static struct made streams[2];
    static const uint32_t seven = 7, kernel[] = {11, 2, 33};
    static const uint64_t large = 500, small = 9;
    streams[0].count = streams[1].count = 0;
    size_t at = packet_begin(&streams[0], 100, 1700, 0, 1);
    event_compact(&streams[0], MADE_LAT, 100, &seven, 1);
    event_full(&streams[0], MADE_LAT, 300, 3, 0, &large, 1);
    event_compact(&streams[0], MADE_KERNEL, 400, kernel, 3);
    event_compact(&streams[0], MADE_LAT, 600, &seven, 1);
    event_compact(&streams[0], MADE_LAT, 1100, &seven, 1);
    event_compact(&streams[0], MADE_LAT, 1700, &seven, 1);
    packet_end(&streams[0], at, 0);
    at = packet_begin(&streams[1], 200, 500, 1, 1);
    event_full(&streams[1], MADE_CNT, 200, 40, 0, NULL, 0);
    event_full(&streams[1], MADE_LAT, 500, 1, 4, &small, 1);
    packet_end(&streams[1], at, 0);
    made_folder(folder, &journal);
    made_write(folder, "cpu_0_0", streams[0].bytes, streams[0].count);
    made_write(folder, "cpu_1_0", streams[1].bytes, streams[1].count);
}

/* A profile at a moment, of a probe that was on since the trace began, but for `earlier` seconds
 * before. All of its figures grow evenly, but for `count`. */
static void profile_put(unsigned ms, double earlier, uint16_t id, double count) {
    double seconds = (ms - 50) / 1000.0;
    unsigned tenths = (ms - 50) / 10;
    const struct spex_profile_process process = {.process_id = 42,
                                                 .ticks_per_second = 1e9,
                                                 .seconds = seconds + earlier,
                                                 .program_seconds = 3 * seconds,
                                                 .collector_seconds = 4 * seconds,
                                                 .budget_seconds = 5 * seconds,
                                                 .budget_spent = 6 * seconds,
                                                 .produced = 2 * tenths,
                                                 .consumed = 3 * tenths,
                                                 .lost = 4 * tenths,
                                                 .undelivered = 5 * tenths,
                                                 .unrecorded = tenths / 10,
                                                 .command = "made"};
    const struct spex_profile_probe probe = {.probe_type = SPEX_LAT,
                                             .probe_id = id,
                                             .count = count,
                                             .period = 1,
                                             .period_last = 1,
                                             .on_seconds = seconds,
                                             .polled_seconds = 0.25 * seconds,
                                             .held_seconds = 2 * seconds,
                                             .held_count = 3 * seconds,
                                             .uncounted = 2 * seconds,
                                             .lost = 100 * seconds,
                                             .spans_abandoned = 7 * tenths,
                                             .spans_refused = 8 * tenths,
                                             .spans_unmatched = 9 * tenths};
    made_profile(&journal, MADE_AT(ms), &process, &probe);
}

/* The first profile is of the collection that began with the trace, unless `earlier`. */
static void trace_make(double earlier, uint16_t id, double first, double last) {
    journal.count = 0;
    made_journal(&journal);
    made_anchor(&journal, 50);
    made_anchor(&journal, 2050);
    made_lost(&journal, 700, 300);
    made_lost(&journal, 2150, 1000);
    if (first > 0) {
        profile_put(500, earlier, id, first);
        profile_put(1500, earlier, id, last);
    }
    records_write();
}

struct opened {
    struct spex_recording *trace;
    struct spex_part *part;
    const struct spex_profile *profile;
};

static void part_open(struct opened *opened, unsigned from, unsigned to, const char *wanted) {
    struct spex_recording_event event;
    struct spex_selection selection;
    struct spex_error error = {""};
    if (spex_recording_open(folder, &opened->trace, &error) != 0 ||
        spex_part_open(&opened->part, opened->trace, MADE_AT(from), MADE_AT(to), &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(spex_selection_parse(wanted, &selection, &error), 0);
    spex_recording_want(opened->trace, &selection);
    spex_selection_free(&selection);
    while (spex_recording_next(opened->trace, &event, &error) == 1)
        assert_int_equal(spex_part_add(opened->part, &event), 0);
    assert_int_equal(spex_part_finish(opened->part), 0);
    opened->profile = spex_part_profile(opened->part, 0);
}

static void part_close(struct opened *opened) {
    spex_part_close(opened->part);
    spex_recording_close(opened->trace);
}

static const struct spex_profile_row *row_of(const struct opened *opened, uint16_t id,
                                             uint32_t type) {
    for (size_t r = 0; r < opened->profile->row_count; r++)
        if (opened->profile->rows[r].probe.probe_id == id &&
            opened->profile->rows[r].probe.probe_type == type)
            return &opened->profile->rows[r];
    fail_msg("no row of probe %d", id);
    return NULL;
}

static void expect(double value, double is) {
    if (!(fabs(value - is) < 1e-6))
        fail_msg("%.9g instead of %.9g", value, is);
}

/* From 300 to 1000 ms: 5 executions, which the records stand for. */
TEST_WITH(records_that_stand_for_all_are_the_count, folder_begin, folder_end) {
    struct opened opened;
    uint64_t from, to;
    trace_make(0, 1, 4, 7);
    part_open(&opened, 300, 1000, "*");
    const struct spex_profile_process *process = &opened.profile->process;
    spex_part_limits(opened.part, &from, &to);
    assert_int_equal(from, MADE_AT(50));
    assert_int_equal(to, MADE_AT(1500));
    assert_int_equal(opened.profile->row_count, 2);
    const struct spex_profile_row *lat = row_of(&opened, 1, SPEX_LAT);
    expect(lat->probe.count, 5);
    expect(lat->probe.count_variance, 0);
    expect(lat->probe.on_seconds, 0.7);
    expect(lat->probe.polled_seconds, 0.175);
    expect(lat->probe.held_seconds, 1.4);
    expect(lat->probe.held_count, 2.1);
    /* As of hold-offs that do not depend on each other: 2.9 √(1/2) until 1000 ms. */
    expect(lat->probe.uncounted, sqrt(2.9 * 2.9 * 0.5 - 0.9 * 0.9 * 25 / 45));
    assert_int_equal(lat->probe.records, 3);
    expect(lat->probe.weight, 5);
    expect(lat->probe.weight_squares, 9 + 1 + 1);
    assert_int_equal(lat->probe.marked[3], 2); /* SPEX_MARK_DRAWN */
    expect(lat->probe.lost, 2);                /* executions without a record */
    assert_int_equal(lat->probe.series, 1);
    expect(lat->values[0]->weight, 5);
    expect(lat->values[0]->mean, (3 * 500 + 9 + 7) / 5.0);
    /* It was on for a third of the time, so that those after 300 ms stand for 2 more each. */
    expect(lat->losses[0]->weight, 2 + 2);
    expect(lat->losses[0]->mean, (9 + 7) / 2.0);
    /* Of 10 ms each, rounded down at both ends. */
    assert_int_equal(lat->probe.spans_abandoned, 7 * 95 - 7 * 25);
    assert_int_equal(lat->probe.spans_refused, 8 * 95 - 8 * 25);
    assert_int_equal(lat->probe.spans_unmatched, 9 * 95 - 9 * 25);
    const struct spex_profile_row *kernel = row_of(&opened, 2, SPEX_KERNEL);
    assert_string_equal(kernel->probe.name, "so?rt");
    assert_string_equal(kernel->probe.provider, "lib");
    expect(kernel->probe.count, 1);
    expect(kernel->probe.on_seconds, 0.7);
    assert_int_equal(kernel->probe.series, 1);
    expect(kernel->values[0]->mean, 11);
    assert_string_equal(process->command, "made");
    expect(process->seconds, 0.7);
    expect(process->program_seconds, 2.1);
    expect(process->collector_seconds, 2.8);
    expect(process->budget_seconds, 3.5);
    expect(process->budget_spent, 4.2);
    assert_in_range(process->produced, 2 * 70 - 1, 2 * 70 + 1);
    assert_in_range(process->consumed, 3 * 70 - 20 + 6, 3 * 70 - 20 + 8);
    assert_in_range(process->undelivered, 5 * 70 - 20 + 6, 5 * 70 - 20 + 8);
    assert_in_range(process->unrecorded, 6, 8);
    /* The journal knows of 300, with those not recorded. 20 of them are the recorder's, which the
     * process takes for consumed. */
    assert_int_equal(process->lost, 300 - process->unrecorded);
    assert_in_range(opened.profile->types[0].produced, 2 * 70 - 1, 2 * 70 + 1);
    assert_in_range(opened.profile->types[0].lost, 4 * 70 - 1, 4 * 70 + 1);
    part_close(&opened);
}

/* From 700 to 1500 ms of a second with 12 executions, of which 3 have records: 2 before 700 ms. */
TEST_WITH(records_that_chance_has_chosen_divide_the_count, folder_begin, folder_end) {
    struct opened opened;
    trace_make(0, 1, 4, 16);
    part_open(&opened, 700, 1500, "*");
    const struct spex_profile_row *lat = row_of(&opened, 1, SPEX_LAT);
    /* Of 4 ± 9 only the record is sure: nine have none, and may have been at any time. */
    expect(lat->probe.count, 1);
    expect(lat->probe.count_variance,
           12.0 * 12 * (2.0 / 3) * (1.0 / 3) / 3 + pow(9 * (2.0 / 3) / 1.959964, 2));
    assert_int_equal(lat->probe.records, 1);
    assert_int_equal(opened.profile->row_count, 1);
    assert_int_equal(opened.profile->process.lost, 4 * 80); /* the journal: none in this time */
    part_close(&opened);
    part_open(&opened, 500, 1500, "*");
    lat = row_of(&opened, 1, SPEX_LAT);
    expect(lat->probe.count, 12);
    expect(lat->probe.count_variance, 0);
    expect(lat->probe.lost, 9);
    part_close(&opened);
}

/* Executions without a record may have been at any time between two profiles. */
TEST_WITH(without_records_nothing_tells_when, folder_begin, folder_end) {
    struct opened opened;
    trace_make(0, 9, 4, 16);
    part_open(&opened, 700, 1300, "*");
    const struct spex_profile_row *row = row_of(&opened, 9, SPEX_LAT);
    expect(row->probe.count, 0);
    expect(row->probe.count_variance, 2 * pow(12 * 0.8 / 1.959964, 2));
    assert_int_equal(row->probe.records, 0);
    assert_int_equal(row->probe.series, 0);
    assert_int_equal(opened.profile->row_count, 2);
    part_close(&opened);
}

TEST_WITH(beyond_the_last_profile_records_are_the_count, folder_begin, folder_end) {
    struct opened opened;
    trace_make(0, 1, 4, 16);
    part_open(&opened, 1600, 2100, "*");
    const struct spex_profile_row *lat = row_of(&opened, 1, SPEX_LAT);
    expect(lat->probe.count, 1);
    expect(lat->probe.on_seconds, 0.5);
    expect(opened.profile->process.seconds, 0.5);
    assert_int_equal(opened.profile->process.lost, 0);
    part_close(&opened);
    part_open(&opened, 1600, 2150, "*");
    assert_int_equal(opened.profile->process.lost, 700);
    part_close(&opened);
}

/* As on a disk that has become full: the process has handed over 100 records, of which the recorder
 * has written 3 and no longer taken 60. */
TEST_WITH(what_the_recorder_has_lost_is_not_consumed, folder_begin, folder_end) {
    const struct spex_profile_process process = {.process_id = 42,
                                                 .seconds = 2,
                                                 .produced = 109,
                                                 .consumed = 100,
                                                 .lost = 9,
                                                 .undelivered = 60,
                                                 .unrecorded = 4,
                                                 .command = "made"};
    const struct spex_profile_probe probe = {
        .probe_type = SPEX_LAT, .probe_id = 1, .count = 113, .period = 1, .period_last = 1};
    struct opened opened;
    journal.count = 0;
    made_journal(&journal);
    made_first_anchor(&journal, 50, true);
    made_anchor(&journal, 2050);
    made_profile(&journal, MADE_AT(2050), &process, &probe);
    made_lost(&journal, 2150, 97 + 9 + 4);
    records_write();
    part_open(&opened, 50, 2200, "nothing");
    const struct spex_profile_process *found = &opened.profile->process;
    assert_int_equal(found->produced, 109);
    assert_int_equal(found->consumed, 3);
    assert_int_equal(found->lost, 106);
    assert_int_equal(found->undelivered, 0);
    part_close(&opened);
}

/* An error has ended the recording, and there was no room for a profile: what was lost since the last
 * one may be of any probe. */
TEST_WITH(what_is_lost_at_the_end_may_be_of_any_probe, folder_begin, folder_end) {
    static const char why[] = SPEX_JOURNAL_ENDED "full";
    struct opened opened;
    for (unsigned ms = 1400; ms <= 1600; ms += 200) {
        trace_make(0, 1, 4, 16);
        made_timed(&journal, SPEX_JOURNAL_MARK, MADE_AT(ms), why, strlen(why));
        records_write();
        part_open(&opened, 50, 2200, "*");
        double more = ms > 1500 ? 700 : 0;
        const struct spex_profile_row *lat = row_of(&opened, 1, SPEX_LAT);
        const struct spex_recording_mark *ended =
            spex_journal_ended(&opened.trace->processes[0].journal, NULL);
        assert_string_equal(ended->text, why);
        expect(lat->probe.uncounted, 2 * 1.45 + more);
        part_close(&opened);
    }
}

/* As of a program that had run for 100 s when it was first recorded. */
TEST_WITH(before_the_first_profile_records_are_the_count, folder_begin, folder_end) {
    struct opened opened;
    trace_make(100, 1, 50, 60);
    part_open(&opened, 300, 500, "*");
    const struct spex_profile_row *lat = row_of(&opened, 1, SPEX_LAT);
    expect(lat->probe.count, 3);
    expect(lat->probe.on_seconds, 0.2);
    expect(opened.profile->process.seconds, 0.2);
    part_close(&opened);
    /* A tenth of a second may pass between the two beginnings. */
    trace_make(0.09, 1, 50, 60);
    part_open(&opened, 50, 500, "*");
    expect(row_of(&opened, 1, SPEX_LAT)->probe.count, 50);
    part_close(&opened);
}

TEST_WITH(without_profiles_the_records_tell_all, folder_begin, folder_end) {
    struct opened opened;
    trace_make(0, 1, 0, 0);
    part_open(&opened, 50, 3000, "*");
    const struct spex_profile_process *process = &opened.profile->process;
    assert_int_equal(opened.profile->row_count, 3);
    /* A record behind 4 lost ones stands for them, too. */
    expect(row_of(&opened, 1, SPEX_LAT)->probe.count, 1 + 3 + 5 + 3);
    expect(row_of(&opened, 1, SPEX_LAT)->probe.weight, 8);
    expect(row_of(&opened, 3, SPEX_CNT)->probe.count, 40);
    assert_int_equal(row_of(&opened, 3, SPEX_CNT)->probe.declared, 5);
    expect(process->seconds, 2.1);
    expect(process->ticks_per_second, 1e9);
    assert_int_equal(process->consumed, 8);
    assert_int_equal(process->lost, 1000);
    assert_int_equal(process->produced, 1008);
    /* The journal's sites tell what values are called. */
    assert_int_equal(opened.profile->site_count, 5);
    assert_int_equal(opened.profile->sites[1].probe_id, 2);
    assert_int_equal(opened.profile->sites[1].probe_type, SPEX_KERNEL);
    assert_string_equal(opened.profile->sites[1].parameters, "n, m");
    part_close(&opened);
    part_open(&opened, 50, 700, "*");
    assert_int_equal(opened.profile->process.lost, 300);
    part_close(&opened);
    part_open(&opened, 700, 3000, "*");
    assert_int_equal(opened.profile->process.lost, 700);
    part_close(&opened);
}

TEST_WITH(rows_of_other_probes_are_left_out, folder_begin, folder_end) {
    struct opened opened;
    trace_make(0, 1, 4, 7);
    part_open(&opened, 50, 2150, "*:kernel");
    assert_int_equal(opened.profile->row_count, 1);
    expect(row_of(&opened, 2, SPEX_KERNEL)->probe.count, 1);
    part_close(&opened);
}

/* A frame within a profile that is not whole. */
TEST_WITH(a_damaged_profile_is_an_error, folder_begin, folder_end) {
    struct spex_recording *trace;
    struct spex_part *part;
    struct spex_error error;
    journal.count = 0;
    made_journal(&journal);
    made_anchor(&journal, 50);
    made_timed(&journal, SPEX_JOURNAL_PROFILE, MADE_AT(100), "damaged", 7);
    records_write();
    assert_int_equal(spex_recording_open(folder, &trace, &error), 0);
    assert_int_equal(spex_part_open(&part, trace, MADE_AT(50), MADE_AT(90), &error), -EPROTO);
    assert_null(part);
    assert_non_null(strstr(error.text, "a frame is not whole"));
    spex_recording_close(trace);
    journal.count = 0;
    made_journal(&journal);
    made_timed(&journal, SPEX_JOURNAL_PROFILE, MADE_AT(100), "", 0);
    records_write();
    assert_int_equal(spex_recording_open(folder, &trace, &error), 0);
    assert_int_equal(spex_part_open(&part, trace, MADE_AT(50), MADE_AT(90), &error), -EPROTO);
    assert_non_null(strstr(error.text, "it holds no profile"));
    spex_recording_close(trace);
}

/* Reads all, and returns the first error. */
static int part_read(void *user) {
    struct spex_recording *trace;
    struct spex_part *part;
    struct spex_recording_event event;
    struct spex_error error = {""};
    (void)user;
    int err = spex_recording_open(folder, &trace, &error), got = 0;
    if (err)
        return err;
    err = spex_part_open(&part, trace, MADE_AT(300), MADE_AT(1000), &error);
    if (!err) {
        while (!err && (got = spex_recording_next(trace, &event, &error)) == 1)
            err = spex_part_add(part, &event);
        err = err ? err : got;
        err = err ? err : spex_part_finish(part);
        spex_part_close(part);
    }
    spex_recording_close(trace);
    return err;
}

TEST_WITH(without_memory_there_is_an_error, folder_begin, folder_end) {
    trace_make(0, 1, 4, 7);
    assert_true(without_each_allocation(part_read, NULL) > 50);
}

/* As where the recorder was held up, and the first records were removed since. */
static void count_from_the_first_profile(bool whole, double earlier, double count) {
    struct opened opened;
    journal.count = 0;
    made_journal(&journal);
    profile_put(60, earlier, 1, 2);
    made_first_anchor(&journal, 70, whole);
    made_anchor(&journal, 2050);
    profile_put(1500, earlier, 1, 7);
    records_write();
    part_open(&opened, 60, 1500, "*");
    assert_int_equal(opened.trace->begin, MADE_AT(60));
    expect(row_of(&opened, 1, SPEX_LAT)->probe.count, count);
    part_close(&opened);
}

TEST_WITH(executions_before_the_trace_was_opened_are_counted, folder_begin, folder_end) {
    count_from_the_first_profile(false, 0, 7);
    count_from_the_first_profile(true, 5, 7);
    count_from_the_first_profile(false, 5, 5);
}
