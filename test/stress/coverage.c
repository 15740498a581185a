/* SPDX-License-Identifier: MIT */
/* Whether 95 % intervals hold the truth in 95 % of runs. Each run is the whole library at work: a
 * thread executes a probe with values that the test knows, while the sampling changes or not and
 * records are lost or not; then the intervals that users would be told are held against the truth
 * of all executions.
 *
 * coverage [RUNS [SEED]]
 *
 * Which executions are recorded is the same in each call but for what depends on time: which
 * records are lost, and how far bursts are apart. */
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "collect/metrics.h"
#include "probe/threads.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "serve/own_profile.h"

enum { RUNS_MAX = 100000, ID = 5, EXECUTIONS = 60000, RING_RECORDS = 32, BATCH_RECORDS = 16 };

#define TWO_PI 6.28318530717958647692

#define NORMAL_CELL 3.7190 /* of probability 10^-4 on one side */
#define LEAST_SHARE 0.93
#define MOST_SHARE  0.97

/* That so few of one cell are held by chance, of some eighty. */
#define CHANCE 1e-5

enum population { INDEPENDENT, TREND, CORRELATED, PHASES, PATTERN, POPULATIONS };
enum sampling { PERIODIC, GEOMETRIC, BURSTY, CHANGING, SAMPLINGS };
enum { CELLS = POPULATIONS * SAMPLINGS * 2 };

static const char *const population_names[] = {"independent", "trend", "correlated", "phases",
                                               "pattern"};
static const char *const sampling_names[] = {"periodic", "geometric", "bursty", "changing"};

/* A kind of sampling, and executions per record that it makes room for. */
static const struct rate {
    const char *selection;
    unsigned period;
} fixed_rates[] = {{"5@20", 20}, {"5@~20", 20}, {"5@20x16", 20}},
  changing_rates[] = {{"5@10", 10},    {"5@~10", 10},   {"5@100", 100}, {"5@~100", 100},
                      {"5@10x16", 10}, {"5@60x16", 60}, {"5@~30", 30},  {"5@30", 30},
                      {"5@1", 1},      {"5@~60", 60}},
  all = {"5", 1}, off = {"off", 1000};

struct cell {
    unsigned runs, mean_told, mean_held, quantile_told, quantile_held;
    double mean_width[RUNS_MAX / 32], quantile_width[RUNS_MAX / 32]; /* relative, of those told */
};

/* By population, sampling, and whether records are lost. */
static struct cell cells[CELLS];

static struct {
    uint64_t state;
    double log_level; /* of CORRELATED */
    double level;     /* of PHASES */
} source;

static struct {
    uint64_t values[EXECUTIONS]; /* that were executed while it was on */
    unsigned count;
    double on_least, on_most; /* seconds */
} truth;

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

/* splitmix64, as in gap.c. */
static uint64_t random_next(void) {
    uint64_t x = source.state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static double uniform(void) {
    return ((double)(random_next() >> 12) + 0.5) * 0x1p-52;
}

/* Box and Muller. */
static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(TWO_PI * uniform());
}

static double factor_of(enum population population, unsigned i) {
    switch (population) {
    case TREND:
        return exp(0.5 * normal() + (double)i / EXECUTIONS);
    case CORRELATED:
        source.log_level = 0.9 * source.log_level + sqrt(1 - 0.9 * 0.9) * normal();
        return exp(0.5 * source.log_level);
    case PHASES:
        if (uniform() < 1.0 / 200)
            source.level = uniform() < 0.5 ? 1 : 3;
        return source.level * exp(0.3 * normal());
    case PATTERN: /* in step with a period of 20 */
        return (i % 20 == 7 ? 4 : 1) * exp(0.3 * normal());
    default:
        return exp(0.5 * normal());
    }
}

__attribute__((noinline)) static void execute(uint64_t value) {
    SNAPSHOT_PROBE(ID, 1, value);
}

static struct spex_metrics_totals totals(void) {
    spex_metrics_lock();
    struct spex_metrics_totals now = spex_metrics_totals(spex_probe_type_ring(SPEX_SNAPSHOT));
    spex_metrics_unlock();
    return now;
}

/* Until all that has been recorded is in the metrics, or lost: how much that is. */
static uint64_t drain(void) {
    struct spex_metrics_totals now;
    spex_doorbell_ring();
    while (now = totals(), now.records + now.lost < now.produced)
        sched_yield();
    return now.produced;
}

struct run {
    enum population population;
    bool lossy, overfull;
    unsigned next;     /* execution */
    uint64_t produced; /* records, when the last stretch was over */
};

/* `count` executions; where it is to be so the collectors are kept from their work meanwhile. Bursts
 * are apart in time: of a thread that gets no processor for a while they follow one another, and
 * then there may not be room for all. */
static void stretch(struct run *run, unsigned count, bool is_on, bool held) {
    if (held)
        spex_metrics_lock();
    for (; count > 0 && run->next < EXECUTIONS; count--, run->next++) {
        uint64_t value = (uint64_t)(1e6 * factor_of(run->population, run->next));
        execute(value);
        if (is_on)
            truth.values[truth.count++] = value;
    }
    if (held)
        spex_metrics_unlock();
    uint64_t produced = drain();
    run->overfull |= produced - run->produced >= RING_RECORDS;
    run->produced = produced;
}

/* With losses stretches make up to four rings full of records; without a third of one. */
static void segment(struct run *run, const struct rate *rate, unsigned until) {
    double before = (double)spex_clock_ns(CLOCK_MONOTONIC_RAW);
    int on = spex_set(rate->selection);
    double begun = (double)spex_clock_ns(CLOCK_MONOTONIC_RAW);
    if (on < 0)
        fail("spex_set");
    while (run->next < until) {
        unsigned records = RING_RECORDS / 3;
        bool held = run->lossy && uniform() < 0.5;
        if (held)
            records = (unsigned)(RING_RECORDS * exp2(3 * uniform() - 1));
        unsigned count = records * rate->period;
        stretch(run, count < until - run->next ? count : until - run->next, on > 0, held);
    }
    double ending = (double)spex_clock_ns(CLOCK_MONOTONIC_RAW);
    spex_set("off");
    if (on > 0) {
        truth.on_least += (ending - begun) / 1e9;
        truth.on_most += ((double)spex_clock_ns(CLOCK_MONOTONIC_RAW) - before) / 1e9;
    }
}

static void execute_all(struct run *run, enum sampling sampling) {
    if (sampling != CHANGING) {
        segment(run, &fixed_rates[sampling], EXECUTIONS);
        return;
    }
    while (run->next < EXECUTIONS) {
        unsigned rates = sizeof(changing_rates) / sizeof(changing_rates[0]);
        unsigned choice = (unsigned)(random_next() % (rates + 1));
        const struct rate *rate = choice < rates ? &changing_rates[choice] : &off;
        unsigned length = rate->period == 1 ? 500 : 2000 + (unsigned)(random_next() % 6000);
        unsigned until = run->next + length;
        segment(run, rate, until < EXECUTIONS ? until : EXECUTIONS);
    }
}

static int order(const void *a, const void *b) {
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return (one > other) - (one < other);
}

static double true_mean(void) {
    double sum = 0;
    for (unsigned i = 0; i < truth.count; i++)
        sum += (double)truth.values[i];
    return sum / truth.count;
}

static double true_quantile(double q) {
    qsort(truth.values, truth.count, sizeof(truth.values[0]), order);
    return (double)truth.values[(unsigned)ceil(q * truth.count) - 1];
}

static void check_exact(const struct spex_profile_probe *probe, bool lossy) {
    if (probe->count != truth.count || spex_count_margin(probe) != 0)
        fail("a count that is not exact");
    double slack = 0.01 * truth.on_most;
    if (probe->on_seconds < truth.on_least - slack || probe->on_seconds > truth.on_most + slack)
        fail("a time that is not that between the switching");
    if (!lossy && probe->lost > 0)
        fail("records lost where there is room for all");
}

static void cell_add_run(struct cell *cell, const struct spex_profile *profile) {
    const struct spex_profile_row *row = &profile->rows[0];
    double mean = true_mean(), truth_99 = true_quantile(0.99);
    struct spex_figures told;
    spex_figures_of(profile, row, 0, &told);
    const struct spex_quantile *quantile = &told.quantiles[SPEX_FIGURES_P99];
    cell->runs++;
    if (told.mean_margin >= 0) {
        cell->mean_width[cell->mean_told++] = told.mean_margin / mean;
        cell->mean_held += fabs(told.mean - mean) <= told.mean_margin;
    }
    if (quantile->told) {
        cell->quantile_width[cell->quantile_told++] =
            (quantile->high - quantile->low) / 2 / truth_99;
        cell->quantile_held += quantile->low <= truth_99 && truth_99 <= quantile->high;
    }
}

static void run_one(unsigned cell) {
    enum population population = cell / 2 / SAMPLINGS;
    enum sampling sampling = cell / 2 % SAMPLINGS;
    bool lossy = cell % 2;
    const struct spex_options options = {.size = sizeof(options),
                                         .out = "/dev/null",
                                         .ring_records = RING_RECORDS,
                                         .batch_records = BATCH_RECORDS,
                                         .no_calibration = true};
    struct run run = {.population = population, .lossy = lossy};
    struct spex_profile profile;
    truth.count = 0;
    truth.on_least = truth.on_most = 0;
    source.log_level = normal();
    source.level = uniform() < 0.5 ? 1 : 3;
    if (spex_start(&options) != 0)
        fail("spex_start");
    segment(&run, &all, 0); /* which starts the collector */
    run.produced = drain();
    execute_all(&run, sampling);
    while (!(spex_metrics_tick_rate() > 0)) /* unknown for a few milliseconds */
        sched_yield();
    if (spex_profile_now(&profile) != 0 || profile.row_count != 1)
        fail("not one row");
    check_exact(&profile.rows[0].probe, lossy || run.overfull);
    cell_add_run(&cells[cell], &profile);
    spex_profile_now_free(&profile);
    spex_stop();
}

static int order_doubles(const void *a, const void *b) {
    double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

static double median(double *of, unsigned count) {
    qsort(of, count, sizeof(*of), order_doubles);
    return count ? of[count / 2] : NAN;
}

static double percent(unsigned part, unsigned of) {
    return of ? 100.0 * part / of : NAN;
}

static void print_cell(const char *population, const char *sampling, bool lossy,
                       struct cell *cell) {
    printf("%-12s %-10s %-6s %5u  %5.1f %% of %3u ±%4.1f %%  %5.1f %% of %3u ±%4.1f %%\n",
           population, sampling, lossy ? "lossy" : "", cell->runs,
           percent(cell->mean_held, cell->mean_told), cell->mean_told,
           100 * median(cell->mean_width, cell->mean_told),
           percent(cell->quantile_held, cell->quantile_told), cell->quantile_told,
           100 * median(cell->quantile_width, cell->quantile_told));
}

/* The probability of so few of `told` where each is held with this probability. */
static double chance_of_so_few(unsigned held, unsigned told, double each) {
    double sum = 0;
    for (unsigned k = 0; k <= held; k++) {
        double ways = lgamma(told + 1.0) - lgamma(k + 1.0) - lgamma(told - k + 1.0);
        sum += exp(ways + k * log(each) + (told - k) * log(1 - each));
    }
    return sum;
}

/* A share is off by chance, which is allowed for: of few by the binomial distribution, which is far
 * from normal, and upwards as if the truth were 95 %. */
static bool is_share(const char *what, unsigned held, unsigned told, double least, double most) {
    double slack = told ? NORMAL_CELL * sqrt(0.95 * 0.05 / told) : 1;
    double share = told ? (double)held / told : 0.95;
    if (chance_of_so_few(held, told, least) > CHANCE && share <= most + slack)
        return true;
    printf("%s: %.1f %% of %u\n", what, 100 * share, told);
    return false;
}

/* Where neighbours are alike the truth is held more often than it has to be: no cell has too much
 * of it. */
static bool cell_good(const struct cell *cell) {
    bool mean = is_share("  mean", cell->mean_held, cell->mean_told, LEAST_SHARE, 1);
    bool quantile = is_share("  p99", cell->quantile_held, cell->quantile_told, LEAST_SHARE, 1);
    return mean && quantile;
}

static bool all_good(void) {
    struct cell sum = {0};
    bool good = true;
    printf("%-12s %-10s %-6s %5s  %-22s  %s\n", "population", "sampling", "", "runs", "mean",
           "p99");
    for (unsigned number = 0; number < CELLS; number++) {
        struct cell *cell = &cells[number];
        if (!cell->runs)
            continue;
        print_cell(population_names[number / 2 / SAMPLINGS], sampling_names[number / 2 % SAMPLINGS],
                   number % 2, cell);
        good &= cell_good(cell);
        sum.runs += cell->runs;
        sum.mean_held += cell->mean_held;
        sum.mean_told += cell->mean_told;
        sum.quantile_held += cell->quantile_held;
        sum.quantile_told += cell->quantile_told;
    }
    printf("all: mean %.1f %% of %u, p99 %.1f %% of %u, of %u runs; count and rate in all\n",
           percent(sum.mean_held, sum.mean_told), sum.mean_told,
           percent(sum.quantile_held, sum.quantile_told), sum.quantile_told, sum.runs);
    good &= is_share("all means", sum.mean_held, sum.mean_told, LEAST_SHARE, MOST_SHARE);
    good &= is_share("all p99", sum.quantile_held, sum.quantile_told, LEAST_SHARE, MOST_SHARE);
    return good;
}

/* A fixed period that is in step with the program tells nothing of the rest. */
static bool is_sensible(unsigned cell) {
    enum sampling sampling = cell / 2 % SAMPLINGS;
    return cell / 2 / SAMPLINGS != PATTERN || sampling == GEOMETRIC || sampling == BURSTY;
}

int main(int argc, char **argv) {
    unsigned runs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
    source.state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (getenv("TEST_EMULATED"))
        runs /= 10;
    if (runs > RUNS_MAX)
        fail("so many runs are not provided for");
    if (spex_threads_init() != 0)
        fail("spex_threads_init");
    spex_threads_seed(source.state);
    for (unsigned run = 0, cell = 0; run < runs; cell = (cell + 1) % CELLS)
        if (is_sensible(cell)) {
            run_one(cell);
            run++;
        }
    return all_good() ? 0 : 1;
}
