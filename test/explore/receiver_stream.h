/* SPDX-License-Identifier: MIT */
/* A receiver, and the test as the program that sends it a stream. */
#ifndef SPEX_TEST_RECEIVER_STREAM_H
#define SPEX_TEST_RECEIVER_STREAM_H

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"

#include "explore/trial/receiver.h"
#include "ring/record_layout.h"
#include "scratch.h"

#define PATH "records"

struct stream {
    struct spex_receiver *receiver;
    int program; /* the program's end */
};

static inline int connect_to(const char *path) {
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

static inline void open_stream(struct stream *stream) {
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

static inline int program_fd(const struct stream *stream) {
    int fds[SPEX_RECEIVER_FDS];
    spex_receiver_fds(stream->receiver, fds);
    return fds[2];
}

static inline void close_stream(struct stream *stream) {
    if (stream->program >= 0)
        close(stream->program);
    spex_receiver_close(stream->receiver);
}

static inline struct spex_stream_header header(enum spex_stream_kind kind, uint32_t count) {
    return (struct spex_stream_header){.magic = SPEX_STREAM_MAGIC,
                                       .version = SPEX_STREAM_VERSION,
                                       .kind = (uint16_t)kind,
                                       .count = count,
                                       .monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC),
                                       .collectors = 2};
}

static inline void send_bytes(const struct stream *stream, const void *bytes, size_t length) {
    assert_int_equal(send(stream->program, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL), length);
}

static inline void send_frame(const struct stream *stream, struct spex_stream_header head,
                              const void *entries, size_t bytes) {
    static char frame[SPEX_STREAM_FRAME_BYTES];
    assert_true(sizeof(head) + bytes <= sizeof(frame));
    memcpy(frame, &head, sizeof(head));
    if (bytes)
        memcpy(frame + sizeof(head), entries, bytes);
    send_bytes(stream, frame, sizeof(head) + bytes);
}

static inline void send_kind(const struct stream *stream, enum spex_stream_kind kind) {
    send_frame(stream, header(kind, 0), NULL, 0);
}

static inline void send_pass(const struct stream *stream, uint32_t collector, uint64_t watermark) {
    struct spex_stream_header head = header(SPEX_STREAM_PASS, 0);
    head.collector = collector;
    head.watermark = watermark;
    send_frame(stream, head, NULL, 0);
}

static inline struct spex_record record(uint64_t timestamp) {
    return (struct spex_record){.timestamp = timestamp,
                                .probe_type = SPEX_LAT,
                                .weight = 1,
                                .field_count = SPEX_MAX_FIELDS};
}

static inline void send_records(const struct stream *stream, size_t count,
                                const uint64_t *timestamps) {
    struct spex_record records[16];
    assert_true(count <= COUNT_OF(records));
    for (size_t r = 0; r < count; r++)
        records[r] = record(timestamps[r]);
    send_frame(stream, header(SPEX_STREAM_RECORDS, (uint32_t)count), records,
               count * sizeof(*records));
}

/* Records as they lie in a ring, of LATs unless the test changes that: three words, and a fourth for
 * the CPU in the shared ring. */
struct packed_frame {
    struct spex_stream_header head;
    struct spex_stream_packed packed;
    uint64_t words[16];
};

enum { PACKED_SITE = 3, PACKED_NUMBER = 5, PACKED_THREAD = 77 };

static inline struct packed_frame packed_frame(void) {
    return (struct packed_frame){
        .head = header(SPEX_STREAM_PACKED, 2),
        .packed = {.cpu = 5, .probe_type = SPEX_LAT, .words = 3, .lost = 7, .gap = 1},
        .words = {10, spex_pack(1, PACKED_NUMBER, PACKED_SITE, 0), 100, 20,
                  spex_pack(4, PACKED_NUMBER, PACKED_SITE, SPEX_MARK_DRAWN), 200}};
}

static inline void send_packed(const struct stream *stream, const struct packed_frame *frame) {
    send_bytes(stream, frame,
               offsetof(struct packed_frame, words) +
                   (size_t)frame->head.count * frame->packed.words * sizeof(uint64_t));
}

static inline void send_packed_site(const struct stream *stream, uint16_t type, uint32_t values) {
    const struct spex_stream_site site = {
        .index = PACKED_SITE, .probe_id = 9, .probe_type = type, .values = values};
    const struct spex_stream_thread thread = {PACKED_NUMBER, PACKED_THREAD};
    send_frame(stream, header(SPEX_STREAM_SITES, 1), &site, sizeof(site));
    send_frame(stream, header(SPEX_STREAM_THREADS, 1), &thread, sizeof(thread));
}

#define SEND_RECORDS(stream, ...)                                                                  \
    send_records(stream, sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t),                     \
                 (const uint64_t[]){__VA_ARGS__})

static inline void take(const struct stream *stream) {
    struct spex_error why = {""};
    if (spex_receiver_take(stream->receiver, &why) < 0)
        fail_msg("%s", why.text);
}

static inline void expect_records(const struct stream *stream, bool all, size_t count,
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

static inline void expect_refusal(const struct stream *stream, const char *what,
                                  const char *expected) {
    struct spex_error why = {""};
    int err = spex_receiver_take(stream->receiver, &why);
    if (err != -EPROTO || !strstr(why.text, expected))
        fail_msg("%s: %d %s", what, err, why.text);
    EXPECT_NONE(stream, true);
    size_t count;
    spex_receiver_sites(stream->receiver, &count);
    assert_int_equal(count, 0);
}

#endif
