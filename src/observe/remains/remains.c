/* SPDX-License-Identifier: MIT */
/* The file is copied before it is read, since a mapping of one that somebody shortens would end
 * this command. It must be one of memory, which has seals, so that reading does not wait. Where no
 * record was written it has holes, which are left out.
 *
 * A batch that a collector had taken out of a ring, and not sent when it died, is still there where
 * nothing has overwritten it: as many records as were taken from this ring and have not come. */
#define _GNU_SOURCE
#include "observe/remains/remains.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queues/ring.h"
#include "ring/record_unpack.h"
#include "ring/rings.h"

/* The greatest rings that are believed in. */
enum { RECORDS_MOST = 1 << 24, CPUS_MOST = 8192 };

/* The index of a record (queues/README.md). */
enum { INDEX_BITS = 62 };

/* A reader passes a record that was not completed when it comes to it again. */
enum { VISITS = 256 };

struct spex_remains {
    struct spex_rings rings;
    int file;
    /* Collections of the process before this one have taken records: it is not known how many of
     * each ring. */
    bool again;
    /* Records that were none of this collection's. */
    uint64_t before;
    const struct spex_stream_probes *probes;
    uint64_t received_all;
    /* By ring. */
    uint64_t received[];
};

static bool rings_are_known(const struct spex_stream_rings *rings) {
    return rings->types == SPEX_PROBE_TYPES && rings->records &&
           !(rings->records & (rings->records - 1)) && rings->records <= RECORDS_MOST &&
           rings->cpus && rings->cpus <= CPUS_MOST &&
           (rings->commit == SPEX_COMMIT_RSEQ || rings->commit == SPEX_COMMIT_ATOMIC);
}

struct spex_remains *spex_remains_open(const struct spex_stream_header *header,
                                       const struct spex_stream_rings *rings, int file,
                                       const struct spex_stream_probes *probes) {
    size_t all = ((size_t)rings->cpus + 1) * SPEX_PROBE_TYPES;
    struct spex_remains *remains = NULL;
    struct stat is = {.st_size = 0};
    if (rings_are_known(rings))
        remains = calloc(1, sizeof(*remains) + all * sizeof(remains->received[0]));
    if (remains)
        spex_rings_lay_out(&remains->rings, rings->records, rings->cpus,
                           (enum spex_commit)rings->commit);
    if (!remains || remains->rings.bytes != rings->bytes || fstat(file, &is) != 0 ||
        (uint64_t)is.st_size != rings->bytes || fcntl(file, F_GET_SEALS) < 0) {
        free(remains);
        close(file);
        return NULL;
    }
    remains->file = file;
    remains->probes = probes;
    remains->again = header->consumed > 0;
    remains->before = header->consumed + header->lost;
    return remains;
}

void spex_remains_free(struct spex_remains *remains) {
    if (remains)
        close(remains->file);
    free(remains);
}

void spex_remains_received(struct spex_remains *remains, const struct spex_stream_packed *from,
                           uint32_t count) {
    if (!remains)
        return;
    unsigned cpu = from->cpu < remains->rings.cpus ? from->cpu : remains->rings.cpus;
    unsigned ring = cpu * SPEX_PROBE_TYPES + spex_probe_type_ring(from->probe_type);
    remains->received[ring] += count;
    remains->received_all += count;
}

/* False: no memory. */
static bool file_copy(struct spex_remains *remains) {
    struct spex_rings *rings = &remains->rings;
    void *memory = mmap(NULL, rings->bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    rings->memory = memory;
    for (off_t at = 0; (at = lseek(remains->file, at, SEEK_DATA)) >= 0;) {
        off_t hole = lseek(remains->file, at, SEEK_HOLE);
        off_t end = hole > at && (uint64_t)hole < rings->bytes ? hole : (off_t)rings->bytes;
        ssize_t got =
            at < end ? pread(remains->file, rings->memory + at, (size_t)(end - at), at) : 0;
        if (got <= 0)
            break;
        at += got;
    }
    return true;
}

/* Goes back to the first record that has not come. Where the process died between counting a batch
 * and passing it, the batch has not been passed. */
static void ring_go_back(const struct spex_remains *remains, size_t number,
                         const struct spex_ring *ring) {
    struct spex_ring_consumer *consumer = ring->consumer;
    uint64_t received = remains->received[number];
    if (remains->again || ring->commit != SPEX_COMMIT_RSEQ ||
        consumer->consumed > consumer->passed || consumer->consumed <= received)
        return;
    uint64_t back = consumer->consumed - received;
    consumer->passed -= back < consumer->passed ? back : consumer->passed;
}

/* Takes the records of sites that are known. Returns how many. */
static uint32_t batch_take(const struct spex_remains *remains, size_t number,
                           const struct spex_ring *ring, const uint64_t *words, size_t count,
                           struct spex_record *records) {
    unsigned cpu = (unsigned)(number / SPEX_PROBE_TYPES);
    bool shared = cpu == remains->rings.cpus;
    uint32_t type = spex_probe_type_of_ring(number % SPEX_PROBE_TYPES), taken = 0;
    for (size_t c = 0; c < count; c++, words += ring->record_words) {
        struct spex_packed_probe probe = remains->probes->of[spex_packed_site(words[1])];
        struct spex_packed_kind kind = spex_packed_kind(
            words[1], shared ? (unsigned)words[ring->record_words - 1] : cpu,
            spex_rings_thread_id(&remains->rings, spex_packed_thread(words[1])), probe);
        if (probe.probe_type == type)
            spex_record_unpack(words, &kind, &records[taken++]);
    }
    return taken;
}

/* Where batches go. */
struct taking {
    const struct spex_remains *remains;
    void (*take)(void *user, const struct spex_record *records, uint32_t count);
    void *user;
};

/* Takes what a ring has, which is no more than it has room for, whatever it says. Returns how many
 * records there were. */
static uint64_t ring_take(const struct taking *taking, size_t number,
                          const struct spex_ring *ring) {
    static uint64_t words[SPEX_REMAINS_BATCH * SPEX_RECORD_WORDS_MAX];
    static struct spex_record records[SPEX_REMAINS_BATCH];
    uint64_t all = 0, room = ring->producer->reserve >> INDEX_BITS ? 0 : ring->mask + 1;
    for (int visit = 0; visit < VISITS && room && !spex_ring_drained(ring); visit++) {
        size_t count;
        while (room &&
               (count = spex_ring_read(
                    ring, words, room < SPEX_REMAINS_BATCH ? room : SPEX_REMAINS_BATCH)) > 0) {
            uint32_t taken = batch_take(taking->remains, number, ring, words, count, records);
            if (taken)
                taking->take(taking->user, records, taken);
            all += taken;
            room -= count;
        }
    }
    return all;
}

uint64_t spex_remains_take(struct spex_remains *remains,
                           void (*take)(void *user, const struct spex_record *records,
                                        uint32_t count),
                           void *user) {
    const struct taking taking = {remains, take, user};
    if (!file_copy(remains))
        return 0;
    uint64_t produced = 0, told = remains->before + remains->received_all;
    for (size_t r = 0; r < ((size_t)remains->rings.cpus + 1) * SPEX_PROBE_TYPES; r++) {
        struct spex_ring ring = spex_rings_at(&remains->rings, (unsigned)r);
        ring_go_back(remains, r, &ring);
        told += ring_take(&taking, r, &ring);
        produced += spex_ring_count(&ring).produced;
    }
    munmap(remains->rings.memory, remains->rings.bytes);
    return produced > told ? produced - told : 0;
}
