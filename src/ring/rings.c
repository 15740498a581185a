/* SPDX-License-Identifier: MIT */
/* The rings of a process in one mapping. It has the producers' parts by type and CPU, then the
 * consumers' parts, then the slots by type and CPU. Each type has one more ring behind those of the
 * CPUs: the shared one, which always commits with atomic instructions.
 *
 * Threads: probes push from any thread and signal handler. Mapping and touching are for one thread
 * at a time. */
#define _GNU_SOURCE
#include "ring/rings.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/cpus.h"
#include "queues/commit_atomic.h"
#include "ring/probe_type.h"
#include "ring/record_layout.h"
#include "ring/reserve.h"
#include "text/message.h"

/* Most bytes of slots, of all types together, that spex_rings_touch asks the kernel for in
 * advance. */
#define TOUCHED_BYTES_MAX ((size_t)64 << 20)

/* A ring that is filled to this share alarms a collector in any case. */
#define ALARM_FILL 0.5

/* A producer checks how full its ring is after at most so many records. */
#define LOOK_RECORDS 128

/* The most bytes that a page has. */
#if defined(__x86_64__)
#define PAGE_MAX 4096
#else
#define PAGE_MAX 65536
#endif

/* spex_rings has its page for itself. The kernel clears it in a child whose fork calls no handlers
 * (_Fork, clone): where the rings are a file's, that would write into its parent's. */
static union {
    struct spex_rings rings;
    char bytes[PAGE_MAX];
} rings_page __attribute__((aligned(PAGE_MAX)));
extern struct spex_rings spex_rings __attribute__((alias("rings_page")));

static struct {
    /* spex_rings is mapped and complete. */
    bool there;
    /* What spex_rings was before a fork. */
    struct spex_rings kept;
    /* The process locks what it maps (mlockall with MCL_FUTURE). */
    bool locked;
    /* The rings are to be in a file, and they are. */
    bool share;
    bool shared;
    struct spex_descriptor file;
    /* Mask of the types that were passed to spex_rings_touch. */
    uint32_t used;
    /* Threads that have been given a number. */
    uint32_t threads;
    /* How many records in a ring alarm a collector, by ring of the type; 0: half of the ring. */
    uint32_t alarms[SPEX_PROBE_TYPES];
} rings_state;

/* An entry of the table of threads: the kernel's id, at most 22 bits, and whether the thread has not
 * ended. */
enum { THREAD_ID = 0x3fffff, THREAD_LIVES = 0x400000 };

/* Returns the words of a record of this type in a CPU's ring. */
static uint32_t record_words(unsigned type_ring) {
    return SPEX_HEADER_WORDS + spex_probe_type_values(spex_probe_type_of_ring(type_ring));
}

/* Bytes of the producers' parts of all rings. */
static size_t producers_bytes(const struct spex_rings *rings) {
    return (size_t)(rings->cpus + 1) * SPEX_PROBE_TYPES * SPEX_RSEQ_PRODUCER_BYTES;
}

/* Bytes of the consumers' parts of all rings. */
static size_t consumers_bytes(const struct spex_rings *rings) {
    return (size_t)(rings->cpus + 1) * SPEX_PROBE_TYPES * sizeof(struct spex_ring_consumer);
}

/* The producers of a type lie together, so that a push finds its own from the CPU's number
 * alone. */
static struct spex_ring_producer *producer_at(const struct spex_rings *rings, unsigned type_ring,
                                              unsigned cpu) {
    size_t at = (size_t)type_ring * (rings->cpus + 1) + cpu;
    return (struct spex_ring_producer *)(rings->memory + at * SPEX_RSEQ_PRODUCER_BYTES);
}

/* `cpu` is a CPU, or rings->cpus for the shared ring. */
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

/* A producer looks at the fill level after at most a quarter of the ring, however small the ring
 * is. */
SPEX_COLD void spex_rings_lay_out(struct spex_rings *rings, size_t capacity, unsigned cpus,
                                  enum spex_commit commit) {
    *rings = (struct spex_rings){
        .look = capacity / 4 < LOOK_RECORDS ? (capacity - 1) >> 2 : LOOK_RECORDS - 1,
        .commit = commit,
        .cpus = cpus,
    };
    rings->threads_at = producers_bytes(rings) + consumers_bytes(rings);
    rings->bytes = rings->threads_at + SPEX_THREAD_NUMBERS * sizeof(uint32_t);
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

SPEX_COLD int spex_rings_map(struct spex_rings *rings, size_t capacity, unsigned cpus,
                             enum spex_commit commit) {
    if (commit == SPEX_COMMIT_RSEQ && !spex_rseq_available())
        return -EINVAL;
    spex_rings_lay_out(rings, capacity, cpus ? cpus : spex_cpus_possible(), commit);
    rings_state.locked = spex_mappings_are_locked();
    rings->memory = spex_memory_reserve(rings->bytes, rings_state.locked);
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

void spex_rings_share(void) {
    rings_state.share = true;
}

struct spex_descriptor spex_rings_file(void) {
    return rings_state.shared ? rings_state.file : SPEX_NO_DESCRIPTOR;
}

/* Puts memory of a file in the place of the rings', which nobody uses yet. A file beyond
 * RLIMIT_FSIZE would be a signal, and so would memory be that whoever has the descriptor cuts off:
 * the size is sealed. */
static void rings_to_file(void) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur < spex_rings.bytes)
        return;
    struct spex_descriptor file =
        spex_descriptor_of(memfd_create("spex-rings", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    rings_state.shared =
        spex_descriptor_is_ours(&file) && ftruncate(file.number, (off_t)spex_rings.bytes) == 0 &&
        fcntl(file.number, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
        spex_descriptor_is_ours(&file) &&
        mmap(spex_rings.memory, spex_rings.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
             file.number, 0) != MAP_FAILED;
    if (rings_state.shared)
        rings_state.file = file;
    else
        spex_descriptor_close(&file);
}

/* The CPU that the thread runs on; 0 where the kernel does not tell. */
static unsigned cpu_now(void) {
    int cpu = sched_getcpu();
    return cpu < 0 ? 0 : (unsigned)cpu;
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
    if (!err && rings_state.share && !rings_state.locked)
        rings_to_file();
    (void)cpu_now(); /* bound here, the dynamic linker takes no stack of a probe */
    rings_state.kept = spex_rings;
    (void)madvise(&rings_page, (size_t)sysconf(_SC_PAGESIZE), MADV_WIPEONFORK);
    if (!err)
        spex_store_release(&rings_state.there, true); /* Q1 (Q2): spex_rings is complete */
    return err;
}

/* Makes the kernel map the pages, and locks them where the process locks its memory.
 * MADV_POPULATE_WRITE is new in Linux 5.14; older kernels map each page when the first record is
 * written to it. */
static void memory_populate(const void *memory, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes + page - 1) & ~(uintptr_t)(page - 1);
#ifdef MADV_POPULATE_WRITE
    madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#endif
    if (rings_state.locked)
        mlock((void *)begin, end - begin);
}

SPEX_COLD void spex_rings_touch(uint32_t types) {
    static size_t left = TOUCHED_BYTES_MAX;
    /* 8192 CPUs, the most that Linux can be configured for. */
    cpu_set_t allowed[8];
    if (sched_getaffinity(0, sizeof(allowed), allowed) != 0)
        CPU_ZERO_S(sizeof(allowed), allowed);
    for (unsigned r = 0; r < spex_rings.cpus * SPEX_PROBE_TYPES; r++) {
        unsigned t = r % SPEX_PROBE_TYPES, cpu = r / SPEX_PROBE_TYPES;
        size_t bytes = spex_rings.rseq[t].ring_bytes;
        if (!(types & 1u << t) || !CPU_ISSET_S(cpu, sizeof(allowed), allowed) || bytes > left)
            continue;
        struct spex_ring ring = ring_at(&spex_rings, t, cpu);
        memory_populate(ring.producer, sizeof(*ring.producer));
        memory_populate(ring.slots, bytes);
        left -= bytes;
    }
    /* Relaxed: a collector that must see it is woken later, which orders it. */
    spex_store_relaxed(&rings_state.used, spex_load_relaxed(&rings_state.used) | types);
}

uint32_t spex_rings_used(void) {
    return spex_load_relaxed(&rings_state.used);
}

void spex_rings_fork_child(void) {
    spex_rings = rings_state.kept;
    /* Zeroes the rings. Private memory is the child's own, so those of the parent stay. It remains
     * mapped, because a probe that the forking thread was executing may end in the child. A file is
     * the parent's; where the child gets none, its rings are private. */
    if (rings_state.shared) {
        spex_descriptor_close(&rings_state.file);
        (void)mmap(spex_rings.memory, spex_rings.bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        rings_state.shared = false;
        rings_to_file();
    } else if (rings_state.there) {
        madvise(spex_rings.memory, spex_rings.bytes, MADV_DONTNEED);
    }
    rings_state.used = 0;
}

void spex_rings_end(void) {
    if (!rings_state.there)
        return;
    if (rings_state.shared)
        spex_descriptor_close(&rings_state.file);
    rings_state.there = rings_state.shared = false;
    spex_rings_unmap(&spex_rings);
}

static uint32_t *thread_entry(const struct spex_rings *rings, uint32_t number) {
    return (uint32_t *)(void *)(rings->memory + rings->threads_at) + number;
}

/* Relaxed: a record that names the thread is pushed after this, and the push orders it. The search
 * ends, as fewer threads than there are numbers have a state (SPEX_MAX_THREADS). */
uint32_t spex_rings_thread_begin(uint32_t thread_id) {
    const uint32_t none = SPEX_THREAD_NUMBERS - 1;
    uint32_t number = none;
    if (!spex_rings.memory)
        return none;
    while (number == none || spex_load_relaxed(thread_entry(&spex_rings, number)) & THREAD_LIVES)
        number = spex_fetch_add_relaxed(&rings_state.threads, 1) % SPEX_THREAD_NUMBERS;
    spex_store_relaxed(thread_entry(&spex_rings, number), (thread_id & THREAD_ID) | THREAD_LIVES);
    return number;
}

void spex_rings_thread_end(uint32_t number) {
    if (!spex_rings.memory || number == SPEX_THREAD_NUMBERS - 1)
        return;
    uint32_t *entry = thread_entry(&spex_rings, number);
    spex_store_relaxed(entry, spex_load_relaxed(entry) & THREAD_ID);
}

uint32_t spex_rings_thread_id(const struct spex_rings *rings, uint32_t number) {
    return spex_load_relaxed(thread_entry(rings, number)) & THREAD_ID;
}

unsigned spex_rings_count(void) {
    bool there = spex_load_acquire(&rings_state.there) && spex_rings.memory; /* Q2 (Q1) */
    return there ? (spex_rings.cpus + 1) * SPEX_PROBE_TYPES : 0;
}

size_t spex_rings_bytes(void) {
    return spex_rings_count() ? spex_rings.bytes : 0;
}

static void ring_counts_add(struct spex_ring_counts *sum, struct spex_ring_counts one) {
    sum->produced += one.produced;
    sum->consumed += one.consumed;
    sum->lost += one.lost;
    sum->pending += one.pending;
}

struct spex_ring_counts spex_rings_totals_of(unsigned type_ring) {
    struct spex_ring_counts sum = {0};
    for (unsigned r = type_ring; r < spex_rings_count(); r += SPEX_PROBE_TYPES) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        ring_counts_add(&sum, spex_ring_count(&ring));
    }
    return sum;
}

struct spex_ring_counts spex_rings_totals(void) {
    struct spex_ring_counts sum = {0};
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        ring_counts_add(&sum, spex_rings_totals_of(t));
    return sum;
}

/* Returns whether a collector should look at the ring: it is half full, or holds as many records as
 * spex_rings_alarm_at has set. */
static bool ring_is_due(const struct spex_ring *ring, unsigned type_ring) {
    double fill = spex_ring_fill(ring);
    uint32_t level = spex_load_relaxed(&rings_state.alarms[type_ring]);
    return fill >= ALARM_FILL || (level && fill * ((double)ring->mask + 1) >= level);
}

/* With rseq rings the CPUs' own rings take no atomic pushes, so the record goes into the shared
 * ring. The word for the CPU is behind the values; values that the record lacks are 0. */
bool spex_rings_push_atomic(const struct spex_rings *rings, unsigned type_ring,
                            const uint64_t *words, size_t count) {
    uint64_t copy[SPEX_RECORD_WORDS_MAX] = {0};
    if (!rings->memory)
        return false;
    memcpy(copy, words, count * sizeof(*words));
    unsigned cpu = cpu_now();
    if (rings->commit == SPEX_COMMIT_RSEQ || cpu >= rings->cpus) {
        copy[record_words(type_ring)] = cpu;
        cpu = rings->cpus;
    }
    struct spex_ring ring = ring_at(rings, type_ring, cpu);
    return spex_atomic_push(&ring, copy) && ring_is_due(&ring, type_ring);
}

/* The thread may have moved to another CPU since its push; then the other CPU's ring is checked,
 * and a later push checks this one. */
bool spex_rings_due(const struct spex_rings *rings, unsigned type_ring) {
    unsigned cpu = cpu_now();
    struct spex_ring ring = ring_at(rings, type_ring, cpu < rings->cpus ? cpu : rings->cpus);
    return ring_is_due(&ring, type_ring);
}

void spex_rings_alarm_at(unsigned type_ring, double records) {
    uint32_t level = records < 1 ? 1 : records < UINT32_MAX ? (uint32_t)records : UINT32_MAX;
    /* Relaxed: a producer that still uses the former level alarms early or late, nothing else. */
    spex_store_relaxed(&rings_state.alarms[type_ring], level);
}
