/* SPDX-License-Identifier: MIT */
/* For sensitivity.py: one addition, and functions that take as long as they have STEPS. Programs
 * with another number of them are the same but for this number. */
#include <spex/bench.h>

#include <stddef.h>

static volatile int step_count = STEPS;

/* 256 KiB: where its pages lie in the caches differs from process to process. */
enum { LINES = 4096 };
static struct line {
    struct line *next;
    char rest[56];
} lines[LINES];

static void add(struct spex_bench_state *state) {
    uint64_t sum = 0;
    SPEX_BENCH_LOOP(state) {
        sum++;
        spex_bench_hide(sum);
    }
}
SPEX_BENCHMARK(add);

/* The processor alone decides how long this takes. */
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

/* A cycle through all lines in random order (the shuffle of Sattolo). */
static void lines_link(struct spex_bench_state *state) {
    static size_t order[LINES];
    uint64_t random = 1;
    (void)state;
    for (size_t i = 0; i < LINES; i++)
        order[i] = i;
    for (size_t i = LINES - 1; i > 0; i--) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t other = (random >> 33) % i, kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < LINES; i++)
        lines[order[i]].next = &lines[order[(i + 1) % LINES]];
}

/* Caches, and who shares them, decide how long this takes. */
static void chase(struct spex_bench_state *state) {
    const struct line *at = lines;
    SPEX_BENCH_LOOP(state) {
        for (int i = 0, count = step_count; i < count; i++)
            at = at->next;
        spex_bench_keep(at);
    }
}
SPEX_BENCHMARK(chase, SPEX_BENCH_FIXTURE(lines_link, NULL));

SPEX_BENCHMARK_MAIN();
