/* SPDX-License-Identifier: MIT */
/* Damaged traces read back: what is whole is given, and what is not is told. */
#include <errno.h>

#include "recorded_trace.h"

/* Changes bytes of the first packet's head. */
static void head_set(size_t offset, const void *bytes, size_t count) {
    memcpy(streams[0].bytes + offset, bytes, count);
}

#define HEAD_SET(member, value)                                                                    \
    do {                                                                                           \
        __typeof__(((struct spex_trace_packet *)NULL)->member) set_ = (value);                     \
        head_set(offsetof(struct spex_trace_packet, member), &set_, sizeof(set_));                 \
    } while (0)

/* Expects the records but for the first packet's, and what is said of that. */
static void expect_packet_left_out(const char *why) {
    streams_write();
    struct spex_recording *trace = trace_open();
    assert_int_equal(trace->problems.count, 1);
    if (!strstr(trace->problems.kept[0].text, why))
        fail_msg("%s", trace->problems.kept[0].text);
    assert_int_equal(records_left(trace), 5);
    spex_recording_close(trace);
    streams[0].count = streams[1].count = 0;
    records_make();
}

TEST_WITH(damaged_packets_are_told_and_left_out, folder_begin, folder_end) {
    trace_make();
    HEAD_SET(magic, __builtin_bswap32(SPEX_TRACE_MAGIC));
    expect_packet_left_out("at byte 0 of 282: it was written on a machine of another byte order; "
                           "160 bytes are left out");
    HEAD_SET(magic, 1);
    expect_packet_left_out("the beginning of a packet was expected");
    HEAD_SET(uuid[3], 99);
    expect_packet_left_out("the packet has the uuid of another trace");
    HEAD_SET(stream_id, 1);
    expect_packet_left_out("the packet is of another class of streams");
    HEAD_SET(content_bits, 8 * 160 + 8);
    expect_packet_left_out("the packet's size is impossible");
    HEAD_SET(content_bits, 8 * sizeof(struct spex_trace_packet) - 8);
    expect_packet_left_out("the packet's size is impossible");
    HEAD_SET(content_bits, 8 * 144 + 1);
    expect_packet_left_out("the packet's size is impossible");
    HEAD_SET(packet_bits, 8 * 160 + 1);
    expect_packet_left_out("the packet's size is impossible");
    HEAD_SET(packet_bits, UINT64_C(8) << 32);
    expect_packet_left_out("the packet's size is impossible");
    HEAD_SET(packet_bits, 8 * 283);
    expect_packet_left_out("the last packet is cut off");
    HEAD_SET(end, MADE_AT(99));
    expect_packet_left_out("the packet ends before it begins");
}

/* The next packet is found wherever it begins, in many blocks. */
TEST_WITH(packets_behind_garbage_are_found, folder_begin, folder_end) {
    for (size_t garbage = (1 << 16) - 25; garbage < (1 << 16) + 4; garbage++) {
        trace_make();
        static const unsigned char zeros[(1 << 16) + 4];
        char path[128];
        snprintf(path, sizeof(path), "%s/cpu_0_0", folder);
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, zeros, garbage), garbage);
        assert_int_equal(write(fd, streams[0].bytes, streams[0].count), streams[0].count);
        close(fd);
        struct spex_recording *trace = trace_open();
        assert_int_equal(trace->problems.count, 1);
        expect_records(trace, 0, COUNT_OF(known));
        spex_recording_close(trace);
    }
}

/* A file that has 8 TB of nothing, before a packet and behind the last one. */
TEST_WITH(holes_are_not_searched, folder_begin, folder_end) {
    const off_t far = (off_t)1 << 43;
    char path[128];
    trace_make();
    snprintf(path, sizeof(path), "%s/cpu_0_0", folder);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    ssize_t written = pwrite(fd, streams[0].bytes, streams[0].count, far);
    bool possible = written == (ssize_t)streams[0].count && ftruncate(fd, far + far / 2) == 0;
    close(fd);
    if (!possible)
        skip(); /* not on this file system */
    struct spex_recording *trace = trace_open();
    assert_int_equal(trace->problems.count, 2);
    expect_records(trace, 0, COUNT_OF(known));
    spex_recording_close(trace);
}

TEST_WITH(missing_packets_are_told, folder_begin, folder_end) {
    trace_make();
    HEAD_SET(number, 0);
    streams_write();
    struct spex_recording *trace = trace_open();
    assert_int_equal(trace->problems.count, 1);
    assert_non_null(
        strstr(trace->problems.kept[0].text, "at byte 160: packet 1 was expected, this is 2"));
    expect_records(trace, 0, COUNT_OF(known));
    spex_recording_close(trace);
}

/* The end of a trace without an end is no damage, as its writer may still write. */
static void expect_cut_packets(bool finished) {
    for (size_t cut = 1; cut <= 122; cut++) {
        streams_write();
        made_write(folder, "cpu_0_0", streams[0].bytes, streams[0].count - cut);
        struct spex_recording *trace = trace_open();
        assert_int_equal(trace->processes[0].journal.finished, finished);
        assert_int_equal(trace->problems.count, finished && cut < 122);
        assert_int_equal(records_left(trace), 5);
        spex_recording_close(trace);
    }
}

TEST_WITH(a_packet_may_be_cut_off, folder_begin, folder_end) {
    journal.count = streams[0].count = streams[1].count = 0;
    made_journal(&journal);
    records_make();
    expect_cut_packets(false);
    made_anchor(&journal, 2200);
    made_lost(&journal, 2200, 0);
    expect_cut_packets(true);
}

/* Of a packet with one damaged event, what lies before it is read. */
static void expect_event_damaged(const struct made *stream, unsigned count, const char *why) {
    made_write(folder, "cpu_0_0", stream->bytes, stream->count);
    struct spex_recording *trace = trace_open();
    assert_int_equal(records_left(trace), count);
    assert_int_equal(trace->problems.count, 1);
    if (!strstr(trace->problems.kept[0].text, why))
        fail_msg("%s", trace->problems.kept[0].text);
    spex_recording_close(trace);
}

TEST_WITH(damaged_events_are_told, folder_begin, folder_end) {
    static const uint32_t value = 5;
    static const char few[9];
    static struct made stream;
    journal.count = 0;
    made_journal(&journal);
    made_folder(folder, &journal);
    size_t at = packet_begin(&stream, 100, 400, 0, 0);
    event_compact(&stream, MADE_LAT, 100, &value, 1);
    size_t behind = stream.count;
    made_put(&stream, few, sizeof(few));
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "at byte 94: an event is cut off; 9 bytes of the packet");
    stream.count = behind;
    event_compact(&stream, MADE_LAT, 200, &value, 1);
    stream.count--;
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "an event is cut off; 13 bytes");
    stream.count = behind;
    event_compact(&stream, MADE_UNKNOWN, 200, &value, 1);
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "the event's class is not in the journal");
    stream.count = behind;
    event_compact(&stream, MADE_CLASSES, 200, &value, 1);
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "the event's class is not in the journal");
    stream.count = behind;
    event_compact(&stream, MADE_LAT, 401, &value, 1);
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "the event's time is behind its packet's end");
    stream.count = behind;
    event_long(&stream, MADE_LAT, 99, &value, 1);
    packet_end(&stream, at, 0);
    expect_event_damaged(&stream, 1, "the event's time is before the last one's");
    /* A file that becomes shorter behind its index. */
    stream.count = behind;
    packet_end(&stream, at, 0);
    made_write(folder, "cpu_0_0", stream.bytes, stream.count);
    struct spex_recording *trace = trace_open();
    struct spex_recording_event event;
    struct spex_error error;
    made_write(folder, "cpu_0_0", stream.bytes, stream.count - 1);
    assert_int_equal(spex_recording_next(trace, &event, &error), 0);
    assert_int_equal(trace->problems.count, 1);
    assert_non_null(strstr(trace->problems.kept[0].text, "a packet cannot be read: No data"));
    spex_recording_close(trace);
}

/* What is behind a damaged frame is not read; what is before it is. */
static void expect_journal_ends(const char *why) {
    static const struct spex_stream_context context = {5, 1, 2};
    made_frame(&journal, SPEX_JOURNAL_CONTEXTS, &context, 1, sizeof(context));
    made_folder(folder, &journal);
    struct spex_recording *trace = trace_open();
    struct spex_kernels_known kernels = spex_recording_kernels(&trace->processes[0]);
    struct spex_context_node node;
    assert_true(kernels.node(kernels.by, 2, &node));
    assert_int_equal(kernels.node(kernels.by, 5, &node), !why);
    assert_int_equal(trace->problems.count, why != NULL);
    if (why && !strstr(trace->problems.kept[0].text, why))
        fail_msg("%s", trace->problems.kept[0].text);
    spex_recording_close(trace);
    journal.count = 0;
    made_journal(&journal);
}

static void expect_malformed(uint16_t kind, const void *entry, size_t bytes) {
    made_frame(&journal, kind, entry, 1, bytes);
    expect_journal_ends("the frame is malformed; what follows is not read");
}

TEST_WITH(damaged_journals_are_read_up_to_the_damage, folder_begin, folder_end) {
    struct spex_journal_header head = {.magic = SPEX_JOURNAL_MAGIC,
                                       .version = SPEX_JOURNAL_VERSION,
                                       .kind = SPEX_JOURNAL_LOST,
                                       .count = 1,
                                       .entry_bytes = 16};
    struct spex_stream_site site = {.probe_type = SPEX_LAT | SPEX_CNT};
    static const struct spex_stream_context contexts[] = {
        {1, 1, 2}, {4, 0, 2}, {4, 4, 2}, {SPEX_CONTEXTS_MAX + 1, 1, 2}, {4, 3, UINT16_MAX + 1}};
    static const struct spex_journal_event classes[] = {
        {.class = SPEX_TRACE_CLASSES_MAX, .values = 1, .probe_type = SPEX_LAT, .id = 20},
        {.class = 6, .values = 65, .probe_type = SPEX_LAT, .id = 20},
        {.class = 6, .values = 1, .id = 20},
        {.class = 6, .values = 1, .probe_type = SPEX_LAT, .id = SPEX_TRACE_EVENTS_MAX},
        {.class = 6, .probe_type = SPEX_LAT, .id = 20, .layout = SPEX_TRACE_LAYOUTS},
        {.class = MADE_LAT, .probe_id = 2, .values = 1, .probe_type = SPEX_LAT, .id = 20},
        {.class = MADE_LAT, .probe_id = 1, .values = 2, .probe_type = SPEX_LAT, .id = 20},
        {.class = MADE_LAT, .probe_id = 1, .values = 1, .probe_type = SPEX_TPT, .id = 20}};
    journal.count = 0;
    made_journal(&journal);
    expect_journal_ends(NULL);
    head.kind = 99; /* of a later release */
    made_frame(&journal, head.kind, "abc", 1, 3);
    expect_journal_ends(NULL);
    made_frame(&journal, 0, "abc", 1, 3);
    expect_journal_ends(NULL);
    head.magic++;
    made_put(&journal, &head, sizeof(head));
    expect_journal_ends("the beginning of a frame was expected");
    head.magic--;
    head.version++;
    made_put(&journal, &head, sizeof(head));
    expect_journal_ends("the frame is of another version of the format");
    head.version--;
    head.count = 1 << 23;
    made_put(&journal, &head, sizeof(head));
    expect_journal_ends("the frame is longer than any that is written");
    expect_malformed(SPEX_JOURNAL_SITES, &site, sizeof(site));
    for (unsigned c = 0; c < COUNT_OF(contexts); c++)
        expect_malformed(SPEX_JOURNAL_CONTEXTS, &contexts[c], sizeof(contexts[c]));
    for (unsigned c = 0; c < COUNT_OF(classes); c++)
        expect_malformed(SPEX_JOURNAL_EVENTS, &classes[c], sizeof(classes[c]));
    expect_malformed(SPEX_JOURNAL_MARK, "1234567", 7);
    expect_malformed(SPEX_JOURNAL_PROFILE, "1234567", 7);
}

/* Times that no clock of a trace reaches end at a bound. */
TEST_WITH(durations_have_a_bound, folder_begin, folder_end) {
    const uint64_t most = UINT64_C(9000000000000000000);
    trace_make();
    struct spex_recording *trace = trace_open();
    trace->ticks_per_second = 1e9;
    assert_int_equal(spex_recording_duration_ns(trace, 0), 0);
    assert_int_equal(spex_recording_duration_ns(trace, 1234567), 1234567);
    assert_int_equal(spex_recording_duration_ns(trace, UINT64_C(1) << 62), UINT64_C(1) << 62);
    assert_int_equal(spex_recording_duration_ns(trace, most + (most >> 4)), most);
    assert_int_equal(spex_recording_duration_ns(trace, UINT64_MAX), most);
    spex_recording_close(trace);
}

/* The first frame tells the layout of all. */
TEST_WITH(a_trace_of_another_layout_is_refused, folder_begin, folder_end) {
    struct spex_recording *trace;
    struct spex_error error;
    char expected[64];
    for (int more = -1; more <= 1; more += 2) {
        trace_make();
        journal.count = 0;
        made_journal(&journal);
        struct spex_journal_header head;
        memcpy(&head, journal.bytes, sizeof(head));
        head.version += (unsigned)more;
        memcpy(journal.bytes, &head, sizeof(head));
        made_folder(folder, &journal);
        assert_int_equal(spex_recording_open(folder, &trace, &error), -EPROTONOSUPPORT);
        snprintf(expected, sizeof(expected), "the trace has layout %u, and %u was expected",
                 head.version, SPEX_JOURNAL_VERSION);
        if (!strstr(error.text, expected))
            fail_msg("%s", error.text);
    }
    journal.count = 0;
    made_journal(&journal);
}

/* A frame that its writer has not written to the end, at each byte. */
TEST_WITH(torn_journals_are_read, folder_begin, folder_end) {
    journal.count = 0;
    made_journal(&journal);
    size_t whole = journal.count;
    made_lost(&journal, 100, 5);
    for (size_t bytes = whole + 1; bytes <= journal.count; bytes++) {
        made_folder(folder, &journal);
        made_write(folder, ".spex/journal", journal.bytes, bytes);
        struct spex_recording *trace = trace_open();
        bool torn = bytes < journal.count;
        assert_int_equal(trace->processes[0].journal.loss_count, !torn);
        assert_int_equal(trace->problems.count, 0);
        spex_recording_close(trace);
    }
}
