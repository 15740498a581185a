/* SPDX-License-Identifier: MIT */
/* A record as it lies in a ring: two words of header and its values.
 *
 *     word 0   timestamp
 *     word 1   weight 24 bits │ 0 2 │ thread number 16 │ site index 16 │ marks 6
 *     …        values; the weight, a field of CNT and TPT records too, is not stored twice
 *
 * A thread's number is the process's own: a table beside the rings has the kernel's id of each
 * (ring/rings.h). A record's CPU is that of its ring. The shared ring, which belongs to no CPU, has
 * one more word for the CPU. collect/decode.c turns a packed record into a struct spex_record. */
#ifndef SPEX_RING_RECORD_LAYOUT_H
#define SPEX_RING_RECORD_LAYOUT_H

#include <stdint.h>

#include <spex/record.h>
#include <spex/site.h>

/* Most sites that a process can have in its life: a site's index has 16 bits. The last index means
 * none, and belongs to calibration. Records outlive the library of their site, so an index is used
 * again only for a site with the same description, such as that of the library when it is loaded
 * again. */
#define SPEX_MAX_SITES 0xffff

/* What is kept for each site has memory by blocks of so many, as sites register: most programs have
 * few. */
enum {
    SPEX_SITE_BLOCK = 256,
    SPEX_SITE_BLOCKS = (SPEX_MAX_SITES + SPEX_SITE_BLOCK) / SPEX_SITE_BLOCK,
};

/* Threads that have ended keep their numbers for their last records, until this many threads have
 * begun after them. */
#define SPEX_THREAD_NUMBERS (1u << 16)

/* The bits of word 1, and the words before the values. */
enum {
    SPEX_HEADER_WORDS = 2,
    SPEX_PACKED_SITE_SHIFT = 6,
    SPEX_PACKED_THREAD_SHIFT = 22,
    SPEX_PACKED_WEIGHT_SHIFT = 40,
    SPEX_PACKED_MARKS_MASK = 0x3f,
    SPEX_PACKED_SITE_MASK = 0xffff,
    SPEX_PACKED_THREAD_MASK = SPEX_THREAD_NUMBERS - 1,
};

_Static_assert(SPEX_CONTROL_PERIOD_MAX < 1u << 24, "a weight has 24 bits");

/* Returns word 1. The arguments must fit into their bits. */
static inline uint64_t spex_pack(uint32_t weight, uint32_t thread, uint32_t site, uint32_t marks) {
    return (uint64_t)weight << SPEX_PACKED_WEIGHT_SHIFT |
           (uint64_t)thread << SPEX_PACKED_THREAD_SHIFT | site << SPEX_PACKED_SITE_SHIFT | marks;
}

/* The parts of word 1. */
static inline uint32_t spex_packed_site(uint64_t word) {
    return (uint32_t)(word >> SPEX_PACKED_SITE_SHIFT) & SPEX_PACKED_SITE_MASK;
}

static inline uint32_t spex_packed_thread(uint64_t word) {
    return (uint32_t)(word >> SPEX_PACKED_THREAD_SHIFT) & SPEX_PACKED_THREAD_MASK;
}

static inline uint32_t spex_packed_weight(uint64_t word) {
    return (uint32_t)(word >> SPEX_PACKED_WEIGHT_SHIFT);
}

static inline uint32_t spex_packed_marks(uint64_t word) {
    return (uint32_t)word & SPEX_PACKED_MARKS_MASK;
}

#endif
