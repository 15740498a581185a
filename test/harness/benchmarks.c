/* SPDX-License-Identifier: MIT */
/* Benchmarks of each kind, for the tests; C and C++. */
#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <spex/bench.h>

static uint64_t counted;

static void add(struct spex_bench_state *state) {
    uint64_t sum = 0;
    SPEX_BENCH_LOOP(state) {
        sum += 1;
        spex_bench_keep(sum);
    }
}
SPEX_BENCHMARK(add);

SPEX_BENCHMARK_BLOCK(block, counted += 1; spex_bench_hide(counted));

/* As many additions, that depend on each other, as the parameter says. */
static void chain(struct spex_bench_state *state) {
    int64_t n = spex_bench_arg(state, 0);
    uint64_t value = 1;
    SPEX_BENCH_LOOP(state) {
        for (int64_t i = 0; i < n; i++) {
            value = value * 3 + 1;
            spex_bench_hide(value);
        }
    }
    spex_bench_keep(value);
    spex_bench_items(state, (double)n);
    spex_bench_bytes(state, 8 * (double)n);
    spex_bench_counter(state, "chain \"length\"", (double)n);
}
SPEX_BENCHMARK(chain, SPEX_BENCH_RANGE_BY("n", 64, 4096, 4), SPEX_BENCH_COMPLEXITY);

/* New pages: a fault each. malloc would keep them. */
static void touch(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        size_t size = 1 << 22;
        char *memory =
            (char *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            abort();
        for (size_t i = 0; i < size; i += 4096)
            memory[i] = 1;
        spex_bench_clobber();
        munmap(memory, size);
    }
}
SPEX_BENCHMARK(touch);

static void set_up(struct spex_bench_state *state) {
    spex_bench_set_fixture(state, calloc(1, sizeof(uint64_t)));
}

static void tear_down(struct spex_bench_state *state) {
    free(spex_bench_fixture(state));
}

static void shared(struct spex_bench_state *state) {
    uint64_t *number = (uint64_t *)spex_bench_fixture(state);
    if (spex_bench_thread(state) >= spex_bench_threads(state))
        spex_bench_skip(state, "a thread that is not there");
    SPEX_BENCH_LOOP(state) {
        __atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
    }
}
SPEX_BENCHMARK_NAMED("shared \\ counter", shared, SPEX_BENCH_THREADS(1, 3),
                     SPEX_BENCH_FIXTURE(set_up, tear_down));

static void paused(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        spex_bench_pause(state);
        for (int i = 0; i < 100000; i++)
            spex_bench_hide(i);
        spex_bench_resume(state);
        spex_bench_clobber();
    }
}
SPEX_BENCHMARK(paused, SPEX_BENCH_ARG("n", 1), SPEX_BENCH_STEPS("m", 2, 4, 2));

static void skipped(struct spex_bench_state *state) {
    if (spex_bench_thread(state) == 0)
        spex_bench_skip(state, "no \"file\"\n");
    SPEX_BENCH_LOOP(state) {
        counted++;
    }
}
SPEX_BENCHMARK_NAMED("wrong skipped", skipped, SPEX_BENCH_THREADS(2, 2));

static void broken(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        break;
    }
}
SPEX_BENCHMARK_NAMED("wrong broken", broken);

static void returned(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        return;
    }
}
SPEX_BENCHMARK_NAMED("wrong returned", returned);

static void empty(struct spex_bench_state *state) {
    (void)state;
}
SPEX_BENCHMARK_NAMED("wrong empty", empty, SPEX_BENCH_THREADS(2, 2));

static void twice(struct spex_bench_state *state) {
    SPEX_BENCH_LOOP(state) {
        counted++;
    }
    SPEX_BENCH_LOOP(state) {
        counted++;
    }
}
SPEX_BENCHMARK_NAMED("wrong twice", twice);

SPEX_BENCHMARK_MAIN();
