/* SPDX-License-Identifier: MIT */
/* Whether two sides differ in their benchmarks, and by how much. */
#ifndef SPEX_TOOLS_BENCH_COMPARISON_H
#define SPEX_TOOLS_BENCH_COMPARISON_H

#include "harness/ranks.h"
#include "tools/bench/results.h"

/* A difference is taken for one below this chance, of all benchmarks together. Who runs the command
 * for each change does so hundreds of times. */
#define SPEX_BENCH_CHANCE_MOST 0.01

/* How sides are compared. */
struct spex_bench_criterion {
    /* The i-th values of both sides belong together: they were measured one after the other. */
    bool paired;
    /* Greater is better, as of figures "…_per_second". */
    bool greater;
    /* What a benchmark may be worse by, as a share. */
    double allowed;
};

struct spex_bench_verdict {
    const struct spex_bench_series *series;
    struct spex_estimate sides[2];
    /* The second side's values over the first's, with the 95 % interval of this benchmark alone. */
    struct spex_estimate ratio;
    /* The chance of such a difference between equal programs, and of being so much worse than
     * allowed without being it; both corrected for the number of benchmarks. */
    double chance, worse_chance;
    bool differs, worse;
};

/* Judges the benchmarks that both sides have, in as many values as a ratio needs: positive ones.
 * *verdicts is to be freed. 0 or -ENOMEM. */
int spex_bench_judge(const struct spex_bench_results *results,
                     const struct spex_bench_criterion *criterion,
                     struct spex_bench_verdict **verdicts, size_t *count);

/* The least chance that so many values of each side can give with so many benchmarks. */
double spex_bench_least_chance(size_t values, size_t benchmarks, bool paired);

#endif
