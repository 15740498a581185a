/* SPDX-License-Identifier: MIT */
/* When the writer of traces writes what, by a clock that the test tells: each second, to new files
 * when they are old enough, late records a second later, at once when too many wait; and what it
 * tells where it cannot go on. */
#include <errno.h>
#include <sys/stat.h>

#include <spex/ticks.h>

#include "../scarce_memory.h"
#include "base/clock.h"
#include "trace/read/recording.h"
#include "trace/trace.h"
#include "trace/trace_format.h"
#include "trace_folder.h"

#define SECOND_NS UINT64_C(1000000000)

/* Ticks before which nothing was recorded. */
#define BEGIN (UINT64_C(1) << 40)

enum { BATCH = 256, WAITING_MOST = 1 << 18 };

static uint64_t monotonic_ns = 1000 * SECOND_NS;

uint64_t __real_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock);

uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    return clock == CLOCK_MONOTONIC ? monotonic_ns : __real_spex_clock_ns(clock);
}

static struct spex_trace_disk disk;

static struct spex_trace *trace_open(const char *program, double rotate_seconds) {
    const struct spex_trace_options options = {.directory = folder,
                                               .program = program,
                                               .process_id = 12,
                                               .limits.rotate_seconds = rotate_seconds,
                                               .disk = &disk};
    struct spex_trace *trace;
    struct spex_error error;
    assert_int_equal(spex_trace_open(&options, &trace, &error), 0);
    return trace;
}

static void trace_close(struct spex_trace *trace, int err) {
    spex_trace_end(trace);
    assert_int_equal(spex_trace_error(trace), err);
    spex_trace_free(trace);
    spex_trace_disk_free(&disk);
    memset(&disk, 0, sizeof(disk));
}

static void record_add(struct spex_trace *trace, uint16_t cpu, uint64_t ticks) {
    const struct spex_record record = {.timestamp = ticks,
                                       .probe_type = SPEX_LAT,
                                       .probe_id = 1,
                                       .cpu_id = cpu,
                                       .weight = 1,
                                       .field_count = 1,
                                       .fields = {7}};
    spex_trace_records(trace, &record, 1);
}

static const char *path_in(const struct spex_trace *trace, const char *name) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", spex_trace_directory(trace), name);
    return path;
}

/* -1: there is none. */
static long bytes_of(const struct spex_trace *trace, const char *name) {
    struct stat status;
    return stat(path_in(trace, name), &status) == 0 ? (long)status.st_size : -1;
}

static long packets_of(const struct spex_trace *trace, const char *name) {
    long bytes = bytes_of(trace, name);
    return bytes < 0 ? bytes : bytes / SPEX_TRACE_PACKET_BYTES;
}

static void metadata_remove(const struct spex_trace *trace) {
    assert_int_equal(unlink(path_in(trace, "metadata")), 0);
}

/* Of the metadata that have been written since they were removed. */
static uint64_t frequency_of(const struct spex_trace *trace) {
    static char text[1 << 16];
    FILE *file = fopen(path_in(trace, "metadata"), "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *at = strstr(text, "freq = ");
    assert_non_null(at);
    return strtoull(at + strlen("freq = "), NULL, 10);
}

static struct spex_recording *recording_open(void) {
    struct spex_recording *recording;
    struct spex_error error = {""};
    if (spex_recording_open(folder, &recording, &error) != 0)
        fail_msg("%s", error.text);
    if (recording->problems.count)
        fail_msg("%s", recording->problems.kept[0].text);
    return recording;
}

static size_t records_in(struct spex_recording *recording) {
    struct spex_recording_event event;
    struct spex_error error = {""};
    size_t count = 0;
    int got;
    while ((got = spex_recording_next(recording, &event, &error)) == 1)
        count++;
    assert_int_equal(got, 0);
    return count;
}

/* Packets each second, with the clocks; a better rate of the ticks after 1, 2, 4 … seconds. */
TEST_WITH(each_second_all_is_stored, folder_begin, folder_end) {
    uint64_t begin_ns = monotonic_ns;
    struct spex_trace *trace = trace_open("program", 0);
    assert_int_equal(spex_trace_totals(trace).records, 0);
    record_add(trace, 3, BEGIN);
    monotonic_ns = begin_ns + SECOND_NS - 1;
    spex_trace_pass(trace, BEGIN + 1);
    assert_int_equal(bytes_of(trace, "cpu_3_0"), -1);
    for (unsigned second = 1; second <= 17; second++) {
        if (second > 1)
            record_add(trace, 3, BEGIN + second);
        metadata_remove(trace);
        monotonic_ns = begin_ns + second * SECOND_NS;
        spex_trace_pass(trace, BEGIN + second + 1);
        assert_int_equal(packets_of(trace, "cpu_3_0"), second);
        assert_int_equal(spex_trace_totals(trace).records, second);
        bool better = !(second & (second - 1));
        assert_int_equal(bytes_of(trace, "metadata") > 0, better);
        if (!better)
            fclose(fopen(path_in(trace, "metadata"), "w"));
        monotonic_ns += SECOND_NS / 2;
        spex_trace_pass(trace, BEGIN + second + 1);
    }
    trace_close(trace, 0);
    struct spex_recording *recording = recording_open();
    const struct spex_journal *journal = &recording->processes[0].journal;
    assert_int_equal(journal->mark_count, 0);
    assert_int_equal(journal->anchor_count, 1 + 17 + 1);
    for (unsigned second = 0; second <= 17; second++)
        assert_int_equal(journal->anchors[second].monotonic_ns, begin_ns + second * SECOND_NS);
    assert_int_equal(records_in(recording), 17);
    spex_recording_close(recording);
}

/* All streams, the late ones' too. */
TEST_WITH(files_are_left_in_time, folder_begin, folder_end) {
    uint64_t begin_ns = monotonic_ns;
    struct spex_trace *trace = trace_open("program", 2.5);
    spex_trace_pass(trace, BEGIN);
    for (unsigned second = 1; second <= 7; second++) {
        record_add(trace, 0, BEGIN + second);
        record_add(trace, 1023, BEGIN + second);
        record_add(trace, 1024, BEGIN + second);
        monotonic_ns = begin_ns + second * SECOND_NS;
        spex_trace_pass(trace, UINT64_MAX);
    }
    assert_int_equal(packets_of(trace, "cpu_0_0"), 3);
    assert_int_equal(packets_of(trace, "cpu_1023_0"), 3);
    assert_int_equal(packets_of(trace, "late_0"), 3);
    assert_int_equal(packets_of(trace, "cpu_0_1"), 3);
    assert_int_equal(packets_of(trace, "cpu_1023_1"), 3);
    assert_int_equal(packets_of(trace, "late_1"), 3);
    assert_int_equal(packets_of(trace, "cpu_0_2"), 1);
    assert_int_equal(packets_of(trace, "late_2"), 1);
    trace_close(trace, 0);
    struct spex_recording *recording = recording_open();
    const struct spex_journal *journal = &recording->processes[0].journal;
    assert_int_equal(journal->mark_count, 2);
    for (size_t m = 0; m < 2; m++) {
        assert_string_equal(journal->marks[m].text, "rotation");
        assert_true(journal->marks[m].ticks > 0 && journal->marks[m].ticks < spex_ticks());
    }
    assert_int_equal(records_in(recording), 3 * 7);
    spex_recording_close(recording);
}

/* A late record waits until the watermark has passed it by a second. */
TEST_WITH(late_records_wait_for_a_second, folder_begin, folder_end) {
    struct spex_trace *trace = trace_open("program", 0);
    record_add(trace, 1, BEGIN + 100);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, BEGIN + 101);
    assert_int_equal(spex_trace_totals(trace).records, 1);
    uint64_t second = frequency_of(trace), late = BEGIN + 99;
    assert_true(second > 100);
    record_add(trace, 1, late);
    metadata_remove(trace);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, late + second);
    assert_int_equal(spex_trace_totals(trace).records, 1);
    second = frequency_of(trace);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, late + second + 1);
    assert_int_equal(spex_trace_totals(trace).records, 2);
    assert_int_equal(packets_of(trace, "late_0"), 1);
    /* Before the first second nothing is that old. */
    record_add(trace, 1024, 0);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, 5);
    assert_int_equal(spex_trace_totals(trace).records, 2);
    /* One before those that were written begins another file. */
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, UINT64_MAX);
    assert_int_equal(packets_of(trace, "late_0"), 1);
    assert_int_equal(packets_of(trace, "late_1"), 1);
    trace_close(trace, 0);
    struct spex_recording *recording = recording_open();
    assert_int_equal(records_in(recording), 3);
    spex_recording_close(recording);
}

/* Adds so many records, whose times follow those of before. */
static void many_add(struct spex_trace *trace, size_t count) {
    static uint64_t ticks = BEGIN;
    while (count) {
        size_t some = count < BATCH ? count : BATCH;
        struct spex_record *batch = spex_trace_room(trace, 2, some);
        assert_non_null(batch);
        for (size_t r = 0; r < some; r++) {
            ticks += 10;
            batch[r] = (struct spex_record){.timestamp = ticks,
                                            .probe_type = SPEX_LAT,
                                            .probe_id = 1,
                                            .cpu_id = 2,
                                            .weight = 1,
                                            .field_count = 1,
                                            .fields = {ticks % 5}};
        }
        spex_trace_records(trace, batch, some);
        count -= some;
    }
}

/* 2^18 records wait for a pass, of all CPUs together, and no more. */
TEST_WITH(only_so_many_wait, folder_begin, folder_end) {
    struct spex_trace *trace = trace_open("program", 0);
    record_add(trace, 3, BEGIN);
    many_add(trace, WAITING_MOST - 1);
    assert_int_equal(spex_trace_totals(trace).records, 0);
    many_add(trace, 1);
    uint64_t records = spex_trace_totals(trace).records;
    assert_true(records > WAITING_MOST / 2);
    many_add(trace, WAITING_MOST);
    assert_int_equal(spex_trace_totals(trace).records, records);
    many_add(trace, 1);
    assert_true(spex_trace_totals(trace).records > records + WAITING_MOST / 2);
    many_add(trace, WAITING_MOST / 2);
    spex_trace_pass(trace, UINT64_MAX); /* which none has to wait for any more */
    records = spex_trace_totals(trace).records;
    many_add(trace, WAITING_MOST);
    assert_int_equal(spex_trace_totals(trace).records, records);
    trace_close(trace, 0);
    struct spex_recording *recording = recording_open();
    assert_int_equal(records_in(recording), 3 * WAITING_MOST + WAITING_MOST / 2 + 2);
    spex_recording_close(recording);
}

/* The process tells of losses after its records do. */
TEST_WITH(records_tell_of_known_losses, folder_begin, folder_end) {
    struct spex_record record = {.timestamp = BEGIN,
                                 .probe_type = SPEX_LAT,
                                 .probe_id = 1,
                                 .weight = 1,
                                 .lost = 100,
                                 .gap = 1,
                                 .field_count = 1};
    static const uint32_t told[] = {0, 60, 100, 40};
    static const uint64_t known[] = {0, 60, 200, 200};
    struct spex_trace *trace = trace_open("program", 0);
    for (size_t r = 0; r < COUNT_OF(told); r++) {
        spex_trace_lost(trace, known[r]);
        record.timestamp++;
        spex_trace_records(trace, &record, 1);
        spex_trace_pass(trace, UINT64_MAX);
    }
    spex_trace_lost(trace, 250);
    trace_close(trace, 0);
    struct spex_recording *recording = recording_open();
    struct spex_recording_event event;
    struct spex_error error = {""};
    for (size_t r = 0; r < COUNT_OF(told); r++) {
        assert_int_equal(spex_recording_next(recording, &event, &error), 1);
        assert_int_equal(event.record.lost, told[r]);
        assert_int_equal(event.record.gap, 1);
    }
    assert_int_equal(spex_recording_next(recording, &event, &error), 0);
    assert_int_equal(recording->processes[0].discarded, 250);
    assert_int_equal(spex_recording_process_lost(&recording->processes[0]), 250);
    spex_recording_close(recording);
}

/* Where a file cannot be made, those of other streams stay, and tell what is not there. */
TEST_WITH(an_error_ends_the_recording, folder_begin, folder_end) {
    struct spex_trace *trace = trace_open("program", 0);
    assert_int_equal(mkdir(path_in(trace, "cpu_1_0"), 0700), 0);
    record_add(trace, 0, BEGIN);
    for (unsigned r = 0; r < 5; r++)
        record_add(trace, 1, BEGIN + r);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, BEGIN + 4);
    assert_int_equal(spex_trace_error(trace), -EEXIST);
    assert_int_equal(spex_trace_totals(trace).records, 1);
    assert_int_equal(spex_trace_totals(trace).lost, 0); /* that is known at the end */
    long bytes = bytes_of(trace, ".spex/journal");
    record_add(trace, 0, BEGIN + 9);
    assert_null(spex_trace_room(trace, 0, 1));
    spex_trace_records(trace, NULL, 0);
    assert_int_equal(spex_trace_totals(trace).lost, 1);
    spex_trace_mark(trace, 5, "not written");
    spex_trace_profile(trace, "frames", 6);
    spex_trace_contexts(trace, NULL, 0);
    spex_trace_sites(trace, NULL, 0);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, UINT64_MAX);
    assert_int_equal(bytes_of(trace, ".spex/journal"), bytes);
    spex_trace_lost(trace, 20);
    spex_trace_end(trace);
    assert_int_equal(spex_trace_error(trace), -EEXIST);
    assert_int_equal(spex_trace_totals(trace).records, 1);
    assert_int_equal(spex_trace_totals(trace).lost, 5 + 1 + 20);
    assert_int_equal(rmdir(path_in(trace, "cpu_1_0")), 0);
    spex_trace_free(trace);
    spex_trace_disk_free(&disk);
    memset(&disk, 0, sizeof(disk));
    struct spex_recording *recording = recording_open();
    const struct spex_recording_process *process = &recording->processes[0];
    assert_int_equal(records_in(recording), 1);
    assert_int_equal(process->discarded, 26);
    assert_int_equal(spex_recording_process_lost(process), 26);
    assert_int_equal(process->journal.mark_count, 1);
    assert_string_equal(process->journal.marks[0].text, "recording ended: File exists");
    /* At the end: the last profile tells what was executed. */
    assert_int_equal(process->journal.profile_count, 1);
    spex_recording_close(recording);
}

TEST_WITH(folders_have_the_programs_name, folder_begin, folder_end) {
    static const struct {
        const char *program, *name;
    } cases[] = {{"program", "program-12"},
                 {"program", "program-12-2"},
                 {"program", "program-12-3"},
                 {"/usr/bin/a program", "_usr_bin_a program-12"},
                 {".hidden", "_hidden-12"},
                 {"..", "_.-12"},
                 {"-option", "_option-12"},
                 {"a-b.c", "a-b.c-12"},
                 {"line\nline", "line_line-12"},
                 {"", "-12"},
                 {"1234567890123456789012345678901234567890123456789012345678901234",
                  "123456789012345678901234567890123456789012345678901234567890123-12"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_trace *trace = trace_open(cases[c].program, 0);
        const char *directory = spex_trace_directory(trace);
        assert_int_equal(strncmp(directory, folder, strlen(folder)), 0);
        assert_string_equal(directory + strlen(folder) + 1, cases[c].name);
        trace_close(trace, 0);
    }
}

TEST_WITH(without_a_folder_there_is_no_trace, folder_begin, folder_end) {
    struct spex_trace *trace = (struct spex_trace *)&disk;
    struct spex_error error;
    const struct spex_trace_options options = {
        .directory = "/nonexistent/folder", .program = "program", .disk = &disk};
    assert_int_equal(spex_trace_open(&options, &trace, &error), -ENOENT);
    assert_null(trace);
    assert_string_equal(
        error.text, "no trace can be written in /nonexistent/folder: No such file or directory");
}

/* Writes something of all that there is, each time to a new folder. Returns the first error. */
static int write_all(void *user) {
    static const struct spex_stream_site site = {.probe_id = 1, .probe_type = SPEX_LAT};
    static const struct spex_stream_context context = {2, 1, 5};
    static int process = 100;
    const struct spex_trace_options options = {
        .directory = folder, .program = "program", .process_id = process++, .disk = &disk};
    struct spex_trace *trace;
    struct spex_error error;
    (void)user;
    disk.keep = 1 << 20;
    int err = spex_trace_open(&options, &trace, &error);
    if (err)
        return err;
    spex_trace_sites(trace, &site, 1);
    spex_trace_contexts(trace, &context, 1);
    record_add(trace, 1, BEGIN + 5);
    struct spex_record *room = spex_trace_room(trace, 2, 1);
    if (room) {
        *room = (struct spex_record){
            .timestamp = BEGIN, .probe_type = SPEX_CNT, .cpu_id = 2, .field_count = 1};
        spex_trace_records(trace, room, 1);
    }
    spex_trace_pass(trace, BEGIN + 6);
    record_add(trace, 1, BEGIN);
    monotonic_ns += SECOND_NS;
    spex_trace_pass(trace, BEGIN + 6);
    for (unsigned p = 0; p < 40; p++)
        spex_trace_profile(trace, options.directory, 30);
    spex_trace_mark(trace, 5, "a mark");
    spex_trace_end(trace);
    err = spex_trace_error(trace);
    spex_trace_free(trace);
    spex_trace_disk_free(&disk);
    memset(&disk, 0, sizeof(disk));
    return err;
}

TEST_WITH(without_memory_the_recording_ends, folder_begin, folder_end) {
    assert_true(without_each_allocation(write_all, NULL) > 30);
}
