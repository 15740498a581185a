/* SPDX-License-Identifier: MIT */
/* Three kinds of cost are added up: records, by their number and type after each pass;
 * executions without a record, which are counted only before a decision and extrapolated in
 * between; and the CPU time of collectors and of the kernel sampler. */
#define _GNU_SOURCE
#include "rate/accounts.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include <spex/spex.h>

#include "base/clock.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "probe/executions.h"
#include "profile/profile.h"
#include "rate/controller_state.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/cost.h"
#include "site/registry.h"

/* Records in a CPU's ring that cost so many seconds' worth of the budget wake the collector before
 * its sleep is over. */
#define ALARM_SECONDS 0.05

/* Shortest interval over which busy CPUs are measured. */
#define CPUS_SECONDS 0.05

/* Seconds of CPU time that an interval must have: collectors note theirs only every few passes. */
#define COLLECTING_SECONDS 500e-6

/* An interval with at least so many records tells the cost of a record; one with fewer tells the
 * cost without records. */
#define COLLECTING_RECORDS 100.0

/* Share of the former sums that is forgotten with each interval. */
#define FORGOTTEN 0.25

/* Seconds for which the same threads tell the progress where there are more than those. A session
 * of experiments is shorter. */
#define CHOSEN_SECONDS 10.0

/* A record that was measured to cost less than a skipped execution, by noise, adds nothing. */
bool spex_accounts_type_costs(uint32_t type, double *skip, double *report) {
    struct spex_cost cost;
    double rate = spex_controller.tick_rate;
    *skip = *report = 0;
    if (rate <= 0 || spex_cost_get(type, &cost) != 0)
        return false;
    *skip = cost.skip / rate;
    *report = cost.record > cost.skip ? (cost.record - cost.skip) / rate : 0;
    return true;
}

double spex_accounts_call_cost(void) {
    return spex_controller.tick_rate > 0 ? spex_cost_call() / spex_controller.tick_rate : 0;
}

bool spex_accounts_calibrated_costs(uint32_t first, double *skip, double *report) {
    if (spex_groups_is(first))
        return spex_groups_costs(first, skip, report);
    uint32_t type = spex_site_info(first)->probe_type;
    const struct spex_controlled *probe = &spex_controller.probes[first];
    bool known = spex_controlled_is_drawn(probe) ? spex_accounts_costs_drawn(first, skip, report)
                                                 : spex_accounts_type_costs(type, skip, report);
    if (known && probe->period == SPEX_SITE_CALLED)
        *skip += spex_accounts_call_cost();
    return known;
}

bool spex_accounts_costs_drawn(uint32_t first, double *skip, double *report) {
    uint32_t type = spex_site_info(first)->probe_type;
    if (!spex_accounts_type_costs(type, skip, report))
        return false;
    double drawn = spex_cost_drawn(type) / spex_controller.tick_rate - *skip;
    *report = fmax(*report, drawn);
    return true;
}

/* What an execution without a record takes longer where its code and its count are no longer in the
 * first caches: as many ticks as two hits of the second one. A probe that executes COLD_FREQUENCY
 * times a second finds them there in half of all executions. A thousand sites of which each
 * executes 3,300 times a second (bench/budget) take 5 to 9 ns, where 1 is calibrated. */
#define COLD_TICKS     24.0
#define COLD_FREQUENCY 20e3

static double cost_of_cold(uint32_t first) {
    double frequency = spex_controller.probes[first].frequency;
    if (!(frequency > 0) || !(spex_controller.tick_rate > 0) || spex_groups_is(first))
        return 0;
    double often = frequency / COLD_FREQUENCY;
    return COLD_TICKS / spex_controller.tick_rate / (1 + often * often);
}

/* The corrected costs, and so many times as much; where nothing was found of the probe itself, an
 * execution costs what it does with cold caches at least. */
static bool costs_corrected(uint32_t first, double skip_times, double report_times, double *skip,
                            double *report) {
    const struct spex_controlled *probe = &spex_controller.probes[first];
    double factor = spex_controlled_factor(probe);
    bool known = spex_accounts_calibrated_costs(first, skip, report);
    double least = known && probe->factor <= 0 ? *skip + cost_of_cold(first) : 0;
    *skip = fmax(*skip * factor * skip_times, least);
    *report *= factor * report_times;
    return known;
}

bool spex_accounts_probe_costs(uint32_t first, double *skip, double *report) {
    return costs_corrected(first, 1, 1, skip, report);
}

/* So many times what was calibrated executions without a record may cost, and records of probes
 * that are not in slices. Towards the end half of it is given up every CAUTION_HALVED seconds. */
#define CAUTION         8.0
#define CAUTION_RECORDS 2.0
#define CAUTION_HALVED  0.15

/* A factor that was found may be higher by its standard error, and by so much of itself at most. */
#define CAUTION_FOUND 0.2

/* Of a probe in slices none is given up before something is found, or before it has had so many and
 * these have told nothing at all. */
#define CAUTION_SLICES 100

/* Whether slices tell how much the probe may cost, or have not had the time to. */
static bool is_told_by_slices(const struct spex_controlled *probe) {
    return probe->tried > 0 && (probe->most > 0 || probe->sliced.begun < CAUTION_SLICES);
}

static double caution_of_slices(const struct spex_controlled *probe) {
    return probe->most > 0 ? fmin(probe->most, CAUTION) : CAUTION;
}

/* By how much what was found may be too low. */
static double caution_of_finding(const struct spex_controlled *probe) {
    return 1 + fmin(probe->doubt / probe->factor, CAUTION_FOUND);
}

bool spex_accounts_careful_costs(uint32_t first, double *skip, double *report) {
    const struct spex_controlled *probe = &spex_controller.probes[first];
    double left = probe->since + SPEX_CAUTION_SECONDS - spex_controller.now;
    double times = is_told_by_slices(probe) ? caution_of_slices(probe)
                                            : fmin(exp2(left / CAUTION_HALVED), CAUTION);
    double caution = probe->factor > 0 ? caution_of_finding(probe)
                                       : fmax(times / spex_controlled_factor(probe), 1);
    double of_records = probe->tried > 0 ? caution : fmin(caution, CAUTION_RECORDS);
    return costs_corrected(first, caution, of_records, skip, report);
}

double spex_accounts_record_factor(uint32_t first) {
    double skip, report, of_type;
    spex_accounts_type_costs(spex_site_info(first)->probe_type, &skip, &of_type);
    spex_accounts_probe_costs(first, &skip, &report);
    return of_type > 0 ? report / of_type : 1;
}

/* Sets the number of records in a ring at which its writer wakes the collector: before they are
 * much of the budget, but not earlier, since waking costs time, too. `seconds`: the cost of a
 * record, and of the executions without one that it stands for. */
static void ring_set_alarm(unsigned ring, double seconds) {
    if (seconds > 0)
        spex_rings_alarm_at(ring, ALARM_SECONDS * spex_controller.budget.share / seconds);
}

/* Cost of the records of a type since the last call at which the cost was known. */
static double spent_on_records(unsigned ring) {
    uint64_t now = spex_metrics_totals(ring).produced, *last = &spex_controller.produced[ring];
    double records = (double)spex_grown(*last, now), skip, report;
    if (!spex_accounts_type_costs(spex_probe_type_of_ring(ring), &skip, &report))
        return 0;
    *last = now;
    spex_controller.implied += records * spex_controller.implies[ring];
    double factor = spex_controller.factors[ring] > 0 ? spex_controller.factors[ring] : 1;
    ring_set_alarm(ring, report * factor + spex_controller.collecting.record +
                             spex_controller.implies[ring]);
    return records * report * factor;
}

/* Cost of executions without a record in `seconds`, until they are counted: as much a second as
 * when they were last counted (`skipping`), or, where there have been more records than that, what
 * these imply. `skipped` sums up what was assumed. */
static double spent_on_skipping(double seconds) {
    double before = spex_controller.skipped;
    spex_controller.uncounted += seconds;
    spex_controller.skipped =
        fmax(before,
             fmax(spex_controller.skipping * spex_controller.uncounted, spex_controller.implied));
    return spex_controller.skipped - before;
}

/* Takes the cost from the budget's tokens, and adds those earned by so much CPU time. */
static void book_spent(double used, double spent) {
    spex_controller.spent += spent;
    spex_budget_advance(&spex_controller.budget, used, spex_controlled_cpus(), spent);
}

/* Returns the CPU time that the program has used since the last call, without the collectors'.
 * These note theirs only every few passes: until then it is taken for the program's, and less is
 * told later. */
static double note_used(void) {
    uint64_t process = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t used = spex_grown(spex_controller.collectors_ns, process);
    double fresh = (double)spex_grown(spex_controller.used_ns, used) / 1e9;
    if (used > spex_controller.used_ns)
        spex_controller.used_ns = used;
    spex_controller.seconds += fresh;
    return fresh;
}

void spex_accounts_charge(uint64_t ns) {
    book_spent(0, (double)ns / 1e9);
}

void spex_accounts_advance(uint64_t ns) {
    uint64_t collectors = spex_collectors_cpu_ns();
    double seconds = (double)(ns - spex_controller.monotonic_ns) / 1e9;
    spex_controller.tick_rate = spex_metrics_tick_rate();
    uint64_t looker = spex_sampling_budget_spent_ns();
    double spent = (double)(collectors - spex_controller.collectors_ns) / 1e9 +
                   (double)spex_grown(spex_controller.looker_ns, looker) / 1e9;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spent += spent_on_records(t);
    spent += spent_on_skipping(seconds);
    spex_controller.monotonic_ns = ns;
    spex_controller.collectors_ns = collectors;
    spex_controller.looker_ns = looker;
    spex_controller.now += seconds;
    book_spent(note_used(), spent);
}

/* Cost of publishing the executions of a polled probe, which are taken to be as frequent as when
 * they were last counted. */
static double cost_of_polling(const struct spex_controlled *probe, double seconds) {
    return probe->period == SPEX_SITE_POLLED
               ? probe->frequency * seconds * spex_polling_execution_cost()
               : 0;
}

/* Cost of executions without a record since they were last counted. */
static double cost_of_skipping(uint32_t sites, double seconds) {
    double sum = 0, skip, report;
    for (uint32_t i = 0; i < sites; i++) {
        if (spex_controlled_rests(i))
            continue;
        spex_controller.probes[i].met = true;
        if (spex_controlled_by(i) != i || spex_groups_is(i)) {
            sum += spex_groups_is(i) ? spex_groups_spent(i) : 0;
            continue;
        }
        sum += cost_of_polling(&spex_controller.probes[i], seconds);
        uint64_t fresh =
            spex_grown(spex_controller.probes[i].counted, spex_controller.executions[i]);
        if (!fresh || !spex_accounts_probe_costs(i, &skip, &report))
            continue;
        spex_controller.probes[i].counted = spex_controller.executions[i];
        sum += (double)fresh * skip;
    }
    return sum;
}

void spex_accounts_count_all(void) {
    spex_metrics_executions(spex_controller.executions);
    spex_groups_count(spex_controller.executions);
}

static bool all_are_chosen(void) {
    return spex_controller.threads.count == spex_controller.threads.of;
}

bool spex_accounts_choose_threads(void) {
    if (all_are_chosen() || spex_controller.now >= spex_controller.chosen_until) {
        spex_threads_choose(&spex_controller.threads, SPEX_THREADS_CHOSEN, &spex_controller.random);
        spex_controller.chosen_until = spex_controller.now + CHOSEN_SECONDS;
    }
    return all_are_chosen();
}

double spex_accounts_part_chosen(void) {
    const struct spex_thread_set *set = &spex_controller.threads;
    return set->count ? (double)set->count / set->of : 1;
}

/* Counts what the chosen threads have executed of each probe, by the index of its first site.
 * Groups are not counted: passes are known of all threads together. */
static void count_of_chosen(uint64_t *counts) {
    memset(counts, 0, spex_sites_count() * sizeof(*counts));
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (!spex_site_is_region(spex_site_info(i)))
            counts[spex_site_info(i)->probe] +=
                spex_threads_executions_of(&spex_controller.threads, i);
}

/* Clocks are read last: if a thread has ended before that, they tell so. */
void spex_accounts_read_progress(struct spex_progress *progress) {
    progress->executions = spex_controller.executions;
    if (!all_are_chosen()) {
        count_of_chosen(spex_controller.chosen_executions);
        progress->executions = spex_controller.chosen_executions;
    }
    progress->part = spex_accounts_part_chosen();
    spex_threads_cpu_ns(&spex_controller.threads, &progress->cpu_ns, &progress->threads);
}

/* Reads what the program's threads have used, where that is of use. Returns how many CPUs that was
 * in `seconds`; negative: not known. */
static double note_progress(double seconds) {
    const struct spex_progress before = spex_controller.progress;
    struct spex_progress *now = &spex_controller.progress;
    *now = (struct spex_progress){.executions = spex_controller.executions};
    if (spex_controller.sliced || spex_controller.trying) {
        spex_accounts_choose_threads();
        spex_accounts_read_progress(now);
    }
    bool known = before.cpu_ns && now->cpu_ns && now->threads == before.threads && seconds > 0;
    return known ? (double)spex_grown(before.cpu_ns, now->cpu_ns) / 1e9 / seconds / now->part : -1;
}

/* Books the difference between the counted cost and the assumed one. */
void spex_accounts_count_executions(double seconds) {
    spex_accounts_count_all();
    double cost = cost_of_skipping(spex_sites_count(), seconds);
    book_spent(0, cost - spex_controller.skipped);
    spex_controller.skipped = spex_controller.implied = spex_controller.uncounted = 0;
    spex_controller.skipping = seconds > 0 ? cost / seconds : 0;
    spex_controller.running = note_progress(seconds);
}

/* CPU time of the program without the collectors'. Over a short time the two cannot be separated,
 * since collectors note their CPU time only every few passes. */
void spex_accounts_note_cpus(void) {
    double seconds = spex_controller.now - spex_controller.process_at;
    if (seconds < CPUS_SECONDS)
        return;
    uint64_t process = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    double all = (double)spex_grown(spex_controller.process_ns, process) / 1e9;
    double collectors =
        (double)spex_grown(spex_controller.process_collectors_ns, spex_controller.collectors_ns) /
        1e9;
    spex_controller.cpus = all > collectors ? (all - collectors) / seconds : 0;
    spex_controller.process_ns = process;
    spex_controller.process_at = spex_controller.now;
    spex_controller.process_collectors_ns = spex_controller.collectors_ns;
}

/* Intervals with few records give the cost of waking without records; it is subtracted from
 * intervals with many, and what is left, over the records, is the cost of a record. An interval
 * goes on until enough CPU time has been noted in it. */
static void collecting_note(struct spex_collecting *collecting, double now, uint64_t records,
                            uint64_t passes, uint64_t ns) {
    double taken = (double)spex_grown(collecting->records, records);
    double looked = (double)spex_grown(collecting->passes, passes);
    double seconds = (double)spex_grown(collecting->ns, ns) / 1e9, elapsed = now - collecting->at;
    if (seconds < COLLECTING_SECONDS || !(elapsed > 0))
        return;
    collecting->at = now;
    collecting->records = records;
    collecting->passes = passes;
    collecting->ns = ns;
    if (taken < COLLECTING_RECORDS) {
        struct spex_collecting_rest *sums = &collecting->resting;
        sums->seconds += seconds - sums->seconds * FORGOTTEN;
        sums->elapsed += elapsed - sums->elapsed * FORGOTTEN;
        sums->passes += looked - sums->passes * FORGOTTEN;
        collecting->rest = sums->seconds / sums->elapsed;
        collecting->pass = sums->seconds / fmax(sums->passes, 1);
        return;
    }
    seconds -= collecting->rest * elapsed;
    collecting->sum_seconds += (seconds > 0 ? seconds : 0) - collecting->sum_seconds * FORGOTTEN;
    collecting->sum_records += taken - collecting->sum_records * FORGOTTEN;
    collecting->record = collecting->sum_seconds / collecting->sum_records;
}

static uint64_t records_taken(void) {
    uint64_t records = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        records += spex_metrics_totals(t).records;
    return records;
}

void spex_accounts_note_collecting(void) {
    collecting_note(&spex_controller.collecting, spex_controller.now, records_taken(),
                    spex_controller.passes, spex_controller.collectors_ns);
}

double spex_accounts_decision_cost(void) {
    return fmax(spex_controller.deciding, spex_controller.collecting.pass);
}

/* Updates what the records of each type cost on average as a multiple of a calibrated one, and what
 * executions without a record they stand for; weighted by the expected records of each probe.
 * Nothing follows from records while probes are in slices, which make records with periods of
 * their own. */
void spex_accounts_expect(size_t count) {
    struct spex_groups_expected rings[SPEX_PROBE_TYPES] = {{0, 0, 0}};
    for (size_t c = 0; c < count; c++) {
        const struct spex_rate_class *class = &spex_controller.classes[c];
        uint32_t first = spex_controller.firsts[c];
        const struct spex_controlled *probe = &spex_controller.probes[first];
        double made = probe->frequency / spex_controlled_period(probe);
        double skipping = class->frequency * class->detect_cost;
        if (spex_groups_is(first)) {
            spex_groups_expect(first, made, spex_controlled_factor(probe), skipping, rings);
            continue;
        }
        struct spex_groups_expected *of =
            &rings[spex_probe_type_ring(spex_site_info(first)->probe_type)];
        of->records += made;
        of->sum += made * spex_accounts_record_factor(first);
        of->skipping += skipping;
    }
    for (unsigned ring = 0; ring < SPEX_PROBE_TYPES; ring++) {
        const struct spex_groups_expected *of = &rings[ring];
        spex_controller.factors[ring] = of->records > 0 ? of->sum / of->records : 1;
        spex_controller.implies[ring] =
            of->records > 0 && !spex_controller.sliced ? of->skipping / of->records : 0;
    }
}

void spex_accounts_from_now(void) {
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spex_controller.produced[t] = spex_metrics_totals(t).produced;
    spex_accounts_count_all();
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        spex_controller.probes[i].counted = spex_controller.executions[i];
    spex_controller_read_clocks();
    spex_controller.collecting = (struct spex_collecting){.at = spex_controller.now,
                                                          .records = records_taken(),
                                                          .passes = spex_controller.passes,
                                                          .ns = spex_controller.collectors_ns};
    spex_controller.process_at = spex_controller.now;
    spex_controller.skipped = spex_controller.implied = spex_controller.uncounted = 0;
    spex_controller.skipping = 0;
    spex_budget_begin(&spex_controller.budget, spex_controller.budget.share);
    spex_controller_decided();
}
