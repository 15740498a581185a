/* SPDX-License-Identifier: MIT */
/* Measures what a budget of 2 % costs a short program, from the start of spex on.
 *
 *     brief [--json] [--rounds N]
 *
 * A figure is of four processes: A B B A or B A A B, by chance. A has spex with all probes on and
 * the budget, or with no probe on, B is without spex; each is new, and works for 5 or 500 ms on one
 * CPU after the start of spex. The slowdown is how much more CPU time, that of the start of spex
 * and of its threads included, an operation takes (budget_estimate.h has the statistics);
 * `believed` is what the library says it has spent at the end, over the CPU time. Its own start is
 * not part of that.
 *
 * A budget is a share of the program's CPU time. `of_time` is the slowdown as a share of the time;
 * `used` is what the library says that is. */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "budget_estimate.h"
#include "budget_process.h"
#include "budget_random.h"
#include "budget_workload.h"

enum { ROUNDS_MAX = 1000 };

static const struct budget_workload *const workloads[] = {&budget_json, &budget_hash};
static const double lengths[] = {0.005, 0.5};
static const char *const probes[] = {"", "*"};

#define BUDGET "2%"

enum { WORKLOADS = 2, LENGTHS = 2, WAYS = 2 };

/* Of all processes of a side. */
struct side {
    struct budget_setting setting;
    double cpu_seconds, spent, seconds;
};

/* CPU seconds an operation of a process that is new; 0: it has hardly run. */
static double run(const struct budget_workload *workload, double seconds, struct side *side) {
    struct budget_process process;
    budget_process_start(&process, workload, &side->setting);
    uint64_t begin = budget_process_cpu_ns(&process);
    bool told = budget_process_run_once(&process, (uint64_t)(seconds * 1e9));
    double cpu_seconds = (double)(budget_process_cpu_ns(&process) - begin) / 1e9;
    uint64_t operations = budget_process_operations(&process);
    if (told) {
        side->cpu_seconds += cpu_seconds;
        side->spent += process.shared->belief.spent;
        side->seconds += process.shared->belief.seconds;
    }
    budget_process_end(&process);
    return told && operations ? cpu_seconds / (double)operations : 0;
}

static bool run_four(const struct budget_workload *workload, double seconds, struct side *with,
                     struct side *without, struct budget_figure *figure) {
    static uint64_t random = 1;
    bool swapped = budget_random(&random, 2);
    struct side *outer = swapped ? without : with, *inner = swapped ? with : without;
    double first = run(workload, seconds, outer), second = run(workload, seconds, inner),
           third = run(workload, seconds, inner), last = run(workload, seconds, outer);
    figure->with = swapped ? second + third : first + last;
    figure->without = swapped ? first + last : second + third;
    return first > 0 && second > 0 && third > 0 && last > 0;
}

struct result {
    struct budget_estimate estimate;
    double believed; /* of the CPU time */
    double used;     /* of the program's time */
    double of_time;  /* that, in truth */
};

static struct result measure(const struct budget_workload *workload, double seconds,
                             const char *which, size_t rounds) {
    static struct budget_figure figures[ROUNDS_MAX];
    struct side with = {.setting = {.probes = which,
                                    .budget = *which ? BUDGET : NULL,
                                    .threads = true,
                                    .brief = true,
                                    .cpu = sched_getcpu()}},
                without = {.setting = {.threads = true, .brief = true, .cpu = with.setting.cpu}};
    for (size_t r = 0, attempts = 0; r < rounds; attempts++) {
        if (attempts == 10 * rounds)
            errx(1, "%s: the processes hardly got the processor", workload->name);
        r += run_four(workload, seconds, &with, &without, &figures[r]);
    }
    struct budget_estimate estimate = budget_estimate(figures, rounds);
    double cpus = with.seconds > 0 ? with.cpu_seconds / with.seconds : 0;
    return (struct result){estimate, with.spent / (with.cpu_seconds - with.spent),
                           with.seconds > 0 ? with.spent / with.seconds : 0,
                           cpus * estimate.slowdown / (1 + estimate.slowdown)};
}

static void print(const struct budget_workload *workload, double seconds, const char *which,
                  const struct result *result, bool json) {
    static const char *before = "";
    const struct budget_estimate *estimate = &result->estimate;
    if (json)
        printf(
            "%s\n  {\"workload\": \"%s\", \"seconds\": %g, \"what\": \"%s\", \"slowdown\": %.5f, "
            "\"ci95\": %.5f, \"of_sums\": %.5f, \"believed\": %.5f, \"of_time\": %.5f, \"used\": "
            "%.5f}",
            before, workload->name, seconds, *which ? BUDGET : "off", estimate->slowdown,
            estimate->ci95, estimate->of_sums, result->believed, result->of_time, result->used);
    else
        printf(
            "%-6s %5.3f s %-3s slowdown %6.2f %% ± %.2f, of sums %6.2f %%, believed %.2f %% of the "
            "CPU time; %.2f %% of the time, believed %.2f %%\n",
            workload->name, seconds, *which ? BUDGET : "off", 100 * estimate->slowdown,
            100 * estimate->ci95, 100 * estimate->of_sums, 100 * result->believed,
            100 * result->of_time, 100 * result->used);
    before = ",";
    fflush(stdout);
}

int main(int argc, char **argv) {
    size_t rounds = 16;
    bool json;
    bench_options(argc, argv, BUDGET_FIGURES_LEAST, ROUNDS_MAX, &rounds, &json);
    if (json)
        printf("{\"bench\": \"brief\", \"rounds\": %zu, \"results\": [", rounds);
    for (int w = 0; w < WORKLOADS; w++)
        for (int l = 0; l < LENGTHS; l++)
            /* What the start alone costs shows in the shorter programs. */
            for (int p = l; p < WAYS; p++) {
                struct result result = measure(workloads[w], lengths[l], probes[p], rounds);
                print(workloads[w], lengths[l], probes[p], &result, json);
            }
    if (json)
        puts("]}");
    return 0;
}
