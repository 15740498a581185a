/* SPDX-License-Identifier: MIT */
#include "site/control_word.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "ring/probe_type.h"
#include "site/registry_state.h"
#include "site/sampling_rate.h"

/* By region: the shortest period of its probes, while the regions of one module are set. */
static uint32_t shortest_periods[UINT16_MAX + 1];

static void note_time(struct spex_site_clock *clock, bool was, bool is, uint64_t now) {
    if (was == is)
        return;
    if (is && clock->running++ == 0)
        clock->since = now;
    if (!is && --clock->running == 0)
        clock->ticks += now - clock->since;
}

/* The one place where a control word is written. Nothing waits for a probe to see the new word: one
 * that sees it late goes by the old word for as long. */
static void site_set_control(struct spex_site_info *info, uint32_t control) {
    uint32_t before = spex_load_relaxed(&info->site->control);
    uint64_t now = spex_ticks();
    if (!spex_site_is_region(info)) {
        struct spex_site_info *first = &spex_registry.infos[info->probe];
        note_time(&first->on, before != 0, control != 0, now);
        note_time(&first->recording, spex_control_records(before), spex_control_records(control),
                  now);
    }
    if (spex_control_polled(before) != spex_control_polled(control))
        spex_store_relaxed(&spex_registry.polling_changes, spex_registry.polling_changes + 1);
    info->used |= control != 0;
    /* A probe that finds its site on finds its index, its rate, the rings and the threads'
     * states. */
    /* clang-format off */
    spex_store_release(&info->site->control,
                       control /* P2 (P1 in x86_64.h, P1 in aarch64.h, P1 in region.h,
                                      P1 in sampler.c, P1 in regions.c) */);
    /* clang-format on */
}

void spex_control_clear(struct spex_site_info *info) {
    site_set_control(info, 0);
}

/* What the selection and the controller come to. Where the controller makes the period longer,
 * executions are chosen at random, or in bursts: with a fixed period of the controller's choice the
 * records could fall into step with the program. */
static struct spex_sampling sampling_of(const struct spex_site_info *info) {
    struct spex_sampling sampling = info->selected;
    if (!sampling.period || info->slowed == SPEX_SITE_HELD)
        return (struct spex_sampling){0};
    /* The fast copy of a region publishes nothing. */
    if (info->slowed == SPEX_SITE_POLLED && info->region)
        return (struct spex_sampling){0};
    if (info->slowed == SPEX_SITE_POLLED && spex_probe_type_lasts(info->probe_type))
        return (struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_POLLING};
    if (info->slowed == SPEX_SITE_POLLED || sampling.kind == SPEX_SAMPLING_POLLING)
        return sampling;
    if (info->slowed > sampling.period) {
        sampling.period = info->slowed;
        if (sampling.kind == SPEX_SAMPLING_PERIODIC)
            sampling.kind = SPEX_SAMPLING_GEOMETRIC;
    }
    uint32_t most = spex_sampling_longest(sampling.kind, sampling.burst);
    if (sampling.period > most)
        sampling.period = most;
    if (sampling.period == 1 && sampling.kind == SPEX_SAMPLING_GEOMETRIC)
        sampling.kind = SPEX_SAMPLING_PERIODIC;
    return sampling;
}

/* The library counts down to the next record where chance chooses it, or where each record must be
 * allowed. Otherwise the probe counts. */
static bool counts_down(const struct spex_sampling *sampling) {
    if (sampling->kind == SPEX_SAMPLING_PERIODIC)
        return spex_registry.records_bounded;
    return sampling->kind != SPEX_SAMPLING_POLLING;
}

/* A count goes on with another sampling only where the probe counts. */
static bool goes_on(const struct spex_sampling *before, const struct spex_sampling *now) {
    return spex_sampling_same(before, now) ||
           (before->kind == SPEX_SAMPLING_PERIODIC && now->kind == SPEX_SAMPLING_PERIODIC &&
            !counts_down(now));
}

/* Countdowns have even generations, other counts odd ones. So a thread's old count is still read as
 * the kind of count that it is when the generations have come round since. */
static bool generation_fits(uint32_t generation, const struct spex_sampling *sampling) {
    bool countdown = counts_down(sampling);
    return countdown ? generation % 2 == 0 && generation <= SPEX_COUNTDOWN_GENERATION_MAX
                     : generation % 2 == 1;
}

/* `changes` counts the generations since the site went on. */
static void next_generation(struct spex_site_info *info, bool was_on,
                            const struct spex_sampling *sampling) {
    struct spex_site *site = info->site;
    uint32_t steps = 0;
    do {
        info->generation = info->generation % SPEX_CONTROL_GENERATIONS + 1;
        steps++;
    } while (!generation_fits(info->generation, sampling));
    if (!was_on) {
        spex_store_relaxed(&site->on_since, (uint8_t)info->generation);
        spex_store_relaxed(&site->changes, 0);
    } else {
        uint32_t changes = site->changes + steps;
        spex_store_relaxed(&site->changes, (uint8_t)(changes < UINT8_MAX ? changes : UINT8_MAX));
    }
}

static uint32_t control_of(const struct spex_site_info *info) {
    uint32_t generation = info->generation << SPEX_CONTROL_GENERATION_SHIFT;
    if (info->sampling.kind == SPEX_SAMPLING_POLLING)
        return generation;
    return generation |
           (counts_down(&info->sampling) ? SPEX_CONTROL_COUNTDOWN : info->sampling.period);
}

void spex_control_update(struct spex_site_info *info) {
    struct spex_sampling sampling = sampling_of(info);
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    if (!sampling.period) {
        site_set_control(info, 0);
        return;
    }
    if (!was_on && spex_registry.prepare_type)
        spex_registry.prepare_type(info->probe_type, info->detail);
    if (!was_on || !goes_on(&info->sampling, &sampling)) {
        next_generation(info, was_on, &sampling);
        if (counts_down(&sampling))
            spex_sampling_rate_set(info->site->index, info->generation, &sampling);
    }
    info->sampling = sampling;
    site_set_control(info, control_of(info));
}

/* A region counts down geometric gaps even where all of them are 1: its fast copy knows nothing
 * else. */
static void region_set(struct spex_site_info *info, uint32_t period) {
    const struct spex_sampling sampling = {
        .period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX,
        .kind = SPEX_SAMPLING_GEOMETRIC};
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    if (!period && was_on)
        site_set_control(info, 0);
    if (!period || (was_on && spex_sampling_same(&info->sampling, &sampling)))
        return;
    next_generation(info, was_on, &sampling);
    spex_sampling_rate_set(info->site->index, info->generation, &sampling);
    info->sampling = sampling;
    site_set_control(info, control_of(info));
}

static void shorten(uint32_t *period, uint32_t other) {
    if (other && (!*period || other < *period))
        *period = other;
}

void spex_control_set_regions(const struct spex_module *module) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        shortest_periods[site->region] = 0;
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        if (site->type_number && spex_load_relaxed(&site->control))
            shorten(&shortest_periods[site->region],
                    spex_registry.infos[site->index].sampling.period);
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        struct spex_site_info *info = &spex_registry.infos[site->index];
        uint32_t period = shortest_periods[site->region];
        /* A site may have been refused: then the info is another site's. */
        if (!site->region || info->site != site)
            continue;
        if (!site->type_number)
            region_set(info, period);
        else if (period)
            info->region_period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX;
    }
}

void spex_control_set_all_regions(void) {
    const struct spex_module *module = spex_registry.modules;
    for (; module; module = module->next)
        if (module->regions)
            spex_control_set_regions(module);
}
