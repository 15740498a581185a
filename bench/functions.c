/* SPDX-License-Identifier: MIT */
/* Measures what a function costs that was compiled with -finstrument-functions, beyond the same
 * function without it: while it is no kernel, and as a kernel that is off, skipped and
 * recorded; beside a kernel in the source.
 *
 *     functions [--json] [--rounds N]
 *
 * Each round times the plain function, then the instrumented one. A figure is the median over
 * the rounds of the difference, in ticks an execution. */
#define _GNU_SOURCE
#include <err.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <spex/spex.h>

#include "calm.h"
#include "functions.h"

enum { EXECUTIONS = 2000, ROUNDS_MAX = 100000, KERNEL = 1 };

SPEX_PROBE_NAME(KERNEL, "bench_kernel");

static volatile uint64_t result_sink;

static __attribute__((noinline)) uint64_t kernel(uint64_t value) {
    KERNEL_PROBE_BEGIN(KERNEL, 1);
    __asm__ volatile("" : "+r"(value));
    KERNEL_PROBE_END(KERNEL);
    return value;
}

struct bench_case {
    const char *what;
    /* NULL: no function is a kernel. */
    const char *functions;
    const char *selection;
    uint64_t (*run)(uint64_t);
};

/* A function that is a kernel once stays a kernel, so that the case without comes first. */
static const struct bench_case bench_cases[] = {
    {"no kernel", NULL, "off", bench_instrumented},
    {"off", "bench_instrumented", "off", bench_instrumented},
    {"skipped", "bench_instrumented", "bench_instrumented@1000", bench_instrumented},
    {"recorded", "bench_instrumented", "bench_instrumented", bench_instrumented},
    {"kernel, recorded", "bench_instrumented", "bench_kernel", kernel},
};

enum { CASES = sizeof(bench_cases) / sizeof(bench_cases[0]) };

static double *added_ticks[CASES], *references[CASES];
static double fastest = INFINITY;

static double ticks_of(uint64_t (*run)(uint64_t)) {
    uint64_t sum = 0, begin = spex_ticks();
    for (uint64_t i = 0; i < EXECUTIONS; i++)
        sum += run(i);
    double ticks = (double)(spex_ticks() - begin) / EXECUTIONS;
    result_sink = sum;
    return ticks;
}

static void time_case(size_t c, size_t round) {
    if (spex_set(bench_cases[c].selection) < 0)
        errx(1, "cannot select %s", bench_cases[c].selection);
    ticks_of(bench_cases[c].run);
    double before = bench_reference(), plain = ticks_of(bench_plain);
    added_ticks[c][round] = ticks_of(bench_cases[c].run) - plain;
    references[c][round] = fmax(before, bench_reference());
    fastest = fmin(fastest, references[c][round]);
}

/* Times the cases of one start in turn. */
static void time_all(const char *functions, size_t rounds) {
    const struct spex_options options = {
        .size = sizeof(options), .out = "/dev/null", .functions = functions};
    if (spex_start(&options) != 0)
        errx(1, "cannot start");
    for (size_t round = 0; round < rounds; round++)
        for (size_t c = 0; c < CASES; c++)
            if (!bench_cases[c].functions == !functions)
                time_case(c, round);
    spex_stop();
}

static void print_results(bool json, size_t rounds) {
    if (json)
        printf("{\"bench\": \"functions\", \"rounds\": %zu, \"results\": [", rounds);
    else
        printf("Ticks an execution beyond a function that is not instrumented; median of the calm "
               "ones of %zu "
               "rounds, 95 %% interval.\n\n",
               rounds);
    for (size_t c = 0; c < CASES; c++) {
        struct bench_calm_result result =
            bench_calm_median(added_ticks[c], references[c], rounds, fastest);
        if (json)
            printf("%s\n  {\"what\": \"%s\", \"ticks\": %.3f, \"ci95\": [%.3f, %.3f]", c ? "," : "",
                   bench_cases[c].what, result.median, result.low, result.high);
        else
            printf("%-18s %8.2f (%.2f to %.2f)%s\n", bench_cases[c].what, result.median, result.low,
                   result.high, result.busy ? ", on a busy machine" : "");
        if (!json)
            continue;
        bench_print_calm(result);
        putchar('}');
    }
    if (json)
        puts("]}");
}

int main(int argc, char **argv) {
    size_t rounds = 301;
    bool json;
    bench_options(argc, argv, 3, ROUNDS_MAX, &rounds, &json);
    if (setenv("SPEX_CONTROL", "off", 1) != 0)
        err(1, "setenv");
    for (size_t c = 0; c < CASES; c++)
        if (!(added_ticks[c] = calloc(rounds, sizeof(double))) ||
            !(references[c] = calloc(rounds, sizeof(double))))
            errx(1, "out of memory");
    time_all(NULL, rounds);
    time_all("bench_instrumented", rounds);
    print_results(json, rounds);
    return 0;
}
