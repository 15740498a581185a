/* SPDX-License-Identifier: MIT */
/* Measures what ten probes cost with about 30 cycles of work between them, in a region and
 * without one, beside the same loop without probes, at several rates; and compares that with
 * the limits that spex has set itself.
 *
 *     regions [--json] [--rounds N]
 *
 * Each round times each case once. A figure is the median over the rounds of the time of a case
 * over that of the loop without probes, which is timed before and after it. */
#define _GNU_SOURCE
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/spex.h>

#include "calm.h"

enum { SITES = 10, PASSES = 4000, ROUNDS_MAX = 100000 };

/* What a loop computes, so that the compiler keeps it. */
static volatile uint64_t result_sink;

/* About 30 cycles of work, in which the instructions of a probe run in parallel or add to the time:
 *   chain  each step waits for the one before
 *   wide   steps of four chains, which keep the units of the processor busy */
#define STEP(x)                                                                                    \
    x ^= x << 13;                                                                                  \
    x ^= x >> 7;
#define KEEP(x) __asm__ volatile("" : "+r"(x));
#define EIGHT(...)                                                                                 \
    __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
#define CHAIN EIGHT(STEP(a)) KEEP(a)
#define WIDE  EIGHT(STEP(a) STEP(b) STEP(c) STEP(d)) KEEP(a) KEEP(b) KEEP(c) KEEP(d)

#define TEN(step, work)                                                                            \
    step(1, work) step(2, work) step(3, work) step(4, work) step(5, work) step(6, work)            \
        step(7, work) step(8, work) step(9, work) step(10, work)
#define PLAIN(n, work) work
#define PROBED(n, work)                                                                            \
    CNT_PROBE_BEGIN(n, 1);                                                                         \
    work CNT_PROBE_END(n);

#define LOOP(name, ...)                                                                            \
    static __attribute__((noinline, aligned(64))) void name(void) {                                \
        uint64_t a = 1, b = 2, c = 3, d = 4;                                                       \
        for (size_t i = 0; i < PASSES; i++)                                                        \
            __VA_ARGS__                                                                            \
        result_sink = a + b + c + d;                                                               \
    }

/* clang-format off */
/* NOLINTBEGIN(readability-function-size): ten times the same */
LOOP(chain_plain, {TEN(PLAIN, CHAIN)})
LOOP(chain_probed, {TEN(PROBED, CHAIN)})
LOOP(chain_in_region, SPEX_REGION(1, SITES, TEN(PROBED, CHAIN)))
LOOP(wide_plain, {TEN(PLAIN, WIDE)})
LOOP(wide_probed, {TEN(PROBED, WIDE)})
LOOP(wide_in_region, SPEX_REGION(2, SITES, TEN(PROBED, WIDE)))
/* NOLINTEND(readability-function-size) */
/* clang-format on */

struct bench_case {
    const char *work;
    const char *how;
    const char *rate; /* "off" or "1/N" */
    void (*run)(void);
    void (*plain)(void);
    const char *selection;
    double limit; /* 0: none */
};

#define AT(rate, selection, limit, limit_in_region)                                                \
    {"chain", "probes", rate, chain_probed, chain_plain, selection, limit},                        \
        {"chain", "region", rate, chain_in_region, chain_plain, selection, limit_in_region},       \
        {"wide", "probes", rate, wide_probed, wide_plain, selection, limit}, {                     \
        "wide", "region", rate, wide_in_region, wide_plain, selection, limit_in_region             \
    }

static const struct bench_case bench_cases[] = {
    AT("off", "off", 0, 0),
    AT("1/100", "*@~100", 0, 0),
    AT("1/1000", "*@~1000", 1.10, 1.03),
    AT("1/10000", "*@~10000", 0, 0),
};

enum { CASES = sizeof(bench_cases) / sizeof(bench_cases[0]) };

static double *ratios[CASES], *plain_ticks[CASES], *references[CASES];
static double fastest = INFINITY;

static double ticks_of(void (*run)(void)) {
    uint64_t begin = spex_ticks();
    run();
    return (double)(spex_ticks() - begin) / PASSES;
}

static void case_select(const struct bench_case *one) {
    if (spex_set(one->selection) < 0)
        errx(1, "cannot select %s", one->selection);
    one->run();
}

/* The loop without probes is timed before and after, since the clock of the processor changes. */
static void time_case(size_t c, size_t round) {
    case_select(&bench_cases[c]);
    double calm_before = bench_reference(), before = ticks_of(bench_cases[c].plain);
    double with = ticks_of(bench_cases[c].run);
    double after = ticks_of(bench_cases[c].plain);
    ratios[c][round] = 2 * with / (before + after);
    plain_ticks[c][round] = before;
    references[c][round] = fmax(calm_before, bench_reference());
    fastest = fmin(fastest, references[c][round]);
}

static void print_case(bool json, size_t c, size_t rounds) {
    struct bench_calm_result result = bench_calm_median(ratios[c], references[c], rounds, fastest);
    bool kept = result.median <= bench_cases[c].limit;
    if (json) {
        printf("%s\n  {\"work\": \"%s\", \"how\": \"%s\", \"rate\": \"%s\", \"ratio\": %.4f, "
               "\"ci95\": [%.4f, %.4f]",
               c ? "," : "", bench_cases[c].work, bench_cases[c].how, bench_cases[c].rate,
               result.median, result.low, result.high);
        if (bench_cases[c].limit > 0)
            printf(", \"at_most\": %g, \"kept\": %s", bench_cases[c].limit,
                   kept          ? "true"
                   : result.busy ? "null"
                                 : "false");
        bench_print_calm(result);
        printf("}");
        return;
    }
    printf("%-6s %-7s %-8s %7.4f (%.4f to %.4f)", bench_cases[c].work, bench_cases[c].how,
           bench_cases[c].rate, result.median, result.low, result.high);
    if (bench_cases[c].limit > 0)
        printf(", at most %g: %s", bench_cases[c].limit,
               kept          ? "kept"
               : result.busy ? "not known, busy machine"
                             : "NOT KEPT");
    puts("");
}

static void print_results(bool json, size_t rounds) {
    double chain = bench_calm_median(plain_ticks[0], references[0], rounds, fastest).median;
    double wide = bench_calm_median(plain_ticks[2], references[2], rounds, fastest).median;
    if (json)
        printf("{\"bench\": \"regions\", \"rounds\": %zu, \"sites\": %d, \"chain_ticks\": %.2f, "
               "\"wide_ticks\": %.2f, \"results\": [",
               rounds, SITES, chain, wide);
    else
        printf(
            "Time over that of the loop without probes, of %.0f ticks (chain) and %.0f (wide) for "
            "%d sites; median of the calm ones of %zu rounds, 95 %% interval.\n\n",
            chain, wide, SITES, rounds);
    for (size_t c = 0; c < CASES; c++)
        print_case(json, c, rounds);
    if (json)
        puts("]}");
}

int main(int argc, char **argv) {
    const struct spex_options options = {.size = sizeof(options), .out = "/dev/null"};
    size_t rounds = 301;
    bool json;
    bench_options(argc, argv, 3, ROUNDS_MAX, &rounds, &json);
    if (setenv("SPEX_CONTROL", "off", 1) != 0 || spex_start(&options) != 0)
        errx(1, "cannot start");
    for (size_t c = 0; c < CASES; c++)
        if (!(ratios[c] = calloc(rounds, sizeof(double))) ||
            !(plain_ticks[c] = calloc(rounds, sizeof(double))) ||
            !(references[c] = calloc(rounds, sizeof(double))))
            errx(1, "out of memory");
    for (size_t round = 0; round < rounds; round++)
        for (size_t c = 0; c < CASES; c++)
            time_case(c, round);
    spex_stop();
    print_results(json, rounds);
    return 0;
}
