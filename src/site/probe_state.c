/* SPDX-License-Identifier: MIT */
/* Reads the state of probes from the registry. Each function holds the registry's lock, so that the
 * sites of a probe are seen at one moment. */
#include "site/probe_state.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "site/control_word.h"
#include "site/registry_state.h"

/* Returns the sampling in force, or the last one while the site is off. A probe within a region is
 * sampled by its region's countdown, whatever its own selection says. */
static struct spex_sampling site_sampling_last(const struct spex_site_info *info) {
    if (info->region && info->region_period)
        return (struct spex_sampling){.period = info->region_period,
                                      .kind = info->region_period > 1 ? SPEX_SAMPLING_GEOMETRIC
                                                                      : SPEX_SAMPLING_PERIODIC};
    struct spex_sampling sampling = info->sampling;
    if (spex_sampling_asked(sampling.kind))
        sampling.kind = sampling.period == info->selected.period ? info->selected.kind
                        : sampling.burst                         ? SPEX_SAMPLING_BURSTY
                                                                 : SPEX_SAMPLING_GEOMETRIC;
    return sampling;
}

/* Returns the sampling in force; period 0: the site is off or unloaded. */
static struct spex_sampling site_sampling_now(const struct spex_site_info *info) {
    bool on = info->site && spex_load_relaxed(&info->site->control);
    return on ? site_sampling_last(info) : (struct spex_sampling){0};
}

/* Under the lock, since `used` changes with the control word. */
bool spex_site_used(uint32_t index) {
    spex_lock_take(&spex_registry.lock);
    bool used = spex_registry_info(index)->used;
    spex_lock_give(&spex_registry.lock);
    return used;
}

/* Returns the ticks that the clock has counted up to `until`, which may lie before the present. */
static uint64_t site_clock_ticks(const struct spex_site_clock *clock, uint64_t until) {
    bool counts = clock->running && until > clock->since;
    return clock->ticks + (counts ? until - clock->since : 0);
}

/* Returns the period for comparisons. A site that is off or polled makes no records, which counts
 * as the longest period. */
static uint32_t sampling_period(const struct spex_sampling *sampling) {
    return !sampling->period || sampling->kind == SPEX_SAMPLING_POLLING ? UINT32_MAX
                                                                        : sampling->period;
}

/* Replaces the sampling by the other one if that is on and has the shorter period. */
static void sampling_take_shorter(struct spex_sampling *sampling,
                                  const struct spex_sampling *other) {
    if (other->period && (!sampling->period || sampling_period(other) < sampling_period(sampling)))
        *sampling = *other;
}

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    struct spex_probe_state state = {0};
    struct spex_sampling selected = {0};
    spex_lock_take(&spex_registry.lock);
    const struct spex_site_info *info = spex_registry_info(first);
    state.on_ticks = site_clock_ticks(&info->on, until);
    state.polled_ticks = state.on_ticks - site_clock_ticks(&info->recording, until);
    state.refused = info->refused;
    state.region_longest = 1;
    state.held_ticks = site_clock_ticks(&info->kept_off, until);
    for (uint32_t i = first; i < SPEX_MAX_SITES; i = info->next) {
        info = spex_registry_info(i);
        struct spex_sampling now = site_sampling_now(info);
        state.sites += info->site != NULL;
        state.sites_on += now.period != 0;
        state.used |= info->used;
        if (info->region_longest > state.region_longest)
            state.region_longest = info->region_longest;
        /* The END of a SPAN chooses nothing. */
        if (spex_control_ends_span(info))
            continue;
        sampling_take_shorter(&state.sampling, &now);
        sampling_take_shorter(&selected, &info->selected);
        struct spex_sampling last = site_sampling_last(info);
        if (info->used)
            sampling_take_shorter(&state.sampling_last, &last);
    }
    spex_lock_give(&spex_registry.lock);
    state.selected = selected.period;
    state.by_hand = selected.kind == SPEX_SAMPLING_POLLING;
    if (state.sampling.period)
        state.sampling_last = state.sampling;
    return state;
}

/* The END of a SPAN has the sampling of its BEGINs. */
struct spex_sampling spex_site_sampling(uint32_t index, bool *loaded) {
    spex_lock_take(&spex_registry.lock);
    const struct spex_site_info *info = spex_registry_info(index);
    *loaded = info->site != NULL;
    struct spex_sampling sampling = site_sampling_now(info);
    bool ends = spex_control_ends_span(info);
    spex_lock_give(&spex_registry.lock);
    return ends && sampling.period ? spex_probe_state(info->probe, 0).sampling : sampling;
}

uint32_t spex_profile_next_probe(uint32_t index) {
    uint32_t count = spex_sites_count();
    while (index < count &&
           !(spex_site_info(index)->probe == index && spex_probe_state(index, 0).used))
        index++;
    return index;
}

/* `used` begins anew, too: only sites that are on now, or go on later, belong to the collection. */
void spex_sites_time_begin(void) {
    spex_lock_take(&spex_registry.lock);
    for (uint32_t i = 0; i < spex_registry.count; i++) {
        struct spex_site_info *info = spex_registry_info(i);
        info->on.ticks = info->recording.ticks = info->kept_off.ticks = 0;
        info->on.since = info->recording.since = info->kept_off.since = spex_ticks();
        info->used = site_sampling_now(info).period != 0;
        info->region_longest = info->used ? info->region_period : 0;
    }
    spex_lock_give(&spex_registry.lock);
}
