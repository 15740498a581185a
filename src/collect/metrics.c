/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collect/metrics.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <spex/ticks.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/registry.h"
#include "stats/tracer.h"

static struct {
    pthread_mutex_t lock;
    struct spex_sink sink;
    struct spex_tracer *tracer; /* NULL: there are no metrics */
    bool ended;
    struct spex_instant start, end;
    /* Ticks a second, once the metrics have ended. */
    double tick_rate;
    /* Counts at the start, to be subtracted: CPU time of the process and of spex's own threads, */
    uint64_t cpu_ns;
    uint64_t own_cpu_ns;
    uint64_t undelivered;
    uint64_t unrecorded;
    /* counts of the rings, by type (records that were pending belong to these metrics), */
    struct spex_ring_counts before[SPEX_PROBE_TYPES];
    /* and executions of each site. */
    uint64_t executions[SPEX_MAX_SITES];
} metrics = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool metrics_take_records(struct spex_sink *sink, const struct spex_record *records,
                                 size_t count) {
    (void)sink;
    pthread_mutex_lock(&metrics.lock);
    int err = spex_tracer_add(metrics.tracer, records, count);
    pthread_mutex_unlock(&metrics.lock);
    return err == 0;
}

static void metrics_finish(struct spex_sink *sink) {
    (void)sink;
    pthread_mutex_lock(&metrics.lock);
    spex_tracer_destroy(metrics.tracer);
    metrics.tracer = NULL;
    pthread_mutex_unlock(&metrics.lock);
}

/* In the child of a fork the tracer is leaked: a collector of the parent may have been changing
 * it. */
static void metrics_abandon(struct spex_sink *sink) {
    (void)sink;
}

int spex_metrics_open(struct spex_sink **sink) {
    pthread_mutex_lock(&metrics.lock);
    int err = spex_tracer_create(&metrics.tracer);
    metrics.sink = (struct spex_sink){
        .records = metrics_take_records, .finish = metrics_finish, .abandon = metrics_abandon};
    metrics.ended = false;
    metrics.tick_rate = 0;
    metrics.start = spex_instant_now();
    metrics.cpu_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    metrics.own_cpu_ns = spex_service_cpu_ns();
    metrics.undelivered = spex_sinks_undelivered();
    metrics.unrecorded = spex_threads_unrecorded();
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        metrics.before[t] = spex_rings_totals_of(t);
    memset(metrics.executions, 0, sizeof(metrics.executions));
    spex_threads_add_executions(metrics.executions, spex_sites_count());
    pthread_mutex_unlock(&metrics.lock);
    spex_sites_time_begin();
    *sink = &metrics.sink;
    return err;
}

void spex_metrics_end(void) {
    /* Without the lock: only this thread makes and ends the tracer. */
    if (!metrics.tracer)
        return;
    struct spex_instant end = spex_instant_now();
    double rate = spex_tick_rate_since(metrics.start);
    pthread_mutex_lock(&metrics.lock);
    metrics.end = end;
    metrics.tick_rate = rate;
    metrics.ended = true;
    pthread_mutex_unlock(&metrics.lock);
}

void spex_metrics_lock(void) {
    pthread_mutex_lock(&metrics.lock);
}

void spex_metrics_unlock(void) {
    pthread_mutex_unlock(&metrics.lock);
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

/* A rate that has been known stays so: this reading of the clocks may be worse than the last. */
double spex_metrics_tick_rate(void) {
    double last, now = metrics.ended ? 0 : spex_tick_rate(metrics.start, spex_instant_now());
    if (now > 0)
        __atomic_store(&metrics.tick_rate, &now, __ATOMIC_RELAXED);
    __atomic_load(&metrics.tick_rate, &last, __ATOMIC_RELAXED);
    return last;
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

static double executions_in_regions(const struct spex_site_info *info) {
    struct spex_metrics found;
    size_t at;
    if (!find_traced(info->probe_id, info->probe_type, &at))
        return 0;
    spex_tracer_metrics(metrics.tracer, at, &found);
    return found.region_count;
}

void spex_metrics_sums(uint16_t probe_id, uint32_t probe_type, double *weight, double *sum) {
    size_t at;
    *weight = *sum = 0;
    if (!find_traced(probe_id, probe_type, &at))
        return;
    const struct spex_values *values = spex_tracer_values(metrics.tracer, at, 0);
    if (!values)
        return;
    *weight = values->weight;
    *sum = values->weight * values->mean;
}

void spex_metrics_executions(uint64_t *by_probe) {
    static uint64_t now[SPEX_MAX_SITES];
    uint32_t sites = spex_sites_count();
    memset(now, 0, sites * sizeof(*now));
    memset(by_probe, 0, sites * sizeof(*by_probe));
    spex_threads_add_executions(now, sites);
    for (uint32_t i = 0; i < sites; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        if (spex_site_is_region(info))
            continue;
        by_probe[info->probe] += spex_grown(metrics.executions[i], now[i]);
        if (info->probe == i)
            by_probe[i] += (uint64_t)executions_in_regions(info);
    }
}

/* Counted executions, without those in regions, where sites are not counted one by one. */
static uint64_t executions_of(const struct spex_profile_probe *probe) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        if (info->probe_id == probe->probe_id && info->probe_type == probe->probe_type)
            sum += spex_grown(metrics.executions[i], spex_threads_executions(i));
    }
    return sum;
}

static void fill_in_times(struct spex_profile_process *process) {
    struct spex_instant now = metrics.ended ? metrics.end : spex_instant_now();
    uint64_t spex_ns = spex_service_cpu_ns() - metrics.own_cpu_ns;
    uint64_t all_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - metrics.cpu_ns;
    process->ticks_per_second = spex_metrics_tick_rate();
    process->seconds = (double)(now.monotonic_ns - metrics.start.monotonic_ns) / 1e9;
    process->program_seconds = all_ns > spex_ns ? (double)(all_ns - spex_ns) / 1e9 : 0;
    process->collector_seconds = (double)spex_ns / 1e9;
}

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
}

void spex_metrics_type(struct spex_profile_type *type) {
    if (!metrics.tracer)
        return;
    struct spex_ring_counts counts = counts_of(spex_probe_type_ring(type->probe_type));
    type->produced = counts.produced;
    type->lost = counts.lost;
}

/* The probe's share of its type's losses, in proportion to records. */
static void fill_in_losses(struct spex_profile_probe *probe) {
    unsigned ring = spex_probe_type_ring(probe->probe_type);
    uint64_t lost = counts_of(ring).lost, all = spex_tracer_totals(metrics.tracer, ring).records;
    if (!lost)
        return;
    probe->lost = all ? (double)lost * (double)probe->records / (double)all : 0;
    probe->lost_shared = !all || probe->records != all;
}

/* Fills in the figures that come from records; returns the number of executions in regions. */
static double fill_in_records(struct spex_profile_probe *probe, const struct spex_values **values) {
    struct spex_metrics found;
    size_t at;
    if (!find_traced(probe->probe_id, probe->probe_type, &at))
        return 0;
    spex_tracer_metrics(metrics.tracer, at, &found);
    probe->series = (uint16_t)found.series;
    probe->weight = found.count;
    probe->weight_squares = found.weight_squares;
    probe->count_variance = found.region_variance;
    probe->records = found.records;
    memcpy(probe->marked, found.marked, sizeof(probe->marked));
    for (unsigned s = 0; s < found.series; s++)
        values[s] = spex_tracer_values(metrics.tracer, at, s);
    return found.region_count;
}

void spex_metrics_probe(struct spex_profile_probe *probe, const struct spex_values **values) {
    if (!metrics.tracer)
        return;
    double in_regions = fill_in_records(probe, values);
    fill_in_losses(probe);
    probe->count = (double)executions_of(probe) + in_regions;
}

void spex_metrics_fork_child(void) {
    pthread_mutex_init(&metrics.lock, NULL); /* a collector of the parent may have held it */
    metrics.tracer = NULL;
}
