/* SPDX-License-Identifier: MIT */
/* What the controller asks of the simulated process, and does to it. */
#include <math.h>
#include <time.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "plant_state.h"
#include "probe/executions.h"
#include "probe/open_spans.h"
#include "probe/regions.h"
#include "probe/threads.h"
#include "rate/caches.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/cost.h"
#include "site/probe_state.h"
#include "site/sampling.h"

/* As the library's, when nothing is said. */
#define LOOK_RECORDS 128.0

/* CPU nanoseconds of the collector for counting a probe's executions, when nothing is said. */
#define COUNT_NS 20.0

static uint64_t ns(double seconds) {
    return (uint64_t)(seconds * 1e9);
}

uint64_t spex_clock_ns(clockid_t clock) {
    if (clock == CLOCK_PROCESS_CPUTIME_ID)
        return ns(plant.used + plant.collector);
    return clock == CLOCK_MONOTONIC ? ns(plant.seconds) + plant.options.seed : ns(plant.collector);
}

uint64_t spex_collectors_cpu_ns(void) {
    return ns(plant.collector_noted);
}

uint64_t spex_service_cpu_ns(void) {
    return spex_collectors_cpu_ns();
}

void spex_collectors_note_cpu(void) {
    plant.collector_noted = plant.collector;
}

void spex_collectors_rest(uint64_t rest_ns) {
    plant.rest_ns = rest_ns;
}

void spex_threads_choose(struct spex_thread_set *set, uint32_t most, struct spex_random *random) {
    (void)most;
    (void)random;
    set->count = set->of = 1;
}

void spex_threads_cpu_ns(const struct spex_thread_set *set, uint64_t *ns_used, uint64_t *threads) {
    *ns_used = ns(plant.used);
    *threads = set->count;
}

static const struct spex_rate_caches caches = {
    .keep = {0.4e-6, 40e-6, 300e-6}, .latency = {5e-9, 22e-9, 100e-9}, .window = 0.125};

/* Others than those that are measured, so that a decision by them would show. */
struct spex_rate_caches spex_caches_usual(void) {
    struct spex_rate_caches usual = caches;
    for (size_t c = 0; c < 3; c++)
        usual.latency[c] *= 3;
    return usual;
}

const struct spex_rate_caches *spex_caches(void) {
    plant.caches_measured++;
    return &caches;
}

double spex_metrics_tick_rate(void) {
    return plant.seconds > 2e-3 ? TICKS_PER_SECOND : 0;
}

struct spex_metrics_totals spex_metrics_totals(unsigned type_ring) {
    if (type_ring != spex_probe_type_ring(SPEX_LAT))
        return (struct spex_metrics_totals){0};
    return (struct spex_metrics_totals){.produced = (uint64_t)plant.produced,
                                        .records = (uint64_t)plant.taken};
}

void spex_metrics_executions(uint64_t *counts) {
    double inside = 0;
    for (unsigned p = 0; p < plant.options.probes; p++) {
        counts[p] = has_region() ? 0 : (uint64_t)plant.executions[p];
        inside += plant.executions[p];
    }
    if (has_region())
        counts[plant.options.probes] = (uint64_t)inside;
    double each = plant.options.count_ns > 0 ? plant.options.count_ns : COUNT_NS;
    plant.collector += plant.options.probes * plant.options.cpus * each * 1e-9;
}

static double calibrated_ticks(double true_ns) {
    double dearer = plant.options.dearer > 0 ? plant.options.dearer : 1;
    return ticks(true_ns / dearer * 1e-9);
}

/* What a record takes beyond an execution. */
static double calibrated_record_ticks(void) {
    double more = plant.options.record_ns - plant.options.skip_ns;
    return plant.options.records_dearer > 0 ? ticks(more / plant.options.records_dearer * 1e-9)
                                            : calibrated_ticks(more);
}

int spex_cost_get(uint32_t type, struct spex_cost *cost) {
    (void)type;
    *cost = (struct spex_cost){.skip = calibrated_ticks(plant.options.skip_ns),
                               .record = calibrated_ticks(plant.options.skip_ns) +
                                         calibrated_record_ticks()};
    return 0;
}

void spex_metrics_slice(uint32_t first, double scale) {
    (void)first;
    (void)scale;
}

double spex_metrics_in_regions(uint32_t first) {
    return has_region() ? plant.told_of[first] : 0;
}

struct spex_region_passes spex_region_passes(uint32_t site) {
    (void)site;
    return (struct spex_region_passes){plant.passes, (uint32_t)plant.calls};
}

struct spex_region_cost spex_cost_region(void) {
    return (struct spex_region_cost){.pass = calibrated_ticks(plant.options.region_ns),
                                     .execution = calibrated_ticks(plant.options.skip_ns),
                                     .call = calibrated_ticks(plant.options.call_ns)};
}

uint32_t spex_probe_group(uint32_t index) {
    return index <= plant.options.probes && has_region() ? plant.options.probes : SPEX_MAX_SITES;
}

double spex_cost_drawn(uint32_t type) {
    (void)type;
    return calibrated_ticks(plant.options.drawn_ns);
}

double spex_cost_call(void) {
    return calibrated_ticks(call_more_ns());
}

uint32_t spex_threads_used(void) {
    return 1;
}

/* The plant records all of what nobody has decided about: more than a program does. */
void spex_sites_begin_in_bursts(bool bursts) {
    (void)bursts;
}

uint32_t spex_sites_selections(void) {
    return 1 + plant.selections;
}

uint32_t spex_sites_of_probes(void) {
    return plant.options.probes;
}

uint32_t spex_sites_count(void) {
    return plant.options.probes + has_region();
}

const struct spex_site_info *spex_site_info(uint32_t index) {
    return &plant.infos[index];
}

struct spex_metrics_sums spex_metrics_sums(uint16_t probe_id, uint32_t probe_type) {
    const double *spreads = plant.options.spreads;
    (void)probe_type;
    if (!spreads)
        return (struct spex_metrics_sums){.records = 0};
    return (struct spex_metrics_sums){
        .records = 1000, .weight = 1000, .sum = 1000, .squares = 1000 * spreads[probe_id]};
}

uint32_t spex_profile_next_probe(uint32_t index) {
    return index < plant.options.probes ? index : spex_sites_count();
}

struct spex_probe_state spex_probe_state(uint32_t first, uint64_t until) {
    (void)until;
    return (struct spex_probe_state){.sites = 1,
                                     .sites_on = is_on(first),
                                     .selected = !plant.unselected[first],
                                     .used = true,
                                     .on_ticks = (uint64_t)ticks(plant.on[first]),
                                     .held_ticks = (uint64_t)ticks(plant.held[first])};
}

static void throttle(uint32_t first, uint32_t period) {
    plant.recorded_all[first] |= period == 1;
    bool long_one = period > SPEX_GAP_PERIOD_MAX && period < SPEX_SITE_COUNTED;
    plant.periods[first] = long_one ? SPEX_GAP_PERIOD_MAX : period ? period : 1;
}

bool plant_recorded_all(unsigned probe) {
    return plant.recorded_all[probe];
}

/* All probes of a region together. */
void spex_probe_throttle(uint32_t first, uint32_t period) {
    unsigned from = has_region() ? 0 : first, to = has_region() ? plant.options.probes : first + 1;
    for (unsigned p = from; p < to; p++)
        throttle(p, period);
}

/* Producers look now and then. */
void spex_rings_alarm_at(unsigned type_ring, double records) {
    if (type_ring != spex_probe_type_ring(SPEX_LAT))
        return;
    double looked = (floor(records / LOOK_RECORDS) + 1) * LOOK_RECORDS;
    plant.alarm = looked < ALARM_RECORDS ? looked : ALARM_RECORDS;
}
