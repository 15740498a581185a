/* SPDX-License-Identifier: MIT */
/* Measures how long rate policies take to decide; a collector asks them every 100 ms.
 *
 *     rates [--json] [--rounds N]
 *
 * Each round has another problem, the same in every run and for all policies. A figure is the
 * median over the rounds of one decision, in a workspace that was used before. */
#define _GNU_SOURCE
#include <err.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"
#include "policies/rate/rates.h"

static const size_t problem_sizes[] = {10, 16, 24, 100, 1000, 10000};

enum {
    SIZES = sizeof(problem_sizes) / sizeof(problem_sizes[0]),
    CLASSES_MAX = 10000,
    ROUNDS_MAX = 100000
};

static struct spex_rate_class classes[CLASSES_MAX];
static struct spex_rate_decision decisions[CLASSES_MAX];
static double times[ROUNDS_MAX];

/* 0 to 1, by the generator of MMIX (Knuth). */
static double random_share(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Frequencies over four orders of magnitude, little activity, the costs of records of several
 * types, and a budget for a twentieth to all of them. */
static struct spex_rate_problem make_problem(size_t count, uint64_t seed) {
    uint64_t random = seed;
    double all = 0;
    random_share(&random);
    for (size_t c = 0; c < count; c++) {
        double low = 1 + 9 * random_share(&random);
        static const double scales[] = {1, 10, 100, 1000};
        classes[c] = (struct spex_rate_class){
            .name = "",
            .frequency = low * scales[(size_t)(random_share(&random) * 4)],
            .share = random_share(&random) / (double)count,
            .weight = 1 + (double)(int)(random_share(&random) * 4),
            .detect_cost = 1e-9,
            .report_cost = 1e-8 * (1 + 3 * random_share(&random)),
        };
        all += classes[c].frequency * classes[c].report_cost;
    }
    return (struct spex_rate_problem){.size = sizeof(struct spex_rate_problem),
                                      .budget = all * (0.05 + 0.95 * random_share(&random)),
                                      .sample_cost = 4e-8,
                                      .class_count = count,
                                      .classes = classes};
}

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct bench_result policy_measure(const struct spex_rate_policy_ops *policy, size_t count,
                                          size_t rounds) {
    size_t size = policy->workspace_size(count);
    void *workspace = calloc(1, size ? size : 1);
    if (!workspace)
        errx(1, "out of memory");
    /* The first round is not counted: the workspace is new. */
    for (size_t round = 0; round <= rounds; round++) {
        struct spex_rate_problem problem = make_problem(count, round);
        struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = decisions};
        double begin = seconds_now();
        if (policy->decide(&problem, workspace, &plan) != 0)
            errx(1, "%s does not decide", policy->name);
        times[round ? round - 1 : 0] = seconds_now() - begin;
    }
    free(workspace);
    return bench_median(times, rounds);
}

static void print_result(bool json, const char *policy, size_t count,
                         const struct bench_result *result, bool last) {
    if (json)
        printf("  {\"policy\": \"%s\", \"classes\": %zu, \"microseconds\": %.2f, \"ci95\": [%.2f, "
               "%.2f]}%s\n",
               policy, count, result->median * 1e6, result->low * 1e6, result->high * 1e6,
               last ? "" : ",");
    else
        printf("%-8s %6zu classes %10.2f us (%.2f to %.2f)\n", policy, count, result->median * 1e6,
               result->low * 1e6, result->high * 1e6);
}

int main(int argc, char **argv) {
    size_t rounds = 101;
    bool json;
    bench_options(argc, argv, 1, ROUNDS_MAX, &rounds, &json);
    if (json)
        printf("{\"bench\": \"rates\", \"rounds\": %zu, \"results\": [\n", rounds);
    for (size_t p = 0; spex_builtin_rate_policies[p]; p++)
        for (size_t s = 0; s < SIZES; s++) {
            const struct spex_rate_policy_ops *policy = spex_builtin_rate_policies[p];
            struct bench_result result = policy_measure(policy, problem_sizes[s], rounds);
            print_result(json, policy->name, problem_sizes[s], &result,
                         !spex_builtin_rate_policies[p + 1] && s + 1 == SIZES);
        }
    if (json)
        puts(" ]}");
    return 0;
}
