/* SPDX-License-Identifier: MIT */
/* Receives the stream, one frame a datagram (SOCK_SEQPACKET), and checks each before it is used: a
 * program may send anything. Records wait in `records` until the watermarks of all collectors have
 * passed them. Memory for sites, contexts and records is bounded. */
#define _GNU_SOURCE
#include "explore/trial/receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <spex/record.h>

#include "base/clock.h"
#include "measure/in_order.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "wire/handover.h"
#include "wire/stream_check.h"
#include "wire/stream_records.h"

/* A frame that is received so much later than it was sent shows that this process was held up; most
 * sites of a stream. */
#define LATE_NS   UINT64_C(1000000000)
#define SITES_MAX 65536

/* Most records that wait for the watermarks, 640 MiB of them: seconds of the fastest programs. */
#define RECORDS_MAX (8u << 20)

/* One stream: its sockets, what the program has told, and the records that wait for their order. */
struct spex_receiver {
    int listener;
    struct spex_handover handover;
    int connection;
    bool connected;
    bool ended;
    bool late;
    uint32_t collectors;
    uint64_t watermarks[SPEX_MAX_COLLECTORS];
    uint64_t lost;
    struct spex_context_node *contexts; /* by number; NULL: none told */
    struct spex_stream_site *sites;
    size_t site_count;
    struct spex_stream_probes probes;
    struct spex_in_order records;
    char *frame; /* buffer of SPEX_STREAM_FRAME_BYTES */
    /* Room for the records of a frame. */
    struct spex_record unpacked[SPEX_STREAM_RECORDS_MAX];
};

/* Returns the listening socket, non-blocking. The path's directory is private, which keeps other
 * users out. One program connects once, so the queue has one place. */
static int socket_listen(const char *path, struct spex_error *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path))
        return spex_fail(error, -ENAMETOOLONG,
                         "the path of the socket %s is too long; set TMPDIR to a shorter one",
                         path);
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return spex_fail(error, -errno, "cannot make a socket: %s", strerror(errno));
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 1) == 0)
        return fd;
    int err = spex_fail(error, -errno, "cannot listen at %s: %s", path, strerror(errno));
    close(fd);
    return err;
}

/* NULL: out of memory. */
static struct spex_receiver *receiver_make(void) {
    struct spex_receiver *receiver = calloc(1, sizeof(*receiver));
    if (!receiver || !(receiver->frame = malloc(SPEX_STREAM_FRAME_BYTES))) {
        free(receiver);
        return NULL;
    }
    receiver->listener = receiver->connection = -1;
    receiver->handover = SPEX_NO_HANDOVER;
    receiver->records.most = RECORDS_MAX;
    return receiver;
}

/* Without a listening socket: one program is connected, and no other can be. */
int spex_receiver_of(int socket, struct spex_receiver **out, struct spex_error *error) {
    *out = receiver_make();
    if (!*out)
        return spex_fail(error, -ENOMEM, "out of memory");
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
    (*out)->connection = socket;
    (*out)->connected = true;
    return 0;
}

int spex_receiver_open(const char *path, struct spex_receiver **out, struct spex_error *error) {
    *out = NULL;
    struct spex_receiver *receiver = receiver_make();
    if (!receiver)
        return spex_fail(error, -ENOMEM, "out of memory");
    receiver->listener = socket_listen(path, error);
    if (receiver->listener < 0) {
        int err = receiver->listener;
        spex_receiver_close(receiver);
        return err;
    }
    spex_handover_open(&receiver->handover);
    *out = receiver;
    return 0;
}

static void close_fd(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void spex_receiver_close(struct spex_receiver *receiver) {
    if (!receiver)
        return;
    close_fd(&receiver->listener);
    spex_handover_close(&receiver->handover);
    close_fd(&receiver->connection);
    free(receiver->sites);
    free(receiver->contexts);
    spex_in_order_free(&receiver->records);
    free(receiver->frame);
    free(receiver);
}

void spex_receiver_fds(const struct spex_receiver *receiver, int fds[SPEX_RECEIVER_FDS]) {
    fds[0] = receiver ? receiver->listener : -1;
    fds[1] = receiver ? receiver->handover.own : -1;
    fds[2] = receiver ? receiver->connection : -1;
}

const struct spex_descriptor *spex_receiver_handover(const struct spex_receiver *receiver) {
    return &receiver->handover.given;
}

/* A connection that waits, at the path or over the pair; or a negative number. */
static int connection_next(struct spex_receiver *receiver) {
    int fd = receiver->listener < 0
                 ? -1
                 : accept4(receiver->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return fd < 0 ? spex_handover_accept(&receiver->handover) : fd;
}

/* Accepts the program's connection. A second one is an error, since it is not known which of them
 * is meant. */
static int receiver_accept(struct spex_receiver *receiver, struct spex_error *error) {
    int fd = connection_next(receiver);
    if (fd < 0)
        return 0;
    if (receiver->connected) {
        close(fd);
        return spex_fail(
            error, -EPROTO,
            "spex_start was called again, in another process or after spex_stop: once, "
            "in one process, was expected");
    }
    receiver->connection = fd;
    receiver->connected = true;
    return 0;
}

static int receiver_take_records(struct spex_receiver *receiver,
                                 const struct spex_stream_header *header,
                                 struct spex_error *error) {
    const struct spex_record *records;
    int err = spex_stream_records(&receiver->probes, receiver->frame, receiver->unpacked, &records,
                                  error);
    if (err)
        return err;
    err = spex_in_order_add(&receiver->records, records, header->count);
    if (err == -E2BIG)
        return spex_fail(error, -EPROTO,
                         "the program's stream does not tell up to when its records are complete");
    return err ? spex_fail(error, err, "out of memory") : 0;
}

static int receiver_take_sites(struct spex_receiver *receiver,
                               const struct spex_stream_header *header, struct spex_error *error) {
    if (receiver->site_count + header->count > SITES_MAX)
        return spex_fail(error, -EPROTO, "the program's stream holds too many sites");
    struct spex_stream_site *all =
        realloc(receiver->sites, (receiver->site_count + header->count) * sizeof(*all));
    if (!all)
        return spex_fail(error, -ENOMEM, "out of memory");
    receiver->sites = all;
    for (uint32_t s = 0; s < header->count; s++) {
        struct spex_stream_site *site = &all[receiver->site_count++];
        spex_stream_take_site(receiver->frame, s, site);
        spex_stream_probes_note(&receiver->probes, site);
    }
    return 0;
}

/* Notes contexts by number. They are rare in programs without kernels, so their table is made for
 * the first. */
static int receiver_take_contexts(struct spex_receiver *receiver,
                                  const struct spex_stream_header *header,
                                  struct spex_error *error) {
    const struct spex_stream_context *contexts = spex_stream_entries(receiver->frame);
    if (!receiver->contexts)
        receiver->contexts = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(*receiver->contexts));
    if (!receiver->contexts)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (uint32_t c = 0; c < header->count; c++) {
        const struct spex_stream_context *context = &contexts[c];
        receiver->contexts[context->number] = (struct spex_context_node){
            .parent = context->parent, .kernel = (uint16_t)context->kernel};
    }
    return 0;
}

/* Handles one frame of `length` bytes in receiver->frame. */
static int receiver_take_frame(struct spex_receiver *receiver, size_t length,
                               struct spex_error *error) {
    struct spex_stream_header header = {.collectors = receiver->collectors};
    int err = spex_stream_check(receiver->frame, length, &header, error);
    if (err)
        return err;
    receiver->collectors = header.collectors;
    receiver->lost = header.lost;
    receiver->late |= spex_clock_ns(CLOCK_MONOTONIC) > header.monotonic_ns + LATE_NS;
    switch ((enum spex_stream_kind)header.kind) {
    case SPEX_STREAM_HELLO:
        return 0;
    case SPEX_STREAM_SITES:
        return receiver_take_sites(receiver, &header, error);
    case SPEX_STREAM_RECORDS:
    case SPEX_STREAM_PACKED:
        return receiver_take_records(receiver, &header, error);
    case SPEX_STREAM_THREADS:
        spex_stream_threads_note(&receiver->probes, receiver->frame);
        return 0;
    case SPEX_STREAM_CONTEXTS:
        return receiver_take_contexts(receiver, &header, error);
    case SPEX_STREAM_PASS:
        receiver->watermarks[header.collector] = header.watermark;
        return 0;
    case SPEX_STREAM_END:
        receiver->ended = true;
        return 0;
    case SPEX_STREAM_DUMP:
    case SPEX_STREAM_RINGS:
        return 0;
    }
    return 0;
}

int spex_receiver_take(struct spex_receiver *receiver, struct spex_error *error) {
    int err = receiver_accept(receiver, error);
    if (err)
        return err;
    /* Reads a bounded number of frames, so that a program that sends without end cannot occupy this
     * thread. */
    for (int frames = 0; frames < 256; frames++) {
        if (receiver->connection < 0)
            return 0;
        ssize_t length =
            recv(receiver->connection, receiver->frame, SPEX_STREAM_FRAME_BYTES, MSG_TRUNC);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN)
            return 0;
        if (length <= 0)
            close_fd(&receiver->connection);
        else if (length > SPEX_STREAM_FRAME_BYTES)
            return spex_fail(error, -EPROTO, "the program's stream holds a malformed frame");
        err = length > 0 ? receiver_take_frame(receiver, (size_t)length, error) : 0;
        if (err)
            return err;
    }
    return 1;
}

/* The time up to which all collectors have sent their records. */
static uint64_t receiver_watermark(const struct spex_receiver *receiver) {
    uint64_t lowest = UINT64_MAX;
    for (uint32_t c = 0; c < receiver->collectors; c++)
        if (receiver->watermarks[c] < lowest)
            lowest = receiver->watermarks[c];
    return lowest;
}

/* A stream that has ended has no later records, so all of them are in order. */
const struct spex_record *spex_receiver_records(struct spex_receiver *receiver, bool all,
                                                size_t *count) {
    uint64_t before =
        all || spex_receiver_ended(receiver) ? UINT64_MAX : receiver_watermark(receiver);
    return spex_in_order_take(&receiver->records, before, count);
}

bool spex_receiver_connected(const struct spex_receiver *receiver) {
    return receiver->connected;
}

bool spex_receiver_ended(const struct spex_receiver *receiver) {
    return receiver->ended || (receiver->connected && receiver->connection < 0);
}

bool spex_receiver_late(const struct spex_receiver *receiver) {
    return receiver->late;
}

/* Orders probes by id and type; never 0. */
static uint64_t probe_key(const struct spex_stream_site *site) {
    return ((uint64_t)site->probe_id << 16 | site->probe_type) + 1;
}

/* The site of the next probe after `key`, by id and type; NULL at the end. O(sites), for messages
 * only. */
static const struct spex_stream_site *receiver_next_probe(const struct spex_receiver *receiver,
                                                          uint64_t key) {
    const struct spex_stream_site *next = NULL;
    for (size_t s = 0; s < receiver->site_count; s++) {
        const struct spex_stream_site *site = &receiver->sites[s];
        if (probe_key(site) > key && (!next || probe_key(site) < probe_key(next)))
            next = site;
    }
    return next;
}

/* Whether the probes have several providers. */
static bool receiver_mixed(const struct spex_receiver *receiver) {
    for (size_t s = 1; s < receiver->site_count; s++)
        if (strcmp(receiver->sites[s].provider, receiver->sites[0].provider) != 0)
            return true;
    return false;
}

/* Each probe once, though it may have several sites. A list that is too long is cut. */
void spex_receiver_list_probes(const struct spex_receiver *receiver, char *list, size_t size) {
    const struct spex_stream_site *site = receiver_next_probe(receiver, 0);
    bool mixed = receiver_mixed(receiver);
    snprintf(list, size, "none");
    for (size_t length = 0; site && length < size;
         site = receiver_next_probe(receiver, probe_key(site))) {
        char probe[SPEX_PROBE_TEXT_BYTES];
        spex_probe_called(mixed ? site->provider : NULL, site->name, spex_stream_site_id(site),
                          probe, sizeof(probe));
        length += (size_t)snprintf(list + length, size - length, "%s%s:%s", length ? ", " : "",
                                   probe, spex_probe_type_name(site->probe_type));
    }
}

const struct spex_stream_site *spex_receiver_sites(const struct spex_receiver *receiver,
                                                   size_t *count) {
    *count = receiver->site_count;
    return receiver->sites;
}

bool spex_receiver_context(const struct spex_receiver *receiver, uint64_t number,
                           struct spex_context_node *node) {
    if (!receiver->contexts || number > SPEX_CONTEXTS_MAX || !receiver->contexts[number].parent)
        return false;
    *node = receiver->contexts[number];
    return true;
}

static bool node_known(const void *by, uint64_t number, struct spex_context_node *node) {
    return spex_receiver_context(by, number, node);
}

/* Whether a kernel of another provider is called the same. */
static bool is_ambiguous(const struct spex_receiver *receiver,
                         const struct spex_stream_site *kernel) {
    for (size_t s = 0; s < receiver->site_count; s++) {
        const struct spex_stream_site *other = &receiver->sites[s];
        if (other->probe_type == SPEX_KERNEL && strcmp(other->provider, kernel->provider) != 0 &&
            strcmp(other->name, kernel->name) == 0 &&
            (kernel->name[0] || spex_stream_site_id(other) == spex_stream_site_id(kernel)))
            return true;
    }
    return false;
}

/* False: the program has told no kernel with this number. */
static bool site_known(const void *by, uint16_t kernel, struct spex_kernel_site *known) {
    const struct spex_receiver *receiver = by;
    for (size_t s = 0; s < receiver->site_count; s++) {
        const struct spex_stream_site *site = &receiver->sites[s];
        if (site->probe_id != kernel || site->probe_type != SPEX_KERNEL)
            continue;
        *known = (struct spex_kernel_site){.provider =
                                               is_ambiguous(receiver, site) ? site->provider : NULL,
                                           .name = site->name,
                                           .id = spex_stream_site_id(site),
                                           .parameters = site->parameters,
                                           .kinds = site->kinds};
        return true;
    }
    return false;
}

struct spex_kernels_known spex_receiver_kernels(const struct spex_receiver *receiver) {
    return (struct spex_kernels_known){.by = receiver, .node = node_known, .site = site_known};
}

uint64_t spex_receiver_lost(const struct spex_receiver *receiver) {
    return receiver->lost;
}
