/* SPDX-License-Identifier: MIT */
/* A heap of the packets that are being read, with that of the earliest next event on top. */
#include "trace/read/merge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "trace/trace_format.h"

/* Bytes behind a packet's events that are read where the last one is cut off. */
enum { BEYOND = 16 };

/* Bytes of packets that may be read at once: those of a hundred CPUs and more. */
#define OPEN_BYTES_MAX (UINT64_C(1) << 30)

/* A packet that is being read. */
struct open_packet {
    const struct spex_packet_place *packet;
    const struct spex_recording_file *file;
    char *events;
    uint32_t at;
    /* Of the event at `at`: its time, class, layout, what of it is the tag and time, and all of its
     * bytes. */
    uint64_t now;
    const struct spex_recording_class *class;
    unsigned layout;
    uint32_t head;
    uint32_t length;
};

struct spex_merge {
    struct spex_packet_places *packets;
    const struct spex_recording_file *files;
    struct spex_recording_problems *problems;
    struct open_packet *heap;
    size_t count, room;
    /* The packet to be opened next. */
    size_t next;
    uint64_t from;
    uint64_t open_bytes;
};

static int packet_order(const void *a, const void *b) {
    const struct spex_packet_place *one = a, *other = b;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    if (one->file != other->file)
        return one->file < other->file ? -1 : 1;
    return one->offset < other->offset ? -1 : one->offset > other->offset;
}

struct spex_merge *spex_merge_create(struct spex_packet_places *packets,
                                     const struct spex_recording_file *files,
                                     struct spex_recording_problems *problems) {
    struct spex_merge *merge = calloc(1, sizeof(*merge));
    if (!merge)
        return NULL;
    *merge = (struct spex_merge){.packets = packets, .files = files, .problems = problems};
    if (packets->count)
        qsort(packets->list, packets->count, sizeof(*packets->list), packet_order);
    return merge;
}

void spex_merge_restart(struct spex_merge *merge, uint64_t from) {
    for (size_t h = 0; h < merge->count; h++)
        free(merge->heap[h].events);
    merge->count = 0;
    merge->next = 0;
    merge->open_bytes = 0;
    merge->from = from;
}

void spex_merge_destroy(struct spex_merge *merge) {
    if (!merge)
        return;
    spex_merge_restart(merge, 0);
    free(merge->heap);
    free(merge);
}

/* Tells what is wrong with the rest of a packet, which is left out. */
static bool rest_is_damaged(const struct open_packet *open,
                            struct spex_recording_problems *problems, const char *why) {
    spex_recording_problem(problems, "%s: at byte %llu: %s; %u bytes of the packet are left out",
                           open->file->path, (unsigned long long)(open->packet->offset + open->at),
                           why, open->packet->bytes - open->at);
    return false;
}

/* Reads a value of so many bytes. Up to 7 bytes behind it are read, too. */
static uint64_t take(const char **at, unsigned bytes) {
    uint64_t value;
    memcpy(&value, *at, sizeof(value));
    *at += bytes;
    unsigned other = 64 - 8 * bytes;
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? value >> other : value << other >> other;
}

/* Sets the time of the event, and returns its id. What is behind the packet's end reads as
 * anything. */
static uint32_t head_take(struct open_packet *open) {
    const char *begin = open->events + open->at, *at = begin;
    uint32_t tag = (uint32_t)take(&at, SPEX_TRACE_TAG_BYTES), ids = SPEX_TRACE_SHORT_IDS;
    enum spex_trace_time time = spex_trace_tag_time(tag);
    if (time == SPEX_TRACE_TIME_64) {
        at = begin;
        tag = (uint32_t)take(&at, SPEX_TRACE_LONG_TAG_BYTES);
        ids = SPEX_TRACE_LONG_IDS;
    }
    unsigned bytes = spex_trace_time_bytes(time), other = 64 - 8 * bytes;
    /* The clock's low bits: the time is the next one that has them. */
    open->now += (take(&at, bytes) - open->now) << other >> other;
    open->head = (uint32_t)(at - begin);
    return spex_trace_tag_id(tag, ids);
}

/* Finds out what the event at `at` is. False: there is none, or it is damaged. */
static bool event_peek(struct open_packet *open, struct spex_recording_problems *problems) {
    uint32_t left = open->packet->bytes - open->at;
    uint64_t before = open->now;
    if (!left)
        return false;
    uint32_t id = head_take(open);
    if (open->head > left)
        return rest_is_damaged(open, problems, "an event is cut off");
    const struct spex_journal *journal = open->file->journal;
    if (id >= journal->event_count || !journal->events[id].known)
        return rest_is_damaged(open, problems, "the event's class is not in the journal");
    open->class = &journal->classes[journal->events[id].class];
    open->layout = journal->events[id].layout;
    open->length = open->head + spex_layout_bytes(open->layout, open->class->values);
    if (open->length > left)
        return rest_is_damaged(open, problems, "an event is cut off");
    /* A time of 64 bits may be any, and others may run over. */
    if (open->now < before)
        return rest_is_damaged(open, problems, "the event's time is before the last one's");
    if (open->now > open->packet->end)
        return rest_is_damaged(open, problems, "the event's time is behind its packet's end");
    return true;
}

/* Decodes what is between an event's time and its values, and returns where these begin. */
static const char *parts_decode(const struct open_packet *open, struct spex_record *record) {
    const char *at = open->events + open->at + open->head;
    unsigned more = open->layout & SPEX_LAYOUT_MORE_MASK;
    if (open->layout & SPEX_LAYOUT_THREAD)
        record->thread_id = (uint32_t)take(&at, 4);
    if (more == SPEX_LAYOUT_PLAIN)
        return at;
    bool full = more == SPEX_LAYOUT_FULL;
    record->weight = (uint32_t)take(&at, full ? 4 : 2);
    if (full)
        record->lost = (uint32_t)take(&at, 4);
    record->marks = (uint8_t)take(&at, 1);
    if (full)
        record->gap = (uint8_t)take(&at, 1);
    return at;
}

/* Decodes the event that event_peek found. */
static void event_decode(const struct open_packet *open, struct spex_record *record) {
    const struct spex_recording_class *class = open->class;
    unsigned first = spex_probe_type_first_value(class->probe_type), values = class->values;
    if (first + values > SPEX_MAX_FIELDS)
        values = SPEX_MAX_FIELDS - first;
    *record = (struct spex_record){.timestamp = open->now,
                                   .probe_type = class->probe_type,
                                   .thread_id = open->packet->thread,
                                   .weight = 1,
                                   .probe_id = class->probe_id,
                                   .cpu_id = (uint16_t)open->packet->cpu,
                                   .field_count = (uint8_t)(first + values),
                                   .kinds = class->kinds};
    const char *at = parts_decode(open, record);
    unsigned width = 1u << (open->layout & SPEX_LAYOUT_WIDTH_MASK);
    record->fields[0] = record->weight;
    for (unsigned v = 0; v < values; v++) {
        uint64_t value = take(&at, width);
        bool is_signed = spex_kind_at(class->kinds, first + v) == SPEX_KIND_SIGNED;
        record->fields[first + v] = is_signed ? spex_trace_extend(value, width) : value;
        width = 1u << (open->layout / SPEX_LAYOUT_OTHERS & SPEX_LAYOUT_WIDTH_MASK);
    }
}

/* Whether one packet's next event comes before another's. */
static bool is_before(const struct open_packet *one, const struct open_packet *other) {
    return one->now != other->now ? one->now < other->now : one->packet < other->packet;
}

static void heap_sink(struct spex_merge *merge) {
    struct open_packet *heap = merge->heap, moved = heap[0];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < merge->count; at = child) {
        if (child + 1 < merge->count && is_before(&heap[child + 1], &heap[child]))
            child++;
        if (!is_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void heap_add(struct spex_merge *merge, const struct open_packet *open) {
    struct open_packet *heap = merge->heap;
    size_t at = merge->count++;
    for (; at > 0 && is_before(open, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = *open;
}

static int file_open(const char *path) {
    return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

/* Reads the events of a packet. 0 or a negative errno value; -ENODATA: the file has become
 * shorter. */
static int events_read(const struct open_packet *open) {
    int fd = file_open(open->file->path);
    if (fd < 0)
        return -errno;
    size_t got = 0;
    int err = 0;
    while (!err && got < open->packet->bytes) {
        ssize_t more = pread(fd, open->events + got, open->packet->bytes - got,
                             (off_t)(open->packet->offset + got));
        if (more > 0)
            got += (size_t)more;
        else if (more == 0 || errno != EINTR)
            err = more == 0 ? -ENODATA : -errno;
    }
    close(fd);
    return err;
}

/* A packet that cannot be read is told and left out. */
static int packet_open(struct spex_merge *merge, const struct spex_packet_place *packet,
                       struct spex_error *error) {
    struct open_packet open = {
        .packet = packet, .file = &merge->files[packet->file], .now = packet->begin};
    if (merge->open_bytes + packet->bytes > OPEN_BYTES_MAX)
        return spex_fail(error, -E2BIG, "%s: at byte %llu: packets of over %u MiB overlap",
                         open.file->path, (unsigned long long)packet->offset,
                         (unsigned)(OPEN_BYTES_MAX >> 20));
    if (merge->count == merge->room) {
        size_t room = merge->room ? merge->room * 2 : 16;
        void *grown = realloc(merge->heap, room * sizeof(*merge->heap));
        if (!grown)
            return spex_fail(error, -ENOMEM, "out of memory");
        merge->heap = grown;
        merge->room = room;
    }
    open.events = calloc(1, packet->bytes + BEYOND);
    if (!open.events)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = events_read(&open);
    if (err)
        spex_recording_problem(merge->problems, "%s: at byte %llu: a packet cannot be read: %s",
                               open.file->path, (unsigned long long)packet->offset, strerror(-err));
    if (err || !event_peek(&open, merge->problems)) {
        free(open.events);
        return 0;
    }
    merge->open_bytes += packet->bytes;
    heap_add(merge, &open);
    return 0;
}

/* Opens the packets that may have the next event. */
static int packets_open(struct spex_merge *merge, uint64_t *bytes, struct spex_error *error) {
    int err = 0;
    while (!err && merge->next < merge->packets->count) {
        const struct spex_packet_place *packet = &merge->packets->list[merge->next];
        if (merge->count && packet->begin > merge->heap[0].now)
            break;
        merge->next++;
        if (packet->end < merge->from || !packet->bytes)
            continue;
        *bytes += packet->bytes;
        err = packet_open(merge, packet, error);
    }
    return err;
}

/* Goes on to the next event of the packet on top. */
static void top_advance(struct spex_merge *merge) {
    struct open_packet *top = &merge->heap[0];
    top->at += top->length;
    if (!event_peek(top, merge->problems)) {
        merge->open_bytes -= top->packet->bytes;
        free(top->events);
        *top = merge->heap[--merge->count];
    }
    if (merge->count > 1)
        heap_sink(merge);
}

int spex_merge_next(struct spex_merge *merge, struct spex_record *record,
                    const struct spex_recording_class **class, uint32_t *process, uint64_t *bytes,
                    struct spex_error *error) {
    for (;;) {
        int err = packets_open(merge, bytes, error);
        if (err || !merge->count)
            return err;
        const struct open_packet *top = &merge->heap[0];
        bool wanted = top->class->wanted && top->now >= merge->from;
        if (wanted) {
            event_decode(top, record);
            *class = top->class;
            *process = top->file->process;
        }
        top_advance(merge);
        if (wanted)
            return 1;
    }
}
