/* SPDX-License-Identifier: MIT */
/* A socket of the test's own, which takes the stream of this program as a spex command would, and
 * keeps every frame for the test to look at when the program has stopped. */
#ifndef SPEX_TEST_STREAM_RECEIVED_H
#define SPEX_TEST_STREAM_RECEIVED_H

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <spex/atomic.h>
#include <spex/spex.h>

#include "../check.h"
#include "wire/stream_check.h"
#include "wire/stream_records.h"

enum { FIRST = 31, SECOND, PLUGIN = 21 };
enum { INNER = 901, CHAINS = 300 };
enum { THREADS = 4, EACH = 3000, ALL_FRAMES = 1 << 20 };

SPEX_PROBE_NAME(FIRST, "stream.first");
SPEX_PROBE_NAME(SECOND, "stream.second");

struct frame {
    struct spex_stream_header header;
    union {
        struct spex_record *records;
        struct spex_stream_site *sites;
        struct spex_stream_context *contexts;
        void *entries;
    };
};

static struct {
    char directory[32];
    char path[64];
    char out[80];
    int listener;
    int frames_wanted; /* the receiver goes away after so many */
    pthread_t thread;
    uint32_t collectors;
    struct frame *frames;
    size_t count;
} receiver;

static inline int setup(void **state) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)state;
    strcpy(receiver.directory, "/tmp/spex-XXXXXX");
    if (!mkdtemp(receiver.directory))
        return -1;
    snprintf(receiver.path, sizeof(receiver.path), "%s/socket", receiver.directory);
    snprintf(receiver.out, sizeof(receiver.out), "unix:%s", receiver.path);
    strcpy(address.sun_path, receiver.path);
    receiver.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return receiver.listener < 0 ||
           bind(receiver.listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
           listen(receiver.listener, 1) < 0;
}

static inline int teardown(void **state) {
    (void)state;
    spex_stop();
    close(receiver.listener);
    unlink(receiver.path);
    rmdir(receiver.directory);
    for (size_t f = 0; f < receiver.count; f++)
        free(receiver.frames[f].entries);
    free(receiver.frames);
    receiver.frames = NULL;
    receiver.count = 0;
    return 0;
}

/* What its sites have told. */
static struct spex_stream_probes received_probes;

static inline size_t entry_bytes(const struct spex_stream_header *header) {
    switch (header->kind) {
    case SPEX_STREAM_SITES:
        return sizeof(struct spex_stream_site);
    case SPEX_STREAM_CONTEXTS:
        return sizeof(struct spex_stream_context);
    default:
        return 0;
    }
}

/* The entries of a frame of records, as the command has them. */
static inline void *records_of(const char *packet, uint32_t count) {
    static struct spex_record room[SPEX_STREAM_RECORDS_MAX];
    const struct spex_record *records;
    struct spex_error error;
    if (spex_stream_records(&received_probes, packet, room, &records, &error))
        abort();
    void *copy = malloc(count * sizeof(*records));
    return copy ? memcpy(copy, records, count * sizeof(*records)) : NULL;
}

static inline void frame_keep(const char *packet, size_t length) {
    struct frame frame = {.header = {.collectors = receiver.collectors}};
    struct spex_error error;
    if (spex_stream_check(packet, length, &frame.header, &error))
        abort();
    receiver.collectors = frame.header.collectors;
    spex_stream_threads_note(&received_probes, packet);
    if (frame.header.kind == SPEX_STREAM_THREADS)
        return; /* as the records of their threads say */
    size_t bytes = frame.header.count * entry_bytes(&frame.header);
    frame.entries = frame.header.kind == SPEX_STREAM_PACKED ? records_of(packet, frame.header.count)
                                                            : malloc(bytes + 1);
    receiver.frames = realloc(receiver.frames, (receiver.count + 1) * sizeof(*receiver.frames));
    if (!receiver.frames || !frame.entries)
        abort();
    if (frame.header.kind != SPEX_STREAM_PACKED)
        memcpy(frame.entries, packet + sizeof(frame.header), bytes);
    for (uint32_t s = 0; frame.header.kind == SPEX_STREAM_SITES && s < frame.header.count; s++)
        spex_stream_probes_note(&received_probes, &frame.sites[s]);
    receiver.frames[receiver.count++] = frame;
}

static inline void *receiver_run(void *arg) {
    static _Alignas(uint64_t) char packet[SPEX_STREAM_FRAME_BYTES + 1];
    int connection = accept(receiver.listener, NULL, NULL);
    (void)arg;
    for (int f = 0; f < receiver.frames_wanted; f++) {
        ssize_t length = recv(connection, packet, sizeof(packet), 0);
        if (length <= 0)
            break;
        frame_keep(packet, (size_t)length);
    }
    close(connection);
    return NULL;
}

static inline void receiver_start(int frames_wanted) {
    receiver.collectors = 0;
    memset(&received_probes, 0, sizeof(received_probes));
    receiver.frames_wanted = frames_wanted;
    assert_int_equal(pthread_create(&receiver.thread, NULL, receiver_run, NULL), 0);
}

static inline void receiver_join(void) {
    pthread_join(receiver.thread, NULL);
}

static inline int start(const char *probes, unsigned collectors, unsigned batch) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = probes,
                                         .out = receiver.out,
                                         .collectors = collectors,
                                         .batch_records = batch,
                                         .ring_records = 65536};
    return spex_start(&options);
}

COMPILED_ONCE static void execute(uint64_t thread, uint64_t sequence) {
    LAT_PROBE_BEGIN(FIRST, 1);
    LAT_PROBE_END(FIRST);
    SNAPSHOT_PROBE(SECOND, 1, thread, sequence, mix(thread << 32 | sequence));
}

static inline void *thread_run(void *arg) {
    for (uint64_t i = 1; i <= EACH; i++)
        execute((uint64_t)(uintptr_t)arg, i);
    return NULL;
}

static inline void threads_run(void) {
    pthread_t threads[THREADS];
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, thread_run, (void *)t), 0);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
}

static inline void check_headers(unsigned collectors) {
    const struct spex_stream_header *before = &receiver.frames[0].header;
    assert_true(receiver.count > 3);
    for (size_t f = 0; f < receiver.count; f++) {
        const struct spex_stream_header *header = &receiver.frames[f].header;
        assert_int_equal(header->magic, SPEX_STREAM_MAGIC);
        assert_int_equal(header->version, SPEX_STREAM_VERSION);
        assert_int_equal(header->process_id, getpid());
        assert_int_equal(header->collectors, collectors);
        assert_int_equal(header->kind == SPEX_STREAM_HELLO, f == 0);
        assert_int_equal(header->kind == SPEX_STREAM_END, f == receiver.count - 1);
        assert_true(header->produced >= header->consumed); /* it may fall by what was abandoned */
        assert_true(header->consumed >= before->consumed);
        assert_true(header->monotonic_ns >= before->monotonic_ns);
        before = header;
    }
}

static inline bool site_known(size_t before, const struct spex_record *record) {
    for (size_t f = 0; f < before; f++)
        for (uint32_t s = 0; s < receiver.frames[f].header.count; s++)
            if (receiver.frames[f].header.kind == SPEX_STREAM_SITES &&
                receiver.frames[f].sites[s].probe_id == record->probe_id &&
                receiver.frames[f].sites[s].probe_type == record->probe_type)
                return true;
    return false;
}

/* Calls see() for every record; returns how many there were. */
static inline uint64_t for_each_record(void (*see)(size_t frame,
                                                   const struct spex_record *record)) {
    uint64_t count = 0;
    for (size_t f = 0; f < receiver.count; f++)
        for (uint32_t r = 0; r < receiver.frames[f].header.count; r++)
            if (receiver.frames[f].header.kind == SPEX_STREAM_PACKED) {
                see(f, &receiver.frames[f].records[r]);
                count++;
            }
    return count;
}

static inline void see_site(size_t frame, const struct spex_record *record) {
    if (!site_known(frame, record))
        fail_msg("a record of probe %u came before its site", record->probe_id);
}

static uint8_t seen[THREADS][EACH + 1];

static inline void see_snapshot(size_t frame, const struct spex_record *record) {
    (void)frame;
    if (record->probe_type != SPEX_SNAPSHOT)
        return;
    assert_int_equal(record->field_count, 3);
    assert_in_range(record->fields[0], 0, THREADS - 1);
    assert_in_range(record->fields[1], 1, EACH);
    assert_int_equal(record->fields[2], mix(record->fields[0] << 32 | record->fields[1]));
    assert_int_equal(seen[record->fields[0]][record->fields[1]]++, 0);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static uint64_t through_the_gate;

static inline void gated_see(const struct spex_record *record, void *context) {
    (void)record;
    (void)context;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    spex_fetch_add_relaxed(&through_the_gate, 1);
}

#endif
