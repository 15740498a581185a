/* SPDX-License-Identifier: MIT */
/* Frames of a program's stream with one member changed: which are taken, at and beyond each bound;
 * and what packed records and sites are unpacked to. */
#include "../check.h"

#include <errno.h>

#include "ring/record_layout.h"
#include "wire/stream_check.h"
#include "wire/stream_records.h"

static _Alignas(uint64_t) char frame[SPEX_STREAM_FRAME_BYTES];

static struct spex_stream_header *head(void) {
    return (struct spex_stream_header *)(void *)frame;
}

static void *entries(void) {
    return frame + sizeof(struct spex_stream_header);
}

/* A frame of three collectors. Returns its length. */
static size_t begin(uint16_t kind, uint32_t count, size_t bytes) {
    memset(frame, 0, sizeof(frame));
    *head() = (struct spex_stream_header){.magic = SPEX_STREAM_MAGIC,
                                          .version = SPEX_STREAM_VERSION,
                                          .kind = kind,
                                          .count = count,
                                          .collector = 2,
                                          .collectors = 3,
                                          .process_id = 77,
                                          .lost = 5};
    return sizeof(struct spex_stream_header) + bytes;
}

/* What is said of the frame, with so many collectors before; "": it is taken. */
static const char *said(size_t length, uint32_t collectors) {
    static struct spex_error error;
    struct spex_stream_header header = {.collectors = collectors};
    error.text[0] = '\0';
    int err = spex_stream_check(frame, length, &header, &error);
    assert_int_equal(err, error.text[0] ? -EPROTO : 0);
    assert_memory_equal(&header, frame, length < sizeof(header) ? length : sizeof(header));
    return error.text;
}

#define OTHER     "the program's stream is not spex's"
#define MALFORMED "the program's stream holds a malformed frame"
#define ORDER     "the program's stream is out of order"
#define RECORD    "the program's stream holds a malformed record"
#define CONTEXT   "the program's stream holds a malformed context"

TEST(frames_have_the_length_of_their_entries) {
    static const struct {
        uint16_t kind;
        size_t bytes;
    } kinds[] = {
        {SPEX_STREAM_PASS, 0},
        {SPEX_STREAM_END, 0},
        {SPEX_STREAM_SITES, sizeof(struct spex_stream_site)},
        {SPEX_STREAM_RECORDS, sizeof(struct spex_record)},
        {SPEX_STREAM_CONTEXTS, sizeof(struct spex_stream_context)},
        {SPEX_STREAM_DUMP, sizeof(struct spex_stream_dump)},
        {SPEX_STREAM_RINGS, sizeof(struct spex_stream_rings)},
        {SPEX_STREAM_THREADS, sizeof(struct spex_stream_thread)},
    };
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (uint32_t count = 0; count < 3; count++) {
            bool good = kinds[k].bytes ? count > 0 : count == 0;
            size_t length = begin(kinds[k].kind, count, kinds[k].bytes * count);
            struct spex_record *records = entries();
            struct spex_stream_context *contexts = entries();
            for (uint32_t e = 0; e < count && kinds[k].kind == SPEX_STREAM_RECORDS; e++)
                records[e] = (struct spex_record){.probe_type = SPEX_LAT, .weight = 1};
            for (uint32_t e = 0; e < count && kinds[k].kind == SPEX_STREAM_CONTEXTS; e++)
                contexts[e] = (struct spex_stream_context){.number = SPEX_CONTEXT_ROOT + 1 + e,
                                                           .parent = SPEX_CONTEXT_ROOT};
            assert_string_equal(said(length, 3), good ? "" : MALFORMED);
            assert_string_equal(said(length + 1, 3), MALFORMED);
            assert_string_equal(said(length - 1, 3),
                                length == sizeof(struct spex_stream_header) ? OTHER : MALFORMED);
        }
    for (uint32_t bytes = 0; bytes < 3; bytes++) {
        assert_string_equal(said(begin(0, bytes, bytes), 3), MALFORMED);
        assert_string_equal(said(begin(SPEX_STREAM_THREADS + 1, bytes, bytes), 3), MALFORMED);
    }
    /* A length that goes round in 32 bits. */
    assert_string_equal(said(begin(SPEX_STREAM_RECORDS, 1u << 31, 0), 3), MALFORMED);
}

TEST(texts_of_sites_end) {
    struct spex_stream_site site, *all = entries();
    size_t length = begin(SPEX_STREAM_SITES, 2, 2 * sizeof(*all));
    assert_string_equal(said(length, 3), "");
    memset(all, 'x', 2 * sizeof(*all));
    all[1].index = 7;
    all[1].provider[5] = '\0';
    spex_stream_take_site(frame, 1, &site);
    assert_int_equal(site.index, 7);
    assert_int_equal(site.probe_type, 0x7878);
    assert_int_equal(strlen(site.name), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(strlen(site.file), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(strlen(site.parameters), SPEX_STREAM_TEXT_BYTES - 1);
    assert_string_equal(site.provider, "xxxxx");
    spex_stream_take_site(frame, 0, &site);
    assert_int_equal(site.index, 0x78787878);
    assert_int_equal(strlen(site.provider), SPEX_STREAM_TEXT_BYTES - 1);
}

TEST(headers_are_checked) {
    size_t length = begin(SPEX_STREAM_PASS, 0, 0);
    head()->magic++;
    assert_string_equal(said(length, 3), OTHER);
    for (uint16_t version = 0; version < SPEX_STREAM_VERSION + 3; version++) {
        char expected[128] = "";
        begin(SPEX_STREAM_PASS, 0, 0);
        head()->version = version;
        if (version != SPEX_STREAM_VERSION)
            snprintf(expected, sizeof(expected),
                     "the program's spex speaks stream version %u, this one %u: build both with "
                     "the same release",
                     version, SPEX_STREAM_VERSION);
        assert_string_equal(said(length, 3), expected);
    }
    /* HELLO comes first, once; all say how many collectors there are. */
    begin(SPEX_STREAM_HELLO, 0, 0);
    assert_string_equal(said(length, 0), "");
    assert_string_equal(said(length, 3), ORDER);
    begin(SPEX_STREAM_PASS, 0, 0);
    assert_string_equal(said(length, 0), ORDER);
    assert_string_equal(said(length, 4), ORDER);
    head()->collector = 3;
    assert_string_equal(said(length, 3), ORDER);
    for (uint32_t collectors = 0; collectors < SPEX_MAX_COLLECTORS + 2; collectors++) {
        bool good = collectors >= 1 && collectors <= SPEX_MAX_COLLECTORS;
        begin(SPEX_STREAM_HELLO, 0, 0);
        head()->collector = 0;
        head()->collectors = collectors;
        assert_string_equal(said(length, 0), good ? "" : ORDER);
    }
}

static const char *record_said(struct spex_record record) {
    size_t length = begin(SPEX_STREAM_RECORDS, 2, 2 * sizeof(record));
    struct spex_record *records = entries();
    records[0] = (struct spex_record){.probe_type = SPEX_LAT, .weight = 1};
    records[1] = record;
    return said(length, 3);
}

TEST(records_are_checked) {
    assert_string_equal(record_said((struct spex_record){
                            .probe_type = SPEX_LAT, .weight = 1, .field_count = SPEX_MAX_FIELDS}),
                        "");
    assert_string_equal(record_said((struct spex_record){.probe_type = SPEX_LAT,
                                                         .weight = 1,
                                                         .field_count = SPEX_MAX_FIELDS + 1}),
                        RECORD);
    assert_string_equal(record_said((struct spex_record){.probe_type = SPEX_LAT, .weight = 0}),
                        RECORD);
    assert_string_equal(record_said((struct spex_record){.probe_type = SPEX_KERNEL, .weight = 0}),
                        "");
    assert_string_equal(record_said((struct spex_record){.probe_type = 0, .weight = 1}), RECORD);
    assert_string_equal(record_said((struct spex_record){.probe_type = 3, .weight = 1}), RECORD);
    assert_string_equal(record_said((struct spex_record){.probe_type = SPEX_CNT, .weight = 1}),
                        RECORD);
    assert_string_equal(
        record_said((struct spex_record){.probe_type = SPEX_CNT, .weight = 1, .field_count = 1}),
        "");
    assert_string_equal(record_said((struct spex_record){
                            .probe_type = SPEX_LAT, .weight = 1, .marks = (1u << SPEX_MARKS) - 1}),
                        "");
    assert_string_equal(record_said((struct spex_record){
                            .probe_type = SPEX_LAT, .weight = 1, .marks = 1u << SPEX_MARKS}),
                        RECORD);
}

static const char *context_said(uint32_t number, uint32_t parent, uint32_t kernel) {
    size_t length = begin(SPEX_STREAM_CONTEXTS, 2, 2 * sizeof(struct spex_stream_context));
    struct spex_stream_context *contexts = entries();
    contexts[0] = (struct spex_stream_context){SPEX_CONTEXT_ROOT + 1, SPEX_CONTEXT_ROOT, 0};
    contexts[1] = (struct spex_stream_context){number, parent, kernel};
    return said(length, 3);
}

TEST(contexts_are_checked) {
    const uint32_t root = SPEX_CONTEXT_ROOT;
    assert_string_equal(context_said(root + 2, root + 1, UINT16_MAX), "");
    assert_string_equal(context_said(root + 2, root + 1, UINT16_MAX + 1), CONTEXT);
    assert_string_equal(context_said(root + 2, root + 2, 1), CONTEXT);
    assert_string_equal(context_said(root + 2, root + 3, 1), CONTEXT);
    assert_string_equal(context_said(root + 2, root - 1, 1), CONTEXT);
    assert_string_equal(context_said(root, root, 1), CONTEXT);
    assert_string_equal(context_said(SPEX_CONTEXTS_MAX, root, 1), "");
    assert_string_equal(context_said(SPEX_CONTEXTS_MAX + 1, root, 1), CONTEXT);
}

TEST(threads_are_checked) {
    size_t length = begin(SPEX_STREAM_THREADS, 2, 2 * sizeof(struct spex_stream_thread));
    struct spex_stream_thread *threads = entries();
    threads[1].number = SPEX_THREAD_NUMBERS - 1;
    assert_string_equal(said(length, 3), "");
    threads[1].number++;
    assert_string_equal(said(length, 3), "the program's stream holds a malformed thread");
}

static size_t begin_packed(uint32_t cpu, uint32_t type, uint32_t words, uint32_t count) {
    struct spex_stream_packed packed = {cpu, type, words, 11, 1, 0};
    size_t length =
        begin(SPEX_STREAM_PACKED, count, sizeof(packed) + (size_t)count * words * sizeof(uint64_t));
    memcpy(entries(), &packed, sizeof(packed));
    return length;
}

static const char *packed_said(uint32_t cpu, uint32_t type, uint32_t words) {
    return said(begin_packed(cpu, type, words, 2), 3);
}

TEST(packed_frames_are_checked) {
    const uint32_t most = SPEX_HEADER_WORDS + SPEX_MAX_FIELDS;
    assert_string_equal(packed_said(0, SPEX_LAT, SPEX_HEADER_WORDS), "");
    assert_string_equal(packed_said(0, SPEX_LAT, SPEX_HEADER_WORDS - 1), MALFORMED);
    assert_string_equal(packed_said(UINT16_MAX, SPEX_LAT, most), "");
    assert_string_equal(packed_said(UINT16_MAX, SPEX_LAT, most + 1), MALFORMED);
    assert_string_equal(packed_said(UINT16_MAX + 1, SPEX_LAT, 3), MALFORMED);
    assert_string_equal(packed_said(SPEX_STREAM_NO_CPU, SPEX_LAT, SPEX_HEADER_WORDS), MALFORMED);
    assert_string_equal(packed_said(SPEX_STREAM_NO_CPU, SPEX_LAT, SPEX_HEADER_WORDS + 1), "");
    assert_string_equal(packed_said(SPEX_STREAM_NO_CPU, SPEX_LAT, most + 1), "");
    assert_string_equal(packed_said(SPEX_STREAM_NO_CPU, SPEX_LAT, most + 2), MALFORMED);
    assert_string_equal(packed_said(0, 3, 3), MALFORMED);
    assert_string_equal(packed_said(0, 0, 3), MALFORMED);
    size_t length = begin_packed(0, SPEX_LAT, 3, 2);
    assert_string_equal(said(length + 1, 3), MALFORMED);
    assert_string_equal(said(length - 1, 3), MALFORMED);
    length = begin_packed(0, SPEX_LAT, 3, 0);
    assert_string_equal(said(length, 3), MALFORMED);
    assert_string_equal(said(length - 1, 3), MALFORMED);
}

static struct spex_stream_probes probes;

static void note(uint32_t index, uint16_t type, uint32_t values) {
    spex_stream_probes_note(&probes, &(struct spex_stream_site){.index = index,
                                                                .probe_id = (uint16_t)(index + 1),
                                                                .probe_type = type,
                                                                .values = values});
}

TEST(sites_that_cannot_be_are_left_out) {
    memset(&probes, 0, sizeof(probes));
    note(0, SPEX_LAT, SPEX_MAX_FIELDS);
    note(1, SPEX_LAT, SPEX_MAX_FIELDS + 1);
    note(2, SPEX_CNT, SPEX_MAX_FIELDS - 1);
    note(3, SPEX_CNT, SPEX_MAX_FIELDS);
    note(4, 3, 1);
    note(SPEX_MAX_SITES - 1, SPEX_LAT, 1);
    note(SPEX_MAX_SITES, SPEX_LAT, 1);
    note(5, SPEX_LAT, UINT32_MAX);
    assert_int_equal(probes.of[0].values, SPEX_MAX_FIELDS);
    assert_int_equal(probes.of[0].probe_type, SPEX_LAT);
    assert_int_equal(probes.of[0].probe_id, 1);
    assert_int_equal(probes.of[1].probe_type, 0);
    assert_int_equal(probes.of[2].values, SPEX_MAX_FIELDS - 1);
    assert_int_equal(probes.of[3].probe_type, 0);
    assert_int_equal(probes.of[4].probe_type, 0);
    assert_int_equal(probes.of[5].probe_type, 0);
    assert_int_equal(probes.of[SPEX_MAX_SITES - 1].probe_id, SPEX_MAX_SITES);
}

/* 0, or the error. */
static int unpack(struct spex_record room[4]) {
    const struct spex_record *records;
    struct spex_error error = {""};
    memset(room, 0, 4 * sizeof(*room));
    int err = spex_stream_records(&probes, frame, room, &records, &error);
    assert_string_equal(error.text, err ? RECORD : "");
    assert_ptr_equal(records, err ? NULL : room);
    return err;
}

TEST(packed_records_are_unpacked) {
    const uint64_t words[] = {100,  spex_pack(3, 1, 6, 0),
                              1000, 1001,
                              101,  spex_pack(3, 1, 6, 0),
                              2000, 2001,
                              102,  spex_pack(4, SPEX_THREAD_NUMBERS - 1, 7, SPEX_MARK_UNAVAILABLE),
                              3000, 3001};
    struct spex_record room[4];
    memset(&probes, 0, sizeof(probes));
    note(6, SPEX_LAT, 2);
    note(7, SPEX_LAT, 1);
    begin(SPEX_STREAM_THREADS, 2, 0);
    memcpy(entries(), (const uint32_t[]){1, 71, SPEX_THREAD_NUMBERS - 1, 72}, 16);
    spex_stream_threads_note(&probes, frame);
    begin_packed(5, SPEX_LAT, 4, 3);
    memcpy((char *)entries() + sizeof(struct spex_stream_packed), words, sizeof(words));
    assert_int_equal(unpack(room), 0);
    static const struct spex_record expected[] = {
        {.timestamp = 100,
         .probe_type = SPEX_LAT,
         .thread_id = 71,
         .weight = 3,
         .lost = 11,
         .probe_id = 7,
         .cpu_id = 5,
         .field_count = 2,
         .gap = 1},
        {.timestamp = 101,
         .probe_type = SPEX_LAT,
         .thread_id = 71,
         .weight = 3,
         .probe_id = 7,
         .cpu_id = 5,
         .field_count = 2},
        {.timestamp = 102,
         .probe_type = SPEX_LAT,
         .thread_id = 72,
         .weight = 4,
         .probe_id = 8,
         .cpu_id = 5,
         .marks = SPEX_MARK_UNAVAILABLE},
    };
    for (size_t r = 0; r < COUNT_OF(expected); r++) {
        assert_memory_equal(&room[r], &expected[r], offsetof(struct spex_record, fields));
        for (size_t f = 0; f < expected[r].field_count; f++)
            assert_int_equal(room[r].fields[f], words[4 * r + 2 + f]);
    }
    /* A frame of another kind has none to unpack, or as it is. */
    const struct spex_record *records;
    begin(SPEX_STREAM_PASS, 0, 0);
    assert_int_equal(spex_stream_records(&probes, frame, room, &records, NULL), 0);
    assert_null(records);
    begin(SPEX_STREAM_RECORDS, 1, sizeof(room[0]));
    assert_int_equal(spex_stream_records(&probes, frame, room, &records, NULL), 0);
    assert_ptr_equal(records, room);
}

/* One record of `words` words with this second one, and a CPU as its last. */
static int unpack_one(uint32_t cpu, uint32_t type, uint32_t words, uint64_t second, uint64_t last,
                      struct spex_record room[4]) {
    begin_packed(cpu, type, words, 1);
    uint64_t *record = (uint64_t *)(void *)((char *)entries() + sizeof(struct spex_stream_packed));
    record[1] = second;
    if (words > SPEX_HEADER_WORDS)
        record[words - 1] = last;
    return unpack(room);
}

TEST(malformed_records_are_refused) {
    const uint32_t shared = SPEX_STREAM_NO_CPU;
    struct spex_record room[4];
    memset(&probes, 0, sizeof(probes));
    note(6, SPEX_LAT, 2);
    note(7, SPEX_KERNEL, 1);
    assert_int_equal(unpack_one(1, SPEX_LAT, 4, spex_pack(1, 1, 6, 0), 0, room), 0);
    assert_int_equal(unpack_one(1, SPEX_LAT, 3, spex_pack(1, 1, 6, 0), 0, room), -EPROTO);
    assert_int_equal(unpack_one(1, SPEX_TPT, 4, spex_pack(1, 1, 6, 0), 0, room), -EPROTO);
    assert_int_equal(unpack_one(1, SPEX_LAT, 4, spex_pack(1, 1, 5, 0), 0, room), -EPROTO);
    assert_int_equal(unpack_one(1, SPEX_LAT, 4, spex_pack(0, 1, 6, 0), 0, room), -EPROTO);
    assert_int_equal(unpack_one(1, SPEX_KERNEL, 3, spex_pack(0, 1, 7, 0), 0, room), 0);
    assert_int_equal(unpack_one(shared, SPEX_LAT, 4, spex_pack(1, 1, 6, 0), 0, room), -EPROTO);
    assert_int_equal(unpack_one(shared, SPEX_LAT, 5, spex_pack(1, 1, 6, 0), UINT16_MAX, room), 0);
    assert_int_equal(room[0].cpu_id, UINT16_MAX);
    assert_int_equal(unpack_one(shared, SPEX_LAT, 5, spex_pack(1, 1, 6, 0), UINT16_MAX + 1, room),
                     -EPROTO);
    /* Of the shared ring each record has a CPU of its own. */
    begin_packed(shared, SPEX_LAT, 5, 2);
    uint64_t *records = (uint64_t *)(void *)((char *)entries() + sizeof(struct spex_stream_packed));
    records[1] = records[6] = spex_pack(1, 1, 6, 0);
    records[4] = 3;
    records[9] = 4;
    assert_int_equal(unpack(room), 0);
    assert_int_equal(room[0].cpu_id, 3);
    assert_int_equal(room[1].cpu_id, 4);
    records[9] = 1 << 20;
    assert_int_equal(unpack(room), -EPROTO);
}

TEST(a_dump_is_printable) {
    struct spex_stream_dump dump;
    begin(SPEX_STREAM_DUMP, 1, sizeof(dump));
    struct spex_stream_dump *sent = entries();
    sent->ticks = 9;
    memset(sent->why, 'y', sizeof(sent->why));
    sent->why[2] = '\n';
    spex_stream_take_dump(frame, &dump);
    assert_int_equal(dump.ticks, 9);
    assert_int_equal(strlen(dump.why), sizeof(dump.why) - 1);
    assert_int_equal(strncmp(dump.why, "yy?yy", 5), 0);
}
