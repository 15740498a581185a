/* SPDX-License-Identifier: MIT */
/* The recording half of the probes: reached only where a site's control word is not 0. */
#include <spex/atomic.h>
#include <spex/probe.h>

#include "probe_type.h"
#include "probes.h"
#include "put.h"
#include "threads.h"

int spex_probes_prepare(const struct spex_settings *settings) {
    int err = spex_threads_init();
    return err ? err
               : spex_rings_init(settings->ring_records, settings->ring_cpus, settings->commit);
}

/* What spex_sample_ in probe.h leaves over: a thread's first execution of a site that is on, and the
 * first of a generation. An ended thread's count goes on in the thread that has its state now, so
 * that weights cover every execution. */
uint32_t spex_sample(struct spex_site *site) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in sites.c) */
    if (!control)
        return 0;
    struct spex_thread *thread = spex_thread_attach();
    if (!thread)
        return 0;
    uint32_t *executed = &thread->executed[site->index];
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t count = 1;
    if ((*executed & ~SPEX_CONTROL_PERIOD_MASK) == generation)
        count += *executed & SPEX_CONTROL_PERIOD_MASK;
    if (count < (control & SPEX_CONTROL_PERIOD_MASK)) {
        *executed = generation | count;
        return 0;
    }
    *executed = generation;
    return count;
}

/* A thread without a state here is the child of a fork that ends an execution begun in the parent,
 * where it is recorded too: the child starts clean. */
static inline uint64_t header(const struct spex_thread *thread, const struct spex_site *site,
                              uint32_t weight, uint32_t marks) {
    return spex_pack(weight, thread->thread_id, site->index, marks);
}

void spex_cnt_end(struct spex_site *site, uint32_t weight, uint64_t now) {
    const struct spex_thread *thread = spex_thread_current();
    if (thread)
        spex_put0(&spex_rings, spex_probe_type_ring(SPEX_CNT), now,
                  header(thread, site, weight, 0));
}

static inline void ticks_end(uint32_t type, const struct spex_site *site, uint32_t weight,
                             uint64_t begin, uint64_t now) {
    const struct spex_thread *thread = spex_thread_current();
    if (!thread)
        return;
    uint32_t marks = begin < thread->opened_at ? SPEX_MARK_OPENING : 0;
    spex_put1(&spex_rings, spex_probe_type_ring(type), now, header(thread, site, weight, marks),
              now - begin);
}

void spex_lat_end(struct spex_site *site, uint32_t weight, uint64_t begin, uint64_t now) {
    ticks_end(SPEX_LAT, site, weight, begin, now);
}

void spex_tpt_end(struct spex_site *site, uint32_t weight, uint64_t begin, uint64_t now) {
    ticks_end(SPEX_TPT, site, weight, begin, now);
}

void spex_snapshot(struct spex_site *site, uint32_t weight, uint64_t now, const uint64_t *values) {
    const struct spex_thread *thread = spex_thread_current();
    if (thread)
        spex_put(&spex_rings, spex_probe_type_ring(SPEX_SNAPSHOT), now,
                 header(thread, site, weight, 0), values, site->detail);
}
