/* SPDX-License-Identifier: MIT */
/* The process's rings, one per CPU and probe type, and one more per type for threads without
 * restartable sequences and for CPUs that came later. */
#ifndef SPEX_RING_RINGS_H
#define SPEX_RING_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "queues/commit_rseq.h"
#include "queues/ring.h"

struct spex_rings {
    /* By ring of the type. With atomic commits these have no CPUs, and every push fails. */
    struct spex_rseq_set rseq[SPEX_PROBE_TYPES];
    /* A producer looks how full its ring is once in so many records, less 1: a mask. */
    uint64_t look;
    enum spex_commit commit;
    unsigned cpus;
    /* Producers, consumers, then the slots by type. Nothing is touched at first. */
    char *memory;
    size_t bytes;
    /* In `memory`, by type: the slots of CPU 0, …, at last the shared ring's. */
    size_t slots_at[SPEX_PROBE_TYPES];
};

/* Those that probes write to. */
extern struct spex_rings spex_rings;

/* Rings of `capacity` records each (a power of two) for `cpus` CPUs, 0: all that this machine can
 * have. 0, -EINVAL for rseq where this process has none, or -ENOMEM. */
int spex_rings_map(struct spex_rings *rings, size_t capacity, unsigned cpus,
                   enum spex_commit commit);
void spex_rings_unmap(struct spex_rings *rings);

/* Maps spex_rings. They stay for the life of the process: a later call keeps them as they are. */
int spex_rings_init(size_t capacity, unsigned cpus, enum spex_commit commit);

/* The rings of these types (a mask) are about to be written to: lets the kernel give the memory
 * for the CPUs that this thread may use now, as far as that is not much, so that no probe has to
 * wait for it. */
void spex_rings_touch(uint32_t types);

/* Types that have ever been passed to spex_rings_touch; rings of others are empty. */
uint32_t spex_rings_used(void);

/* Rings there are: ring r belongs to CPU r / SPEX_PROBE_TYPES, the last few to none; and to type
 * r % SPEX_PROBE_TYPES. */
unsigned spex_rings_count(void);
struct spex_ring spex_rings_at(const struct spex_rings *rings, unsigned ring);
size_t spex_rings_bytes(void);

/* In the child of a fork: what is in the rings is the parent's, and so are the accounts. */
void spex_rings_fork_child(void);

/* Sums over all rings, and over those of one type. */
struct spex_ring_counts spex_rings_totals(void);
struct spex_ring_counts spex_rings_totals_of(unsigned type_ring);

/* Puts a record of `count` words into an atomic ring: where there is no restartable sequence. Any
 * thread, signal handlers. True when, once every quarter, the ring is due: a collector that sleeps
 * should look at it. */
bool spex_rings_push_atomic(const struct spex_rings *rings, unsigned type_ring,
                            const uint64_t *words, size_t count);

/* The same of this CPU's ring: it is half full, or holds as many records as spex_rings_alarm_at
 * said. */
bool spex_rings_due(const struct spex_rings *rings, unsigned type_ring);

/* So many records in a ring of this type, but no more than half of it, are a reason to look at
 * it. At first it is half of it. */
void spex_rings_alarm_at(unsigned type_ring, double records);

#endif
