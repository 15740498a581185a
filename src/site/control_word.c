/* SPDX-License-Identifier: MIT */
/* Computes and writes the control words of sites. A control word (spex/site.h) holds a generation
 * and a period; 0 means off. The sampling of a site follows from the selection and from the period
 * that the controller sets. Whenever it changes in a way that a thread's count cannot follow, the
 * site gets a new generation, by which each thread sees that its count is out of date.
 *
 * Threads: any thread, with the registry's lock held. The program's threads read control words
 * without a lock. */
#include "site/control_word.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry_state.h"
#include "site/sampling_rate.h"

/* The shortest period of each region's probes, by the region's id. Scratch memory of
 * spex_control_set_regions; static because it is too large for a stack. */
static uint32_t region_shortest_periods[UINT16_MAX + 1];

/* Counts one site that enters (`is`) or leaves (`was`) the clock's state at `now`. The clock runs
 * while at least one site is in the state. */
static void site_clock_note(struct spex_site_clock *clock, bool was, bool is, uint64_t now) {
    if (was == is)
        return;
    if (is && clock->running++ == 0)
        clock->since = now;
    if (!is && --clock->running == 0)
        clock->ticks += now - clock->since;
}

/* Returns what an execution of the site costs, in ticks, with a part of a record where it is
 * sampled; 0: it is not known. What probes in regions cost depends on the copy that executes.
 * The weights of bursts follow the program, so only what each execution costs is known. */
static double site_cost(const struct spex_site_info *info, uint32_t control) {
    struct spex_cost cost;
    if (!spex_control_records(control) || info->region ||
        spex_cost_get(info->probe_type, &cost) != 0)
        return 0;
    if (info->sampling.kind == SPEX_SAMPLING_CALLED)
        return cost.skip + spex_cost_call();
    if (info->sampling.kind == SPEX_SAMPLING_BURSTY || info->sampling.kind == SPEX_SAMPLING_COUNTED)
        return cost.skip;
    double drawn =
        info->sampling.kind == SPEX_SAMPLING_GEOMETRIC ? spex_cost_drawn(info->probe_type) : 0;
    double record = drawn > cost.record ? drawn : cost.record;
    return cost.skip + (record - cost.skip) / info->sampling.period;
}

/* The only function that writes a control word. It also keeps the clocks of the site's probe and
 * the count of changes for the occupancy sampler. It does not wait until threads see the new word:
 * a thread that sees it late samples by the old word a little longer, which does no harm. */
static void site_set_control(struct spex_site_info *info, uint32_t control) {
    uint32_t word = spex_load_relaxed(&info->site->control);
    uint32_t before = word == SPEX_CONTROL_CALLED ? 0 : word;
    uint64_t now = spex_ticks();
    if (!spex_site_is_region(info)) {
        struct spex_site_info *first = spex_registry_info(info->probe);
        site_clock_note(&first->on, before != 0, control != 0, now);
        spex_store_relaxed(&spex_registry.sites_on,
                           spex_registry.sites_on + (control != 0) - (before != 0));
        site_clock_note(&first->recording, spex_control_records(before),
                        spex_control_records(control), now);
    }
    if (spex_control_polled(before) != spex_control_polled(control))
        spex_store_relaxed(&spex_registry.polling_changes, spex_registry.polling_changes + 1);
    info->used |= control != 0;
    uint32_t *switched = &spex_site_switched[info->site->index];
    if ((before != 0) != (control != 0))
        spex_store_release(switched, *switched + 1); /* V1 (V2 in recording.c): the word before */
    spex_cost_of_site_set(info->site->index, site_cost(info, control));
    /* The release makes the site's index, its sampling rate, the rings and the threads' states
     * visible to a thread that sees the site on. */
    /* clang-format off */
    spex_store_release(&info->site->control,
                       control /* P2 (P1, P1 in registry.h, P1 in x86_64.h, P1 in aarch64.h,
                                      P1 in region.h, P1 in probes.c) */);
    /* clang-format on */
}

/* The word of a call makes nothing visible: it is loaded again once the call was answered. */
uint32_t spex_site_answer_call(const struct spex_site *site) {
    void (*answer)(void) = spex_load_relaxed(&spex_registry.answer);
    if (answer)
        answer();
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2) */
    return control == SPEX_CONTROL_CALLED ? 0 : control;
}

/* Notes whether the controller keeps the site off. */
static void site_set_held(struct spex_site_info *info, bool held) {
    if (held != info->held)
        site_clock_note(&spex_registry_info(info->probe)->kept_off, info->held, held, spex_ticks());
    info->held = held;
}

void spex_control_clear(struct spex_site_info *info) {
    if (spex_load_relaxed(&info->site->control))
        site_set_control(info, 0);
    if (!spex_site_is_region(info))
        site_set_held(info, false);
}

/* See spex_sites_begin_in_bursts. */
static bool site_begins_in_bursts(const struct spex_site_info *info) {
    return spex_registry.begins_in_bursts && !info->slowed && !info->region &&
           info->selected.period == 1 && info->selected.kind == SPEX_SAMPLING_PERIODIC &&
           !spex_control_ends_span(info);
}

/* Combines the selection with the period that the controller sets. Where the controller lengthens
 * a fixed period, the sampling becomes geometric (bursts stay bursts): a fixed period that the
 * user has not chosen could fall into step with a rhythm of the program. */
static struct spex_sampling site_sampling_combined(const struct spex_site_info *info) {
    struct spex_sampling sampling = info->selected;
    if (!sampling.period || info->slowed == SPEX_SITE_HELD)
        return (struct spex_sampling){0};
    /* The fast copy of a region has no sites, so a poll would never find them executing. */
    if (info->slowed == SPEX_SITE_POLLED && info->region)
        return (struct spex_sampling){0};
    if (info->slowed == SPEX_SITE_POLLED && spex_probe_type_lasts(info->probe_type))
        return (struct spex_sampling){.period = 1, .kind = SPEX_SAMPLING_POLLING};
    if (info->slowed == SPEX_SITE_POLLED || sampling.kind == SPEX_SAMPLING_POLLING)
        return sampling;
    bool called = info->slowed == SPEX_SITE_CALLED;
    if ((called || info->slowed == SPEX_SITE_COUNTED) && !info->region)
        return (struct spex_sampling){
            .period = info->sampling.period ? info->sampling.period : sampling.period,
            .burst = info->sampling.burst,
            .kind = called ? SPEX_SAMPLING_CALLED : SPEX_SAMPLING_COUNTED};
    if (site_begins_in_bursts(info))
        return (struct spex_sampling){
            .period = spex_sampling_longest(SPEX_SAMPLING_BURSTY, SPEX_FIRST_BURST),
            .burst = SPEX_FIRST_BURST,
            .kind = SPEX_SAMPLING_BURSTY};
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

/* Returns whether the library counts down to the next record (sampler.h): where chance chooses the
 * record, or where the thread's budget must allow it. Otherwise the probe's inline code counts up
 * to the period. */
static bool sampling_counts_down(const struct spex_sampling *sampling) {
    if (sampling->kind == SPEX_SAMPLING_PERIODIC)
        return spex_registry.records_bounded;
    return sampling->kind != SPEX_SAMPLING_POLLING;
}

/* Returns whether threads' counts stay valid under the new sampling, so that the generation can
 * stay. A fixed period that is counted by the probe may change, because its count starts from 0
 * whatever the period is. A countdown starts from its gap and would end at the wrong execution. */
static bool counts_stay_valid(const struct spex_sampling *before, const struct spex_sampling *now) {
    return spex_sampling_same(before, now) ||
           (before->kind == SPEX_SAMPLING_PERIODIC && now->kind == SPEX_SAMPLING_PERIODIC &&
            !sampling_counts_down(now));
}

/* A thread's count may be so old that the generations have wrapped round since. Its generation
 * still tells then which kind of count it is. */
static bool generation_fits(uint32_t generation, const struct spex_sampling *sampling) {
    if (sampling_counts_down(sampling))
        return generation % 4 == 2 && generation <= SPEX_COUNTDOWN_GENERATION_MAX;
    return generation % 4 == 1;
}

/* Moves the site to the next generation that fits the sampling. `on_since` and `changes` of the
 * site let an END that began under an earlier generation check that the site has been on ever
 * since (spex_on_since in recording.h). `changes` saturates. */
static void site_next_generation(struct spex_site_info *info, bool was_on,
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

/* Polled sites have a generation and no period, countdowns have SPEX_CONTROL_COUNTDOWN. */
static uint32_t control_word_of(const struct spex_site_info *info) {
    uint32_t generation = info->generation << SPEX_CONTROL_GENERATION_SHIFT;
    if (info->sampling.kind == SPEX_SAMPLING_POLLING)
        return generation;
    return generation |
           (sampling_counts_down(&info->sampling) ? SPEX_CONTROL_COUNTDOWN : info->sampling.period);
}

/* Regions in a mask of types. */
#define REGIONS (UINT32_C(1) << 31)

/* Whether a site of the type may go on. Preparing looks at the threads of the process, which takes
 * longer than all else about a site; what is on in slices of the time was prepared before. */
static bool is_prepared(uint32_t type, unsigned detail) {
    uint32_t bit = type ? type : REGIONS;
    if (!spex_registry.prepare_type || (type != SPEX_PERFCNTR && spex_registry.prepared & bit))
        return true;
    if (!spex_registry.prepare_type(type, detail))
        return false;
    spex_registry.prepared |= bit;
    return true;
}

void spex_control_update(struct spex_site_info *info) {
    struct spex_sampling sampling = site_sampling_combined(info);
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    site_set_held(info, info->selected.period && !sampling.period);
    if (!sampling.period) {
        site_set_control(info, 0);
        return;
    }
    if (!was_on && !is_prepared(info->probe_type, info->detail))
        return;
    /* The rate must be stored before the control word that makes threads look it up. */
    if (!was_on || !counts_stay_valid(&info->sampling, &sampling)) {
        site_next_generation(info, was_on, &sampling);
        if (sampling_counts_down(&sampling))
            spex_sampling_rate_set(info->site->index, info->generation, &sampling);
    }
    info->sampling = sampling;
    site_set_control(info, control_word_of(info));
}

/* Selects the END of a SPAN where one of its BEGINs is: it may stand in another source file, by
 * which a selection can choose. */
static void span_end_select(struct spex_site_info *info) {
    bool begins = false;
    for (uint32_t i = info->probe; i < SPEX_MAX_SITES; i = spex_registry_info(i)->next) {
        const struct spex_site_info *other = spex_registry_info(i);
        begins |= other->site && !spex_control_ends_span(other) && other->selected.period;
    }
    info->selected = (struct spex_sampling){.period = begins};
}

void spex_control_select_span_ends(void) {
    for (uint32_t i = 0; i < spex_registry.count; i++)
        if (spex_registry_info(i)->site && spex_control_ends_span(spex_registry_info(i)))
            span_end_select(spex_registry_info(i));
}

/* ENDs of SPANs go on before their BEGINs, and off after them, so that no span stays open because
 * its END was off. */
enum turn { ENDS_ON, OTHERS, ENDS_OFF, TURNS };

static enum turn site_turn(const struct spex_site_info *info) {
    if (!spex_control_ends_span(info))
        return OTHERS;
    return info->selected.period && info->slowed != SPEX_SITE_HELD ? ENDS_ON : ENDS_OFF;
}

static void site_update_in_turn(struct spex_site_info *info, enum turn turn) {
    if (info->site && !spex_site_is_region(info) && site_turn(info) == turn)
        spex_control_update(info);
}

void spex_control_update_all(void) {
    spex_registry.prepared = 0;
    for (enum turn turn = ENDS_ON; turn < TURNS; turn++)
        for (uint32_t i = 0; i < spex_registry.count; i++)
            site_update_in_turn(spex_registry_info(i), turn);
}

void spex_control_update_probe(uint32_t first) {
    for (enum turn turn = ENDS_ON; turn < TURNS; turn++)
        for (uint32_t i = first; i < SPEX_MAX_SITES; i = spex_registry_info(i)->next)
            site_update_in_turn(spex_registry_info(i), turn);
}

/* Sets the period of a region's own site; 0: off. A region always counts down geometric gaps, with
 * period 1 too, because its fast copy can only count down. */
static void region_set_period(struct spex_site_info *info, uint32_t period) {
    const struct spex_sampling sampling = {
        .period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX,
        .kind = SPEX_SAMPLING_GEOMETRIC};
    bool was_on = spex_load_relaxed(&info->site->control) != 0;
    if (period && !was_on && !is_prepared(0, 0))
        return;
    if (!period && was_on)
        site_set_control(info, 0);
    if (!period || (was_on && spex_sampling_same(&info->sampling, &sampling)))
        return;
    site_next_generation(info, was_on, &sampling);
    spex_sampling_rate_set(info->site->index, info->generation, &sampling);
    info->sampling = sampling;
    site_set_control(info, control_word_of(info));
}

/* Notes the period of a probe's region. */
static void region_note_period(struct spex_site_info *info, uint32_t period) {
    info->region_period = period < SPEX_GAP_PERIOD_MAX ? period : SPEX_GAP_PERIOD_MAX;
    if (info->region_period > info->region_longest)
        info->region_longest = info->region_period;
}

/* A period of 0 means "none yet" in `*period` and "off" in `other`. */
static void period_shorten(uint32_t *period, uint32_t other) {
    if (other && (!*period || other < *period))
        *period = other;
}

/* Three passes over the module's sites: reset the scratch entries of the regions that occur, find
 * each region's shortest period, and set the regions' own sites to it. Probes within a region only
 * note the period, because the region decides which executions make records. */
void spex_control_set_regions(const struct spex_module *module) {
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        region_shortest_periods[site->region] = 0;
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++)
        if (site->type_number && spex_load_relaxed(&site->control))
            period_shorten(&region_shortest_periods[site->region],
                           spex_registry_info(site->index)->sampling.period);
    for (const struct spex_site *site = module->sites; site < module->sites_end; site++) {
        struct spex_site_info *info = site->region ? spex_registry_info_of(site) : NULL;
        uint32_t period = region_shortest_periods[site->region];
        if (!info)
            continue;
        if (!site->type_number)
            region_set_period(info, period);
        else if (period)
            region_note_period(info, period);
    }
}

void spex_control_set_all_regions(void) {
    const struct spex_module *module = spex_registry.modules;
    for (; module; module = module->next)
        if (module->regions)
            spex_control_set_regions(module);
}
