/* SPDX-License-Identifier: MIT */
/* Any packets as a program's stream: refused with one line, or records come out sound, ordered and
 * none more than went in. An input is packets, each behind two bytes that tell its length. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "packets.h"
#include <spex/kernel.h>

#include "explore/trial/receiver.h"
#include "ring/record_layout.h"

static char directory[] = "/tmp/spex-fuzz-XXXXXX";

static void remove_directory(void) {
    rmdir(directory);
}

static const char *socket_path(void) {
    static char path[64];
    if (!*path) {
        FUZZ_CHECK(mkdtemp(directory));
        atexit(remove_directory);
        snprintf(path, sizeof(path), "%s/records", directory);
    }
    return path;
}

static int connect_program(struct spex_receiver **receiver) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct spex_error why;
    const char *path = socket_path();
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    FUZZ_CHECK(fd >= 0 && spex_receiver_open(path, receiver, &why) == 0);
    strcpy(address.sun_path, path);
    FUZZ_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    FUZZ_CHECK(spex_receiver_take(*receiver, &why) == 0);
    unlink(path);
    return fd;
}

/* How many came out. */
static size_t check_records(struct spex_receiver *receiver, bool all) {
    size_t count;
    const struct spex_record *records = spex_receiver_records(receiver, all, &count);
    for (size_t r = 0; r < count; r++) {
        FUZZ_CHECK((records[r].weight >= 1 || records[r].probe_type == SPEX_KERNEL) &&
                   records[r].field_count <= SPEX_MAX_FIELDS);
        FUZZ_CHECK(__builtin_popcount(records[r].probe_type) == 1 &&
                   records[r].probe_type < 1u << SPEX_PROBE_TYPES);
        FUZZ_CHECK(r == 0 || records[r].timestamp >= records[r - 1].timestamp);
    }
    return count;
}

/* From every node there is a way to the root. */
static void check_contexts(const struct spex_receiver *receiver) {
    for (uint64_t number = 0; number <= SPEX_CONTEXTS_MAX + 1; number++) {
        struct spex_context_node node;
        if (spex_receiver_context(receiver, number, &node))
            FUZZ_CHECK(node.parent >= SPEX_CONTEXT_ROOT && node.parent < number);
    }
}

static void check_sites(const struct spex_receiver *receiver) {
    size_t count;
    const struct spex_stream_site *sites = spex_receiver_sites(receiver, &count);
    for (size_t s = 0; s < count; s++) {
        FUZZ_CHECK(strnlen(sites[s].name, sizeof(sites[s].name)) < sizeof(sites[s].name));
        FUZZ_CHECK(strnlen(sites[s].file, sizeof(sites[s].file)) < sizeof(sites[s].file));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct spex_receiver *receiver;
    struct spex_error why = {""};
    const uint8_t *packet;
    size_t length, in = size / (2 * sizeof(uint64_t)), out = 0;
    int program = connect_program(&receiver), err = 0;
    while (!err && packet_next(&data, &size, &packet, &length)) {
        if (send(program, packet, length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break; /* an empty packet before it has ended the stream */
        err = spex_receiver_take(receiver, &why);
        FUZZ_CHECK(err == 0 || (err == -EPROTO && *why.text && !strchr(why.text, '\n')));
        out += check_records(receiver, false);
        check_sites(receiver);
        check_contexts(receiver);
    }
    close(program);
    out += check_records(receiver, true);
    FUZZ_CHECK(out <= in);
    spex_receiver_close(receiver);
    return 0;
}

static size_t put_frame(uint8_t *data, struct spex_stream_header header, const void *entries,
                        size_t bytes) {
    header.magic = SPEX_STREAM_MAGIC;
    header.version = SPEX_STREAM_VERSION;
    header.collectors = 2;
    return packet_put(data, 0, &header, sizeof(header), entries, bytes);
}

/* Seed 0 is a short stream, seed n its first n frames. */
size_t fuzz_seed(unsigned number, uint8_t *data, size_t room) {
    static const struct spex_record records[3] = {
        {.timestamp = 30, .probe_type = SPEX_LAT, .weight = 1, .field_count = 1},
        {.timestamp = 40, .probe_type = SPEX_CNT, .weight = 5, .field_count = 1},
        {.timestamp = 20, .probe_type = SPEX_SNAPSHOT, .weight = 1, .field_count = 6},
    };
    static const struct spex_stream_site sites[2] = {
        {.probe_id = 7, .probe_type = SPEX_LAT, .name = "query", .values = 1},
        {.index = 1, .probe_id = 8, .probe_type = SPEX_CNT}};
    static const struct spex_stream_context contexts[2] = {{.number = 2, .parent = 1, .kernel = 7},
                                                           {.number = 3, .parent = 2, .kernel = 8}};
    static const struct spex_stream_thread threads[2] = {{0, 77}, {SPEX_THREAD_NUMBERS - 1, 78}};
    static const struct spex_stream_dump dump = {.ticks = 50, .why = "slow"};
    static const struct {
        struct spex_stream_packed packed;
        uint64_t words[6];
    } lats = {{.cpu = 1, .probe_type = SPEX_LAT, .words = 3},
              {45, 1ull << 40, 5, 46, 1ull << 40, 6}};
    static const struct {
        struct spex_stream_packed packed;
        uint64_t words[3];
    } shared = {{SPEX_STREAM_NO_CPU, SPEX_CNT, 3, .lost = 2, .gap = 1},
                {47, 2ull << 40 | 1 << 6, 0}};
    static const struct {
        struct spex_stream_header header;
        const void *entries;
        size_t bytes;
    } frames[] = {
        {{.kind = SPEX_STREAM_HELLO}, NULL, 0},
        {{.kind = SPEX_STREAM_SITES, .count = 2}, sites, sizeof(sites)},
        {{.kind = SPEX_STREAM_CONTEXTS, .count = 2}, contexts, sizeof(contexts)},
        {{.kind = SPEX_STREAM_RECORDS, .count = 3}, records, sizeof(records)},
        {{.kind = SPEX_STREAM_PASS, .watermark = 25}, NULL, 0},
        {{.kind = SPEX_STREAM_PASS, .watermark = 35, .collector = 1}, NULL, 0},
        {{.kind = SPEX_STREAM_RECORDS, .count = 1, .collector = 1}, records, sizeof(records[0])},
        {{.kind = SPEX_STREAM_THREADS, .count = 2}, threads, sizeof(threads)},
        {{.kind = SPEX_STREAM_PACKED, .count = 2}, &lats, sizeof(lats)},
        {{.kind = SPEX_STREAM_PACKED, .count = 1}, &shared, sizeof(shared)},
        {{.kind = SPEX_STREAM_DUMP, .count = 1}, &dump, sizeof(dump)},
        {{.kind = SPEX_STREAM_END, .lost = 3}, NULL, 0},
    };
    size_t count = sizeof(frames) / sizeof(frames[0]), length = 0;
    if (number >= count || room < 65536)
        return 0;
    for (size_t f = 0; f < (number ? number : count); f++)
        length += put_frame(data + length, frames[f].header, frames[f].entries, frames[f].bytes);
    return length;
}

const char *const fuzz_words[] = {"SPEX", "\x58", "SPEX\x01", "\x01", "\xff\xff\xff\xff", NULL};
