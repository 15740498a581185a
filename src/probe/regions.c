/* SPDX-License-Identifier: MIT */
#include "probe/regions.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "probe/sampler.h"
#include "probe/threads.h"
#include "site/registry.h"
#include "text/message.h"

/* By a region's site. All relaxed: figures for people. */
static struct {
    uint32_t most;   /* executions in a pass that came to a record; 0: there was none */
    uint32_t missed; /* records */
    bool told;
} overruns[SPEX_MAX_SITES];

static bool news;

uint32_t spex_region_enter(struct spex_site *region, uint32_t control) {
    struct spex_thread *thread = spex_thread_attach();
    return thread ? spex_sampler_enter(thread, region->index, control & ~SPEX_CONTROL_PERIOD_MASK)
                  : SPEX_REGION_UNCOUNTED;
}

/* What a probe is told that has been chosen. */
static uint32_t chosen(const struct spex_site *site, const struct spex_thread *thread,
                       uint32_t region) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in control_word.c) */
    uint32_t weight = thread->countdowns[region].weight;
    return control ? (control & SPEX_CONTROL_GENERATION_MASK) | SPEX_SAMPLE_NOTE | weight : 0;
}

/* A pass whose region has got another period since goes on without its countdown. */
struct spex_region_turn spex_region_sample(struct spex_site *region, struct spex_site *site,
                                           uint32_t control, uint32_t left) {
    struct spex_thread *thread = spex_thread_current();
    uint32_t now = spex_load_acquire(&region->control); /* P1 (P2 in control_word.c) */
    uint32_t generation = now & ~SPEX_CONTROL_PERIOD_MASK;
    struct spex_region_turn turn = {0, 0};
    if (!thread || !now)
        return turn;
    if (left && now == control)
        turn.left = spex_sampler_next(thread, region->index, generation, left);
    else if (!spex_sampler_alone(thread, region->index, generation))
        return turn;
    turn.sampled = chosen(site, thread, region->index);
    return turn;
}

static void raise(uint32_t *most, uint32_t value) {
    uint32_t seen = spex_load_relaxed(most);
    while (seen < value && !spex_cas_relaxed(most, &seen, value))
        ;
}

/* The weight in force is raised to what has been seen: such a pass takes the slow copy in time from
 * now on. */
static void overrun(struct spex_site *region, uint64_t sum, uint32_t missed) {
    uint32_t most = sum < SPEX_CONTROL_PERIOD_MAX ? (uint32_t)sum : SPEX_CONTROL_PERIOD_MAX;
    raise(&region->subsample, most);
    raise(&overruns[region->index].most, most);
    spex_fetch_add_relaxed(&overruns[region->index].missed, missed);
    spex_store_relaxed(&news, true);
}

void spex_region_leave(struct spex_site *region, uint32_t control, uint32_t left, uint64_t sum) {
    struct spex_thread *thread = spex_thread_current();
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t missed = thread ? spex_sampler_leave(thread, region->index, generation, left, sum) : 0;
    if (missed)
        overrun(region, sum, missed);
}

static void tell(uint32_t index) {
    const struct spex_site_info *info = spex_site_info(index);
    uint32_t most = spex_load_relaxed(&overruns[index].most);
    if (!most || overruns[index].told)
        return;
    overruns[index].told = true;
    spex_message(
        "region %u at %s:%u was declared to execute %u probes a pass at most, and has executed %u; "
        "%u records are missing, and it goes by %u from now on",
        info->region, info->file ? info->file : "?", info->line, info->subsample, most,
        spex_load_relaxed(&overruns[index].missed), most);
}

void spex_regions_tell(void) {
    if (!spex_load_relaxed(&news))
        return;
    spex_store_relaxed(&news, false);
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        tell(i);
}
