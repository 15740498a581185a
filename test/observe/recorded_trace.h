/* SPDX-License-Identifier: MIT */
/* A trace with known records, of two CPUs, that is made byte by byte. */
#ifndef SPEX_TEST_RECORDED_TRACE_H
#define SPEX_TEST_RECORDED_TRACE_H

#include "made_trace.h"
#include "trace/read/recording.h"
#include "trace_folder.h"

static struct made journal, streams[2];

static inline void streams_write(void) {
    made_folder(folder, &journal);
    made_write(folder, "cpu_0_0", streams[0].bytes, streams[0].count);
    made_write(folder, "cpu_1_0", streams[1].bytes, streams[1].count);
}

/* Two packets of one CPU, the first of which another CPU's overlaps. */
static inline void records_make(void) {
    static const uint32_t seven = 7, kernel[] = {11, 2, 33};
    static const uint64_t large = UINT64_C(5) << 32, small = 9;
    size_t at = packet_begin(&streams[0], 100, 400, 0, 1);
    event_compact(&streams[0], MADE_LAT, 100, &seven, 1);
    event_full(&streams[0], MADE_LAT, 300, 3, 0, &large, 1);
    event_compact(&streams[0], MADE_KERNEL, 400, kernel, 3);
    packet_end(&streams[0], at, 16);
    at = packet_begin(&streams[0], 600, 1700, 0, 2);
    event_compact(&streams[0], MADE_LAT, 600, &seven, 1);
    event_compact(&streams[0], MADE_LAT, 1100, &seven, 1);
    event_compact(&streams[0], MADE_LAT, 1700, &seven, 1);
    packet_end(&streams[0], at, 0);
    at = packet_begin(&streams[1], 200, 500, 1, 1);
    event_full(&streams[1], MADE_CNT, 200, 40, 0, NULL, 0);
    event_full(&streams[1], MADE_LAT, 500, 1, 4, &small, 1);
    packet_end(&streams[1], at, 0);
}

/* What records_make() makes, in the order of time. */
static const struct known {
    unsigned ms, cpu, weight, lost;
    uint32_t type;
    uint16_t id;
    uint8_t fields;
    uint64_t field[3];
} known[] = {{100, 0, 1, 0, SPEX_LAT, 1, 1, {7}},
             {200, 1, 40, 0, SPEX_CNT, 3, 1, {40}},
             {300, 0, 3, 0, SPEX_LAT, 1, 1, {UINT64_C(5) << 32}},
             {400, 0, 1, 0, SPEX_KERNEL, 2, 3, {11, 2, 33}},
             {500, 1, 1, 4, SPEX_LAT, 1, 1, {9}},
             {600, 0, 1, 0, SPEX_LAT, 1, 1, {7}},
             {1100, 0, 1, 0, SPEX_LAT, 1, 1, {7}},
             {1700, 0, 1, 0, SPEX_LAT, 1, 1, {7}}};

static inline void trace_make(void) {
    journal.count = streams[0].count = streams[1].count = 0;
    made_journal(&journal);
    made_anchor(&journal, 50);
    made_anchor(&journal, 1050);
    made_anchor(&journal, 900); /* goes back, and is left out */
    made_anchor(&journal, 2050);
    made_lost(&journal, 700, 3);
    made_lost(&journal, 2150, 12);
    made_timed(&journal, SPEX_JOURNAL_MARK, MADE_AT(350), "a \x1bmark", 7);
    records_make();
    streams_write();
}

static inline struct spex_recording *trace_open(void) {
    struct spex_recording *trace;
    struct spex_error error = {""};
    if (spex_recording_open(folder, &trace, &error) != 0)
        fail_msg("%s", error.text);
    return trace;
}

static inline void expect_record(const struct spex_recording_event *event, const struct known *is) {
    const struct spex_record *record = &event->record;
    bool full = is->weight != 1 || is->lost || is->field[0] > UINT32_MAX;
    assert_int_equal(record->timestamp, MADE_AT(is->ms));
    assert_int_equal(record->cpu_id, is->cpu);
    assert_int_equal(record->thread_id, 100 + is->ms);
    assert_int_equal(record->weight, is->weight);
    assert_int_equal(record->lost, is->lost);
    assert_int_equal(record->gap, is->lost != 0);
    assert_int_equal(record->marks, full ? SPEX_MARK_DRAWN : 0);
    assert_int_equal(record->probe_type, is->type);
    assert_int_equal(record->probe_id, is->id);
    assert_int_equal(record->field_count, is->fields);
    for (unsigned f = 0; f < is->fields; f++)
        assert_int_equal(record->fields[f], is->field[f]);
    assert_int_equal(event->class->probe_id, is->id);
    assert_int_equal(event->class->probe_type, is->type);
}

/* Expects the records from `first` on. */
static inline void expect_records(struct spex_recording *trace, unsigned first, unsigned count) {
    struct spex_recording_event event;
    struct spex_error error = {""};
    for (unsigned r = first; r < first + count; r++) {
        assert_int_equal(spex_recording_next(trace, &event, &error), 1);
        assert_ptr_equal(event.process, &trace->processes[0]);
        expect_record(&event, &known[r]);
    }
    assert_int_equal(spex_recording_next(trace, &event, &error), 0);
}

/* Reads all that is left. */
static inline unsigned records_left(struct spex_recording *trace) {
    struct spex_recording_event event;
    struct spex_error error;
    unsigned left = 0;
    while (spex_recording_next(trace, &event, &error) == 1)
        left++;
    return left;
}

#endif
