/* SPDX-License-Identifier: MIT */
/* The metrics of a collection are differences: counts of threads, rings and clocks go on over
 * several collections, so each is subtracted as it was when the metrics were opened.
 *
 * One mutex protects the tracer. Collectors hold it for each batch, readers for a whole report. */
#define _GNU_SOURCE
#include "collect/metrics.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/service_thread.h"
#include "base/student.h"
#include "probe/nesting.h"
#include "probe/open_spans.h"
#include "probe/regions.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "ring/reserve.h"
#include "ring/rings.h"
#include "site/probe_state.h"
#include "site/registry.h"
#include "stats/tracer.h"

static struct {
    struct spex_lock lock;
    struct spex_sink sink;
    struct spex_tracer *tracer; /* NULL: there are no metrics */
    bool ended;
    struct spex_instant start, end;
    /* Ticks a second; 0: not known yet. When that was read, in ticks. */
    double tick_rate;
    uint64_t tick_rate_read;
    /* From here on: counts when the metrics were opened, to be subtracted. CPU time of the process
     * and of spex's own threads. */
    uint64_t cpu_ns;
    uint64_t own_cpu_ns;
    uint64_t undelivered;
    uint64_t unrecorded;
    /* Children of forks since the metrics were opened. */
    uint64_t unfollowed;
    /* Counts of the rings, by type. Records that were pending belong to these metrics. */
    struct spex_ring_counts before[SPEX_PROBE_TYPES];
    /* Executions of each site, outside of regions and in them, and what was known of probes within
     * each: of `sites` sites. Those that have come since had none. */
    uint64_t *executions;
    struct spex_region_executions *in_regions;
    struct spex_line_sums *nested;
    uint32_t sites;
} metrics = {.lock = SPEX_LOCK_FREE};

/* The slowest execution of a probe is that of the present and the last window of this length. */
#define WINDOW_NS UINT64_C(10000000000)

#define BLOCK_NS (UINT64_C(1000000000) / SPEX_TRACER_BLOCKS_A_SECOND)

static void window_now(void) {
    if (!metrics.ended)
        spex_tracer_window(metrics.tracer, spex_clock_ns(CLOCK_MONOTONIC_COARSE) / WINDOW_NS);
}

/* Collectors. A batch that the tracer has no memory for counts as undelivered. */
static bool metrics_take_records(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    spex_lock_take(&metrics.lock);
    window_now();
    spex_tracer_block(metrics.tracer, spex_clock_ns(CLOCK_MONOTONIC_COARSE) / BLOCK_NS);
    int err = spex_tracer_add(metrics.tracer, batch->records, batch->count);
    spex_lock_give(&metrics.lock);
    return err == 0;
}

/* One element more, so that there is memory in a program without sites. */
static size_t before_bytes(void) {
    return (metrics.sites + 1) *
           (sizeof(*metrics.executions) + sizeof(*metrics.in_regions) + sizeof(*metrics.nested));
}

static uint64_t executions_before(uint32_t site) {
    return site < metrics.sites ? metrics.executions[site] : 0;
}

static void before_forget(void) {
    munmap(metrics.executions, before_bytes());
    metrics.sites = 0;
}

/* Frees the tracer: from now on there are no metrics. */
static void metrics_finish(struct spex_sink *sink) {
    (void)sink;
    spex_lock_take(&metrics.lock);
    spex_tracer_destroy(metrics.tracer);
    metrics.tracer = NULL;
    before_forget();
    spex_lock_give(&metrics.lock);
}

/* In the child of a fork the tracer is leaked: a collector of the parent may have been changing
 * it. */
static void metrics_abandon(struct spex_sink *sink) {
    (void)sink;
}

/* Executions of a probe's site in a region since the process began. */
static struct spex_region_executions site_in_region(uint32_t site) {
    const struct spex_site_info *info = spex_site_info(site);
    bool stands = info->region && !spex_site_is_region(info);
    return stands ? spex_region_executions(site) : (struct spex_region_executions){0, 0};
}

/* Notes what there is of each site. False: there is no memory. */
static bool before_note(void) {
    metrics.sites = spex_sites_count();
    metrics.executions = spex_memory_reserve(before_bytes(), spex_mappings_are_locked());
    if (!metrics.executions) {
        metrics.sites = 0;
        return false;
    }
    metrics.in_regions = (void *)(metrics.executions + metrics.sites + 1);
    metrics.nested = (void *)(metrics.in_regions + metrics.sites + 1);
    spex_threads_add_executions(metrics.executions, metrics.sites);
    for (uint32_t i = 0; i < metrics.sites; i++) {
        metrics.in_regions[i] = site_in_region(i);
        spex_nesting_add_sums(&metrics.nested[i], i);
    }
    return true;
}

/* Counts of threads, rings and clocks so far are noted, to be subtracted from all figures. */
int spex_metrics_open(struct spex_sink **sink) {
    spex_lock_take(&metrics.lock);
    bool noted = before_note();
    int err = noted ? spex_tracer_create(&metrics.tracer) : -ENOMEM;
    if (err) {
        if (noted)
            before_forget();
        spex_lock_give(&metrics.lock);
        return err;
    }
    metrics.sink = (struct spex_sink){
        .records = metrics_take_records, .finish = metrics_finish, .abandon = metrics_abandon};
    metrics.ended = false;
    metrics.tick_rate = 0;
    metrics.tick_rate_read = 0;
    metrics.start = spex_instant_now();
    metrics.cpu_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    metrics.own_cpu_ns = spex_service_cpu_ns();
    metrics.undelivered = spex_sinks_undelivered();
    metrics.unrecorded = spex_threads_unrecorded();
    metrics.unfollowed = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        metrics.before[t] = spex_rings_totals_of(t);
    spex_lock_give(&metrics.lock);
    spex_sites_time_begin();
    *sink = &metrics.sink;
    return 0;
}

void spex_metrics_end(void) {
    /* Without the lock: only this thread makes and ends the tracer. */
    if (!metrics.tracer)
        return;
    struct spex_instant end = spex_instant_now();
    double rate = spex_tick_rate_since(metrics.start);
    spex_lock_take(&metrics.lock);
    metrics.end = end;
    metrics.tick_rate = rate;
    metrics.ended = true;
    spex_lock_give(&metrics.lock);
}

void spex_metrics_lock(void) {
    spex_lock_take(&metrics.lock);
}

void spex_metrics_unlock(void) {
    spex_lock_give(&metrics.lock);
}

bool spex_metrics_there(void) {
    return metrics.tracer != NULL;
}

uint64_t spex_metrics_until(void) {
    return metrics.ended ? metrics.end.ticks : spex_ticks();
}

/* Counts of a type since the start. Once the metrics have ended, pending records count as lost. */
static struct spex_ring_counts counts_of(unsigned type_ring) {
    struct spex_ring_counts now = spex_rings_totals_of(type_ring);
    const struct spex_ring_counts *before = &metrics.before[type_ring];
    return (struct spex_ring_counts){
        .produced = now.produced - before->consumed - before->lost,
        .consumed = spex_grown(before->consumed, now.consumed),
        .lost = spex_grown(before->lost, now.lost) + (metrics.ended ? now.pending : 0),
    };
}

/* A rate over a time that is this part longer is no better. */
#define RATE_LONGER (1 / 8.0)

/* After the end the rate stays as measured then, over the whole time. Before, a rate that has been
 * known stays so: this reading of the clocks may be worse than the last. Relaxed: whoever does not see
 * what another thread has read reads the clocks itself. */
double spex_metrics_tick_rate(void) {
    double last;
    __atomic_load(&metrics.tick_rate, &last, __ATOMIC_RELAXED);
    uint64_t read = spex_load_relaxed(&metrics.tick_rate_read);
    uint64_t before = spex_grown(metrics.start.ticks, read), now = spex_grown(read, spex_ticks());
    if (metrics.ended || (last > 0 && (double)now < RATE_LONGER * (double)before))
        return last;
    struct spex_instant instant = spex_instant_now();
    double rate = spex_tick_rate(metrics.start, instant);
    if (rate <= 0)
        return last;
    __atomic_store(&metrics.tick_rate, &rate, __ATOMIC_RELAXED);
    spex_store_relaxed(&metrics.tick_rate_read, instant.ticks);
    return rate;
}

struct spex_metrics_totals spex_metrics_totals(unsigned type_ring) {
    struct spex_ring_counts counts = counts_of(type_ring);
    struct spex_tracer_totals taken = {0, 0};
    if (metrics.tracer)
        taken = spex_tracer_totals(metrics.tracer, type_ring);
    return (struct spex_metrics_totals){
        .produced = counts.produced,
        .lost = counts.lost,
        .records = taken.records,
        .executions = taken.executions,
    };
}

/* Finds the probe in the tracer. False: it has no records. */
static bool find_traced(uint16_t probe_id, uint32_t probe_type, size_t *at) {
    if (!metrics.tracer)
        return false;
    *at = spex_tracer_find(metrics.tracer, probe_id, probe_type);
    return *at < spex_tracer_probes(metrics.tracer);
}

/* Not by their records: of lost ones nothing tells how many executions each stood for, which changes
 * with the period. */
static struct spex_region_executions in_regions(uint32_t first) {
    struct spex_region_executions sum = {0, 0};
    for (uint32_t i = first; i != SPEX_MAX_SITES; i = spex_probe_next_site(i)) {
        const struct spex_region_executions now = site_in_region(i);
        sum.count += now.count;
        sum.variance += now.variance;
        if (i < metrics.sites) {
            sum.count -= metrics.in_regions[i].count;
            sum.variance -= metrics.in_regions[i].variance;
        }
    }
    return sum;
}

/* The variance of what may have been executed without being chosen: where fewer were chosen than tell
 * how many there are, their own variance is too small, and 0 where none was. Of what is expected three
 * times there is at least one in 95 % of cases. */
static double unchosen_variance(uint32_t first) {
    double longest = spex_probe_state(first, 0).region_longest;
    return pow(SPEX_UNSEEN_95 / SPEX_NORMAL_95, 2) * longest * (longest - 1);
}

double spex_metrics_in_regions(uint32_t first) {
    return in_regions(first).count;
}

void spex_metrics_slice(uint32_t first, double scale) {
    const struct spex_site_info *info = spex_site_info(first);
    size_t at;
    if (find_traced(info->probe_id, info->probe_type, &at))
        spex_tracer_slice(metrics.tracer, at, scale);
}

struct spex_metrics_sums spex_metrics_sums(uint16_t probe_id, uint32_t probe_type) {
    struct spex_metrics found;
    size_t at;
    if (!find_traced(probe_id, probe_type, &at))
        return (struct spex_metrics_sums){.records = 0};
    const struct spex_values *values = spex_tracer_values(metrics.tracer, at, 0);
    if (!values)
        return (struct spex_metrics_sums){.records = 0};
    spex_tracer_metrics(metrics.tracer, at, &found);
    return (struct spex_metrics_sums){.records = found.records,
                                      .weight = values->weight,
                                      .sum = values->weight * values->mean,
                                      .squares = values->squares};
}

void spex_metrics_executions(uint64_t *counts) {
    uint32_t sites = spex_sites_count();
    memset(counts, 0, sites * sizeof(*counts));
    spex_threads_add_executions(counts, sites);
    /* Most of a thousand sites have not been executed: their infos are in no cache. The first site of
     * a probe comes before its others, so its sum begins after its own count has been read. */
    for (uint32_t i = 0; i < sites; i++) {
        uint64_t fresh = spex_grown(executions_before(i), counts[i]);
        counts[i] = 0;
        if (!fresh)
            continue;
        const struct spex_site_info *info = spex_site_info(i);
        counts[spex_site_is_region(info) ? i : info->probe] += fresh;
    }
}

/* Adds up what is known of the probe's sites: fills in what probes within it take, and returns the
 * counted executions, without those in regions, where sites are not counted one by one. */
static uint64_t fill_in_sites(struct spex_profile_probe *probe, uint32_t first) {
    uint64_t executions = 0;
    probe->nested = (struct spex_line_sums){0};
    for (uint32_t i = first; i != SPEX_MAX_SITES; i = spex_probe_next_site(i)) {
        if (!spex_site_info(i)->region)
            executions += spex_grown(executions_before(i), spex_threads_executions(i));
        spex_nesting_add_sums(&probe->nested, i);
        if (i < metrics.sites)
            spex_line_add_sums(&probe->nested, &metrics.nested[i], -1);
    }
    return executions;
}

/* Fills in the times since the metrics were opened. The program's CPU time is that of the
 * process without spex's own threads. */
static void fill_in_times(struct spex_profile_process *process) {
    struct spex_instant now = metrics.ended ? metrics.end : spex_instant_now();
    uint64_t spex_ns = spex_service_cpu_ns() - metrics.own_cpu_ns;
    uint64_t all_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - metrics.cpu_ns;
    process->ticks_per_second = spex_metrics_tick_rate();
    process->seconds = (double)(now.monotonic_ns - metrics.start.monotonic_ns) / 1e9;
    process->began_ns = metrics.start.monotonic_ns;
    process->program_seconds = all_ns > spex_ns ? (double)(all_ns - spex_ns) / 1e9 : 0;
    process->collector_seconds = (double)spex_ns / 1e9;
}

struct spex_descriptor spex_metrics_rings(void) {
    uint64_t former = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        former += metrics.before[t].consumed + metrics.before[t].lost;
    return metrics.tracer && !former ? spex_rings_file() : SPEX_NO_DESCRIPTOR;
}

/* Figures stay as they are, mostly 0, where there are no metrics. */
void spex_metrics_process(struct spex_profile_process *process) {
    if (!metrics.tracer)
        return;
    fill_in_times(process);
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        struct spex_ring_counts counts = counts_of(t);
        process->produced += counts.produced;
        process->consumed += counts.consumed;
        process->lost += counts.lost;
    }
    process->undelivered = spex_sinks_undelivered() - metrics.undelivered;
    process->unrecorded = spex_threads_unrecorded() - metrics.unrecorded;
    /* Relaxed: it orders nothing. */
    process->unfollowed = spex_load_relaxed(&metrics.unfollowed);
    if (spex_metrics_rings().number >= 0)
        process->ring_records = (uint32_t)spex_rings.rseq[0].mask + 1;
}

void spex_metrics_type(struct spex_profile_type *type) {
    if (!metrics.tracer)
        return;
    struct spex_ring_counts counts = counts_of(spex_probe_type_ring(type->probe_type));
    type->produced = counts.produced;
    type->lost = counts.lost;
}

/* The lost records of a probe whose executions each make one: those without a record, but for
 * records that are in the ring, or on their way from there, in the proportion of the type. */
static double losses_in_full(double missing, const struct spex_ring_counts *type, uint64_t taken) {
    double gone = (double)type->produced - (double)taken, lost = (double)type->lost;
    return gone > lost ? missing * lost / gone : missing;
}

/* Fills in what has become of the executions of a SPAN that have no record. */
static void fill_in_spans(struct spex_profile_probe *probe, uint32_t first) {
    struct spex_span_sums sums = spex_open_spans_sums(&spex_open_spans, first);
    probe->spans_open = sums.open;
    probe->spans_abandoned = sums.counts.abandoned;
    probe->spans_refused = sums.counts.refused;
    probe->spans_unmatched = sums.counts.unmatched;
    probe->spans_partial = sums.partial;
}

/* Fills in the probe's lost records. Where not all executions make a record, they are estimated as
 * its share of its type's lost records, in proportion to its records. They are never more than the
 * executions without a record. */
static void fill_in_losses(struct spex_profile_probe *probe) {
    unsigned ring = spex_probe_type_ring(probe->probe_type);
    struct spex_ring_counts type = counts_of(ring);
    uint64_t all = spex_tracer_totals(metrics.tracer, ring).records;
    double missing =
        fmax(spex_profile_ended(probe) - (double)probe->spans_refused - (double)probe->records, 0);
    double lost = (double)type.lost;
    if (!type.lost)
        return;
    bool in_full = spex_profile_in_full(probe);
    if (in_full)
        lost = losses_in_full(missing, &type, all);
    else if (all)
        lost *= (double)probe->records / (double)all;
    else
        lost = 0;
    probe->lost = fmin(fmin(lost, missing), (double)type.lost);
    probe->lost_shared = !in_full && (!all || probe->records != all);
}

/* Its wall-clock time follows from the ticks that have passed since. */
static void fill_in_slowest(struct spex_profile_probe *probe, size_t at) {
    window_now();
    struct spex_slowest slowest = spex_tracer_slowest(metrics.tracer, at);
    double rate = slowest.ticks ? spex_metrics_tick_rate() : 0;
    if (rate <= 0)
        return;
    uint64_t now = spex_clock_ns(CLOCK_REALTIME);
    double since = (double)spex_grown(slowest.timestamp, spex_ticks()) * 1e9 / rate;
    probe->slowest = (struct spex_profile_slowest){.ticks = slowest.ticks,
                                                   .realtime_ns = now - (uint64_t)since,
                                                   .thread_id = slowest.thread_id,
                                                   .cpu_id = slowest.cpu_id,
                                                   .process_id = (uint32_t)getpid()};
}

/* Fills in the values of its series. */
static void fill_in_series(struct spex_profile_row *row, size_t at) {
    for (unsigned s = 0; s < row->probe.series; s++) {
        row->values[s] = spex_tracer_values(metrics.tracer, at, s);
        row->losses[s] = spex_tracer_losses(metrics.tracer, at, s);
    }
}

/* Fills in the figures that come from records. */
static void fill_in_records(struct spex_profile_row *row) {
    struct spex_profile_probe *probe = &row->probe;
    struct spex_metrics found;
    size_t at;
    if (!find_traced(probe->probe_id, probe->probe_type, &at))
        return;
    spex_tracer_metrics(metrics.tracer, at, &found);
    probe->series = (uint16_t)found.series;
    probe->weight = found.weight;
    probe->weight_squares = found.weight_squares;
    probe->records = found.records;
    memcpy(probe->marked, found.marked, sizeof(probe->marked));
    fill_in_slowest(probe, at);
    fill_in_series(row, at);
}

void spex_metrics_series(uint32_t first, struct spex_profile_row *row) {
    const struct spex_site_info *info = spex_site_info(first);
    struct spex_metrics found;
    size_t at;
    row->probe.series = 0;
    if (!find_traced(info->probe_id, info->probe_type, &at))
        return;
    spex_tracer_metrics(metrics.tracer, at, &found);
    row->probe.series = (uint16_t)found.series;
    fill_in_series(row, at);
}

void spex_metrics_spans(void) {
    spex_open_spans_count(&spex_open_spans);
}

void spex_metrics_probe(uint32_t first, struct spex_profile_row *row) {
    if (!metrics.tracer)
        return;
    const struct spex_region_executions inside = in_regions(first);
    fill_in_records(row);
    row->probe.count = (double)fill_in_sites(&row->probe, first) + inside.count;
    /* Of one that was never chosen it is not known whether its code was reached. */
    row->probe.count_variance = inside.count > 0 ? inside.variance + unchosen_variance(first) : 0;
    if (row->probe.probe_type == SPEX_SPAN)
        fill_in_spans(&row->probe, first);
    fill_in_losses(&row->probe);
}

void spex_metrics_fork_unfollowed(void) {
    spex_fetch_add_relaxed(&metrics.unfollowed, 1);
}

void spex_metrics_fork_child(void) {
    spex_lock_reset(&metrics.lock); /* a collector of the parent may have held it */
    metrics.tracer = NULL;
}
