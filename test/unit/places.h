/* SPDX-License-Identifier: MIT */
/* A probe of each type, alone in a function that is copied nowhere, so that it is one site, or for
 * a span two; and a tally of the records that come out. */
#ifndef SPEX_TEST_PLACES_H
#define SPEX_TEST_PLACES_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/atomic.h>
#include <spex/kernel.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../children.h"
#include "../status.h"
#include "messages.h"

enum { PLACES_ID = 40, PLACES_TYPES = SPEX_PROBE_TYPES };

#define PLACE __attribute__((noinline, unused)) static void

#define PLACE_OF(kind, KIND)                                                                       \
    PLACE place_##kind(void) {                                                                     \
        KIND##_PROBE_BEGIN(PLACES_ID, 1);                                                          \
        __asm__ volatile("" ::: "memory");                                                         \
        KIND##_PROBE_END(PLACES_ID);                                                               \
    }

PLACE_OF(cnt, CNT)
PLACE_OF(lat, LAT)
PLACE_OF(tpt, TPT)
PLACE_OF(llc, LLC)
PLACE_OF(flt, FLT)
PLACE_OF(ctxsw, CTXSW)

PLACE place_perfcntr(void) {
    PERFCNTR_PROBE_BEGIN(PLACES_ID, 1, 0);
    __asm__ volatile("" ::: "memory");
    PERFCNTR_PROBE_END(PLACES_ID);
}

PLACE place_snapshot(void) {
    SNAPSHOT_PROBE(PLACES_ID, 1, 1, 2, 3);
}

PLACE place_kernel(void) {
    KERNEL_PROBE_BEGIN(PLACES_ID, 1, 1, 2);
    __asm__ volatile("" ::: "memory");
    KERNEL_PROBE_END(PLACES_ID);
}

PLACE place_span_end(uint64_t key) {
    SPAN_PROBE_END(PLACES_ID, key);
}

PLACE place_span(void) {
    uint64_t key = (uint64_t)(uintptr_t)__builtin_frame_address(0); /* of no other execution */
    SPAN_PROBE_BEGIN(PLACES_ID, 1, key);
    place_span_end(key);
}

/* One execution of each type. */
PLACE places_all(void) {
    place_cnt();
    place_lat();
    place_tpt();
    place_snapshot();
    place_llc();
    place_flt();
    place_ctxsw();
    place_perfcntr();
    place_kernel();
    place_span();
}

/* All types nested into each other, whose records are made one after the other at the end. */
PLACE places_around(void (*inside)(void)) {
    SPEX_CNT_SCOPE(PLACES_ID, 1);
    SPEX_LAT_SCOPE(PLACES_ID, 1);
    SPEX_TPT_SCOPE(PLACES_ID, 1);
    SPEX_LLC_SCOPE(PLACES_ID, 1);
    SPEX_FLT_SCOPE(PLACES_ID, 1);
    SPEX_CTXSW_SCOPE(PLACES_ID, 1);
    SPEX_PERFCNTR_SCOPE(PLACES_ID, 1, 0);
    SPEX_KERNEL_SCOPE(PLACES_ID, 1, 1, 2);
    uint64_t key = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    SPEX_SPAN_BEGIN(PLACES_ID, key);
    inside();
    SPEX_SPAN_END(PLACES_ID, key);
    SNAPSHOT_PROBE(PLACES_ID, 1, 1, 2, 3);
}

/* What came out, by the bit of the type. */
struct places_tally {
    uint64_t records[PLACES_TYPES];
    uint64_t weight[PLACES_TYPES];
    uint64_t others;
};

static inline void places_see(const struct spex_record *record, void *context) {
    struct places_tally *tally = context;
    unsigned type = (unsigned)__builtin_ctz(record->probe_type);
    if (record->probe_id == PLACES_ID) {
        tally->records[type]++;
        tally->weight[type] += record->weight;
    } else {
        tally->others++;
    }
}

/* Whether there are so many of each type, and nothing else; says what is wrong. */
static inline bool places_are(const struct places_tally *tally, uint64_t each) {
    bool right = tally->others == 0;
    for (unsigned t = 0; t < PLACES_TYPES; t++)
        right = right && tally->records[t] == each && tally->weight[t] == each;
    for (unsigned t = 0; !right && t < PLACES_TYPES; t++)
        printf("type %u: %llu records, weight %llu, of %llu; %llu others\n", 1u << t,
               (unsigned long long)tally->records[t], (unsigned long long)tally->weight[t],
               (unsigned long long)each, (unsigned long long)tally->others);
    return right;
}

/* Switches all of them on, and nothing else; rings big enough for a test that does not lose any. */
static inline int places_start(struct places_tally *tally, unsigned ring_records) {
    const struct spex_options options = {
        .size = sizeof(options),
        .probes = "40",
        .out = "/dev/null",
        .ring_records = ring_records,
        .no_calibration = true,
    };
    if (tally)
        capture_start(places_see, tally);
    messages_begin(); /* counters that are not available here say so */
    int err = spex_start(&options);
    messages_end();
    return err;
}

/* Whether, with spex stopped, every record is accounted for and none has been lost. */
static inline bool places_accounted(uint64_t produced) {
    struct spex_status now = status_now();
    bool right = now.produced == produced && now.consumed == produced && now.lost == 0 &&
                 now.pending == 0 && now.unrecorded == 0 && now.undelivered == 0;
    if (!right)
        printf("%llu executed; %llu produced, %llu consumed, %llu lost, %llu pending, "
               "%llu unrecorded, %llu undelivered\n",
               (unsigned long long)produced, (unsigned long long)now.produced,
               (unsigned long long)now.consumed, (unsigned long long)now.lost,
               (unsigned long long)now.pending, (unsigned long long)now.unrecorded,
               (unsigned long long)now.undelivered);
    return right;
}

#endif
