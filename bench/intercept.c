/* SPDX-License-Identifier: MIT */
/* Measures whether the times between records tell what a record costs where it stands.
 *
 *     intercept [--json] [--rounds N]
 *
 * A loop records one operation in some 20; the distances w between records are geometric. The time
 * from one record to the next is w times that of an operation, plus what the record and its
 * after-effects cost: the intercept of a line through all (w, time), by least squares with weights
 * 1 / w. Times ten times as long as the line says, and 10 us more, are left out: interrupts. The
 * truth is by CPU time: the same loop with the probe on and held off, in turns of some
 * milliseconds, on off off on or the reverse by chance; midmeans over the rounds. `calibrated` is
 * what the library takes a record to cost. Operations: arithmetic; reads of independent places of
 * the second-level cache and of memory; reads of memory of which each depends on the one before. */
#define _GNU_SOURCE
#include <err.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/spex.h>
#include <spex/ticks.h>

#include "base/clock.h"
#include "bench.h"
#include "budget_random.h"
#include "collect/sinks.h"
#include "ring/doorbell.h"
#include "site/cost.h"
#include "site/registry.h"

enum { TIMED = 1, RECORDS_MOST = 4000000, GAPS = 65536, MEAN_GAP = 20, ROUNDS_MAX = 10000 };

SPEX_PROBE_NAME(TIMED, "timed");

/* The last record of a turn: the time to the next one is none. */
#define LAST UINT32_C(0x80000000)

struct operation {
    const char *name;
    size_t words; /* a power of two */
    unsigned operations;
    bool reads, depends;
};

static const struct operation operations[] = {
    {"arithmetic", 1, 200000, false, false},
    {"cache", 1 << 15, 400000, true, false},
    {"memory", 1 << 22, 80000, true, false},
    {"memory, dependent", 1 << 22, 10000, true, true},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static uint64_t times[RECORDS_MOST];
static uint32_t gaps[RECORDS_MOST + 1];
static size_t times_count, gaps_count;
static uint32_t drawn[GAPS];
static unsigned drawn_next;
static uint64_t *words, random_state = 1, sum;

static bool sink_records(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    for (size_t r = 0; r < batch->count && times_count < RECORDS_MOST; r++)
        times[times_count++] = batch->records[r].timestamp;
    return true;
}

static void sink_end(struct spex_sink *sink) {
    (void)sink;
}

static struct spex_sink sink = {.records = sink_records, .finish = sink_end, .abandon = sink_end};

static void draw_gaps(void) {
    for (int g = 0; g < GAPS; g++) {
        double even = (budget_random(&random_state, 1u << 30) + 0.5) / (1u << 30);
        drawn[g] = (uint32_t)fmax(1, ceil(-log(even) * MEAN_GAP));
    }
}

static void operate(const struct operation *operation) {
    if (!operation->reads) {
        for (int i = 0; i < 8; i++)
            sum = sum * 6364136223846793005u + 1442695040888963407u;
        return;
    }
    uint64_t place = budget_random(&random_state, (uint32_t)operation->words);
    if (operation->depends)
        place = (place + sum) & (operation->words - 1);
    sum += words[place];
}

/* Returns the number of executions of the probe, whose gaps are noted whether it is on or not. */
static unsigned turn(const struct operation *operation) {
    unsigned executed = 0;
    uint32_t left = drawn[drawn_next++ % GAPS];
    for (unsigned i = 0; i < operation->operations; i++) {
        if (--left) {
            operate(operation);
            continue;
        }
        left = drawn[drawn_next++ % GAPS];
        gaps[gaps_count] = left;
        gaps_count += gaps_count < RECORDS_MOST;
        executed++;
        SPEX_LAT_PROBE_BEGIN(TIMED, 1);
        operate(operation);
        SPEX_LAT_PROBE_END(TIMED);
    }
    return executed;
}

static uint32_t probe_first(void) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spex_site_info(s)->probe_id == TIMED)
            return s;
    errx(1, "the probe is not there");
}

static double cpu_seconds(void) {
    return (double)spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) / 1e9;
}

/* CPU seconds of a turn with the probe on or held off. */
static double turn_seconds(const struct operation *operation, bool on, unsigned *executed) {
    size_t gaps_before = gaps_count;
    spex_probe_throttle(probe_first(), on ? 0 : SPEX_SITE_HELD);
    /* Collectors sleep without a limit while no site is on. */
    spex_doorbell_ring();
    double begin = cpu_seconds();
    unsigned count = turn(operation);
    double seconds = cpu_seconds() - begin;
    if (on && count)
        gaps[gaps_count - 1] |= LAST;
    if (on)
        *executed += count;
    else
        gaps_count = gaps_before;
    return seconds;
}

/* What a record costs by CPU time, in nanoseconds, and the time of an operation. */
static double round_truth(const struct operation *operation, double *operation_ns) {
    bool outer = budget_random(&random_state, 2);
    double seconds[2] = {0};
    unsigned executed = 0;
    for (int t = 0; t < 4; t++) {
        bool on = (t == 0 || t == 3) == outer;
        seconds[on] += turn_seconds(operation, on, &executed);
    }
    *operation_ns = seconds[0] / (2.0 * operation->operations) * 1e9;
    return (seconds[1] - seconds[0]) / executed * 1e9;
}

struct line {
    double intercept, slope, ci95;
};

/* Whether the time from record `r` to the next belongs to the line. */
static bool belongs(size_t r, const struct line *line, double nanoseconds) {
    return !(gaps[r] & LAST) && nanoseconds <= 1e4 + 10 * (line->intercept + line->slope * gaps[r]);
}

/* One pass of least squares, without times that are far above the former line. */
static struct line fit(const struct line *former, double ticks_per_ns) {
    double n = 0, x = 0, xx = 0, y = 0, xy = 0, yy = 0, count = 0;
    for (size_t r = 0; r + 1 < times_count; r++) {
        double time = (double)(times[r + 1] - times[r]) / ticks_per_ns, gap = gaps[r],
               weight = 1 / gap;
        if (!belongs(r, former, time))
            continue;
        count++;
        n += weight;
        x += weight * gap;
        xx += weight * gap * gap;
        y += weight * time;
        xy += weight * gap * time;
        yy += weight * time * time;
    }
    double square = n * xx - x * x;
    struct line line = {.slope = (n * xy - x * y) / square,
                        .intercept = (xx * y - x * xy) / square};
    double rest = (yy - line.intercept * y - line.slope * xy) / count;
    line.ci95 = 1.96 * sqrt(fmax(rest, 0) * xx / square);
    return line;
}

static struct line line_of(double ticks_per_ns) {
    struct line line = {.intercept = 1e9};
    for (int pass = 0; pass < 3; pass++)
        line = fit(&line, ticks_per_ns);
    return line;
}

struct result {
    struct bench_result truth;
    struct line line;
    double operation_ns;
};

/* Waits until all records of a round are there, so that rings are not full in the next. */
static void records_arrive(void) {
    spex_doorbell_ring();
    for (int look = 0; look < 10000 && spex_load_relaxed(&times_count) < gaps_count; look++)
        usleep(100);
    if (times_count != gaps_count)
        errx(1, "%zu of %zu records are lost", gaps_count - times_count, gaps_count);
}

static struct result measure(const struct operation *operation, size_t rounds) {
    static double truths[ROUNDS_MAX];
    double operation_ns = 0, of_round;
    struct spex_instant begin = spex_instant_now();
    spex_probe_throttle(probe_first(), SPEX_SITE_HELD);
    turn(operation);
    times_count = gaps_count = 0;
    for (size_t r = 0; r < rounds; r++) {
        truths[r] = round_truth(operation, &of_round);
        operation_ns += of_round / (double)rounds;
        records_arrive();
    }
    double ticks_per_ns = spex_tick_rate_since(begin) / 1e9;
    return (struct result){bench_median(truths, rounds), line_of(ticks_per_ns), operation_ns};
}

static void print(const struct operation *operation, const struct result *result, bool json) {
    static const char *before = "";
    struct spex_cost cost = {0};
    spex_cost_get(SPEX_LAT, &cost);
    double calibrated = cost.record / (spex_tick_rate_since(spex_instant_now()) / 1e9);
    if (json)
        printf(
            "%s\n  {\"operation\": \"%s\", \"nanoseconds\": %.2f, \"truth\": %.2f, \"truth_ci95\": "
            "[%.2f, %.2f], \"intercept\": %.2f, \"ci95\": %.2f, \"slope\": %.2f, \"calibrated\": "
            "%.2f, \"records\": %zu}",
            before, operation->name, result->operation_ns, result->truth.median, result->truth.low,
            result->truth.high, result->line.intercept, result->line.ci95, result->line.slope,
            calibrated, times_count);
    else
        printf(
            "%-18s of %6.1f ns: a record costs %6.1f ns (%.1f to %.1f), by the intercept %6.1f ± "
            "%.1f, slope %.1f, calibrated %.1f\n",
            operation->name, result->operation_ns, result->truth.median, result->truth.low,
            result->truth.high, result->line.intercept, result->line.ci95, result->line.slope,
            calibrated);
    before = ",";
    fflush(stdout);
}

int main(int argc, char **argv) {
    size_t rounds = 300;
    bool json;
    cpu_set_t one;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    words = malloc(sizeof(*words) << 22);
    if (!words)
        err(1, "malloc");
    for (size_t w = 0; w < 1 << 22; w++)
        words[w] = w * 0x9E3779B97F4A7C15u >> 40;
    draw_gaps();
    setenv("SPEX_CONTROL", "off", 1);
    const struct spex_options options = {
        .size = sizeof(options), .probes = "timed", .out = "/dev/null", .ring_records = 1 << 17};
    if (spex_start(&options) != 0)
        errx(1, "cannot start spex");
    spex_sinks_add(&sink);
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);
    if (json)
        printf("{\"bench\": \"intercept\", \"rounds\": %zu, \"results\": [", rounds);
    for (int o = 0; o < OPERATIONS; o++) {
        struct result result = measure(&operations[o], rounds);
        print(&operations[o], &result, json);
    }
    if (json)
        puts("]}");
    return 0;
}
