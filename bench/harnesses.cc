/* SPDX-License-Identifier: MIT */
/* The same functions measured by several harnesses of microbenchmarks, for harnesses.py, which
 * compiles this file: spex/bench.h, and those of Debian that are installed.
 *
 *     harnesses spex|google|catch OPTION...
 *
 * The functions are the same machine code at the same place for all harnesses, so that only loops
 * and estimates differ. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>

#include <spex/bench.h>

#if __has_include(<benchmark/benchmark.h>)
#include <benchmark/benchmark.h>
#define WITH_GOOGLE
#endif

#define FUNCTION static __attribute__((noinline, aligned(64))) uint64_t

/* Names of the functions below, with what they do in the order of their times. */
#define FUNCTIONS(of) of(mix) of(now) of(allocate) of(copy) of(chase) of(hash) of(sort)

enum { WORDS = 256, COPIED = 16384, LINES = 4096, STEPS = 64, HASHED = 1024 };

static uint64_t state = 1, shuffled[WORDS];
static unsigned char from[COPIED], to[COPIED];
static struct line {
    struct line *next;
    char rest[56];
} lines[LINES], *at = lines;

/* Random numbers (splitmix64). */
FUNCTION mix(void) {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    return z ^ (z >> 27);
}

FUNCTION now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_nsec;
}

FUNCTION allocate(void) {
    void *block = malloc(1000);
    __asm__ __volatile__("" : "+r"(block));
    uint64_t value = (uint64_t)(uintptr_t)block;
    free(block);
    return value;
}

FUNCTION copy(void) {
    memcpy(to, from, COPIED);
    __asm__ __volatile__("" : : : "memory");
    return to[0];
}

/* From cache line to cache line, in random order. */
FUNCTION chase(void) {
    for (int step = 0; step < STEPS; step++)
        at = at->next;
    return (uint64_t)(uintptr_t)at;
}

/* FNV-1a. */
FUNCTION hash(void) {
    uint64_t value = 0xcbf29ce484222325u;
    for (int i = 0; i < HASHED; i++)
        value = (value ^ from[i]) * 0x100000001b3u;
    return value;
}

/* All memory is at the same place of a page for all harnesses: accesses to addresses that are the
 * same but for the page wait for each other. qsort would have some of malloc, which is at a place of
 * the harness's. */
FUNCTION sort(void) {
    alignas(4096) uint64_t words[WORDS];
    memcpy(words, shuffled, sizeof(words));
    std::sort(words, words + WORDS);
    return words[0];
}

static void set_up(void) {
    static size_t order[LINES];
    for (size_t i = 0; i < LINES; i++)
        order[i] = i;
    for (size_t i = LINES - 1; i > 0; i--) {
        size_t other = mix() % i, kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (size_t i = 0; i < LINES; i++)
        lines[order[i]].next = &lines[order[(i + 1) % LINES]];
    for (size_t i = 0; i < WORDS; i++)
        shuffled[i] = mix();
    for (size_t i = 0; i < COPIED; i++)
        from[i] = (unsigned char)mix();
}

/* One addition. What keeps it is the same for all harnesses: that of Google Benchmark 1.7 lets gcc
 * choose memory, which is another loop. */
#define ADD(x) ((x)++, keep(x))
static inline __attribute__((always_inline)) void keep(uint64_t &value) {
    __asm__ __volatile__("" : "+r"(value) : : "memory");
}

#define OF_SPEX(name)                                                                              \
    SPEX_BENCHMARK_BLOCK(spex_##name, uint64_t value = name(); spex_bench_keep(value));
FUNCTIONS(OF_SPEX)

static void spex_add(struct spex_bench_state *of) {
    uint64_t x = 0;
    SPEX_BENCH_LOOP(of) {
        ADD(x);
    }
}
SPEX_BENCHMARK(spex_add);

#ifdef WITH_GOOGLE
#define OF_GOOGLE(name)                                                                            \
    static void google_##name(benchmark::State &of) {                                              \
        for (auto _ : of)                                                                          \
            benchmark::DoNotOptimize(name());                                                      \
    }
FUNCTIONS(OF_GOOGLE)

static void google_add(benchmark::State &of) {
    uint64_t x = 0;
    for (auto _ : of)
        ADD(x);
}

/* What its clocks take of a repetition. */
static void google_empty(benchmark::State &of) {
    for (auto _ : of)
        continue;
}

/* The iterations of a repetition are found by a first one, which may be interrupted or cold. So
 * those of short repetitions can be given, in the environment. */
static void google_register(const char *name, void (*function)(benchmark::State &)) {
    const char *iterations = getenv(name);
    auto *registered = benchmark::RegisterBenchmark(name, function);
    if (iterations)
        registered->Iterations(atol(iterations));
}

static int google_main(int argc, char **argv) {
#define REGISTER(name) google_register("google_" #name, google_##name);
    FUNCTIONS(REGISTER)
    REGISTER(add)
    REGISTER(empty)
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
#endif

/* Both have a macro of this name. */
#undef BENCHMARK
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#define WITH_CATCH
#define OF_CATCH(name)                                                                             \
    TEST_CASE("catch_" #name) {                                                                    \
        BENCHMARK("catch_" #name) {                                                                \
            return name();                                                                         \
        };                                                                                         \
    }
FUNCTIONS(OF_CATCH)

TEST_CASE("catch_add") {
    BENCHMARK_ADVANCED("catch_add")(Catch::Benchmark::Chronometer of) {
        uint64_t x = 0;
        of.measure([&] { ADD(x); });
    };
}

static int catch_main(int argc, char **argv) {
    return Catch::Session().run(argc, argv);
}
#endif

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } harnesses[] = {
        {"spex", spex_bench_main},
#ifdef WITH_GOOGLE
        {"google", google_main},
#endif
#ifdef WITH_CATCH
        {"catch", catch_main},
#endif
    };
    set_up();
    for (const auto &harness : harnesses) {
        if (argc < 2)
            puts(harness.name);
        else if (strcmp(argv[1], harness.name) == 0)
            return harness.run(argc - 1, argv + 1);
    }
    return argc < 2 ? 0 : 2;
}
