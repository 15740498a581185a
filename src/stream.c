/* SPDX-License-Identifier: MIT */
#include "stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <spex/kernel.h>

#include "clock.h"
#include "contexts.h"
#include "descriptor.h"
#include "message.h"
#include "rings.h"
#include "sites.h"
#include "socket_address.h"
#include "stream_format.h"
#include "threads.h"

/* A reader that takes nothing for so long is gone; the collector waits until then, not the
 * program. */
#define SEND_TIMEOUT_SECONDS 2

/* Contexts of one frame: where there are no more than SOME, there is room for another path, which is no longer than
 * there are kernels. */
enum { CONTEXTS_SOME = 64, CONTEXTS_MAX = CONTEXTS_SOME + SPEX_MAX_SITES };

_Static_assert(CONTEXTS_MAX <= SPEX_STREAM_ENTRIES_MAX(struct spex_stream_context), "one frame");

struct stream {
    struct spex_sink sink;
    pthread_mutex_t lock;
    struct spex_descriptor socket;
    unsigned collectors;
    uint32_t sites_sent;
    uint64_t contexts_sent[SPEX_CONTEXTS_MAX / 64 + 1]; /* a bit for each number */
    struct spex_stream_context contexts[CONTEXTS_MAX];  /* to be sent */
};

static bool frame_send(struct stream *stream, struct spex_stream_header *header,
                       const void *entries, size_t entry_bytes) {
    struct spex_ring_counts counts = spex_rings_totals();
    if (!spex_descriptor_is_ours(&stream->socket))
        return false;
    header->magic = SPEX_STREAM_MAGIC;
    header->version = SPEX_STREAM_VERSION;
    header->collectors = stream->collectors;
    header->process_id = (uint32_t)getpid();
    header->monotonic_ns = spex_clock_ns(CLOCK_MONOTONIC);
    header->produced = counts.produced;
    header->consumed = counts.consumed;
    header->lost = counts.lost + spex_threads_unrecorded();

    struct iovec parts[2] = {
        {.iov_base = header, .iov_len = sizeof(*header)},
        {.iov_base = (void *)(uintptr_t)entries, .iov_len = header->count * entry_bytes},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = header->count ? 2 : 1};
    ssize_t sent;
    do
        sent = sendmsg(stream->socket.number, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent >= 0;
}

/* The end of a long text says more than its beginning. */
static void copy_text(char *to, const char *from) {
    size_t length = from ? strlen(from) : 0;
    size_t skip = length < SPEX_STREAM_TEXT_BYTES ? 0 : length - (SPEX_STREAM_TEXT_BYTES - 1);
    snprintf(to, SPEX_STREAM_TEXT_BYTES, "%s", from ? from + skip : "");
}

/* Sites go out before the first record that could be theirs. */
static bool sites_send(struct stream *stream) {
    enum { BATCH = 64 };
    uint32_t count = spex_sites_count();
    while (stream->sites_sent < count) {
        struct spex_stream_site sites[BATCH] = {0};
        struct spex_stream_header header = {.kind = SPEX_STREAM_SITES};
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
        }
        if (header.count && !frame_send(stream, &header, sites, sizeof(sites[0])))
            return false;
    }
    return true;
}

/* From `number` up to what has been sent before; behind the first `count`. How many there are then. */
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

static bool contexts_send(struct stream *stream, const struct spex_record *records, size_t count) {
    struct spex_stream_header header = {.kind = SPEX_STREAM_CONTEXTS};
    for (size_t r = 0; r < count; r++) {
        if (records[r].probe_type == SPEX_KERNEL)
            header.count = contexts_collect(stream, records[r].fields[1], header.count);
        bool last = r + 1 == count;
        if (header.count <= (last ? 0 : CONTEXTS_SOME))
            continue;
        if (!frame_send(stream, &header, stream->contexts, sizeof(stream->contexts[0])))
            return false;
        header.count = 0;
    }
    return true;
}

static bool stream_records(struct spex_sink *sink, const struct spex_record *records,
                           size_t count) {
    struct stream *stream = (struct stream *)sink; /* sink is the first member */
    const size_t most = SPEX_STREAM_ENTRIES_MAX(struct spex_record);
    pthread_mutex_lock(&stream->lock);
    bool good = sites_send(stream) && contexts_send(stream, records, count);
    while (good && count > 0) {
        size_t some = count < most ? count : most;
        struct spex_stream_header header = {.kind = SPEX_STREAM_RECORDS, .count = (uint32_t)some};
        good = frame_send(stream, &header, records, sizeof(*records));
        records += some;
        count -= some;
    }
    pthread_mutex_unlock(&stream->lock);
    return good;
}

static bool stream_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {
        .kind = SPEX_STREAM_PASS, .collector = collector, .watermark = watermark};
    pthread_mutex_lock(&stream->lock);
    bool good = frame_send(stream, &header, NULL, 0);
    pthread_mutex_unlock(&stream->lock);
    return good;
}

static void stream_finish(struct spex_sink *sink) {
    struct stream *stream = (struct stream *)sink;
    struct spex_stream_header header = {.kind = SPEX_STREAM_END};
    if (!sink->broken)
        frame_send(stream, &header, NULL, 0);
    spex_descriptor_close(&stream->socket);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* The rest is left as it was: a collector that this process has not got may have held the lock. */
static void stream_abandon(struct spex_sink *sink) {
    spex_descriptor_close(&((struct stream *)sink)->socket);
}

static int stream_connect(const char *path) {
    struct sockaddr_un address;
    int bad = spex_socket_address(path, &address);
    if (bad)
        return bad;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct timeval limit = {.tv_sec = SEND_TIMEOUT_SECONDS};
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int err = -errno;
        close(fd);
        return err;
    }
    return fd;
}

int spex_stream_open(const char *path, unsigned collectors, struct spex_sink **sink) {
    struct stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return -ENOMEM;
    int fd = stream_connect(path);
    if (fd < 0) {
        spex_message("SPEX_OUT: cannot connect to unix:%s: %s", path, strerror(-fd));
        free(stream);
        return fd;
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream->socket = spex_descriptor_of(fd);
    stream->collectors = collectors;
    stream->sink.records = stream_records;
    stream->sink.pass = stream_pass;
    stream->sink.finish = stream_finish;
    stream->sink.abandon = stream_abandon;
    struct spex_stream_header header = {.kind = SPEX_STREAM_HELLO};
    if (!frame_send(stream, &header, NULL, 0) || !sites_send(stream)) {
        int err = -errno;
        spex_message("SPEX_OUT: cannot send to %s: %s", path, strerror(-err));
        stream_finish(&stream->sink);
        return err;
    }
    *sink = &stream->sink;
    return 0;
}
