/* SPDX-License-Identifier: MIT */
/* Collectors send frames under the stream's lock, so a frame is never mixed with another. Sites
 * and contexts go out before the first record that refers to them. The stream of SPEX_OUT waits
 * for its reader, up to the limit of wire/command_socket.c a frame; then the reader counts as
 * gone. An attached stream waits only a little and leaves records out, since a command may
 * attach to a program that must not depend on it. */
#include "collect/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <spex/record.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/lock.h"
#include "base/memory/memory.h"
#include "collect/dump_request.h"
#include "collect/sent.h"
#include "probe/threads.h"
#include "ring/record_layout.h"
#include "ring/rings.h"
#include "text/message.h"
#include "text/waits.h"
#include "wire/command_socket.h"
#include "wire/stream_format.h"

/* Contexts of one frame. One with at most CONTEXTS_SOME has room for another path, mostly. */
enum {
    CONTEXTS_MAX = SPEX_STREAM_ENTRIES_MAX(struct spex_stream_context),
    CONTEXTS_SOME = 64,
};

/* Collectors may wait for the reader of an attached stream for 1/ATTACHED_SHARE of the time, and at
 * most ATTACHED_WAIT_US at once. So a reader that reads in bursts gets all, and one that does not
 * read costs little. */
#define ATTACHED_WAIT_US 20000
#define ATTACHED_SHARE   10

/* How often a stream connects again for one batch: a program may close its socket at any moment. */
#define MENDS_MAX 16

/* Send buffer of a stream's socket; the system may limit it. */
#define SEND_BYTES (1 << 20)

struct stream {
    struct spex_sink sink;
    struct spex_lock lock;
    /* The descriptor; its number is -1 while an attached stream has no reader. */
    struct spex_descriptor socket;
    unsigned collectors;
    /* The stream was requested by a command, otherwise by SPEX_OUT. The members from `types` to
     * `granted_ns` are used by attached streams only. */
    bool attached;
    /* How the socket is connected again when the program has closed it, and when the stream began,
     * in ticks, by which the reader knows it again. NULL: it is not. */
    char *path;
    struct spex_descriptor handover;
    uint64_t begun;
    /* The reader takes requests for dumps, and has not gone. */
    bool dumps;
    /* A mask of the types of probes that the reader wants. */
    uint32_t types;
    /* By which children of forks stream to the same reader; or SPEX_NO_DESCRIPTOR. */
    struct spex_descriptor children;
    /* Records left out, since the reader was too slow. */
    uint64_t dropped;
    /* How long collectors may wait for the reader, as calculated at `granted_ns`. */
    int64_t patience_ns;
    uint64_t granted_ns;
    /* Sent so far. */
    struct spex_sent sent;
    struct spex_sent_threads sent_threads;
    /* Contexts of the next frame. */
    struct spex_stream_context contexts[CONTEXTS_MAX];
};

/* Result of a send. FULL: an attached stream's reader has no room now. */
enum sent { SENT, FULL, BROKEN };

/* An attached stream stays in the list of sinks when its reader goes, and serves the next reader.
 * Changed under the lock of start and stop. */
static struct stream *attached_streams[SPEX_STREAMS_MAX];

/* In the child of a fork: what its parent was asked for, of streams that children follow. */
static struct spex_stream_asked followed_streams[SPEX_STREAMS_MAX];
static unsigned followed_count;

static void dumps_set(struct stream *stream, bool dumps) {
    spex_dump_takers_add((int)dumps - (int)stream->dumps);
    stream->dumps = dumps;
}

/* Closes the socket of a reader that has gone. */
static void reader_close(struct stream *stream) {
    dumps_set(stream, false);
    spex_descriptor_close(&stream->socket);
    spex_descriptor_close(&stream->children);
}

/* Updates the time that collectors may wait: grants a share of the time since the last call, and
 * takes away the time waited. Returns whether any is left. */
static bool is_patient(struct stream *stream, uint64_t waited_ns) {
    const int64_t most = ATTACHED_WAIT_US * INT64_C(1000);
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    stream->patience_ns +=
        (int64_t)((now_ns - stream->granted_ns) / ATTACHED_SHARE) - (int64_t)waited_ns;
    if (stream->patience_ns > most)
        stream->patience_ns = most;
    stream->granted_ns = now_ns;
    return stream->patience_ns > 0;
}

/* Sends one packet. An attached stream without patience does not wait at all. errno is that of
 * sendmsg. */
static enum sent packet_send(struct stream *stream, const struct msghdr *message) {
    bool patient = !stream->attached || is_patient(stream, 0);
    uint64_t begin_ns = stream->granted_ns;
    ssize_t sent;
    do
        sent = sendmsg(stream->socket.number, message,
                       patient ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    int err = errno;
    if (stream->attached)
        is_patient(stream, spex_clock_ns(CLOCK_MONOTONIC) - begin_ns);
    errno = err;
    if (sent >= 0)
        return SENT;
    return stream->attached && (err == EAGAIN || err == ENOBUFS || err == ENOMEM) ? FULL : BROKEN;
}

/* Fills in the header, with the counts of the moment, and sends it and the two parts behind it. */
static enum sent parts_send(struct stream *stream, struct spex_stream_header *header,
                            const struct iovec behind[2]) {
    if (!spex_descriptor_is_ours(&stream->socket))
        return BROKEN;
    struct spex_ring_counts counts = spex_rings_totals();
    header->magic = SPEX_STREAM_MAGIC;
    header->version = SPEX_STREAM_VERSION;
    header->collectors = stream->collectors;
    header->process_id = (uint32_t)getpid();
    header->monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC);
    header->produced = counts.produced;
    header->consumed = counts.consumed;
    header->lost = counts.lost + spex_threads_unrecorded() + stream->dropped;

    struct iovec parts[3] = {
        {.iov_base = header, .iov_len = sizeof(*header)}, behind[0], behind[1]};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = header->count ? 3 : 1};
    union spex_passed_descriptor rings;
    if (header->kind == SPEX_STREAM_RINGS)
        spex_descriptor_pass(&message, &rings, spex_rings_file().number);
    return packet_send(stream, &message);
}

static struct iovec part_of(const void *bytes, size_t length) {
    return (struct iovec){.iov_base = (void *)(uintptr_t)bytes, .iov_len = length};
}

/* A frame of `header->count` entries. */
static enum sent frame_send(struct stream *stream, struct spex_stream_header *header,
                            const void *entries, size_t entry_bytes) {
    const struct iovec behind[2] = {part_of(entries, header->count * entry_bytes)};
    return parts_send(stream, header, behind);
}

static enum sent hello_send(struct stream *stream) {
    struct spex_stream_header header = {.kind = SPEX_STREAM_HELLO, .watermark = stream->begun};
    return frame_send(stream, &header, NULL, 0);
}

static void socket_prepare(struct stream *stream) {
    setsockopt(stream->socket.number, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int));
}

/* After a failed send: connects again where the program has closed the socket. The reader has all
 * that was sent, so the stream goes on where it was. False: that is not why it failed, or the
 * reader cannot be reached. */
SPEX_COLD static bool stream_mend(struct stream *stream) {
    if (!stream->path || stream->socket.number < 0 || spex_descriptor_is_ours(&stream->socket))
        return false;
    struct spex_descriptor fresh = spex_command_socket(stream->path, &stream->handover);
    if (fresh.number < 0)
        return false;
    stream->socket = fresh;
    socket_prepare(stream);
    return hello_send(stream) == SENT;
}

/* As frame_send, over another connection where the program has closed that of the stream. */
static enum sent frame_send_mended(struct stream *stream, struct spex_stream_header *header,
                                   const void *entries, size_t entry_bytes) {
    enum sent sent;
    int tries = 0;
    do
        sent = frame_send(stream, header, entries, entry_bytes);
    while (sent == BROKEN && tries++ < MENDS_MAX && stream_mend(stream));
    return sent;
}

/* Tells where the rings are, which the reader can read when the process has died. */
static enum sent rings_send(struct stream *stream) {
    struct spex_stream_header header = {.kind = SPEX_STREAM_RINGS, .count = 1};
    const struct spex_stream_rings rings = {.bytes = spex_rings.bytes,
                                            .records = (uint32_t)spex_rings.rseq[0].mask + 1,
                                            .cpus = spex_rings.cpus,
                                            .commit = spex_rings.commit,
                                            .types = SPEX_PROBE_TYPES};
    struct spex_descriptor file = spex_rings_file();
    return spex_descriptor_is_ours(&file) ? frame_send(stream, &header, &rings, sizeof(rings))
                                          : SENT;
}

/* Sends the sites that have not been sent. Called before records, so that each site precedes its
 * first record. */
static enum sent sites_send(struct stream *stream) {
    enum { BATCH = 64 };
    struct spex_stream_site sites[BATCH];
    for (;;) {
        struct spex_stream_header header = {.kind = SPEX_STREAM_SITES};
        uint32_t first = stream->sent.sites;
        header.count = spex_sent_sites(&stream->sent, sites, BATCH);
        if (!header.count)
            return SENT;
        enum sent sent = frame_send(stream, &header, sites, sizeof(sites[0]));
        if (sent != SENT) {
            stream->sent.sites = first;
            return sent;
        }
    }
}

/* Sends the contexts of the next frame, if there are more than `few` of them. */
static enum sent contexts_flush(struct stream *stream, struct spex_stream_header *header,
                                uint32_t few) {
    if (header->count <= few)
        return SENT;
    enum sent sent = frame_send(stream, header, stream->contexts, sizeof(stream->contexts[0]));
    if (sent != SENT)
        spex_sent_take_back(&stream->sent, stream->contexts, header->count);
    header->count = 0;
    return sent;
}

/* Sends the contexts that the records, which are of one type, refer to and that have not been sent,
 * in as many frames as are needed: a path that is longer than a frame goes on at the parent of the
 * last one in it. */
static enum sent contexts_send(struct stream *stream, const struct spex_record *records,
                               size_t count) {
    struct spex_stream_header header = {.kind = SPEX_STREAM_CONTEXTS};
    enum sent sent = SENT;
    for (size_t r = 0; sent == SENT && r < count && records[0].probe_type == SPEX_KERNEL; r++) {
        uint64_t number = records[r].fields[1];
        while (sent == SENT &&
               (header.count = spex_sent_contexts(&stream->sent, number, stream->contexts,
                                                  header.count, CONTEXTS_MAX)) == CONTEXTS_MAX) {
            number = stream->contexts[CONTEXTS_MAX - 1].parent;
            sent = contexts_flush(stream, &header, 0);
        }
        if (sent == SENT)
            sent = contexts_flush(stream, &header, r + 1 < count ? CONTEXTS_SOME : 0);
    }
    return sent;
}

/* The same of threads. */
static enum sent threads_send(struct stream *stream, const struct spex_batch *batch) {
    enum { BATCH = 64 };
    struct spex_stream_thread threads[BATCH];
    for (size_t record = 0; record < batch->count;) {
        struct spex_stream_header header = {.kind = SPEX_STREAM_THREADS};
        header.count = spex_sent_threads(&stream->sent_threads, batch, &record, threads, BATCH);
        enum sent sent =
            header.count ? frame_send(stream, &header, threads, sizeof(threads[0])) : SENT;
        if (sent != SENT) {
            spex_sent_take_back_threads(&stream->sent_threads, threads, header.count);
            return sent;
        }
    }
    return SENT;
}

/* Handles a failed send of an attached stream: counts the records that were left out, or closes the
 * socket of a reader that has gone. */
static void attached_missed(struct stream *stream, enum sent sent, size_t records) {
    if (sent == FULL)
        stream->dropped += records;
    else if (sent == BROKEN)
        reader_close(stream);
}

/* Takes note of the result of a send. Returns whether the sink goes on. */
static bool stream_goes_on(struct stream *stream, enum sent sent, size_t records) {
    if (stream->attached)
        attached_missed(stream, sent, records);
    else if (sent != SENT)
        dumps_set(stream, false);
    return stream->attached || sent == SENT;
}

/* Whether the reader wants the batch, whose records are all of one type. */
static bool is_wanted(const struct stream *stream, const struct spex_record *records) {
    return !stream->attached ||
           (stream->socket.number >= 0 && (stream->types & records->probe_type));
}

/* Sends `count` records of a batch from number `first` on. */
static enum sent packed_send(struct stream *stream, const struct spex_batch *batch, size_t first,
                             size_t count) {
    const struct spex_record *record = &batch->records[first];
    struct spex_stream_header header = {.kind = SPEX_STREAM_PACKED, .count = (uint32_t)count};
    const struct spex_stream_packed packed = {.cpu = batch->cpu,
                                              .probe_type = record->probe_type,
                                              .words = batch->record_words,
                                              .lost = record->lost,
                                              .gap = record->gap};
    const uint64_t *words = batch->words + first * batch->record_words;
    const struct iovec behind[2] = {
        part_of(&packed, sizeof(packed)),
        part_of(words, count * batch->record_words * sizeof(*words)),
    };
    return parts_send(stream, &header, behind);
}

/* Sends the last *left records of a batch, after their sites, contexts and threads. *left: how many
 * are left to send afterwards. */
static enum sent batch_send(struct stream *stream, const struct spex_batch *batch, size_t *left) {
    const size_t most = SPEX_STREAM_PACKED_MAX(batch->record_words);
    enum sent sent = sites_send(stream);
    if (sent == SENT)
        sent = contexts_send(stream, batch->records, batch->count);
    if (sent == SENT)
        sent = threads_send(stream, batch);
    while (sent == SENT && *left > 0) {
        size_t some = *left < most ? *left : most;
        sent = packed_send(stream, batch, batch->count - *left, some);
        *left -= sent == SENT ? some : 0;
    }
    return sent;
}

/* A failed send breaks the stream of SPEX_OUT. An attached stream stays in the list of sinks for
 * its next reader. */
static bool stream_records(struct spex_sink *sink, const struct spex_batch *batch) {
    struct stream *stream = (struct stream *)sink; /* sink is the first member */
    size_t left = batch->count;
    spex_lock_take(&stream->lock);
    bool wanted = is_wanted(stream, batch->records);
    enum sent sent = wanted ? batch_send(stream, batch, &left) : SENT;
    for (int tries = 0; sent == BROKEN && tries < MENDS_MAX && stream_mend(stream); tries++)
        sent = batch_send(stream, batch, &left);
    bool goes_on = stream_goes_on(stream, sent, left);
    spex_lock_give(&stream->lock);
    return goes_on;
}

/* An attached stream sends the watermark only if the reader has room. The next pass sends a
 * later one. */
static bool stream_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {
        .kind = SPEX_STREAM_PASS, .collector = collector, .watermark = watermark};
    spex_lock_take(&stream->lock);
    enum sent sent = frame_send_mended(stream, &header, NULL, 0);
    bool goes_on = stream_goes_on(stream, sent, 0);
    spex_lock_give(&stream->lock);
    return goes_on;
}

/* An attached reader without room does not get the request: it is one that is too slow anyway. */
SPEX_COLD static void stream_dump(struct spex_sink *sink, const struct spex_stream_dump *dump) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {.kind = SPEX_STREAM_DUMP, .count = 1};
    spex_lock_take(&stream->lock);
    if (stream->dumps)
        stream_goes_on(stream, frame_send_mended(stream, &header, dump, sizeof(*dump)), 0);
    spex_lock_give(&stream->lock);
}

/* Takes the stream out of the list of attached ones, before it is freed. */
static void attached_forget(const struct stream *stream) {
    for (int s = 0; s < SPEX_STREAMS_MAX; s++)
        if (attached_streams[s] == stream)
            attached_streams[s] = NULL;
}

/* A broken stream gets no END, so that its reader sees that it is not complete. */
SPEX_COLD static void stream_finish(struct spex_sink *sink) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {.kind = SPEX_STREAM_END};
    if (!sink->broken)
        frame_send_mended(stream, &header, NULL, 0);
    reader_close(stream);
    attached_forget(stream);
    spex_free(stream->path);
    spex_free(stream);
}

/* Whether somebody has the other end of a socket. A stream that sends nothing does not notice
 * otherwise that its reader has gone. */
static bool has_reader(const struct spex_descriptor *socket) {
    struct pollfd reader = {.fd = socket->number};
    return spex_descriptor_is_ours(socket) &&
           (spex_wait_ready(&reader, 1, 0) != 1 || !(reader.revents & (POLLHUP | POLLERR)));
}

static bool has_no_reader(struct stream *stream) {
    spex_lock_take(&stream->lock);
    bool has = has_reader(&stream->socket);
    if (!has)
        reader_close(stream);
    spex_lock_give(&stream->lock);
    return !has;
}

/* In the child of a fork the memory is leaked: a collector of the parent may have held the lock. */
SPEX_COLD static void stream_abandon(struct spex_sink *sink) {
    struct stream *stream = (struct stream *)sink;
    if (stream->attached && has_reader(&stream->children) && followed_count < SPEX_STREAMS_MAX) {
        followed_streams[followed_count++] = (struct spex_stream_asked){
            .children = stream->children, .types = stream->types, .dumps = stream->dumps};
        stream->children = SPEX_NO_DESCRIPTOR;
    }
    reader_close(stream);
    attached_forget(stream);
}

/* A stream without a socket. NULL: no memory. */
static struct stream *stream_make(unsigned collectors) {
    struct stream *stream = spex_calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    spex_lock_reset(&stream->lock);
    stream->socket = stream->children = stream->handover = SPEX_NO_DESCRIPTOR;
    stream->collectors = collectors;
    stream->sink.records = stream_records;
    stream->sink.pass = stream_pass;
    stream->sink.dump = stream_dump;
    stream->sink.finish = stream_finish;
    stream->sink.abandon = stream_abandon;
    return stream;
}

/* Sends the first frames at once, so that an error is reported when spex starts and not by a
 * collector. */
SPEX_COLD int spex_stream_open(const char *path, const struct spex_descriptor *handover, bool dumps,
                               unsigned collectors, struct spex_sink **sink) {
    struct stream *stream = stream_make(collectors);
    if (!stream)
        return -ENOMEM;
    struct spex_descriptor fresh = spex_command_socket(path, handover);
    if (fresh.number < 0) {
        spex_message("SPEX_OUT: cannot connect to unix:%s: %s; the probes stay off", path,
                     strerror(-fresh.number));
        stream_finish(&stream->sink);
        return fresh.number;
    }
    stream->socket = fresh;
    socket_prepare(stream);
    /* A measuring command makes one connection. Without memory there are no further ones. */
    stream->begun = spex_ticks();
    stream->path = dumps ? spex_strdup(path) : NULL;
    stream->handover = *handover;
    /* The command that started the program measures it, and ends it when it has enough. A recorder
     * keeps what comes. */
    stream->sink.prompt = !dumps;
    if (hello_send(stream) != SENT || rings_send(stream) != SENT || sites_send(stream) != SENT) {
        int err = -errno;
        spex_message("SPEX_OUT: cannot send to %s: %s; the probes stay off", path, strerror(-err));
        stream_finish(&stream->sink);
        return err;
    }
    dumps_set(stream, dumps);
    *sink = &stream->sink;
    return 0;
}

/* Finds an attached stream without a reader, or makes one. -EUSERS: there are too many; -ENOMEM. */
static int attached_place(unsigned collectors, struct stream **stream) {
    for (int s = 0; s < SPEX_STREAMS_MAX; s++) {
        *stream = attached_streams[s];
        if (*stream && has_no_reader(*stream))
            return 0;
        if (*stream)
            continue;
        *stream = stream_make(collectors);
        if (!*stream)
            return -ENOMEM;
        (*stream)->attached = true;
        attached_streams[s] = *stream;
        spex_sinks_add(&(*stream)->sink);
        return 0;
    }
    return -EUSERS;
}

/* Makes the socket blocking with a short time limit: it comes from the control thread, whose
 * sockets never block. */
static void socket_limit_waiting(int fd) {
    const struct timeval limit = {.tv_usec = ATTACHED_WAIT_US};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){SEND_BYTES}, sizeof(int));
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* The socket is set under the stream's lock, since the place may be one that collectors already
 * send from. */
SPEX_COLD int spex_stream_attach(const struct spex_stream_asked *asked, unsigned collectors) {
    struct stream *stream;
    int err = attached_place(collectors, &stream);
    if (err)
        return err;
    socket_limit_waiting(asked->socket.number);
    spex_lock_take(&stream->lock);
    stream->socket = asked->socket;
    stream->children = asked->children;
    stream->types = asked->types;
    dumps_set(stream, asked->dumps);
    stream->dropped = 0;
    memset(&stream->sent, 0, sizeof(stream->sent));
    memset(&stream->sent_threads, 0, sizeof(stream->sent_threads));
    stream->patience_ns = ATTACHED_WAIT_US * INT64_C(1000);
    stream->granted_ns = spex_clock_ns(CLOCK_MONOTONIC);
    /* Sites that do not fit now are sent before the first records. */
    enum sent sent = hello_send(stream);
    if (sent == SENT)
        sent = sites_send(stream);
    if (sent == BROKEN)
        reader_close(stream);
    spex_lock_give(&stream->lock);
    return 0;
}

/* A connection to the command by its handover, for which a full one is waited for as for a full
 * stream. A negative errno value: the command has gone, or is too slow. */
static struct spex_descriptor handed_within_limit(const struct spex_descriptor *handover) {
    struct pollfd room = {.fd = handover->number, .events = POLLOUT};
    struct spex_descriptor fresh = spex_command_handed(handover);
    if (fresh.number == -EAGAIN && spex_wait_ready(&room, 1, ATTACHED_WAIT_US / 1000) == 1)
        fresh = spex_command_handed(handover);
    return fresh;
}

/* EPIPE: the command has gone. */
SPEX_COLD static void stream_follow(struct spex_stream_asked *asked, unsigned collectors) {
    struct spex_descriptor fresh = handed_within_limit(&asked->children);
    int err = fresh.number;
    if (err < 0 && err != -EPIPE && err != -EBADF)
        spex_message("process %d is not recorded, as its parent is: %s", (int)getpid(),
                     strerror(-err));
    asked->socket = fresh;
    if (err >= 0 && spex_stream_attach(asked, collectors) == 0)
        return;
    spex_descriptor_close(&asked->socket);
    spex_descriptor_close(&asked->children);
}

SPEX_COLD bool spex_streams_of_children(void) {
    for (unsigned s = 0; s < SPEX_STREAMS_MAX; s++)
        if (attached_streams[s] && has_reader(&attached_streams[s]->children))
            return true;
    return false;
}

SPEX_COLD void spex_streams_follow(unsigned collectors) {
    for (unsigned s = 0; s < followed_count; s++)
        stream_follow(&followed_streams[s], collectors);
    followed_count = 0;
}

bool spex_streams_followed(void) {
    return followed_count > 0;
}

SPEX_COLD void spex_streams_forget(void) {
    for (unsigned s = 0; s < followed_count; s++)
        spex_descriptor_close(&followed_streams[s].children);
    followed_count = 0;
}
