/* SPDX-License-Identifier: MIT */
/* Random problems of tracing or probing, and their candidates. */
#ifndef SPEX_TEST_HYBRID_PROBLEMS_H
#define SPEX_TEST_HYBRID_PROBLEMS_H

#include "asking.h"
#include "policies/rate/hybrid_search.h"

static struct spex_rate_class classes[CLASSES_MAX];
static struct spex_rate_problem problem;

/* Of several kinds: with little and much time of activity, with costs of their own, with weights
 * all the same (where it is the problem of Theorem 1), with pins and minimal frequencies. */
static inline void make_random(uint64_t *random, size_t count, bool constraints) {
    bool alike = random_below(random, 4) == 0, costs = random_below(random, 2);
    double activity = random_below(random, 2) ? 1.0 : 0.01, all = 0;
    memset(classes, 0, sizeof(classes));
    for (size_t c = 0; c < count; c++) {
        struct spex_rate_class *cls = &classes[c];
        cls->name = "";
        cls->frequency = 1 + (double)random_below(random, 1000);
        cls->share = random_part(random) * activity;
        cls->weight = alike ? 1 : (double)random_below(random, 10);
        cls->report_cost = costs ? 1e-6 * (1 + (double)random_below(random, 10)) : 1e-6;
        cls->detect_cost = costs ? 1e-7 * (double)random_below(random, 10) : 0;
        if (constraints) {
            cls->pinned = random_below(random, 8) == 0;
            cls->min_frequency = random_below(random, 4) ? 0 : (double)random_below(random, 500);
        }
        all += cls->frequency * (cls->report_cost + cls->detect_cost);
    }
    problem = (struct spex_rate_problem){.size = sizeof(problem),
                                         .budget = all * (0.05 + 0.9 * random_part(random)),
                                         .sample_cost = costs ? 2e-6 : 1e-6,
                                         .class_count = count,
                                         .classes = classes};
}

/* The same candidates as the policy makes, for what it does with more of them. */
static struct spex_hybrid_candidate candidates[CLASSES_MAX];
static struct spex_rate_item items[CLASSES_MAX];
static struct spex_hybrid_sums table[1 << SPEX_HYBRID_EXACT / 2];
static struct spex_hybrid hybrid;

static inline void make_candidates(void) {
    hybrid = (struct spex_hybrid){.max_f = problem.budget / problem.sample_cost,
                                  .count = problem.class_count,
                                  .candidates = candidates,
                                  .items = items,
                                  .table = table};
    for (size_t c = 0; c < problem.class_count; c++) {
        const struct spex_rate_class *cls = &classes[c];
        candidates[c] = (struct spex_hybrid_candidate){
            .cost = cls->frequency * (cls->report_cost + cls->detect_cost) / problem.sample_cost,
            .profit = cls->frequency * cls->weight,
            .hit = cls->share * cls->weight,
            .minimum = cls->min_frequency,
            .index = c,
        };
    }
    spex_hybrid_sort(&hybrid);
}

#endif
