/* SPDX-License-Identifier: MIT */
/* For sensitivity.py: one addition, and a function that takes as long as it has STEPS. Programs
 * with another number of them are the same but for this number. */
#include <spex/bench.h>

static volatile int step_count = STEPS;

static void add(struct spex_bench_state *state) {
    uint64_t sum = 0;
    SPEX_BENCH_LOOP(state) {
        sum++;
        spex_bench_hide(sum);
    }
}
SPEX_BENCHMARK(add);

static void steps(struct spex_bench_state *state) {
    uint64_t value = 1;
    SPEX_BENCH_LOOP(state) {
        for (int i = 0, count = step_count; i < count; i++) {
            value = value * 3 + 1;
            spex_bench_hide(value);
        }
    }
}
SPEX_BENCHMARK(steps);

SPEX_BENCHMARK_MAIN();
