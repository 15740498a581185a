/* SPDX-License-Identifier: MIT */
/* The stream sink alone, in a process whose clock, sites, contexts and errors of sends are the
 * test's, with the frames that it sends over pairs of sockets. To be included once, with
 * _GNU_SOURCE. */
#ifndef SPEX_TEST_STREAM_MADE_H
#define SPEX_TEST_STREAM_MADE_H

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <spex/record.h>

#include "../check.h"
#include "base/clock.h"
#include "collect/dump_request.h"
#include "collect/sent.h"
#include "collect/stream.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "text/message.h"
#include "wire/command_socket.h"
#include "wire/stream_format.h"

enum { COLLECTORS = 3, PRODUCED = 7000, CONSUMED = 6000, LOST = 50, UNRECORDED = 4 };
enum { MOST = 3000, WORDS = 4, MS = 1000000 };

struct spex_rings spex_rings;

static struct {
    uint64_t now_ns;
    uint32_t sites, path;
    uint32_t threads;
    int takers;
    struct spex_sink *sinks[SPEX_STREAMS_MAX];
    unsigned added;
    struct spex_descriptor rings;
    char message[512];
    /* What spex_command_socket and spex_command_handed return, the latter one after the other. */
    int socket, handed[3];
    unsigned asked;
    /* Of the next sends: how many are interrupted, then how many succeed, and the error of those
     * behind them; how long each takes. */
    unsigned interrupted, succeed;
    int error;
    uint64_t send_ns;
    int flags;
    /* The reader's ends. */
    int readers[10];
    unsigned opened;
} world;

static struct spex_record records[MOST];
static uint64_t words[MOST * WORDS];

/* ---- the process ---- */

uint64_t spex_clock_ns(clockid_t clock) {
    assert_int_equal(clock, CLOCK_MONOTONIC);
    return world.now_ns;
}

void spex_sinks_add(struct spex_sink *sink) {
    assert_true(world.added < COUNT_OF(world.sinks));
    world.sinks[world.added++] = sink;
}

void spex_dump_takers_add(int change) {
    world.takers += change;
}

struct spex_ring_counts spex_rings_totals(void) {
    return (struct spex_ring_counts){.produced = PRODUCED, .consumed = CONSUMED, .lost = LOST};
}

struct spex_descriptor spex_rings_file(void) {
    return world.rings;
}

uint64_t spex_threads_unrecorded(void) {
    return UNRECORDED;
}

void spex_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world.message, sizeof(world.message), format, arguments);
    va_end(arguments);
}

/* An error is a number below 0. */
static struct spex_descriptor made_descriptor(int number) {
    return number < 0 ? (struct spex_descriptor){.number = number} : spex_descriptor_of(number);
}

struct spex_descriptor spex_command_socket(const char *path,
                                           const struct spex_descriptor *handover) {
    assert_string_equal(path, "/path");
    assert_int_equal(handover->number, 77);
    return made_descriptor(world.socket);
}

struct spex_descriptor spex_command_handed(const struct spex_descriptor *handover) {
    assert_true(spex_descriptor_is_ours(handover));
    assert_true(world.asked < COUNT_OF(world.handed));
    return made_descriptor(world.handed[world.asked++]);
}

uint32_t spex_sent_sites(struct spex_sent *told, struct spex_stream_site *sites, uint32_t most) {
    uint32_t count = 0;
    for (; count < most && told->sites < world.sites; count++)
        sites[count] = (struct spex_stream_site){.index = told->sites++};
    return count;
}

/* So many contexts before a context are its ancestors. */
uint32_t spex_sent_contexts(struct spex_sent *told, uint64_t number,
                            struct spex_stream_context *contexts, uint32_t count, uint32_t most) {
    for (uint32_t p = 0; p < world.path && number > p; p++, count++) {
        uint32_t context = (uint32_t)number - p;
        if (told->contexts[context / 64] >> context % 64 & 1)
            break;
        assert_true(count < most);
        told->contexts[context / 64] |= UINT64_C(1) << context % 64;
        contexts[count] = (struct spex_stream_context){.number = context};
    }
    return count;
}

void spex_sent_take_back(struct spex_sent *told, const struct spex_stream_context *contexts,
                         uint32_t count) {
    for (uint32_t c = 0; c < count; c++)
        told->contexts[contexts[c].number / 64] &= ~(UINT64_C(1) << contexts[c].number % 64);
}

/* World.threads of the first records, one each. */
uint32_t spex_sent_threads(struct spex_sent_threads *told, const struct spex_batch *batch,
                           size_t *record, struct spex_stream_thread *threads, uint32_t most) {
    uint32_t count = 0;
    assert_int_equal(batch->record_words, WORDS);
    for (; *record < batch->count && count < most; ++*record) {
        uint32_t number = (uint32_t)*record;
        if (number >= world.threads || told->ids[number])
            continue;
        told->ids[number] = 1;
        threads[count++] = (struct spex_stream_thread){number, 1000 + number};
    }
    return count;
}

void spex_sent_take_back_threads(struct spex_sent_threads *told,
                                 const struct spex_stream_thread *threads, uint32_t count) {
    for (uint32_t t = 0; t < count; t++)
        told->ids[threads[t].number] = 0;
}

ssize_t __real_sendmsg(int fd, const struct msghdr *message, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags);

ssize_t __wrap_sendmsg(int fd, const struct msghdr *message, int flags) {
    world.flags = flags;
    world.now_ns += world.send_ns;
    if (world.interrupted) {
        world.interrupted--;
        errno = EINTR;
        return -1;
    }
    if (world.error && world.succeed-- == 0) {
        world.succeed = 0;
        errno = world.error;
        return -1;
    }
    return __real_sendmsg(fd, message, flags | MSG_DONTWAIT);
}

/* ---- streams and their readers ---- */

/* The stream's end of a new pair of sockets. */
static inline int pair_make(void) {
    int pair[2];
    assert_true(world.opened < COUNT_OF(world.readers));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
                     0);
    world.readers[world.opened++] = pair[1];
    return pair[0];
}

/* Attaches a stream to the end of a new pair. */
static inline int attach(uint32_t types, bool dumps, struct spex_descriptor children) {
    const struct spex_stream_asked asked = {.socket = spex_descriptor_of(pair_make()),
                                            .children = children,
                                            .types = types,
                                            .dumps = dumps};
    int err = spex_stream_attach(&asked, COLLECTORS);
    if (err)
        close(asked.socket.number);
    return err;
}

static _Alignas(uint64_t) char frame[SPEX_STREAM_FRAME_BYTES + 1];
static const void *const entries = frame + sizeof(struct spex_stream_header);

/* The next frame; NULL: there is none. */
static inline const struct spex_stream_header *frame_read(unsigned reader) {
    ssize_t length = recv(world.readers[reader], frame, sizeof(frame), MSG_DONTWAIT);
    return length >= (ssize_t)sizeof(struct spex_stream_header) ? (const void *)frame : NULL;
}

static inline const struct spex_stream_header *expect_frame(unsigned reader, uint16_t kind,
                                                            uint32_t count, uint64_t dropped) {
    const struct spex_stream_header *header = frame_read(reader);
    assert_non_null(header);
    assert_int_equal(header->magic, SPEX_STREAM_MAGIC);
    assert_int_equal(header->version, SPEX_STREAM_VERSION);
    assert_int_equal(header->kind, kind);
    assert_int_equal(header->count, count);
    assert_int_equal(header->collectors, COLLECTORS);
    assert_int_equal(header->process_id, getpid());
    assert_int_equal(header->produced, PRODUCED);
    assert_int_equal(header->consumed, CONSUMED);
    assert_int_equal(header->lost, LOST + UNRECORDED + dropped);
    assert_in_range(header->monotonic_ns, 1, world.now_ns);
    assert_true(world.send_ns || header->monotonic_ns == world.now_ns);
    return header;
}

static inline void expect_sites(unsigned reader, uint32_t from, uint32_t to) {
    while (from < to) {
        uint32_t count = to - from < 64 ? to - from : 64;
        expect_frame(reader, SPEX_STREAM_SITES, count, 0);
        for (uint32_t s = 0; s < count; s++)
            assert_int_equal(((const struct spex_stream_site *)entries)[s].index, from++);
    }
}

/* PACKED with the records from number `first` on. */
static inline void expect_packed(unsigned reader, uint32_t type, size_t first, uint32_t count,
                                 uint64_t dropped) {
    const struct spex_stream_packed *packed = entries;
    expect_frame(reader, SPEX_STREAM_PACKED, count, dropped);
    assert_int_equal(packed->cpu, 5);
    assert_int_equal(packed->probe_type, type);
    assert_int_equal(packed->words, WORDS);
    assert_int_equal(packed->lost, 100 + first);
    assert_int_equal(packed->gap, first % 2);
    assert_int_equal(packed->reserved, 0);
    assert_memory_equal(packed + 1, words + first * WORDS, count * WORDS * sizeof(words[0]));
}

static inline void expect_nothing(unsigned reader) {
    assert_null(frame_read(reader));
    assert_int_equal(errno, EAGAIN);
}

static inline void expect_end(unsigned reader) {
    assert_int_equal(recv(world.readers[reader], frame, sizeof(frame), MSG_DONTWAIT), 0);
}

/* Hands records of the type over, from the first one on. */
static inline bool hand(struct spex_sink *sink, uint32_t type, size_t count) {
    const struct spex_batch batch = {
        .records = records, .count = count, .words = words, .record_words = WORDS, .cpu = 5};
    for (size_t r = 0; r < count; r++)
        records[r].probe_type = type;
    return sink->records(sink, &batch);
}

static inline int setup(void **state) {
    (void)state;
    memset(&world, 0, sizeof(world));
    world.now_ns = 1000000000;
    world.rings = SPEX_NO_DESCRIPTOR;
    world.sites = 2;
    world.path = 1;
    for (size_t r = 0; r < MOST; r++) {
        records[r] = (struct spex_record){.lost = (uint32_t)(100 + r), .gap = r % 2};
        records[r].fields[1] = 1 + r;
        for (size_t w = 0; w < WORDS; w++)
            words[r * WORDS + w] = mix(r * WORDS + w);
    }
    return 0;
}

static inline int teardown(void **state) {
    (void)state;
    world.error = 0;
    for (unsigned s = 0; s < world.added; s++)
        world.sinks[s]->finish(world.sinks[s]);
    assert_int_equal(world.takers, 0);
    for (unsigned r = 0; r < world.opened; r++)
        close(world.readers[r]);
    return 0;
}

#endif
