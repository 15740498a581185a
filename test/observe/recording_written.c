/* SPDX-License-Identifier: MIT */
/* Traces that the library's writer has written, read back by the library's reader: each record of
 * one or several processes with all that is in it, whatever its layout, in the order of time, and
 * what the journal tells besides. */
#include <spex/ticks.h>

#include "base/clock.h"
#include "made_trace.h"
#include "ring/probe_type.h"
#include "trace/read/recording.h"
#include "trace/trace.h"
#include "trace_folder.h"

enum {
    CPUS = 5,
    TYPES = SPEX_PROBE_TYPES,
    BATCH = 200,
    MOST = 1 << 17,
    PROCESSES = 3,
    PASSES = 40,
    KEEP = 1 << 20
};

/* The CPU that records of a stream without a CPU have. */
#define NO_CPU ((uint16_t)SPEX_TRACE_CPU_NONE)

/* What was written: `reserved` of a record is the number of its process. */
static struct {
    struct spex_trace *traces[PROCESSES];
    struct spex_trace_disk disk;
    struct spex_record records[MOST];
    size_t count;
    uint64_t lost[PROCESSES];
    uint64_t begin, now, begin_ns, seed;
} written;

static int process_number(unsigned process) {
    return 100 + (int)process;
}

static void write_begin(unsigned processes, uint64_t rotate_bytes, uint64_t keep) {
    static const struct spex_stream_site site = {
        .probe_id = 1, .probe_type = SPEX_LAT, .name = "query", .provider = "lib", .values = 1};
    struct spex_error error;
    spex_trace_clock_begin();
    memset(&written.disk, 0, sizeof(written.disk));
    written.disk.keep = keep;
    written.count = 0;
    written.begin_ns = spex_clock_ns(CLOCK_REALTIME);
    written.begin = written.now = spex_ticks();
    for (unsigned p = 0; p < processes; p++) {
        const struct spex_trace_options options = {.directory = folder,
                                                   .program = "a/program",
                                                   .process_id = process_number(p),
                                                   .whole = p == 1,
                                                   .limits.rotate_bytes = rotate_bytes,
                                                   .disk = &written.disk};
        assert_int_equal(spex_trace_open(&options, &written.traces[p], &error), 0);
        spex_trace_sites(written.traces[p], &site, 1);
        written.lost[p] = 0;
    }
}

static void write_end(unsigned processes) {
    for (unsigned p = 0; p < processes; p++) {
        spex_trace_end(written.traces[p]);
        assert_int_equal(spex_trace_error(written.traces[p]), 0);
        assert_int_equal(spex_trace_totals(written.traces[p]).lost, written.lost[p]);
        spex_trace_free(written.traces[p]);
    }
    spex_trace_disk_free(&written.disk);
}

static uint64_t any_width(void) {
    return random_next(&written.seed) >> random_below(&written.seed, 64);
}

/* Most records are alike, as those of a program; others have any figures. */
static struct spex_record record_make(unsigned type, uint16_t cpu) {
    uint32_t of = spex_probe_type_of_ring(type);
    bool first = spex_probe_type_first_value(of);
    struct spex_record record = {
        .timestamp = written.now,
        .probe_type = of,
        .probe_id = (uint16_t)(1 + random_below(&written.seed, 3)),
        .cpu_id = cpu,
        .thread_id = random_below(&written.seed, 20) ? 7u : (uint32_t)any_width(),
        .weight = random_below(&written.seed, 8) ? 1 : (uint32_t)any_width(),
        .marks = random_below(&written.seed, 8)
                     ? 0
                     : (uint8_t)random_below(&written.seed, 1 << SPEX_MARKS)};
    unsigned values = spex_probe_type_values(of);
    if (values == SPEX_MAX_FIELDS)
        values = 1 + (unsigned)random_below(&written.seed, SPEX_MAX_FIELDS);
    record.field_count = (uint8_t)(first + values);
    record.fields[0] = record.weight;
    for (unsigned v = 0; v < values; v++)
        record.fields[first + v] = any_width();
    return record;
}

/* Notes records as they are to be read. */
static void expect_later(unsigned process, const struct spex_record *records, size_t count,
                         bool late) {
    assert_true(written.count + count <= MOST);
    for (size_t r = 0; r < count; r++) {
        struct spex_record *record = &written.records[written.count++];
        *record = records[r];
        record->reserved = (uint8_t)process;
        if (late || record->cpu_id >= 1024)
            record->cpu_id = NO_CPU;
    }
}

/* A batch of one ring, whose times no other one's equal; some are behind a loss. */
static void batch_write(unsigned process, unsigned type, uint16_t cpu, size_t most) {
    struct spex_trace *trace = written.traces[process];
    struct spex_record apart[BATCH], *batch = apart;
    size_t count = random_below(&written.seed, most + 1);
    if (random_below(&written.seed, 2))
        batch = spex_trace_room(trace, cpu, count);
    assert_true(batch || !count);
    for (size_t r = 0; r < count; r++) {
        written.now += 1 + random_below(&written.seed, 5000);
        batch[r] = record_make(type, cpu);
    }
    if (count && random_below(&written.seed, 10) == 0) {
        batch[0].lost = (uint32_t)any_width() >> 4;
        batch[0].gap = 1;
        written.lost[process] += batch[0].lost;
        spex_trace_lost(trace, written.lost[process]);
    }
    expect_later(process, batch, count, false);
    spex_trace_records(trace, batch, count);
}

static void pass_write(unsigned processes, size_t most) {
    static const uint16_t cpus[CPUS] = {0, 1, 2, 1023, 1024};
    uint64_t from = written.now;
    for (unsigned process = 0; process < processes; process++)
        for (unsigned type = 0; type < TYPES; type++)
            batch_write(process, type, cpus[random_below(&written.seed, CPUS)], most);
    assert_true(written.now >= from);
    for (unsigned process = 0; process < processes; process++)
        spex_trace_pass(written.traces[process], written.now + 1);
}

static int by_time(const void *a, const void *b) {
    const struct spex_record *one = a, *other = b;
    return (one->timestamp > other->timestamp) - (one->timestamp < other->timestamp);
}

/* The number that the next descriptor gets. */
static int next_descriptor(void) {
    int fd = dup(STDERR_FILENO);
    close(fd);
    return fd;
}

/* Opening leaves no descriptor open. */
static struct spex_recording *recording_open(void) {
    struct spex_recording *trace;
    struct spex_error error = {""};
    int descriptor = next_descriptor();
    if (spex_recording_open(folder, &trace, &error) != 0)
        fail_msg("%s", error.text);
    if (trace->problems.count)
        fail_msg("%s", trace->problems.kept[0].text);
    assert_int_equal(next_descriptor(), descriptor);
    qsort(written.records, written.count, sizeof(*written.records), by_time);
    return trace;
}

static void expect_written(const struct spex_recording_event *event, const struct spex_record *is) {
    const struct spex_record *record = &event->record;
    assert_int_equal(event->process->process_id, process_number(is->reserved));
    assert_string_equal(event->process->program, "a_program");
    assert_int_equal(event->class->probe_id, is->probe_id);
    assert_int_equal(event->class->probe_type, is->probe_type);
    assert_int_equal(record->timestamp, is->timestamp);
    assert_int_equal(record->probe_type, is->probe_type);
    assert_int_equal(record->probe_id, is->probe_id);
    assert_int_equal(record->cpu_id, is->cpu_id);
    assert_int_equal(record->thread_id, is->thread_id);
    assert_int_equal(record->weight, is->weight);
    assert_int_equal(record->marks, is->marks);
    assert_int_equal(record->lost, is->lost);
    assert_int_equal(record->gap, is->gap);
    assert_int_equal(record->field_count, is->field_count);
    assert_memory_equal(record->fields, is->fields, is->field_count * sizeof(is->fields[0]));
}

/* Expects the records from <= time < to, and no other; the reader goes through all of its bytes. */
static void expect_between(struct spex_recording *trace, uint64_t from, uint64_t to) {
    struct spex_recording_event event;
    struct spex_error error = {""};
    spex_recording_limit(trace, from, to);
    for (size_t r = 0; r < written.count; r++) {
        if (written.records[r].timestamp < from || written.records[r].timestamp >= to)
            continue;
        if (spex_recording_next(trace, &event, &error) != 1)
            fail_msg("no record %zu: %s", r, error.text);
        expect_written(&event, &written.records[r]);
    }
    assert_int_equal(spex_recording_next(trace, &event, &error), 0);
    assert_int_equal(trace->problems.count, 0);
}

TEST_WITH(all_is_read_as_it_was_written, folder_begin, folder_end) {
    write_begin(1, 0, 0);
    for (unsigned p = 0; p < PASSES; p++)
        pass_write(1, p % 7 ? 5 : BATCH);
    write_end(1);
    struct spex_recording *trace = recording_open();
    assert_int_equal(trace->process_count, 1);
    assert_int_equal(trace->removed_until, 0);
    expect_between(trace, 0, UINT64_MAX);
    assert_int_equal(trace->bytes_given, trace->bytes);
    assert_int_equal(trace->processes[0].discarded, written.lost[0]);
    assert_int_equal(spex_recording_process_lost(&trace->processes[0]), written.lost[0]);
    spex_recording_close(trace);
}

/* Times of more than 32 bits between two events of a stream. */
TEST_WITH(long_pauses_are_read, folder_begin, folder_end) {
    write_begin(1, 0, 0);
    for (unsigned p = 0; p < PASSES; p++) {
        pass_write(1, 3);
        written.now += UINT64_C(1) << (10 + p);
    }
    write_end(1);
    struct spex_recording *trace = recording_open();
    expect_between(trace, 0, UINT64_MAX);
    spex_recording_close(trace);
}

/* Files of one write each, and any limits of time, over again in one reader. */
TEST_WITH(processes_are_merged, folder_begin, folder_end) {
    write_begin(PROCESSES, 16384, 0);
    for (unsigned p = 0; p < PASSES; p++)
        pass_write(PROCESSES, 60);
    write_end(PROCESSES);
    struct spex_recording *trace = recording_open();
    assert_int_equal(trace->process_count, PROCESSES);
    for (unsigned p = 0; p < PROCESSES; p++) {
        assert_int_equal(trace->processes[p].process_id, process_number(p));
        assert_int_equal(trace->processes[p].journal.anchors[0].whole, p == 1);
        assert_int_equal(spex_recording_process_lost(&trace->processes[p]), written.lost[p]);
    }
    expect_between(trace, 0, UINT64_MAX);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t from = written.records[random_below(&written.seed, written.count)].timestamp;
        uint64_t to = written.records[random_below(&written.seed, written.count)].timestamp;
        expect_between(trace, from, to + random_below(&written.seed, 2));
    }
    spex_recording_close(trace);
}

/* Expects those of LAT's probe 1, which alone has a site, of all processes. */
static void expect_wanted(struct spex_recording *trace, const char *wanted, bool any) {
    struct spex_recording_event event;
    struct spex_selection selection;
    struct spex_error error = {""};
    assert_int_equal(spex_selection_parse(wanted, &selection, &error), 0);
    spex_recording_want(trace, &selection);
    spex_selection_free(&selection);
    spex_recording_limit(trace, 0, UINT64_MAX);
    for (size_t r = 0; r < written.count && any; r++) {
        if (written.records[r].probe_type != SPEX_LAT || written.records[r].probe_id != 1)
            continue;
        assert_int_equal(spex_recording_next(trace, &event, &error), 1);
        expect_written(&event, &written.records[r]);
        assert_string_equal(event.class->site->name, "query");
    }
    assert_int_equal(spex_recording_next(trace, &event, &error), 0);
}

TEST_WITH(what_is_not_wanted_is_left_out, folder_begin, folder_end) {
    write_begin(PROCESSES, 0, 0);
    for (unsigned p = 0; p < PASSES; p++)
        pass_write(PROCESSES, 20);
    write_end(PROCESSES);
    struct spex_recording *trace = recording_open();
    expect_wanted(trace, "*", true);
    expect_wanted(trace, "other", false);
    expect_wanted(trace, "query:lat", true);
    spex_recording_close(trace);
}

/* Records that come after the watermark has passed them have no CPU, and are in order. */
TEST_WITH(late_records_are_read_in_order, folder_begin, folder_end) {
    write_begin(1, 0, 0);
    uint64_t from = written.now;
    written.now += 1000000;
    struct spex_record in_time = record_make(1, 1);
    expect_later(0, &in_time, 1, false);
    spex_trace_records(written.traces[0], &in_time, 1);
    for (unsigned p = 0; p < PASSES; p++) {
        pass_write(1, 20);
        struct spex_record late = record_make(1, 1);
        late.timestamp = from + 1000 - p % 4 * 100 - p;
        expect_later(0, &late, 1, true);
        spex_trace_records(written.traces[0], &late, 1);
    }
    write_end(1);
    struct spex_recording *trace = recording_open();
    expect_between(trace, 0, UINT64_MAX);
    spex_recording_close(trace);
}

/* In a room that is bounded, all records are there from the time on of which the reader says so. */
TEST_WITH(what_is_left_is_whole, folder_begin, folder_end) {
    write_begin(1, 0, KEEP);
    for (unsigned p = 0; p < 3 * PASSES; p++)
        pass_write(1, BATCH);
    assert_true(written.disk.removed > 0 && written.disk.bytes <= KEEP);
    write_end(1);
    struct spex_recording *trace = recording_open();
    assert_true(trace->removed_until > written.begin && trace->removed_until < written.now);
    expect_between(trace, trace->removed_until, UINT64_MAX);
    spex_recording_close(trace);
}

static void expect_profile(const struct spex_recording_process *process, size_t number,
                           uint64_t produced) {
    struct spex_profile profile;
    struct spex_error error = {""};
    int descriptor = next_descriptor();
    if (spex_journal_profile(&process->journal, number, &profile, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(next_descriptor(), descriptor);
    assert_int_equal(profile.process.produced, produced);
    assert_string_equal(profile.process.command, "a_program");
    assert_int_equal(profile.row_count, 1);
    assert_int_equal(profile.rows[0].probe.probe_id, 1);
    assert_true(profile.rows[0].probe.count == 5);
    spex_profile_free(&profile);
}

/* Sites, contexts, marks, profiles and the clock. */
TEST_WITH(the_journal_is_read_as_it_was_written, folder_begin, folder_end) {
    static const struct spex_stream_site sites[] = {
        {.probe_id = 4, .probe_type = SPEX_CNT, .name = "other", .provider = "app", .line = 77},
        {.probe_id = 5,
         .probe_type = SPEX_KERNEL,
         .name = "sort",
         .provider = "lib",
         .parameters = "n, m",
         .values = 2}};
    static const struct spex_stream_context contexts[] = {
        {2, 1, 5}, {3, 2, 5}, {7, 3, 5}, {SPEX_CONTEXTS_MAX, 7, 5}};
    struct spex_context_node node;
    write_begin(1, 0, 0);
    spex_trace_sites(written.traces[0], sites, COUNT_OF(sites));
    spex_trace_contexts(written.traces[0], contexts, COUNT_OF(contexts));
    for (unsigned p = 0; p < 3; p++) {
        static struct made frames;
        const struct spex_profile_process process = {
            .process_id = 100, .produced = p, .command = "a_program"};
        const struct spex_profile_probe probe = {.probe_id = 1, .probe_type = SPEX_LAT, .count = 5};
        frames.count = 0;
        made_profile_frames(&frames, &process, &probe);
        spex_trace_profile(written.traces[0], frames.bytes, frames.count);
    }
    pass_write(1, 5);
    spex_trace_mark(written.traces[0], 99, "something happened");
    written.lost[0] += 1000;
    spex_trace_lost(written.traces[0], written.lost[0]);
    spex_trace_lost(written.traces[0], 1); /* which is known already */
    write_end(1);
    struct spex_recording *trace = recording_open();
    const struct spex_recording_process *process = &trace->processes[0];
    const struct spex_journal *of = &process->journal;
    assert_int_equal(of->site_count, 1 + COUNT_OF(sites));
    assert_memory_equal(&of->sites[1], sites, sizeof(sites));
    struct spex_kernels_known kernels = spex_recording_kernels(process);
    for (uint32_t number = 2; number < 9; number++) {
        bool is = number == 2 || number == 3 || number == 7;
        assert_int_equal(kernels.node(kernels.by, number, &node), is);
        assert_true(!is || (node.kernel == 5 && node.parent == (number == 7 ? 3 : number - 1)));
    }
    assert_true(kernels.node(kernels.by, SPEX_CONTEXTS_MAX, &node) && node.parent == 7);
    assert_false(kernels.node(kernels.by, SPEX_CONTEXTS_MAX + 1, &node));
    assert_int_equal(of->profile_count, 3);
    for (unsigned p = 0; p < 3; p++)
        expect_profile(process, p, p);
    assert_int_equal(of->mark_count, 1);
    assert_int_equal(of->marks[0].ticks, 99);
    assert_string_equal(of->marks[0].text, "something happened");
    assert_int_equal(spex_recording_process_lost(process), written.lost[0]);
    assert_int_equal(process->discarded, written.lost[0]);
    expect_between(trace, 0, UINT64_MAX);
    spex_recording_close(trace);
}

/* By the anchors of the journal, or by the metadata: within 1 % as another reading of the clocks. */
TEST_WITH(times_are_those_of_the_wall_clock, folder_begin, folder_end) {
    struct spex_instant begin = spex_instant_now();
    write_begin(1, 0, 0);
    pass_write(1, 50);
    write_end(1);
    double rate = spex_tick_rate_since(begin);
    uint64_t end_ns = spex_clock_ns(CLOCK_REALTIME);
    struct spex_recording *trace = recording_open();
    assert_true(trace->ticks_per_second > rate * 0.99 && trace->ticks_per_second < rate * 1.01);
    assert_true(trace->begin_realtime_ns + 1000000 > written.begin_ns);
    assert_true(trace->begin_realtime_ns < end_ns + 1000000);
    assert_true(trace->begin >= written.begin && trace->end >= trace->begin);
    spex_recording_close(trace);
}

/* The uuid in a trace's metadata. */
static void uuid_read(unsigned process, uint8_t uuid[SPEX_TRACE_UUID_BYTES]) {
    char path[128], text[4096];
    snprintf(path, sizeof(path), "%s/metadata", spex_trace_directory(written.traces[process]));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    fclose(file);
    const char *at = strstr(text, "uuid = \"");
    assert_non_null(at);
    at += strlen("uuid = \"");
    for (unsigned b = 0; b < SPEX_TRACE_UUID_BYTES; b++, at += 2) {
        at += *at == '-';
        assert_int_equal(sscanf(at, "%2hhx", &uuid[b]), 1);
    }
    assert_int_equal(*at, '"');
}

/* Random ones of version 4, as RFC 4122 has them. */
TEST_WITH(traces_have_uuids_of_their_own, folder_begin, folder_end) {
    enum { TRACES = 30, DIFFERENT = 3 };
    static uint8_t uuids[TRACES][SPEX_TRACE_UUID_BYTES];
    for (unsigned t = 0; t < TRACES; t++) {
        write_begin(1, 0, 0);
        uuid_read(0, uuids[t]);
        write_end(1);
        assert_int_equal(uuids[t][6] >> 4, 4);
        assert_int_equal(uuids[t][8] >> 6, 2);
    }
    for (unsigned b = 0; b < SPEX_TRACE_UUID_BYTES; b++) {
        unsigned different = 0;
        bool seen[256] = {false};
        for (unsigned t = 0; t < TRACES; t++) {
            different += !seen[uuids[t][b]];
            seen[uuids[t][b]] = true;
        }
        assert_true(different >= DIFFERENT);
    }
}
