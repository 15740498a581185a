/* SPDX-License-Identifier: MIT */
/* What a probe costs the thread that executes it, off and on, next to reading the counter of
 * ticks.
 *
 *     overhead [--json] [--rounds N] */
#define _GNU_SOURCE
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "bench.h"

enum { CNT = 1, LAT, TPT, SNAPSHOT };

/* The work between BEGIN and END that the compiler cannot take away. */
#define WORK() __asm__ volatile("" ::: "memory")

/* One function a case: a loop of its body. */
#define LOOP(name, ...)                                                                            \
    static __attribute__((noinline)) uint64_t name(size_t repetitions) {                           \
        uint64_t begin = spex_ticks();                                                             \
        for (size_t i = 0; i < repetitions; i++) {                                                 \
            __VA_ARGS__                                                                            \
        }                                                                                          \
        return spex_ticks() - begin;                                                               \
    }

/* What spex_ticks reads. */
#ifdef __x86_64__
#define COUNTER "RDTSC"
#else
#define COUNTER "CNTVCT"
#endif

static volatile uint64_t last_ticks;

/* clang-format off */
LOOP(run_empty, WORK();)
LOOP(run_ticks, WORK(); last_ticks = spex_ticks();)
LOOP(run_cnt, CNT_PROBE_BEGIN(CNT, 1); WORK(); CNT_PROBE_END(CNT);)
LOOP(run_lat, LAT_PROBE_BEGIN(LAT, 1); WORK(); LAT_PROBE_END(LAT);)
LOOP(run_lat_scope, SPEX_LAT_SCOPE(LAT, 1); WORK();)
LOOP(run_tpt, TPT_PROBE_BEGIN(TPT, 1); WORK(); TPT_PROBE_END(TPT);)
LOOP(run_snapshot, WORK(); SNAPSHOT_PROBE(SNAPSHOT, 1, i, i, i);)
/* clang-format on */

enum { OFF_REPETITIONS = 2000000, ON_REPETITIONS = 100000 };

static const struct bench_case cases[] = {
    {"empty loop", NULL, OFF_REPETITIONS, run_empty},
    {COUNTER, NULL, OFF_REPETITIONS, run_ticks},
    {"CNT off", NULL, OFF_REPETITIONS, run_cnt},
    {"LAT off", NULL, OFF_REPETITIONS, run_lat},
    {"LAT scope off", NULL, OFF_REPETITIONS, run_lat_scope},
    {"TPT off", NULL, OFF_REPETITIONS, run_tpt},
    {"SNAPSHOT off", NULL, OFF_REPETITIONS, run_snapshot},
    {"CNT, 1 in 100", "1@100", ON_REPETITIONS, run_cnt},
    {"LAT, 1 in 100", "2@100", ON_REPETITIONS, run_lat},
    {"TPT, 1 in 100", "3@100", ON_REPETITIONS, run_tpt},
    {"SNAPSHOT, 1 in 100", "4@100", ON_REPETITIONS, run_snapshot},
    {"CNT", "1", ON_REPETITIONS, run_cnt},
    {"LAT", "2", ON_REPETITIONS, run_lat},
    {"LAT scope", "2", ON_REPETITIONS, run_lat_scope},
    {"TPT", "3", ON_REPETITIONS, run_tpt},
    {"SNAPSHOT", "4", ON_REPETITIONS, run_snapshot},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))
enum { TICKS_CASE = 1 };

static void print_json(const struct bench_result *results, size_t rounds,
                       const struct spex_status *status) {
    printf("{\"bench\": \"overhead\", \"unit\": \"ticks\", \"rounds\": %zu,\n", rounds);
    printf(" \"records\": {\"produced\": %" PRIu64 ", \"consumed\": %" PRIu64 ", \"lost\": %" PRIu64
           "},\n \"cases\": [\n",
           status->produced, status->consumed, status->lost);
    for (size_t c = 0; c < CASES; c++)
        printf("  {\"name\": \"%s\", \"median\": %.3f, \"low\": %.3f, \"high\": %.3f, "
               "\"of_counter\": %.4f}%s\n",
               cases[c].name, results[c].median, results[c].low, results[c].high,
               results[c].median / results[TICKS_CASE].median, c + 1 < CASES ? "," : "");
    puts(" ]}");
}

static void print_table(const struct bench_result *results, size_t rounds,
                        const struct spex_status *status) {
    printf("ticks per execution beyond the empty loop's; median of %zu rounds, 95 %% interval\n\n",
           rounds);
    for (size_t c = 0; c < CASES; c++)
        printf("%-20s %8.2f  (%.2f to %.2f)  %.3f of " COUNTER "\n", cases[c].name,
               results[c].median, results[c].low, results[c].high,
               results[c].median / results[TICKS_CASE].median);
    printf("\nrecords: %" PRIu64 " produced, %" PRIu64 " consumed, %" PRIu64 " lost\n",
           status->produced, status->consumed, status->lost);
}

int main(int argc, char **argv) {
    static const struct option known[] = {{"json", no_argument, NULL, 'j'},
                                          {"rounds", required_argument, NULL, 'r'},
                                          {NULL, 0, NULL, 0}};
    struct spex_options options = {.size = sizeof(options), .out = "/dev/null"};
    struct spex_status status = {.size = sizeof(status)};
    struct bench_result results[CASES];
    size_t rounds = 101;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'j')
            json = true;
        else if (option == 'r')
            rounds = strtoul(optarg, NULL, 10);
        else
            return 2;
    }
    if (rounds < 3 || rounds > 100000)
        errx(2, "--rounds: a number of 3 to 100000 was expected");
    if (spex_start(&options) != 0 || bench_run(cases, CASES, rounds, results) != 0)
        errx(1, "cannot run");
    spex_stop();
    spex_status_get(&status);
    (json ? print_json : print_table)(results, rounds, &status);
    return 0;
}
