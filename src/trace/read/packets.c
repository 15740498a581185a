/* SPDX-License-Identifier: MIT */
/* One header is read for each packet. Where a header is wrong, the next magic number with the
 * trace's uuid behind it is looked for, block by block. */
#define _GNU_SOURCE
#include "trace/read/packets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace_format.h"

/* SEARCH_BYTES: read at once while the next packet is looked for. */
#define SEARCH_BYTES (1 << 16)

/* What begins a packet: the magic number and the uuid. */
#define BEGIN_BYTES (sizeof(uint32_t) + SPEX_TRACE_UUID_BYTES)

static const char cut_off[] = "the last packet is cut off";

struct indexing {
    const char *path;
    const uint8_t *uuid;
    int fd;
    uint64_t size, offset;
    struct spex_packet_places *packets;
    struct spex_recording_problems *problems;
    uint32_t file;
    bool any;
    uint64_t number; /* of the last packet */
    uint64_t discarded;
};

/* Reads up to so many bytes; fewer at the end of the file. The number, or a negative errno
 * value. */
static ssize_t read_some(int fd, void *to, size_t bytes, uint64_t offset) {
    size_t got = 0;
    while (got < bytes) {
        ssize_t more = pread(fd, (char *)to + got, bytes - got, (off_t)(offset + got));
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return -errno;
        if (more == 0)
            break;
        got += (size_t)more;
    }
    return (ssize_t)got;
}

/* What is wrong with a packet's head; NULL: nothing. */
static const char *head_fault(const struct indexing *indexing,
                              const struct spex_trace_packet *head) {
    uint64_t left = indexing->size - indexing->offset;
    if (head->magic == __builtin_bswap32(SPEX_TRACE_MAGIC))
        return "it was written on a machine of another byte order";
    if (head->magic != SPEX_TRACE_MAGIC)
        return "the beginning of a packet was expected";
    if (memcmp(head->uuid, indexing->uuid, SPEX_TRACE_UUID_BYTES) != 0)
        return "the packet has the uuid of another trace";
    if (head->stream_id != 0)
        return "the packet is of another class of streams";
    if (head->packet_bits % 8 || head->content_bits % 8 || head->content_bits > head->packet_bits ||
        head->content_bits / 8 < sizeof(*head) ||
        head->packet_bits / 8 > SPEX_PACKET_PLACE_BYTES_MAX)
        return "the packet's size is impossible";
    if (head->packet_bits / 8 > left)
        return cut_off;
    if (head->end < head->begin)
        return "the packet ends before it begins";
    return NULL;
}

static int packet_append(struct indexing *indexing, const struct spex_trace_packet *head) {
    struct spex_packet_places *packets = indexing->packets;
    if (packets->count == packets->room) {
        size_t room = packets->room ? packets->room * 2 : 64;
        void *grown = realloc(packets->list, room * sizeof(*packets->list));
        if (!grown)
            return -ENOMEM;
        packets->list = grown;
        packets->room = room;
    }
    packets->list[packets->count++] = (struct spex_packet_place){
        .begin = head->begin,
        .end = head->end,
        .offset = indexing->offset + sizeof(*head),
        .bytes = (uint32_t)(head->content_bits / 8 - sizeof(*head)),
        .file = indexing->file,
        .cpu = head->cpu,
        .thread = head->thread,
    };
    return 0;
}

/* Packets of a file have numbers one after the other. */
static void number_check(struct indexing *indexing, const struct spex_trace_packet *head) {
    uint64_t missing = head->number - indexing->number - 1;
    if (indexing->any && missing)
        spex_recording_problem(
            indexing->problems, "%s: at byte %llu: packet %llu was expected, this is %llu",
            indexing->path, (unsigned long long)indexing->offset,
            (unsigned long long)indexing->number + 1, (unsigned long long)head->number);
    indexing->any = true;
    indexing->number = head->number;
    indexing->discarded = head->discarded;
}

/* Where the next data of a file is, beyond a hole: anybody can make one of many terabytes. */
static uint64_t data_from(const struct indexing *indexing, uint64_t at) {
    off_t data = lseek(indexing->fd, (off_t)at, SEEK_DATA);
    return data >= 0 ? (uint64_t)data : errno == ENXIO ? indexing->size : at;
}

/* Looks for the beginning of a packet behind the present offset; the file's size: there is none. A
 * negative errno value where reading fails. */
static int64_t find_next(const struct indexing *indexing) {
    uint8_t begin[BEGIN_BYTES], *block = malloc(SEARCH_BYTES);
    const uint32_t magic = SPEX_TRACE_MAGIC;
    int64_t found = block ? (int64_t)indexing->size : -ENOMEM;
    memcpy(begin, &magic, sizeof(magic));
    memcpy(begin + sizeof(magic), indexing->uuid, SPEX_TRACE_UUID_BYTES);
    for (uint64_t at = data_from(indexing, indexing->offset + 1); block && at < indexing->size;
         at = data_from(indexing, at + SEARCH_BYTES - BEGIN_BYTES + 1)) {
        ssize_t got = read_some(indexing->fd, block, SEARCH_BYTES, at);
        const uint8_t *there = got > 0 ? memmem(block, (size_t)got, begin, sizeof(begin)) : NULL;
        if (got < 0 || there) {
            found = got < 0 ? got : (int64_t)at + (there - block);
            break;
        }
    }
    free(block);
    return found;
}

/* Tells what is wrong, and goes on at the next packet. */
static int skip_damage(struct indexing *indexing, const char *fault) {
    int64_t next = find_next(indexing);
    if (next < 0)
        return (int)next;
    bool is_end = fault == cut_off && (uint64_t)next == indexing->size;
    if (!is_end || !indexing->packets->unfinished)
        spex_recording_problem(indexing->problems,
                               "%s: at byte %llu of %llu: %s; %llu bytes are left out",
                               indexing->path, (unsigned long long)indexing->offset,
                               (unsigned long long)indexing->size, fault,
                               (unsigned long long)((uint64_t)next - indexing->offset));
    indexing->offset = (uint64_t)next;
    return 0;
}

static int packet_index(struct indexing *indexing) {
    struct spex_trace_packet head;
    ssize_t got = read_some(indexing->fd, &head, sizeof(head), indexing->offset);
    if (got < 0)
        return (int)got;
    const char *fault = (size_t)got < sizeof(head) ? cut_off : head_fault(indexing, &head);
    if (fault)
        return skip_damage(indexing, fault);
    number_check(indexing, &head);
    int err = packet_append(indexing, &head);
    indexing->offset += head.packet_bits / 8;
    return err;
}

static int file_index(struct indexing *indexing) {
    struct stat status;
    if (fstat(indexing->fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    indexing->size = (uint64_t)status.st_size;
    int err = 0;
    while (!err && indexing->offset < indexing->size)
        err = packet_index(indexing);
    return err;
}

/* Whether a file can be left out after an error: others can be read. One that is not there any more
 * was removed by the recorder, to make room. */
static bool is_of_the_file(int err) {
    return err != -ENOMEM && err != -EMFILE && err != -ENFILE;
}

int spex_packets_index(const char *path, const uint8_t uuid[16], uint32_t file,
                       struct spex_packet_places *packets, uint64_t *discarded,
                       struct spex_recording_problems *problems, struct spex_error *error) {
    struct indexing indexing = {
        .path = path, .uuid = uuid, .packets = packets, .problems = problems, .file = file};
    /* Without waiting for the writer of a pipe. */
    indexing.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int err = indexing.fd < 0 ? -errno : file_index(&indexing);
    if (indexing.fd >= 0)
        close(indexing.fd);
    *discarded = indexing.discarded;
    if (err && !is_of_the_file(err))
        return spex_fail(error, err, "%s: %s", path, strerror(-err));
    if (err && err != -ENOENT)
        spex_recording_problem(problems, "%s: %s; the file is left out", path,
                               err == -EINVAL ? "it is no regular file" : strerror(-err));
    return 0;
}
