/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "ring/rings.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/cpus.h"
#include "queues/commit_atomic.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "text/message.h"

/* Most memory that is asked for before it is needed, of all types. */
#define TOUCHED_BYTES_MAX ((size_t)64 << 20)

/* A ring so full alarms a collector. */
#define HALF 0.5

/* A producer looks how full its ring is after so many records at most. */
#define LOOK_RECORDS 128

struct spex_rings spex_rings;

static struct {
    /* The rings are mapped. */
    bool there;
    /* Types whose rings have been touched, a mask. */
    uint32_t used;
    /* Records in a ring of the type that alarm a collector; 0: half of the ring. */
    uint32_t alarms[SPEX_PROBE_TYPES];
} rings_state;

static uint32_t record_words(unsigned type_ring) {
    return SPEX_HEADER_WORDS + spex_probe_type_values(spex_probe_type_of_ring(type_ring));
}

static size_t producers_bytes(const struct spex_rings *rings) {
    return (size_t)(rings->cpus + 1) * SPEX_PROBE_TYPES * SPEX_RSEQ_PRODUCER_BYTES;
}

static size_t consumers_bytes(const struct spex_rings *rings) {
    return (size_t)(rings->cpus + 1) * SPEX_PROBE_TYPES * sizeof(struct spex_ring_consumer);
}

/* A type's producers lie together, so that a push finds its own by the CPU alone. */
static struct spex_ring_producer *producer_at(const struct spex_rings *rings, unsigned type_ring,
                                              unsigned cpu) {
    size_t at = (size_t)type_ring * (rings->cpus + 1) + cpu;
    return (struct spex_ring_producer *)(rings->memory + at * SPEX_RSEQ_PRODUCER_BYTES);
}

static struct spex_ring ring_at(const struct spex_rings *rings, unsigned type_ring, unsigned cpu) {
    const struct spex_rseq_set *type = &rings->rseq[type_ring];
    bool shared = cpu == rings->cpus;
    struct spex_ring_consumer *consumers =
        (struct spex_ring_consumer *)(rings->memory + producers_bytes(rings));
    return (struct spex_ring){
        .producer = producer_at(rings, type_ring, cpu),
        .consumer = &consumers[cpu * SPEX_PROBE_TYPES + type_ring],
        .slots = (uint64_t *)(rings->memory + rings->slots_at[type_ring] + cpu * type->ring_bytes),
        .mask = type->mask,
        .record_words = record_words(type_ring) + shared,
        .commit = shared ? SPEX_COMMIT_ATOMIC : rings->commit,
    };
}

struct spex_ring spex_rings_at(const struct spex_rings *rings, unsigned ring) {
    return ring_at(rings, ring % SPEX_PROBE_TYPES, ring / SPEX_PROBE_TYPES);
}

static void *map(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Where each type's slots begin, and how many bytes there are in all. */
static void lay_out(struct spex_rings *rings, size_t capacity) {
    rings->bytes = producers_bytes(rings) + consumers_bytes(rings);
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        uint32_t words = record_words(t);
        struct spex_rseq_set *type = &rings->rseq[t];
        type->ring_bytes = spex_ring_bytes(rings->commit, words, capacity);
        type->slot_bytes = spex_ring_slot_words(rings->commit, words) * sizeof(uint64_t);
        type->mask = capacity - 1;
        type->cpus = rings->commit == SPEX_COMMIT_RSEQ ? rings->cpus : 0;
        rings->slots_at[t] = rings->bytes;
        rings->bytes += rings->cpus * type->ring_bytes +
                        spex_ring_bytes(SPEX_COMMIT_ATOMIC, words + 1, capacity);
    }
}

int spex_rings_map(struct spex_rings *rings, size_t capacity, unsigned cpus,
                   enum spex_commit commit) {
    if (commit == SPEX_COMMIT_RSEQ && !spex_rseq_available())
        return -EINVAL;
    *rings = (struct spex_rings){
        .look = capacity / 4 < LOOK_RECORDS ? (capacity - 1) >> 2 : LOOK_RECORDS - 1,
        .commit = commit,
        .cpus = cpus ? cpus : spex_cpus_possible(),
    };
    lay_out(rings, capacity);
    rings->memory = map(rings->bytes);
    if (!rings->memory)
        return -ENOMEM;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        rings->rseq[t].producers = (char *)producer_at(rings, t, 0);
        rings->rseq[t].slots = rings->memory + rings->slots_at[t];
    }
    return 0;
}

void spex_rings_unmap(struct spex_rings *rings) {
    munmap(rings->memory, rings->bytes);
}

int spex_rings_init(size_t capacity, unsigned cpus, enum spex_commit commit) {
    if (rings_state.there) {
        if (capacity != spex_rings.rseq[0].mask + 1 || commit != spex_rings.commit ||
            (cpus && cpus != spex_rings.cpus))
            spex_message("rings stay as this process first made them: %zu records, %u CPUs, %s",
                         (size_t)spex_rings.rseq[0].mask + 1, spex_rings.cpus,
                         spex_rings.commit == SPEX_COMMIT_RSEQ ? "rseq" : "atomic");
        return 0;
    }
    int err = spex_rings_map(&spex_rings, capacity, cpus, commit);
    if (!err)
        spex_store_release(&rings_state.there, true); /* Q1 (Q2): spex_rings is complete */
    return err;
}

/* MADV_POPULATE_WRITE is Linux 5.14's; before it, pages come as records do. */
static void touch(const void *memory, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes + page - 1) & ~(uintptr_t)(page - 1);
#ifdef MADV_POPULATE_WRITE
    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#endif
}

void spex_rings_touch(uint32_t types) {
    static size_t left = TOUCHED_BYTES_MAX;
    cpu_set_t allowed[8]; /* 8192 CPUs, which is as many as Linux can have */
    if (sched_getaffinity(0, sizeof(allowed), allowed) != 0)
        CPU_ZERO_S(sizeof(allowed), allowed);
    for (unsigned r = 0; r < spex_rings.cpus * SPEX_PROBE_TYPES; r++) {
        unsigned t = r % SPEX_PROBE_TYPES, cpu = r / SPEX_PROBE_TYPES;
        size_t bytes = spex_rings.rseq[t].ring_bytes;
        if (!(types & 1u << t) || !CPU_ISSET_S(cpu, sizeof(allowed), allowed) || bytes > left)
            continue;
        struct spex_ring ring = ring_at(&spex_rings, t, cpu);
        touch(ring.producer, sizeof(*ring.producer));
        touch(ring.slots, bytes);
        left -= bytes;
    }
    /* Relaxed: the collector is called after it. */
    spex_store_relaxed(&rings_state.used, spex_load_relaxed(&rings_state.used) | types);
}

uint32_t spex_rings_used(void) {
    return spex_load_relaxed(&rings_state.used);
}

void spex_rings_fork_child(void) {
    /* Private memory, so this zeroes it in the child only, and gives the pages back. It stays
     * mapped: a probe that was under way in the forking thread may end in the child. */
    if (rings_state.there)
        madvise(spex_rings.memory, spex_rings.bytes, MADV_DONTNEED);
    rings_state.used = 0;
}

unsigned spex_rings_count(void) {
    bool there = spex_load_acquire(&rings_state.there); /* Q2 (Q1) */
    return there ? (spex_rings.cpus + 1) * SPEX_PROBE_TYPES : 0;
}

size_t spex_rings_bytes(void) {
    return spex_rings_count() ? spex_rings.bytes : 0;
}

static void counts_add(struct spex_ring_counts *sum, struct spex_ring_counts one) {
    sum->produced += one.produced;
    sum->consumed += one.consumed;
    sum->lost += one.lost;
    sum->pending += one.pending;
}

struct spex_ring_counts spex_rings_totals_of(unsigned type_ring) {
    struct spex_ring_counts sum = {0};
    for (unsigned r = type_ring; r < spex_rings_count(); r += SPEX_PROBE_TYPES) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        counts_add(&sum, spex_ring_count(&ring));
    }
    return sum;
}

struct spex_ring_counts spex_rings_totals(void) {
    struct spex_ring_counts sum = {0};
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        counts_add(&sum, spex_rings_totals_of(t));
    return sum;
}

static unsigned cpu_now(void) {
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu;
}

static bool is_due(const struct spex_ring *ring, unsigned type_ring) {
    double fill = spex_ring_fill(ring);
    uint32_t level = spex_load_relaxed(&rings_state.alarms[type_ring]);
    return fill >= HALF || (level && fill * ((double)ring->mask + 1) >= level);
}

bool spex_rings_push_atomic(const struct spex_rings *rings, unsigned type_ring,
                            const uint64_t *words, size_t count) {
    uint64_t copy[SPEX_RECORD_WORDS_MAX] = {0};
    memcpy(copy, words, count * sizeof(*words));
    unsigned cpu = cpu_now();
    if (rings->commit == SPEX_COMMIT_RSEQ || cpu >= rings->cpus) {
        copy[record_words(type_ring)] = cpu;
        cpu = rings->cpus;
    }
    struct spex_ring ring = ring_at(rings, type_ring, cpu);
    return spex_atomic_push(&ring, copy) && is_due(&ring, type_ring);
}

bool spex_rings_due(const struct spex_rings *rings, unsigned type_ring) {
    unsigned cpu = cpu_now();
    struct spex_ring ring = ring_at(rings, type_ring, cpu < rings->cpus ? cpu : rings->cpus);
    return is_due(&ring, type_ring);
}

void spex_rings_alarm_at(unsigned type_ring, double records) {
    uint32_t level = records < 1 ? 1 : records < UINT32_MAX ? (uint32_t)records : UINT32_MAX;
    /* Relaxed: an alarm by the former level is early or late, nothing else. */
    spex_store_relaxed(&rings_state.alarms[type_ring], level);
}
