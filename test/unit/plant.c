/* SPDX-License-Identifier: MIT */
#include "plant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "chance.h"
#include "collect/sleep.h"
#include "plant_state.h"
#include "policies/rate/rates.h"
#include "rate/controller.h"

/* Steps of the simulation: rates are as at their begin, and no ring gets more than so much
 * fuller. */
#define STEP_SECONDS 250e-6
#define STEP_RECORDS 64.0

/* As the library's, when nothing is said. */
#define RING_RECORDS  8192.0
#define BATCH_RECORDS 256.0

/* As in src/collect/collector.c. */
#define CPU_PASSES  16
#define CPU_RECORDS 4096.0

/* What the collector takes, in seconds: a pass with nothing to read, a record. */
#define PASS_SECONDS   3e-6
#define RECORD_SECONDS 25e-9

/* From being woken to running. */
#define WAKE_SECONDS 60e-6

/* What happened is noted a thousand times a second. */
#define NOTES_PER_SECOND 1000.0

struct plant plant;

static double uniform(void) {
    return chance_uniform(&plant.random);
}

/* The share of the time that the program's threads have the processors. */
static double running(double seconds) {
    return plant.options.runs ? plant.options.runs(plant.options.scenario, seconds) : 1;
}

/* While they have them. */
static double rate_running(unsigned probe, double seconds) {
    return plant.options.rate(plant.options.scenario, probe, seconds);
}

static double rate_of(unsigned probe, double seconds) {
    return rate_running(probe, seconds) * running(seconds);
}

static double part_recorded(unsigned probe) {
    return makes_none(probe) ? 0 : 1.0 / period_of(probe);
}

/* What an execution without a record takes. */
static double skip_ns(unsigned probe) {
    double alone = plant.options.skips_ns ? plant.options.skips_ns[probe] : plant.options.skip_ns;
    return alone + (is_called(probe) ? call_more_ns() : 0);
}

static double record_ns(unsigned probe) {
    bool drawn = plant.options.drawn_ns > 0 && period_of(probe) > 1;
    return drawn ? plant.options.drawn_ns : plant.options.record_ns;
}

/* The region is on while one of its probes is, which all have the same period. */
static bool region_is_on(void) {
    return has_region() && is_on(0);
}

static double passes_at(double seconds) {
    return plant.options.passes * running(seconds);
}

/* The share of the passes in which the next record may be due. */
static double part_called(void) {
    return 1 - pow(1 - part_recorded(0), plant.options.weight);
}

/* How much longer the program takes for the same, in CPU time, less 1. */
static double slowdown(void) {
    double sum = region_is_on()
                     ? plant.options.passes / plant.options.cpus *
                           (plant.options.region_ns + part_called() * plant.options.call_ns) * 1e-9
                     : 0;
    for (unsigned p = 0; p < plant.options.probes; p++)
        if (is_on(p))
            sum += rate_running(p, plant.seconds) / plant.options.cpus *
                   (skip_ns(p) + (record_ns(p) - plant.options.skip_ns) * part_recorded(p)) * 1e-9;
    return sum;
}

static double records_per_second(double progress) {
    double sum = 0;
    for (unsigned p = 0; p < plant.options.probes; p++)
        if (is_on(p))
            sum += rate_of(p, plant.seconds) * progress * part_recorded(p);
    return sum;
}

static void note(void) {
    size_t last = (size_t)(plant.options.seconds * NOTES_PER_SECOND);
    while (plant.notes_count <= last &&
           plant.seconds * NOTES_PER_SECOND >= (double)plant.notes_count) {
        size_t probes = plant.options.probes, next = plant.notes_count++;
        plant.spent[next] = plant.probing + plant.collector;
        memcpy(&plant.noted[next * probes], plant.periods, probes * sizeof(*plant.noted));
    }
}

static void pass_region(double count) {
    double calls = fmin(chance_poisson(&plant.random, count * part_called()), count);
    plant.passes += calls / part_called();
    plant.calls += calls;
    plant.probing += (count * plant.options.region_ns + calls * plant.options.call_ns) * 1e-9;
}

static void execute(unsigned probe, double count) {
    double records =
        period_of(probe) > 1 ? chance_poisson(&plant.random, count * part_recorded(probe)) : count;
    plant.executions[probe] += count;
    plant.told_of[probe] += records > 0 ? records / part_recorded(probe) : 0;
    plant.produced += records;
    plant.ring += records / plant.options.cpus;
    plant.probing +=
        count * skip_ns(probe) * 1e-9 + records * (record_ns(probe) - plant.options.skip_ns) * 1e-9;
}

static void select_now(void) {
    for (unsigned p = 0; plant.options.selected && p < plant.options.probes; p++) {
        bool is = plant.options.selected(plant.options.scenario, p, plant.seconds);
        plant.selections += is == plant.unselected[p];
        plant.rung |= is && plant.unselected[p];
        plant.unselected[p] = !is;
    }
}

static void step(double seconds) {
    select_now();
    double slow = slowdown();
    if (region_is_on())
        pass_region(passes_at(plant.seconds) / (1 + slow) * seconds);
    for (unsigned p = 0; p < plant.options.probes; p++) {
        double count = rate_of(p, plant.seconds) / (1 + slow) * seconds;
        plant.on[p] += is_on(p) ? seconds : 0;
        plant.held[p] += is_on(p) || plant.unselected[p] ? 0 : seconds;
        if (is_on(p))
            execute(p, count);
        else if (!plant.unselected[p])
            plant.uncounted[p] += count;
    }
    if (plant.ring > RING_RECORDS)
        plant.ring = RING_RECORDS;
    plant.used += seconds * plant.options.cpus * running(plant.seconds);
    plant.seconds += seconds;
    note();
}

/* The length of the next step, when there are `left` seconds. */
static double step_length(double left) {
    double records = records_per_second(1 / (1 + slowdown())) / plant.options.cpus;
    double length = records * STEP_SECONDS > STEP_RECORDS ? STEP_RECORDS / records : STEP_SECONDS;
    return length < left ? length : left;
}

/* The program runs for so long, or, `until_alarm`, until a ring is half full or a probe goes on. */
static void advance(double seconds, bool until_alarm) {
    double end = plant.seconds + seconds;
    while (plant.seconds < end - 1e-9 &&
           !(until_alarm && (plant.ring >= plant.alarm || plant.rung)))
        step(step_length(end - plant.seconds));
}

static void collector_works(double seconds) {
    plant.collector += seconds;
    advance(seconds, false);
}

/* Code and data have left the caches while the collector slept. */
static double pass_seconds(bool slept) {
    return slept && plant.options.pass_ns > 0 ? plant.options.pass_ns * 1e-9 : PASS_SECONDS;
}

/* One visit to each ring. Whether one held more than a batch. */
static bool pass(bool slept, double *taken) {
    double each = plant.ring < BATCH_RECORDS ? plant.ring : BATCH_RECORDS;
    *taken = each * plant.options.cpus;
    plant.ring -= each;
    plant.taken += *taken;
    collector_works(pass_seconds(slept) + *taken * RECORD_SECONDS);
    spex_controller_pass();
    return each >= BATCH_RECORDS;
}

static bool all_off(void) {
    for (unsigned p = 0; p < plant.options.probes; p++)
        if (is_on(p))
            return false;
    return true;
}

/* When it is idle nobody calls any more. */
static void rest(double seconds, bool idle) {
    advance(idle ? plant.options.seconds : seconds, true);
    plant.rung = false;
    advance(WAKE_SECONDS + plant.options.late * uniform(), false);
}

static double until_due(double sleep) {
    uint64_t due = spex_controller_due_ns();
    return (double)due * 1e-9 < sleep ? (double)due * 1e-9 : sleep;
}

static void collect(void) {
    uint64_t sleep_ns = SPEX_SLEEP_SHORTEST_NS;
    double fullest = 0, records = 0;
    unsigned passes = 0;
    bool any = false, slept = false;
    while (plant.seconds < plant.options.seconds) {
        double taken, fill = plant.ring / RING_RECORDS;
        fullest = fill > fullest ? fill : fullest;
        bool backlog = pass(slept, &taken);
        records += taken;
        any |= taken >= 1;
        if (++passes >= CPU_PASSES || records >= CPU_RECORDS || sleep_ns >= SPEX_SLEEP_PROMPT_NS) {
            plant.collector_noted = plant.collector;
            passes = 0;
            records = 0;
        }
        slept = !backlog;
        if (backlog)
            continue;
        sleep_ns =
            spex_sleep_next(sleep_ns, fullest, any, spex_sleep_longest(false, plant.rest_ns));
        fullest = 0;
        any = false;
        if (sleep_ns > 0)
            rest(until_due((double)sleep_ns * 1e-9),
                 taken < 1 && all_off() && !spex_controller_holds());
    }
}

/* Notes what the controller tells of the executions while probes were held off. */
static void note_told(void) {
    for (unsigned p = 0; p < plant.options.probes; p++) {
        double count = has_region() ? plant.told_of[p] : plant.executions[p];
        const struct spex_slices_time passed = {ticks(plant.on[p]), ticks(plant.held[p])};
        plant.told[p] = spex_controller_held(p, count, &passed);
    }
}

struct plant_held plant_held(unsigned probe) {
    return (struct plant_held){plant.uncounted[probe], plant.told[probe]};
}

void plant_run(const struct plant_options *options) {
    /* Another program each time: what was found of the one before is not believed of it. */
    static char names[1 << 16];
    static unsigned runs;
    char *name = &names[runs++ % sizeof(names)];
    free(plant.spent);
    free(plant.noted);
    memset(&plant, 0, sizeof(plant));
    plant.options = *options;
    plant.random = options->seed;
    plant.alarm = ALARM_RECORDS;
    size_t notes = (size_t)(options->seconds * NOTES_PER_SECOND) + 1;
    plant.spent = calloc(notes, sizeof(*plant.spent));
    plant.noted = calloc(notes * options->probes, sizeof(*plant.noted));
    assert_true(plant.spent && plant.noted);
    for (unsigned p = 0; p < options->probes; p++) {
        plant.periods[p] = 1;
        plant.infos[p] = (struct spex_site_info){
            .name = name, .probe_id = (uint16_t)p, .probe_type = SPEX_LAT, .probe = (uint16_t)p};
    }
    if (has_region())
        plant.infos[options->probes] =
            (struct spex_site_info){.subsample = options->weight, .probe = SPEX_MAX_SITES};
    assert_int_equal(spex_controller_begin(options->share, options->policy
                                                               ? options->policy
                                                               : spex_builtin_rate_policy("fair")),
                     0);
    spex_controller_charge((uint64_t)(options->start * 1e9));
    collect();
    note_told();
    spex_controller_end();
}

static double steady(void) {
    return plant.options.share * plant.options.cpus;
}

static size_t at(double seconds) {
    size_t index = (size_t)(seconds * NOTES_PER_SECOND);
    return index < plant.notes_count ? index : plant.notes_count - 1;
}

double plant_worst(double from, double to, double length) {
    size_t window = (size_t)(length * NOTES_PER_SECOND);
    double worst = 0;
    for (size_t i = at(from); i + window <= at(to); i++) {
        double spent = plant.spent[i + window] - plant.spent[i];
        worst = spent > worst ? spent : worst;
    }
    return worst / (steady() * length);
}

double plant_mean(double from, double to) {
    return (plant.spent[at(to)] - plant.spent[at(from)]) / (steady() * (to - from));
}

uint32_t plant_period(unsigned probe, double seconds) {
    return plant.noted[at(seconds) * plant.options.probes + probe];
}

unsigned plant_caches_measured(void) {
    return plant.caches_measured;
}

double plant_record_seconds(void) {
    return (plant.options.record_ns - plant.options.skip_ns) * 1e-9 + RECORD_SECONDS;
}

double plant_demand(double seconds, bool records) {
    double sum = 0;
    for (unsigned p = 0; p < plant.options.probes; p++)
        sum += rate_of(p, seconds) *
               (plant.options.skip_ns * 1e-9 + (records ? plant_record_seconds() : 0));
    return sum;
}
