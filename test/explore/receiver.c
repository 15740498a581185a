/* SPDX-License-Identifier: MIT */
/* The command's end of the stream, with the test as the program: order, what is held back, and that
 * nothing a program sends does more than end its trial. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/deadline.h"
#include <spex/kernel.h>

#include "explore/trial/receiver.h"
#include "scratch.h"

#define PATH "records"

struct stream {
    struct spex_receiver *receiver;
    int program; /* the program's end */
};

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    strcpy(address.sun_path, path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

static void open_stream(struct stream *stream) {
    struct spex_error why = {""};
    int room = 1 << 18; /* for a packet that is too large */
    assert_int_equal(spex_receiver_open(PATH, &stream->receiver, &why), 0);
    assert_false(spex_receiver_connected(stream->receiver));
    stream->program = connect_to(PATH);
    assert_true(stream->program >= 0);
    setsockopt(stream->program, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    assert_int_equal(spex_receiver_take(stream->receiver, &why), 0);
    assert_true(spex_receiver_connected(stream->receiver));
    unlink(PATH);
}

static int program_fd(const struct stream *stream) {
    int fds[SPEX_RECEIVER_FDS];
    spex_receiver_fds(stream->receiver, fds);
    return fds[1];
}

static void close_stream(struct stream *stream) {
    if (stream->program >= 0)
        close(stream->program);
    spex_receiver_close(stream->receiver);
}

static struct spex_stream_header header(enum spex_stream_kind kind, uint32_t count) {
    return (struct spex_stream_header){.magic = SPEX_STREAM_MAGIC,
                                       .version = SPEX_STREAM_VERSION,
                                       .kind = (uint16_t)kind,
                                       .count = count,
                                       .monotonic_ns = (uint64_t)spex_monotonic_ns(),
                                       .collectors = 2};
}

static void send_bytes(const struct stream *stream, const void *bytes, size_t length) {
    assert_int_equal(send(stream->program, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL), length);
}

static void send_frame(const struct stream *stream, struct spex_stream_header head,
                       const void *entries, size_t bytes) {
    static char frame[SPEX_STREAM_FRAME_BYTES];
    assert_true(sizeof(head) + bytes <= sizeof(frame));
    memcpy(frame, &head, sizeof(head));
    if (bytes)
        memcpy(frame + sizeof(head), entries, bytes);
    send_bytes(stream, frame, sizeof(head) + bytes);
}

static void send_kind(const struct stream *stream, enum spex_stream_kind kind) {
    send_frame(stream, header(kind, 0), NULL, 0);
}

static void send_pass(const struct stream *stream, uint32_t collector, uint64_t watermark) {
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    head.collector = collector;
    head.watermark = watermark;
    send_frame(stream, head, NULL, 0);
}

static struct spex_record record(uint64_t timestamp) {
    return (struct spex_record){
        .timestamp = timestamp, .probe_type = SPEX_LAT, .weight = 1, .field_count = 1};
}

static void send_records(const struct stream *stream, size_t count, const uint64_t *timestamps) {
    struct spex_record records[16];
    assert_true(count <= COUNT_OF(records));
    for (size_t r = 0; r < count; r++)
        records[r] = record(timestamps[r]);
    send_frame(stream, header(SPEX_STREAM_RECORDS, (uint32_t)count), records,
               count * sizeof(*records));
}

#define SEND_RECORDS(stream, ...)                                                                  \
    send_records(stream, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                     \
                 (const uint64_t[]){__VA_ARGS__})

static void take(const struct stream *stream) {
    struct spex_error why = {""};
    if (spex_receiver_take(stream->receiver, &why) < 0)
        fail_msg("%s", why.text);
}

static void expect_records(const struct stream *stream, bool all, size_t count,
                           const uint64_t *timestamps) {
    size_t got;
    const struct spex_record *records = spex_receiver_records(stream->receiver, all, &got);
    for (size_t r = 0; r < count && r < got; r++)
        assert_int_equal(records[r].timestamp, timestamps[r]);
    assert_int_equal(got, count);
}

#define EXPECT(stream, all, ...)                                                                   \
    expect_records(stream, all, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),              \
                   (const uint64_t[]){__VA_ARGS__})
#define EXPECT_NONE(stream, all) expect_records(stream, all, 0, NULL)

static void order(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    EXPECT_NONE(&stream, false);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 10, 30, 50);
    SEND_RECORDS(&stream, 20, 40);
    take(&stream);
    EXPECT_NONE(&stream, false); /* nobody has passed anything */
    send_pass(&stream, 0, 45);
    take(&stream);
    EXPECT_NONE(&stream, false); /* the other collector may still bring a 5 */
    SEND_RECORDS(&stream, 5);
    send_pass(&stream, 1, 30);
    take(&stream);
    EXPECT(&stream, false, 5, 10, 20); /* 30 is not before 30 */
    EXPECT_NONE(&stream, false);       /* not twice */
    send_pass(&stream, 1, 100);
    SEND_RECORDS(&stream, 60, 70);
    take(&stream);
    EXPECT(&stream, false, 30, 40);
    SEND_RECORDS(&stream, 55);
    take(&stream);
    EXPECT(&stream, true, 50, 55, 60, 70);
    EXPECT_NONE(&stream, true);
    close_stream(&stream);
}

static void end(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 9);
    SEND_RECORDS(&stream, 3, UINT64_MAX - 1);
    take(&stream);
    EXPECT_NONE(&stream, false);
    assert_false(spex_receiver_ended(stream.receiver));
    send_kind(&stream, SPEX_STREAM_END);
    take(&stream);
    assert_true(spex_receiver_ended(stream.receiver));
    EXPECT(&stream, false, 3, 9, UINT64_MAX - 1);
    assert_true(program_fd(&stream) >= 0);
    close_stream(&stream);
}

static void end_of_file(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    SEND_RECORDS(&stream, 9, 11);
    SEND_RECORDS(&stream, 3);
    close(stream.program);
    stream.program = -1;
    take(&stream);
    assert_int_equal(program_fd(&stream), -1);
    assert_true(spex_receiver_ended(stream.receiver));
    assert_true(spex_receiver_connected(stream.receiver));
    EXPECT(&stream, false, 3, 9, 11);
    take(&stream);
    EXPECT_NONE(&stream, true);
    close_stream(&stream);
}

/* Thousands of records from two collectors, in frames of random sizes. */
static void many(void **state) {
    (void)state;
    enum { TOTAL = 20000 };
    struct stream stream;
    uint64_t random = 1, next[2] = {0, 1}, expected = 0;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    while (expected < TOTAL) {
        size_t collector = random_below(&random, 2), count = 1 + random_below(&random, 16);
        uint64_t timestamps[16];
        for (size_t r = 0; r < count; r++, next[collector] += 2)
            timestamps[r] = next[collector]; /* one collector's are even, the other's odd */
        send_records(&stream, count, timestamps);
        send_pass(&stream, (uint32_t)collector, next[collector]);
        take(&stream);
        size_t got;
        const struct spex_record *records = spex_receiver_records(stream.receiver, false, &got);
        for (size_t r = 0; r < got; r++)
            assert_int_equal(records[r].timestamp, expected++);
        uint64_t lower = next[0] < next[1] ? next[0] : next[1];
        assert_int_equal(expected, lower);
    }
    close_stream(&stream);
}

static void sites(void **state) {
    (void)state;
    struct stream stream;
    struct spex_stream_site sent[2] = {{.index = 1, .probe_id = 7, .probe_type = SPEX_LAT},
                                       {.index = 2, .probe_id = 8, .probe_type = SPEX_TPT}};
    size_t count;
    strcpy(sent[0].name, "query");
    memset(sent[1].name, 'n', sizeof(sent[1].name)); /* neither ends */
    memset(sent[1].file, 'f', sizeof(sent[1].file));
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    send_frame(&stream, header(SPEX_STREAM_SITES, 1), sent, sizeof(*sent));
    send_frame(&stream, header(SPEX_STREAM_SITES, 2), sent, sizeof(sent));
    take(&stream);
    const struct spex_stream_site *told = spex_receiver_sites(stream.receiver, &count);
    assert_int_equal(count, 3);
    assert_string_equal(told[0].name, "query");
    assert_string_equal(told[1].name, "query");
    assert_int_equal(strlen(told[2].name), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(strlen(told[2].file), SPEX_STREAM_TEXT_BYTES - 1);
    assert_int_equal(told[2].probe_id, 8);
    close_stream(&stream);
}

static void lost(void **state) {
    (void)state;
    struct stream stream;
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    assert_int_equal(spex_receiver_lost(stream.receiver), 0);
    head.lost = UINT64_MAX;
    send_frame(&stream, head, NULL, 0);
    take(&stream);
    assert_true(spex_receiver_lost(stream.receiver) == UINT64_MAX);
    close_stream(&stream);
}

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
     "stream version 0, this one 2"},
    {"version 3",
     true,
     {.magic = SPEX_STREAM_MAGIC, .version = 3, .kind = 4, .collectors = 2},
     0,
     "stream version 3, this one 2"},
    {"kind 0", true, HEAD(.kind = 0), 0, "malformed frame"},
    {"kind 6", true, HEAD(.kind = 6), 0, "malformed frame"},
    {"kind 65535", true, HEAD(.kind = 65535), 0, "malformed frame"},
    {"HELLO with a count", false, HEAD(.kind = SPEX_STREAM_HELLO, .count = 1), 0, "malformed fr"},
    {"HELLO with a tail", false, HEAD(.kind = SPEX_STREAM_HELLO), 1, "malformed frame"},
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

static void expect_refusal(const struct stream *stream, const char *what, const char *expected) {
    struct spex_error why = {""};
    int err = spex_receiver_take(stream->receiver, &why);
    if (err != -EPROTO || !strstr(why.text, expected))
        fail_msg("%s: %d %s", what, err, why.text);
    EXPECT_NONE(stream, true);
    size_t count;
    spex_receiver_sites(stream->receiver, &count);
    assert_int_equal(count, 0);
}

static void damaged_frames(void **state) {
    (void)state;
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

static void short_frames(void **state) {
    (void)state;
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
static void empty_packet(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    send_bytes(&stream, "", 0);
    take(&stream);
    assert_int_equal(program_fd(&stream), -1);
    assert_true(spex_receiver_ended(stream.receiver));
    close_stream(&stream);
}

/* The largest frame is taken whole, one record more is not taken at all. */
static void frame_sizes(void **state) {
    (void)state;
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

static void damaged_records(void **state) {
    (void)state;
    static const struct {
        const char *what;
        struct spex_record record;
    } cases[] = {
        {"no type", {.weight = 1}},
        {"two types", {.probe_type = SPEX_LAT | SPEX_CNT, .weight = 1}},
        {"type 512", {.probe_type = 512, .weight = 1}},
        {"an unknown mark", {.probe_type = SPEX_LAT, .weight = 1, .marks = 1 << SPEX_MARKS}},
        {"type 2^31", {.probe_type = 1u << 31, .weight = 1}},
        {"no weight", {.probe_type = SPEX_LAT}},
        {"7 fields", {.probe_type = SPEX_LAT, .weight = 1, .field_count = 7}},
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

static void contexts_are_told(void **state) {
    static const struct spex_stream_context contexts[] = {
        {.number = 2, .parent = 1, .kernel = 7}, {.number = 5, .parent = 2, .kernel = 65535}};
    struct spex_context_node node;
    struct stream stream;
    (void)state;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    assert_false(spex_receiver_context(stream.receiver, 2, &node));
    send_frame(&stream, header(SPEX_STREAM_CONTEXTS, 2), contexts, sizeof(contexts));
    take(&stream);
    assert_true(spex_receiver_context(stream.receiver, 5, &node));
    assert_int_equal(node.parent, 2);
    assert_int_equal(node.kernel, 65535);
    for (uint64_t none = 0; none < 5; none += none == 1 ? 2 : 1)
        assert_false(spex_receiver_context(stream.receiver, none, &node));
    assert_false(spex_receiver_context(stream.receiver, SPEX_CONTEXTS_MAX + 1, &node));
    assert_false(spex_receiver_context(stream.receiver, UINT64_MAX, &node));
    close_stream(&stream);
}

/* Also such as would make a circle of the tree. */
static void malformed_contexts(void **state) {
    static const struct spex_stream_context contexts[] = {
        {.number = 0, .parent = 1},          {.number = 1, .parent = 1},
        {.number = 2, .parent = 2},          {.number = 2, .parent = 3},
        {.number = 2, .parent = 0},          {.number = SPEX_CONTEXTS_MAX + 1, .parent = 1},
        {.number = UINT32_MAX, .parent = 1}, {.number = 2, .parent = 1, .kernel = 65536},
    };
    (void)state;
    for (size_t c = 0; c < COUNT_OF(contexts); c++) {
        struct stream stream;
        open_stream(&stream);
        send_kind(&stream, SPEX_STREAM_HELLO);
        send_frame(&stream, header(SPEX_STREAM_CONTEXTS, 1), &contexts[c], sizeof(contexts[c]));
        expect_refusal(&stream, "a context", "malformed context");
        close_stream(&stream);
    }
}

static void too_many_sites(void **state) {
    (void)state;
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

static void second_program(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    close_stream(&stream);
    struct spex_error why = {""};
    assert_int_equal(spex_receiver_open(PATH, &stream.receiver, &why), 0);
    stream.program = connect_to(PATH);
    take(&stream);
    int second = connect_to(PATH);
    assert_true(second >= 0);
    assert_int_equal(spex_receiver_take(stream.receiver, &why), -EPROTO);
    assert_non_null(strstr(why.text, "once, in one process"));
    close(second);
    unlink(PATH);
    close_stream(&stream);
}

/* A frame that has waited for over a second says that we were held up. */
static void late(void **state) {
    (void)state;
    struct stream stream;
    open_stream(&stream);
    send_kind(&stream, SPEX_STREAM_HELLO);
    take(&stream);
    assert_false(spex_receiver_late(stream.receiver));
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    head.monotonic_ns -= 1100000000;
    send_frame(&stream, head, NULL, 0);
    take(&stream);
    assert_true(spex_receiver_late(stream.receiver));
    close_stream(&stream);
}

static void nobody(void **state) {
    (void)state;
    struct spex_receiver *receiver;
    struct spex_error why = {""};
    size_t count = 1;
    assert_int_equal(spex_receiver_open(PATH, &receiver, &why), 0);
    assert_int_equal(spex_receiver_take(receiver, &why), 0);
    assert_false(spex_receiver_connected(receiver));
    spex_receiver_records(receiver, true, &count);
    assert_int_equal(count, 0);
    spex_receiver_close(receiver);
    spex_receiver_close(NULL);
    unlink(PATH);
}

static void bad_paths(void **state) {
    (void)state;
    struct spex_receiver *receiver = (void *)1;
    struct spex_error why = {""};
    char path[200];
    memset(path, 'p', sizeof(path));
    path[sizeof(path) - 1] = '\0';
    assert_int_equal(spex_receiver_open(path, &receiver, &why), -ENAMETOOLONG);
    assert_null(receiver);
    assert_non_null(strstr(why.text, "set TMPDIR"));
    assert_int_equal(spex_receiver_open("missing/records", &receiver, &why), -ENOENT);
    assert_non_null(strstr(why.text, "missing/records"));
    scratch_text("taken", "");
    assert_int_equal(spex_receiver_open("taken", &receiver, &why), -EADDRINUSE);
    assert_null(receiver);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),
        cmocka_unit_test(end),
        cmocka_unit_test(end_of_file),
        cmocka_unit_test(many),
        cmocka_unit_test(sites),
        cmocka_unit_test(lost),
        cmocka_unit_test(damaged_frames),
        cmocka_unit_test(short_frames),
        cmocka_unit_test(empty_packet),
        cmocka_unit_test(frame_sizes),
        cmocka_unit_test(damaged_records),
        cmocka_unit_test(too_many_sites),
        cmocka_unit_test(contexts_are_told),
        cmocka_unit_test(malformed_contexts),
        cmocka_unit_test(second_program),
        cmocka_unit_test(late),
        cmocka_unit_test(nobody),
        cmocka_unit_test(bad_paths),
    };
    return cmocka_run_group_tests_name("receiver", tests, scratch_enter, scratch_leave);
}
