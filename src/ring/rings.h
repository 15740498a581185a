/* SPDX-License-Identifier: MIT */
/* The rings of the process: one for each CPU and probe type. One more for each type, the shared
 * ring, is for threads without restartable sequences and for CPUs without rings of their own.
 * `type_ring` is spex_probe_type_ring of a type. */
#ifndef SPEX_RING_RINGS_H
#define SPEX_RING_RINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "base/descriptor.h"
#include "queues/commit_rseq.h"
#include "queues/ring.h"

struct spex_rings {
    /* What restartable sequences push by, by ring of the type. With atomic commits each set has
     * 0 CPUs, so every such push fails and spex_rings_push_atomic follows. */
    struct spex_rseq_set rseq[SPEX_PROBE_TYPES];
    /* Mask: a producer checks how full its ring is when the ring's count of records has 0 in these
     * bits. */
    uint64_t look;
    enum spex_commit commit;
    /* CPUs that have rings of their own. */
    unsigned cpus;
    /* The mapping: producers, consumers, the threads' ids, then the slots by type. */
    char *memory;
    size_t bytes;
    /* Where the ids of threads begin in `memory`. */
    size_t threads_at;
    /* Where the slots of each type begin in `memory`, by ring of the type: those of CPU 0 first,
     * those of the shared ring last. */
    size_t slots_at[SPEX_PROBE_TYPES];
};

/* The rings that probes write to. */
extern struct spex_rings spex_rings;

/* Computes the parts of such rings, without their memory. */
void spex_rings_lay_out(struct spex_rings *rings, size_t capacity, unsigned cpus,
                        enum spex_commit commit);

/* Maps rings of `capacity` records each, a power of two, for `cpus` CPUs; 0: all that this machine
 * can have. Returns 0, -EINVAL for rseq when the process has no restartable sequences, or
 * -ENOMEM. */
int spex_rings_map(struct spex_rings *rings, size_t capacity, unsigned cpus,
                   enum spex_commit commit);
void spex_rings_unmap(struct spex_rings *rings);

/* Maps spex_rings; returns as spex_rings_map. The rings stay for the life of the process: a later
 * call leaves them as they are, and writes a line when its parameters differ. */
int spex_rings_init(size_t capacity, unsigned cpus, enum spex_commit commit);

/* To be called before spex_rings_init: it puts the rings into a file without a name, which a
 * process that was given the descriptor can read after the end of this one. They stay private where
 * the system does not allow that, and where the process locks its memory. */
void spex_rings_share(void);

/* The file of the rings; SPEX_NO_DESCRIPTOR: they are private. */
struct spex_descriptor spex_rings_file(void);

/* To be called before records of these types (a mask) are written. Asks the kernel for the memory
 * of the rings of the CPUs that this thread may use, so that probes cause no page faults; at most
 * 64 MiB in the life of the process. */
void spex_rings_touch(uint32_t types);

/* Returns the mask of the types that have been passed to spex_rings_touch. The rings of other types
 * are empty. */
uint32_t spex_rings_used(void);

/* Returns the number of rings; 0 before spex_rings_init. Ring r belongs to CPU r /
 * SPEX_PROBE_TYPES, and to type r % SPEX_PROBE_TYPES. The last SPEX_PROBE_TYPES rings are the
 * shared ones. */
unsigned spex_rings_count(void);
struct spex_ring spex_rings_at(const struct spex_rings *rings, unsigned ring);

/* The number of a thread that begins to make records, by which they name it (record_layout.h).
 * SPEX_THREAD_NUMBERS - 1 where the process has no rings: that one belongs to no thread. Any thread,
 * signal handlers; no system call. */
uint32_t spex_rings_thread_begin(uint32_t thread_id);

/* The thread has ended: its number is taken again by and by. */
void spex_rings_thread_end(uint32_t number);

/* Returns the kernel's id of the thread with a record's number. */
uint32_t spex_rings_thread_id(const struct spex_rings *rings, uint32_t number);

/* Returns the bytes of address space of all rings. */
size_t spex_rings_bytes(void);

/* To be called in the child of a fork: empties the rings and their counts, which are the
 * parent's. */
void spex_rings_fork_child(void);

/* Unmaps the rings of the process: no probe is executed again. */
void spex_rings_end(void);

/* Return the sums of the counts of all rings, and of those of one type. */
struct spex_ring_counts spex_rings_totals(void);
struct spex_ring_counts spex_rings_totals_of(unsigned type_ring);

/* Pushes a record of `count` words, header included, into a ring with atomic commits. Called when
 * the restartable sequence could not push it. Any thread, signal handlers. Returns true when the
 * ring is due, which is checked once in a quarter of the ring: a sleeping collector should look at
 * it. */
bool spex_rings_push_atomic(const struct spex_rings *rings, unsigned type_ring,
                            const uint64_t *words, size_t count);

/* Returns whether the ring of the type on this CPU is due: it is half full, or holds as many
 * records as spex_rings_alarm_at has set. */
bool spex_rings_due(const struct spex_rings *rings, unsigned type_ring);

/* Sets how many records make a ring of this type due; half of a ring always does. Initially only
 * that counts. Any thread. */
void spex_rings_alarm_at(unsigned type_ring, double records);

#endif
