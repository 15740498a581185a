/* SPDX-License-Identifier: MIT */
/* Damaged frames, records and contexts: nothing that a program sends does more than end its
 * trial. */
#include <errno.h>

#include <spex/kernel.h>

#include "explore/trial/receiver.h"
#include "measure/in_order.h"
#include "receiver_stream.h"
#include "scratch.h"

struct damage {
    const char *what;
    bool hello; /* first an orderly one */
    struct spex_stream_header head;
    size_t bytes; /* behind the header; zeroes */
    const char *expected;
};

#define HEAD(...)                                                                                  \
    { .magic = SPEX_STREAM_MAGIC, .version = SPEX_STREAM_VERSION, .collectors = 2, __VA_ARGS__ }

static const struct damage damages[] = {
    {"magic",
     false,
     {.magic = 0x58455054, .version = SPEX_STREAM_VERSION, .kind = 1, .collectors = 2},
     0,
     "not spex's"},
    {"all zero", true, {0}, 0, "not spex's"},
    {"version 0",
     false,
     {.magic = SPEX_STREAM_MAGIC, .kind = 1, .collectors = 2},
     0,
     "stream version 0, this one 7"},
    {"version 8",
     true,
     {.magic = SPEX_STREAM_MAGIC, .version = 8, .kind = 4, .collectors = 2},
     0,
     "stream version 8, this one 7"},
    {"kind 0", true, HEAD(.kind = 0), 0, "malformed frame"},
    {"kind 11", true, HEAD(.kind = 11), 0, "malformed frame"},
    {"kind 65535", true, HEAD(.kind = 65535), 0, "malformed frame"},
    {"HELLO with a count", false, HEAD(.kind = SPEX_STREAM_HELLO, .count = 1), 0, "malformed fr"},
    {"HELLO with a tail", false, HEAD(.kind = SPEX_STREAM_HELLO), 1, "malformed frame"},
    {"DUMP without a request", true, HEAD(.kind = SPEX_STREAM_DUMP), 0, "malformed frame"},
    {"half a DUMP", true, HEAD(.kind = SPEX_STREAM_DUMP, .count = 1), 64, "malformed frame"},
    {"half of RINGS", true, HEAD(.kind = SPEX_STREAM_RINGS, .count = 1), 16, "malformed frame"},
    {"PASS with a count", true, HEAD(.kind = SPEX_STREAM_PASS, .count = 1), 0, "malformed frame"},
    {"END with a tail", true, HEAD(.kind = SPEX_STREAM_END), 88, "malformed frame"},
    {"no records", true, HEAD(.kind = SPEX_STREAM_RECORDS), 0, "malformed frame"},
    {"no sites", true, HEAD(.kind = SPEX_STREAM_SITES), 0, "malformed frame"},
    {"too few records", true, HEAD(.kind = SPEX_STREAM_RECORDS, .count = 2),
     sizeof(struct spex_record), "malformed frame"},
    {"too many records", true, HEAD(.kind = SPEX_STREAM_RECORDS, .count = 1),
     2 * sizeof(struct spex_record), "malformed frame"},
    {"half a record", true, HEAD(.kind = SPEX_STREAM_RECORDS, .count = 1),
     sizeof(struct spex_record) / 2, "malformed frame"},
    {"a count whose bytes are 0 in 32 bits", true,
     HEAD(.kind = SPEX_STREAM_RECORDS, .count = 1u << 29), 0, "malformed frame"},
    {"the largest count", true, HEAD(.kind = SPEX_STREAM_SITES, .count = UINT32_MAX),
     sizeof(struct spex_stream_site), "malformed frame"},
    {"PASS first", false, HEAD(.kind = SPEX_STREAM_PASS), 0, "out of order"},
    {"END first", false, HEAD(.kind = SPEX_STREAM_END), 0, "out of order"},
    {"records first", false, HEAD(.kind = SPEX_STREAM_RECORDS, .count = 1),
     sizeof(struct spex_record), "out of order"},
    {"sites first", false, HEAD(.kind = SPEX_STREAM_SITES, .count = 1),
     sizeof(struct spex_stream_site), "out of order"},
    {"two HELLOs", true, HEAD(.kind = SPEX_STREAM_HELLO), 0, "out of order"},
    {"no collectors",
     false,
     {.magic = SPEX_STREAM_MAGIC, .version = SPEX_STREAM_VERSION, .kind = 1},
     0,
     "out of order"},
    {"65 collectors",
     false,
     {.magic = SPEX_STREAM_MAGIC, .version = SPEX_STREAM_VERSION, .kind = 1, .collectors = 65},
     0,
     "out of order"},
    {"a collector of none", true, HEAD(.kind = SPEX_STREAM_PASS, .collector = 2), 0,
     "out of order"},
    {"the largest collector", true, HEAD(.kind = SPEX_STREAM_PASS, .collector = UINT32_MAX), 0,
     "out of order"},
    {"another number of collectors",
     true,
     {.magic = SPEX_STREAM_MAGIC,
      .version = SPEX_STREAM_VERSION,
      .kind = SPEX_STREAM_PASS,
      .collectors = 3},
     0,
     "out of order"},
    {"a record of zeroes", true, HEAD(.kind = SPEX_STREAM_RECORDS, .count = 1),
     sizeof(struct spex_record), "malformed record"},
};

TEST(damaged_frames) {
    static const char zeroes[4096];
    for (size_t d = 0; d < COUNT_OF(damages); d++) {
        struct stream stream;
        open_stream(&stream);
        if (damages[d].hello)
            send_kind(&stream, SPEX_STREAM_HELLO);
        send_frame(&stream, damages[d].head, zeroes, damages[d].bytes);
        expect_refusal(&stream, damages[d].what, damages[d].expected);
        close_stream(&stream);
    }
}

TEST(short_frames) {
    struct spex_stream_header head = header(SPEX_STREAM_HELLO, 0);
    for (size_t length = 1; length < sizeof(head); length++) {
        struct stream stream;
        open_stream(&stream);
        send_bytes(&stream, &head, length);
        expect_refusal(&stream, "short", "not spex's");
        close_stream(&stream);
    }
}

/* An empty packet cannot be told from a closed connection. */
TEST(empty_packet) {
    struct stream stream;
    open_stream(&stream);
    send_bytes(&stream, "", 0);
    take(&stream);
    assert_int_equal(program_fd(&stream), -1);
    assert_true(spex_receiver_ended(stream.receiver));
    close_stream(&stream);
}

/* The largest frame is taken whole, one record more is not taken at all. */
TEST(frame_sizes) {
    enum { MOST = SPEX_STREAM_ENTRIES_MAX(struct spex_record) };
    static struct {
        struct spex_stream_header head;
        struct spex_record records[MOST + 1];
    } frame;
    struct stream stream;
    size_t count;
    for (size_t r = 0; r <= MOST; r++)
        frame.records[r] = record(MOST - r);
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    frame.head = header(SPEX_STREAM_RECORDS, MOST);
    send_bytes(&stream, &frame, sizeof(frame) - sizeof(struct spex_record));
    take(&stream);
    const struct spex_record *records = spex_receiver_records(stream.receiver, true, &count);
    assert_int_equal(count, MOST);
    assert_int_equal(records[0].timestamp, 1);
    frame.head = header(SPEX_STREAM_RECORDS, MOST + 1);
    send_bytes(&stream, &frame, sizeof(frame));
    expect_refusal(&stream, "oversize", "malformed frame");
    close_stream(&stream);
}

TEST(damaged_records) {
    static const struct {
        const char *what;
        struct spex_record record;
    } cases[] = {
        {"no type", {.weight = 1}},
        {"two types", {.probe_type = SPEX_LAT | SPEX_CNT, .weight = 1}},
        {"the type after the last", {.probe_type = 1u << SPEX_PROBE_TYPES, .weight = 1}},
        {"an unknown mark", {.probe_type = SPEX_LAT, .weight = 1, .marks = 1 << SPEX_MARKS}},
        {"type 2^31", {.probe_type = 1u << 31, .weight = 1}},
        {"no weight", {.probe_type = SPEX_LAT}},
        {"a field too many",
         {.probe_type = SPEX_LAT, .weight = 1, .field_count = SPEX_MAX_FIELDS + 1}},
        {"255 fields", {.probe_type = SPEX_SNAPSHOT, .weight = 1, .field_count = 255}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_record records[3] = {record(1), cases[c].record, record(2)};
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_frame(&stream, header(SPEX_STREAM_RECORDS, 3), records, sizeof(records));
        expect_refusal(&stream, cases[c].what, "malformed record"); /* nor the two good ones */
        close_stream(&stream);
    }
}

/* Changes of a frame that is taken as it is. */
static void packed_damage(struct packed_frame *frame, unsigned number) {
    switch (number) {
    case 0:
        frame->words[1] = spex_pack(1, PACKED_NUMBER, PACKED_SITE + 1, 0); /* not told */
        break;
    case 1:
        frame->packed.probe_type = SPEX_SNAPSHOT; /* the site's is another */
        break;
    case 2:
        frame->words[4] = spex_pack(0, PACKED_NUMBER, PACKED_SITE, 0); /* no weight */
        break;
    case 3:
        frame->packed.words = 2; /* the site's value is not in it */
        break;
    case 4:
        frame->packed.cpu = SPEX_STREAM_NO_CPU;
        frame->packed.words = 4;
        frame->head.count = 1;
        frame->words[3] = UINT16_MAX + 1; /* the CPU */
        break;
    case 5:
        frame->packed.cpu = SPEX_STREAM_NO_CPU; /* the value's word is the CPU's */
        break;
    case 6:
        frame->packed.cpu = SPEX_STREAM_NO_CPU;
        frame->packed.words = 4;
        memmove(&frame->words[4], &frame->words[0], 3 * sizeof(frame->words[0]));
        frame->words[3] = 1;
        frame->words[7] = UINT16_MAX + 1; /* the CPU of one that differs in nothing else */
        break;
    default:
        fail();
    }
}

TEST(damaged_packed_records) {
    for (unsigned number = 0; number < 7; number++) {
        struct packed_frame frame = packed_frame();
        struct spex_error why = {""};
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_packed_site(&stream, SPEX_LAT, 1);
        packed_damage(&frame, number);
        send_packed(&stream, &frame);
        assert_int_equal(spex_receiver_take(stream.receiver, &why), -EPROTO);
        assert_string_equal(why.text, "the program's stream holds a malformed record");
        EXPECT_NONE(&stream, true);
        close_stream(&stream);
    }
}

/* Sites that cannot be: their records are not taken for anything. */
TEST(records_of_impossible_sites) {
    static const struct spex_stream_site sites[] = {
        {.index = PACKED_SITE, .probe_type = SPEX_LAT, .values = SPEX_MAX_FIELDS + 1},
        {.index = PACKED_SITE, .probe_type = SPEX_LAT, .values = UINT32_MAX},
        {.index = PACKED_SITE, .probe_type = SPEX_LAT | SPEX_CNT, .values = 1},
        {.index = PACKED_SITE, .probe_type = 0, .values = 1},
        {.index = PACKED_SITE + SPEX_MAX_SITES, .probe_type = SPEX_LAT, .values = 1},
        {.index = UINT32_MAX, .probe_type = SPEX_LAT, .values = 1},
    };
    for (size_t s = 0; s < COUNT_OF(sites); s++) {
        struct packed_frame frame = packed_frame();
        struct spex_error why = {""};
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_frame(&stream, header(SPEX_STREAM_SITES, 1), &sites[s], sizeof(sites[s]));
        send_packed(&stream, &frame);
        assert_int_equal(spex_receiver_take(stream.receiver, &why), -EPROTO);
        EXPECT_NONE(&stream, true);
        close_stream(&stream);
    }
}

/* What stands before packed records. */
TEST(damaged_packed_frames) {
    static const struct {
        const char *what;
        uint32_t count;
        struct spex_stream_packed packed;
        size_t bytes;
    } cases[] = {
        {"no records", 0, {.probe_type = SPEX_LAT, .words = 3}, 0},
        {"no words", 1, {.probe_type = SPEX_LAT}, 0},
        {"one word", 1, {.probe_type = SPEX_LAT, .words = 1}, 8},
        {"two words and a CPU's", 1, {SPEX_STREAM_NO_CPU, SPEX_CNT, .words = 2}, 16},
        {"a word too many",
         1,
         {.probe_type = SPEX_LAT, .words = SPEX_MAX_FIELDS + 3},
         8 * (SPEX_MAX_FIELDS + 3)},
        {"words whose bytes are 0 in 32 bits", 1, {.probe_type = SPEX_LAT, .words = 1u << 29}, 0},
        {"a count whose bytes are 0 in 32 bits", 1u << 28, {.probe_type = SPEX_CNT, .words = 2}, 0},
        {"no type", 1, {.words = 3}, 24},
        {"two types", 1, {.probe_type = SPEX_LAT | SPEX_TPT, .words = 3}, 24},
        {"the type after the last", 1, {.probe_type = 1u << SPEX_PROBE_TYPES, .words = 3}, 24},
        {"CPU 65536", 1, {.cpu = UINT16_MAX + 1, .probe_type = SPEX_LAT, .words = 3}, 24},
        {"half a record", 1, {.probe_type = SPEX_LAT, .words = 3}, 12},
        {"a record too few", 2, {.probe_type = SPEX_LAT, .words = 3}, 24},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct packed_frame frame = {.head = header(SPEX_STREAM_PACKED, cases[c].count),
                                     .packed = cases[c].packed};
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_bytes(&stream, &frame, offsetof(struct packed_frame, words) + cases[c].bytes);
        expect_refusal(&stream, cases[c].what, "malformed frame");
        close_stream(&stream);
    }
    for (size_t length = sizeof(struct spex_stream_header);
         length < offsetof(struct packed_frame, words); length++) {
        struct packed_frame frame = packed_frame();
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_bytes(&stream, &frame, length);
        expect_refusal(&stream, "cut", "malformed frame");
        close_stream(&stream);
    }
}

/* Also such as would make a circle of the tree. */
TEST(malformed_contexts) {
    static const struct spex_stream_context contexts[] = {
        {.number = 0, .parent = 1},          {.number = 1, .parent = 1},
        {.number = 2, .parent = 2},          {.number = 2, .parent = 3},
        {.number = 2, .parent = 0},          {.number = SPEX_CONTEXTS_MAX + 1, .parent = 1},
        {.number = UINT32_MAX, .parent = 1}, {.number = 2, .parent = 1, .kernel = 65536},
    };
    for (size_t c = 0; c < COUNT_OF(contexts); c++) {
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_frame(&stream, header(SPEX_STREAM_CONTEXTS, 1), &contexts[c], sizeof(contexts[c]));
        expect_refusal(&stream, "a context", "malformed context");
        close_stream(&stream);
    }
}

TEST(too_many_sites) {
    enum { MOST = SPEX_STREAM_ENTRIES_MAX(struct spex_stream_site) };
    static struct spex_stream_site all[MOST];
    struct stream stream;
    struct spex_error why = {""};
    size_t count, sent = 0;
    int err = 0;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    while (!err && sent < 100000) {
        send_frame(&stream, header(SPEX_STREAM_SITES, MOST), all, sizeof(all));
        sent += MOST;
        err = spex_receiver_take(stream.receiver, &why);
    }
    assert_int_equal(err, -EPROTO);
    assert_non_null(strstr(why.text, "too many sites"));
    spex_receiver_sites(stream.receiver, &count);
    assert_int_equal(count, sent - MOST);
    assert_true(sent > 65536);
    close_stream(&stream);
}

/* As of a program that never tells up to when its records are complete. */
TEST(records_that_wait_are_limited) {
    const struct spex_record records[3] = {{.timestamp = 1}, {.timestamp = 2}, {.timestamp = 3}};
    struct spex_in_order waiting = {.most = 4};
    size_t count;
    assert_int_equal(spex_in_order_add(&waiting, records, 3), 0);
    assert_int_equal(spex_in_order_add(&waiting, records, 2), -E2BIG);
    assert_int_equal(spex_in_order_add(&waiting, records, 1), 0);
    spex_in_order_take(&waiting, 3, &count);
    assert_int_equal(count, 3);
    spex_in_order_take(&waiting, 3, &count);
    assert_int_equal(spex_in_order_add(&waiting, records, 3), 0);
    spex_in_order_free(&waiting);
}

int main(void) {
    return tests_run(scratch_enter, scratch_leave);
}
