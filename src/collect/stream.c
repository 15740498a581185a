/* SPDX-License-Identifier: MIT */
/* Collectors send frames under the stream's lock, so a frame is never mixed with another. Sites
 * and contexts go out before the first record that refers to them. The stream of SPEX_OUT waits
 * for its reader, up to the limit of wire/command_socket.c a frame; then the reader counts as
 * gone. An attached stream waits only a little and leaves records out, since a command may
 * attach to a program that must not depend on it. */
#include "collect/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <spex/record.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "probe/contexts.h"
#include "probe/threads.h"
#include "ring/rings.h"
#include "site/registry.h"
#include "text/message.h"
#include "wire/command_socket.h"
#include "wire/stream_format.h"

/* Contexts of one frame. A frame with at most CONTEXTS_SOME has room for another path, whose length
 * is at most the number of kernels. */
enum { CONTEXTS_SOME = 64, CONTEXTS_MAX = CONTEXTS_SOME + SPEX_MAX_SITES };

_Static_assert(CONTEXTS_MAX <= SPEX_STREAM_ENTRIES_MAX(struct spex_stream_context), "one frame");

/* Collectors may wait for the reader of an attached stream for 1/ATTACHED_SHARE of the time, and at
 * most ATTACHED_WAIT_US at once. So a reader that reads in bursts gets all, and one that does not
 * read costs little. */
#define ATTACHED_WAIT_US 20000
#define ATTACHED_SHARE   10

/* Send buffer of an attached stream's socket; the system may limit it. */
#define ATTACHED_BYTES (1 << 20)

struct stream {
    struct spex_sink sink;
    pthread_mutex_t lock;
    /* The descriptor; its number is -1 while an attached stream has no reader. */
    struct spex_descriptor socket;
    unsigned collectors;
    /* The stream was requested by a command, otherwise by SPEX_OUT. The members from `types` to
     * `granted_ns` are used by attached streams only. */
    bool attached;
    /* A mask of the types of probes that the reader wants. */
    uint32_t types;
    /* Records left out, since the reader was too slow. */
    uint64_t dropped;
    /* How long collectors may wait for the reader, as calculated at `granted_ns`. */
    int64_t patience_ns;
    uint64_t granted_ns;
    uint32_t sites_sent;
    /* A bit for each context, by its number: it has been sent. */
    uint64_t contexts_sent[SPEX_CONTEXTS_MAX / 64 + 1];
    /* Contexts of the next frame. */
    struct spex_stream_context contexts[CONTEXTS_MAX];
};

/* Result of a send. FULL: an attached stream's reader has no room now. */
enum sent { SENT, FULL, BROKEN };

/* An attached stream stays in the list of sinks when its reader goes, and serves the next reader.
 * Changed under the lock of start and stop. */
static struct stream *attached_streams[SPEX_STREAMS_MAX];

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

/* Fills in the header, with the counts of the moment, and sends it with `header->count` entries
 * behind it. */
static enum sent frame_send(struct stream *stream, struct spex_stream_header *header,
                            const void *entries, size_t entry_bytes) {
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

    struct iovec parts[2] = {
        {.iov_base = header, .iov_len = sizeof(*header)},
        {.iov_base = (void *)(uintptr_t)entries, .iov_len = header->count * entry_bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = header->count ? 2 : 1};
    return packet_send(stream, &message);
}

/* Copies a text; of a long one the end, which says more than the beginning. */
static void copy_text(char *to, const char *from) {
    size_t length = from ? strlen(from) : 0;
    size_t skip = length < SPEX_STREAM_TEXT_BYTES ? 0 : length - (SPEX_STREAM_TEXT_BYTES - 1);
    snprintf(to, SPEX_STREAM_TEXT_BYTES, "%s", from ? from + skip : "");
}

/* Sends the sites that have not been sent. Called before records, so that each site precedes its
 * first record. Regions are not sent. */
static enum sent sites_send(struct stream *stream) {
    enum { BATCH = 64 };
    uint32_t count = spex_sites_count();
    while (stream->sites_sent < count) {
        struct spex_stream_site sites[BATCH] = {0};
        struct spex_stream_header header = {.kind = SPEX_STREAM_SITES};
        uint32_t first = stream->sites_sent;
        while (header.count < BATCH && stream->sites_sent < count) {
            uint32_t index = stream->sites_sent++;
            const struct spex_site_info *info = spex_site_info(index);
            if (spex_site_is_region(info))
                continue;
            struct spex_stream_site *site = &sites[header.count++];
            site->index = index;
            site->line = info->line;
            site->subsample = info->subsample;
            site->probe_id = info->probe_id;
            site->probe_type = info->probe_type;
            copy_text(site->name, info->name);
            copy_text(site->file, info->file);
            copy_text(site->parameters, info->parameters);
            copy_text(site->provider, info->provider);
            site->declared = info->id < 0 ? SPEX_STREAM_NO_ID : (uint32_t)info->id + 1;
        }
        enum sent sent = header.count ? frame_send(stream, &header, sites, sizeof(sites[0])) : SENT;
        if (sent != SENT) {
            stream->sites_sent = first;
            return sent;
        }
    }
    return SENT;
}

/* Appends the contexts from `number` towards the root that have not been sent, behind the first
 * `count`. Returns how many there are then. */
static uint32_t contexts_collect(struct stream *stream, uint64_t number, uint32_t count) {
    struct spex_context_node node;
    while (count < CONTEXTS_MAX && spex_context_node(number, &node) &&
           !(stream->contexts_sent[number / 64] >> number % 64 & 1)) {
        stream->contexts_sent[number / 64] |= UINT64_C(1) << number % 64;
        stream->contexts[count++] = (struct spex_stream_context){
            .number = (uint32_t)number, .parent = node.parent, .kernel = node.kernel};
        number = node.parent;
    }
    return count;
}

/* Marks the first `count` contexts as not sent, after their frame has failed. */
static void contexts_take_back(struct stream *stream, uint32_t count) {
    for (uint32_t c = 0; c < count; c++) {
        uint32_t number = stream->contexts[c].number;
        stream->contexts_sent[number / 64] &= ~(UINT64_C(1) << number % 64);
    }
}

/* Sends the contexts that the records refer to and that have not been sent, in as many frames as
 * are needed. */
static enum sent contexts_send(struct stream *stream, const struct spex_record *records,
                               size_t count) {
    struct spex_stream_header header = {.kind = SPEX_STREAM_CONTEXTS};
    for (size_t r = 0; r < count; r++) {
        if (records[r].probe_type == SPEX_KERNEL)
            header.count = contexts_collect(stream, records[r].fields[1], header.count);
        bool last = r + 1 == count;
        if (header.count <= (last ? 0 : CONTEXTS_SOME))
            continue;
        enum sent sent = frame_send(stream, &header, stream->contexts, sizeof(stream->contexts[0]));
        if (sent != SENT) {
            contexts_take_back(stream, header.count);
            return sent;
        }
        header.count = 0;
    }
    return SENT;
}

/* Handles a failed send of an attached stream: counts the records that were left out, or closes the
 * socket of a reader that has gone. */
static void attached_missed(struct stream *stream, enum sent sent, size_t records) {
    if (sent == FULL)
        stream->dropped += records;
    else if (sent == BROKEN)
        spex_descriptor_close(&stream->socket);
}

/* Whether the reader wants the batch, whose records are all of one type. */
static bool is_wanted(const struct stream *stream, const struct spex_record *records) {
    return !stream->attached ||
           (stream->socket.number >= 0 && (stream->types & records->probe_type));
}

/* Sends a batch after its sites and contexts. *records and *count are what is left to send
 * afterwards. */
static enum sent records_send(struct stream *stream, const struct spex_record **records,
                              size_t *count) {
    const size_t most = SPEX_STREAM_ENTRIES_MAX(struct spex_record);
    enum sent sent = sites_send(stream);
    if (sent == SENT)
        sent = contexts_send(stream, *records, *count);
    while (sent == SENT && *count > 0) {
        size_t some = *count < most ? *count : most;
        struct spex_stream_header header = {.kind = SPEX_STREAM_RECORDS, .count = (uint32_t)some};
        sent = frame_send(stream, &header, *records, sizeof(**records));
        if (sent != SENT)
            break;
        *records += some;
        *count -= some;
    }
    return sent;
}

/* A failed send breaks the stream of SPEX_OUT. An attached stream stays in the list of sinks for
 * its next reader. */
static bool stream_records(struct spex_sink *sink, const struct spex_record *records,
                           size_t count) {
    struct stream *stream = (struct stream *)sink; /* sink is the first member */
    pthread_mutex_lock(&stream->lock);
    enum sent sent = is_wanted(stream, records) ? records_send(stream, &records, &count) : SENT;
    if (stream->attached)
        attached_missed(stream, sent, count);
    pthread_mutex_unlock(&stream->lock);
    return stream->attached || sent == SENT;
}

/* An attached stream sends the watermark only if the reader has room. The next pass sends a
 * later one. */
static bool stream_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {
        .kind = SPEX_STREAM_PASS, .collector = collector, .watermark = watermark};
    pthread_mutex_lock(&stream->lock);
    enum sent sent = frame_send(stream, &header, NULL, 0);
    if (stream->attached)
        attached_missed(stream, sent, 0);
    pthread_mutex_unlock(&stream->lock);
    return stream->attached || sent == SENT;
}

/* Takes the stream out of the list of attached ones, before it is freed. */
static void attached_forget(const struct stream *stream) {
    for (int s = 0; s < SPEX_STREAMS_MAX; s++)
        if (attached_streams[s] == stream)
            attached_streams[s] = NULL;
}

/* A broken stream gets no END, so that its reader sees that it is not complete. */
static void stream_finish(struct spex_sink *sink) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {.kind = SPEX_STREAM_END};
    if (!sink->broken)
        frame_send(stream, &header, NULL, 0);
    spex_descriptor_close(&stream->socket);
    attached_forget(stream);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* In the child of a fork the memory is leaked: a collector of the parent may have held the lock. */
static void stream_abandon(struct spex_sink *sink) {
    struct stream *stream = (struct stream *)sink;
    spex_descriptor_close(&stream->socket);
    attached_forget(stream);
}

/* A stream without a socket. NULL: no memory. */
static struct stream *stream_make(unsigned collectors) {
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return NULL;
    pthread_mutex_init(&stream->lock, NULL);
    stream->socket = SPEX_NO_DESCRIPTOR;
    stream->collectors = collectors;
    stream->sink.records = stream_records;
    stream->sink.pass = stream_pass;
    stream->sink.finish = stream_finish;
    stream->sink.abandon = stream_abandon;
    return stream;
}

/* Sends the first frames at once, so that an error is reported when spex starts and not by a
 * collector. */
int spex_stream_open(const char *path, const struct spex_descriptor *handover, unsigned collectors,
                     struct spex_sink **sink) {
    struct stream *stream = stream_make(collectors);
    if (!stream)
        return -ENOMEM;
    int fd = spex_command_socket(path, handover);
    if (fd < 0) {
        spex_message("SPEX_OUT: cannot connect to unix:%s: %s; the probes stay off", path,
                     strerror(-fd));
        stream_finish(&stream->sink);
        return fd;
    }
    stream->socket = spex_descriptor_of(fd);
    struct spex_stream_header header = {.kind = SPEX_STREAM_HELLO};
    if (frame_send(stream, &header, NULL, 0) != SENT || sites_send(stream) != SENT) {
        int err = -errno;
        spex_message("SPEX_OUT: cannot send to %s: %s; the probes stay off", path, strerror(-err));
        stream_finish(&stream->sink);
        return err;
    }
    *sink = &stream->sink;
    return 0;
}

/* Whether the stream has no reader. Polls the socket, since a stream that sends nothing does not
 * notice that its reader has gone. */
static bool has_no_reader(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    struct pollfd reader = {.fd = stream->socket.number};
    if (!spex_descriptor_is_ours(&stream->socket) ||
        (poll(&reader, 1, 0) == 1 && (reader.revents & (POLLHUP | POLLERR))))
        spex_descriptor_close(&stream->socket);
    bool is = stream->socket.number < 0;
    pthread_mutex_unlock(&stream->lock);
    return is;
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
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ATTACHED_BYTES}, sizeof(int));
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* The socket is set under the stream's lock, since the place may be one that collectors already
 * send from. */
int spex_stream_attach(struct spex_descriptor socket, uint32_t types, unsigned collectors) {
    struct stream *stream;
    struct spex_stream_header header = {.kind = SPEX_STREAM_HELLO};
    int err = attached_place(collectors, &stream);
    if (err)
        return err;
    socket_limit_waiting(socket.number);
    pthread_mutex_lock(&stream->lock);
    stream->socket = socket;
    stream->types = types;
    stream->dropped = stream->sites_sent = 0;
    stream->patience_ns = ATTACHED_WAIT_US * INT64_C(1000);
    stream->granted_ns = spex_clock_ns(CLOCK_MONOTONIC);
    memset(stream->contexts_sent, 0, sizeof(stream->contexts_sent));
    /* Sites that do not fit now are sent before the first records. */
    enum sent sent = frame_send(stream, &header, NULL, 0);
    if (sent == SENT)
        sent = sites_send(stream);
    if (sent == BROKEN)
        spex_descriptor_close(&stream->socket);
    pthread_mutex_unlock(&stream->lock);
    return 0;
}
