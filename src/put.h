/* SPDX-License-Identifier: MIT */
/* The last step of a probe: a record goes into the ring of this CPU. Inline, since it is most of what
 * a record costs; calibration measures the same code on rings of its own. */
#ifndef SPEX_PUT_H
#define SPEX_PUT_H

#include <string.h>

#include "collector.h"
#include "packing.h"
#include "rings.h"

/* `committed`: what a push has returned. */
static inline void spex_put_finish(const struct spex_rings *rings, unsigned type_ring,
                                   uint64_t committed, const uint64_t *words, size_t count) {
    bool alarm = (committed & rings->quarter) == 0;
    if (__builtin_expect(!committed, 0))
        alarm = spex_rings_push_atomic(rings, type_ring, words, count);
    if (__builtin_expect(alarm, 0))
        spex_collectors_alarm();
}

/* A record without values, with one, and with several. */
static inline void spex_put0(const struct spex_rings *rings, unsigned type_ring, uint64_t now,
                             uint64_t header) {
    uint64_t committed = spex_rseq_push2(&rings->rseq[type_ring], now, header);
    if (__builtin_expect((committed & rings->quarter) == 0, 0))
        spex_put_finish(rings, type_ring, committed, (uint64_t[]){now, header}, 2);
}

static inline void spex_put1(const struct spex_rings *rings, unsigned type_ring, uint64_t now,
                             uint64_t header, uint64_t value) {
    uint64_t committed = spex_rseq_push3(&rings->rseq[type_ring], now, header, value);
    if (__builtin_expect((committed & rings->quarter) == 0, 0))
        spex_put_finish(rings, type_ring, committed, (uint64_t[]){now, header, value}, 3);
}

static inline void spex_put(const struct spex_rings *rings, unsigned type_ring, uint64_t now,
                            uint64_t header, const uint64_t *values, size_t count) {
    uint64_t committed = spex_rseq_push_n(&rings->rseq[type_ring], now, header, values, count);
    if (__builtin_expect((committed & rings->quarter) == 0, 0)) {
        uint64_t words[SPEX_RECORD_WORDS_MAX] = {now, header};
        memcpy(words + SPEX_HEADER_WORDS, values, count * sizeof(*values));
        spex_put_finish(rings, type_ring, committed, words, SPEX_HEADER_WORDS + count);
    }
}

#endif
