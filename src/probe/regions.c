/* SPDX-License-Identifier: MIT */
/* Samples executions within regions (spex/region.h), and reports regions that were declared
 * wrongly.
 *
 * The probes of a region share one countdown, that of the region's own site. A pass takes it at its
 * beginning. If no record is due within the pass, it takes the fast copy of the code, which only
 * counts; otherwise the slow copy asks spex_region_sample where the countdown ends. */
#include "probe/regions.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "probe/sampler.h"
#include "probe/threads.h"
#include "site/registry.h"
#include "text/message.h"

/* Passes that executed more probes than their region declares, by the index of the region's site.
 * All accesses are relaxed: the numbers are only shown. */
static struct {
    /* Most executions in such a pass; 0: there was none. */
    uint32_t most;
    /* Records that were not made. */
    uint32_t missed;
    /* The message has been written. Only the reporting thread uses it. */
    bool reported;
} overruns[SPEX_MAX_SITES];

/* There may be an overrun that has not been reported. */
static bool overruns_new;

/* BEGIN of a pass. Returns how many executions are left to the next record. */
uint32_t spex_region_enter(struct spex_site *region, uint32_t control) {
    struct spex_thread *thread = spex_site_control_acquire(region) ? spex_thread_attach() : NULL;
    bool counts = thread && control != SPEX_CONTROL_CALLED;
    return counts ? spex_sampler_enter(thread, region->index, control & ~SPEX_CONTROL_PERIOD_MASK,
                                       spex_load_relaxed(&region->subsample))
                  : SPEX_REGION_UNCOUNTED;
}

/* Returns what spex_sample_ would for a region_sampled execution of the site: the site's
 * generation, the note of a countdown, and the weight of the region's countdown; 0 when the site is
 * off. */
static uint32_t region_sampled(const struct spex_site *site, const struct spex_thread *thread,
                               uint32_t region) {
    uint32_t control = spex_site_control_acquire(site);
    uint32_t weight = spex_countdown_of(thread, region)->weight;
    return control ? (control & SPEX_CONTROL_GENERATION_MASK) | SPEX_SAMPLE_NOTE | weight : 0;
}

/* An execution of the slow copy at which the countdown ends. A pass without the countdown, or whose
 * region has got another period since, decides about each execution by itself. */
struct spex_region_turn spex_region_sample(struct spex_site *region, struct spex_site *site,
                                           uint32_t control, uint32_t left) {
    uint32_t now = spex_site_control_acquire(region);
    struct spex_thread *thread = now ? spex_thread_attach() : NULL;
    uint32_t generation = now & ~SPEX_CONTROL_PERIOD_MASK;
    struct spex_region_turn turn = {0, 0};
    if (!thread) {
        spex_threads_note_unrecorded(now != 0);
        return turn;
    }
    if (left && now == control)
        turn.left = spex_sampler_next(thread, region->index, generation, left);
    else if (!spex_sampler_alone(thread, region->index, generation))
        return turn;
    turn.sampled = region_sampled(site, thread, region->index);
    spex_sampler_settle(site, spex_countdown_of(thread, region->index)->weight);
    return turn;
}

/* Raises *most to `value`, against other threads that do the same. */
static void maximum_raise(uint32_t *most, uint32_t value) {
    uint32_t seen = spex_load_relaxed(most);
    while (seen < value && !spex_cas_relaxed(most, &seen, value))
        ;
}

/* Notes the overrun, and raises the site's declared number of executions to the number seen. From
 * now on a pass of this length takes the slow copy when a record may be due. */
static void overrun_note(struct spex_site *region, uint64_t sum, uint32_t missed) {
    uint32_t most = sum < SPEX_CONTROL_PERIOD_MAX ? (uint32_t)sum : SPEX_CONTROL_PERIOD_MAX;
    maximum_raise(&region->subsample, most);
    maximum_raise(&overruns[region->index].most, most);
    spex_fetch_add_relaxed(&overruns[region->index].missed, missed);
    spex_store_relaxed(&overruns_new, true);
}

void spex_region_leave(struct spex_site *region, uint32_t control, uint32_t left, uint64_t sum) {
    struct spex_thread *thread = left ? spex_thread_current() : NULL;
    if (!left && control != SPEX_CONTROL_CALLED)
        spex_threads_note_unrecorded(sum);
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t missed = thread ? spex_sampler_leave(thread, region->index, generation, left, sum) : 0;
    if (missed)
        overrun_note(region, sum, missed);
}

static void overrun_report(uint32_t index) {
    const struct spex_site_info *info = spex_site_info(index);
    uint32_t most = spex_load_relaxed(&overruns[index].most);
    if (!most || overruns[index].reported)
        return;
    overruns[index].reported = true;
    spex_message(
        "region %u at %s:%u was declared to execute %u probes a pass at most, and has executed %u; "
        "%u records are missing, and it goes by %u from now on",
        info->region, info->file ? info->file : "?", info->line, info->subsample, most,
        spex_load_relaxed(&overruns[index].missed), most);
}

void spex_regions_tell(void) {
    if (!spex_load_relaxed(&overruns_new))
        return;
    spex_store_relaxed(&overruns_new, false);
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        overrun_report(i);
}

struct spex_region_passes spex_region_passes(uint32_t site) {
    struct spex_region_passes sum = {0, 0};
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_countdown *countdown = spex_countdown_seen(spex_threads_state(t), site);
        if (!countdown)
            continue;
        sum.passes += (double)spex_load_relaxed(&countdown->passes) / SPEX_PASS_PARTS;
        sum.calls += spex_load_relaxed(&countdown->calls);
    }
    return sum;
}

struct spex_region_executions spex_region_executions(uint32_t site) {
    struct spex_region_executions sum = {0, 0};
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_countdown *countdown = spex_countdown_seen(spex_threads_state(t), site);
        double variance;
        if (!countdown)
            continue;
        __atomic_load(&countdown->variance, &variance, __ATOMIC_RELAXED);
        sum.count += (double)spex_load_relaxed(&countdown->total);
        sum.variance += variance;
    }
    return sum;
}
