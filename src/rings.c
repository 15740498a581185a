/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "rings.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "probe_type.h"
#include "sites.h"

/* A slot: word 0 the timestamp; word 1 thread id, weight; word 2 site index, CPU, count of values;
 * then the values. The weight is also a field of CNT and TPT records and is not stored twice. */
#define HEADER_WORDS 3

static struct {
    struct spex_ring *rings;
    unsigned cpus;
    size_t bytes;
} set;

static unsigned possible_cpus(void) {
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    return cpus > 0 ? (unsigned)cpus : 1;
}

static uint32_t slot_words(unsigned ring) {
    return HEADER_WORDS + spex_probe_type_values(spex_probe_type_of_ring(ring % SPEX_PROBE_TYPES));
}

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The heads of all rings first, then their slots. */
static void lay_out(struct spex_ring *rings, unsigned count, size_t capacity) {
    char *next = (char *)(rings + count);
    for (unsigned r = 0; r < count; r++) {
        spex_ring_init(&rings[r], next, capacity, slot_words(r));
        next += spex_ring_bytes(capacity, slot_words(r));
    }
}

int spex_rings_init(size_t capacity) {
    if (set.rings)
        return 0;
    unsigned cpus = possible_cpus();
    unsigned count = cpus * SPEX_PROBE_TYPES;
    size_t bytes = count * sizeof(struct spex_ring);
    for (unsigned r = 0; r < count; r++)
        bytes += spex_ring_bytes(capacity, slot_words(r));
    struct spex_ring *rings = map(bytes);
    if (!rings)
        return -ENOMEM;
    lay_out(rings, count, capacity);
    set.cpus = cpus;
    set.bytes = bytes;
    spex_store_release(&set.rings,
                       rings); /* Q1 (Q2): for whoever asks at any time for the totals */
    return 0;
}

void spex_rings_fork_child(void) {
    if (!set.rings)
        return;
    size_t capacity = set.rings[0].mask + 1;
    /* Private memory, so this zeroes it in the child only, and gives the pages back. It stays
     * mapped: a probe that was under way in the forking thread may end in the child. */
    madvise(set.rings, set.bytes, MADV_DONTNEED);
    lay_out(set.rings, spex_rings_count(), capacity);
}

unsigned spex_rings_count(void) {
    return spex_load_acquire(&set.rings) ? set.cpus * SPEX_PROBE_TYPES : 0; /* Q2 (Q1) */
}

struct spex_ring *spex_rings_at(unsigned ring) {
    return &set.rings[ring];
}

size_t spex_rings_bytes(void) {
    return spex_rings_count() ? set.bytes : 0;
}

struct spex_ring_counts spex_rings_totals(void) {
    struct spex_ring_counts sum = {0};
    for (unsigned r = 0; r < spex_rings_count(); r++) {
        struct spex_ring_counts one = spex_ring_count(&set.rings[r]);
        sum.produced += one.produced;
        sum.consumed += one.consumed;
        sum.lost += one.lost;
        sum.pending += one.pending;
    }
    return sum;
}

bool spex_rings_push(uint32_t site_index, uint32_t probe_type, uint32_t weight, uint32_t thread_id,
                     uint64_t timestamp, const uint64_t *values, size_t count) {
    int cpu = sched_getcpu();
    unsigned on = cpu < 0 ? 0 : (unsigned)cpu;
    uint64_t words[SPEX_SLOT_WORDS_MAX] = {
        timestamp,
        (uint64_t)weight << 32 | thread_id,
        (uint64_t)count << 32 | (uint64_t)(on & 0xffff) << 16 | site_index,
    };
    for (size_t i = 0; i < count; i++)
        words[HEADER_WORDS + i] = values[i];
    /* A CPU beyond those known at the start shares a ring; its record still tells the right one. */
    unsigned ring = on % set.cpus * SPEX_PROBE_TYPES + spex_probe_type_ring(probe_type);
    return spex_ring_push(&set.rings[ring], words);
}

static void unpack(const uint64_t *words, struct spex_record *record) {
    const struct spex_site_info *info = spex_site_info((uint32_t)(words[2] & 0xffff));
    uint32_t weight = (uint32_t)(words[1] >> 32);
    unsigned given = (unsigned)(words[2] >> 32);
    unsigned first = info->probe_type == SPEX_CNT || info->probe_type == SPEX_TPT ? 1 : 0;
    *record = (struct spex_record){
        .timestamp = words[0],
        .probe_type = info->probe_type,
        .thread_id = (uint32_t)words[1],
        .weight = weight,
        .probe_id = info->probe_id,
        .cpu_id = (uint16_t)(words[2] >> 16),
        .field_count = (uint8_t)(first + given),
    };
    record->fields[0] = weight;
    memcpy(record->fields + first, words + HEADER_WORDS, given * sizeof(uint64_t));
    if (record->field_count == 0)
        record->fields[0] = 0;
}

size_t spex_rings_read(unsigned ring, struct spex_record *records, size_t max, uint64_t *scratch) {
    struct spex_ring *from = &set.rings[ring];
    size_t count = spex_ring_read(from, scratch, max);
    spex_sites_count(); /* S1: the infos of all sites whose records we have just read */
    for (size_t i = 0; i < count; i++)
        unpack(scratch + i * from->slot_words, &records[i]);
    return count;
}
