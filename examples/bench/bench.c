/* SPDX-License-Identifier: MIT */
/* Two ways to find a number in an array, with the harness of microbenchmarks:
 *
 *     examples/bench/bench --benchmark_filter=search
 *     spex bench OLD/examples/bench/bench NEW/examples/bench/bench */
#include <stdlib.h>

#include <spex/bench.h>

static int order(const void *a, const void *b) {
    const int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* Even numbers from 0 on. */
static void numbers_make(struct spex_bench_state *state) {
    int64_t n = spex_bench_arg(state, 0);
    int *numbers = malloc((size_t)n * sizeof(*numbers));
    for (int64_t i = 0; i < n && numbers; i++)
        numbers[i] = (int)(2 * i);
    if (!numbers)
        spex_bench_skip(state, "out of memory");
    spex_bench_set_fixture(state, numbers);
}

static void numbers_free(struct spex_bench_state *state) {
    free(spex_bench_fixture(state));
}

/* Each iteration looks for another number, so that no branch can be predicted by the last one. */
static void linear_search(struct spex_bench_state *state) {
    const int *numbers = spex_bench_fixture(state);
    uint64_t n = (uint64_t)spex_bench_arg(state, 0), next = 1;
    SPEX_BENCH_LOOP(state) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        int wanted = (int)(2 * ((next >> 33) % n));
        uint64_t found = 0;
        while (found < n && numbers[found] != wanted)
            found++;
        spex_bench_keep(found);
    }
    spex_bench_items(state, 1);
}

static void binary_search(struct spex_bench_state *state) {
    const int *numbers = spex_bench_fixture(state);
    uint64_t n = (uint64_t)spex_bench_arg(state, 0), next = 1;
    SPEX_BENCH_LOOP(state) {
        next = next * 6364136223846793005u + 1442695040888963407u;
        int wanted = (int)(2 * ((next >> 33) % n));
        spex_bench_keep(bsearch(&wanted, numbers, n, sizeof(*numbers), order));
    }
    spex_bench_items(state, 1);
}

SPEX_BENCHMARK(linear_search, SPEX_BENCH_RANGE_BY("n", 16, 4096, 4), SPEX_BENCH_COMPLEXITY,
               SPEX_BENCH_FIXTURE(numbers_make, numbers_free));
SPEX_BENCHMARK(binary_search, SPEX_BENCH_RANGE_BY("n", 16, 4096, 4), SPEX_BENCH_COMPLEXITY,
               SPEX_BENCH_FIXTURE(numbers_make, numbers_free));

SPEX_BENCHMARK_MAIN();
