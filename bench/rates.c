/* SPDX-License-Identifier: MIT */
/* Measures how long rate policies take to decide; a collector asks them every 100 ms. An iteration
 * decides about several problems, the same for all policies, in a workspace that was used before. */
#include <stdint.h>
#include <stdlib.h>

#include <spex/bench.h>

#include "policies/rate/rates.h"

static const int64_t problem_sizes[] = {10, 16, 24, 100, 1000, 10000};

enum {
    SIZES = sizeof(problem_sizes) / sizeof(problem_sizes[0]),
    CLASSES_MAX = 10000,
    PROBLEMS = 8
};

static struct spex_rate_class classes[PROBLEMS][CLASSES_MAX];
static struct spex_rate_problem problems[PROBLEMS];
static struct spex_rate_decision decisions[CLASSES_MAX];

/* 0 to 1, by the generator of MMIX (Knuth). */
static double random_share(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Frequencies over four orders of magnitude, little activity, the costs of records of several
 * types, and a budget for a twentieth to all of them. */
static struct spex_rate_problem make_problem(struct spex_rate_class *of, size_t count,
                                             uint64_t seed) {
    uint64_t random = seed;
    double all = 0;
    random_share(&random);
    for (size_t c = 0; c < count; c++) {
        double low = 1 + 9 * random_share(&random);
        static const double scales[] = {1, 10, 100, 1000};
        of[c] = (struct spex_rate_class){
            .name = "",
            .frequency = low * scales[(size_t)(random_share(&random) * 4)],
            .share = random_share(&random) / (double)count,
            .weight = 1 + (double)(int)(random_share(&random) * 4),
            .detect_cost = 1e-9,
            .report_cost = 1e-8 * (1 + 3 * random_share(&random)),
        };
        all += of[c].frequency * of[c].report_cost;
    }
    return (struct spex_rate_problem){.size = sizeof(struct spex_rate_problem),
                                      .budget = all * (0.05 + 0.95 * random_share(&random)),
                                      .sample_cost = 4e-8,
                                      .class_count = count,
                                      .classes = of};
}

/* Makes the problems of so many classes, which stay until others are asked for. */
static void problems_prepare(size_t count) {
    static size_t made;
    for (size_t p = 0; p < PROBLEMS && made != count; p++)
        problems[p] = make_problem(classes[p], count, p);
    made = count;
}

static void decide(struct spex_bench_state *state, const char *name) {
    const struct spex_rate_policy_ops *policy = spex_builtin_rate_policy(name);
    size_t count = (size_t)spex_bench_arg(state, 0);
    size_t size = policy ? policy->workspace_size(count) : 0;
    void *workspace = calloc(1, size ? size : 1);
    int err = policy && workspace ? 0 : -1;
    problems_prepare(count);
    SPEX_BENCH_LOOP(state) {
        for (size_t p = 0; p < PROBLEMS && !err; p++) {
            struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = decisions};
            err = policy->decide(&problems[p], workspace, &plan);
        }
    }
    spex_bench_items(state, PROBLEMS);
    if (err)
        spex_bench_skip(state, "it does not decide");
    free(workspace);
}

#define POLICY(name)                                                                               \
    static void name(struct spex_bench_state *state) {                                             \
        decide(state, #name);                                                                      \
    }                                                                                              \
    SPEX_BENCHMARK(name, spex_benchmark_values(spex_benchmark_, "classes", SIZES, problem_sizes))

POLICY(fixed);
POLICY(fair);
POLICY(budget);
POLICY(hybrid);

SPEX_BENCHMARK_MAIN();
