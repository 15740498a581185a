/* SPDX-License-Identifier: MIT */
/* Microbenchmarks, for C11 and C++11 and later. Link with libspex-bench (pkg-config spex-bench).
 *
 *     static void sort(struct spex_bench_state *state) {
 *         int64_t n = spex_bench_arg(state, 0);
 *         ...                                             what is not to be timed
 *         SPEX_BENCH_LOOP(state) {
 *             ...                                         what is to be timed
 *             spex_bench_keep(result);
 *         }
 *         spex_bench_items(state, n);
 *     }
 *     SPEX_BENCHMARK(sort, SPEX_BENCH_RANGE("n", 8, 8192), SPEX_BENCH_COMPLEXITY);
 *     SPEX_BENCHMARK_BLOCK(add, x += 1; spex_bench_keep(x));
 *     SPEX_BENCHMARK_MAIN();
 *
 * A benchmark is called often: to find how many iterations are a batch of some milliseconds, to
 * warm up, and to measure. Each call is one batch and executes the loop once to its end. A loop is
 * not left by break or return, and a function has one. The loop costs a decrement and a branch an
 * iteration. docs/benchmarks.md tells how the estimates are made, and has the program's options. */
#ifndef SPEX_BENCH_H
#define SPEX_BENCH_H

#include <spex/detail/names_begin.h>

#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

/* One batch of a benchmark, in one of its threads. */
struct spex_bench_state;

typedef void spex_bench_function(struct spex_bench_state *state);

/* The benchmarks of one function, with all values of its parameters. */
struct spex_benchmark;

/* The value of a parameter, by their order; 0 if there are fewer. */
int64_t spex_bench_arg(const struct spex_bench_state *state, unsigned index);

/* This thread's number, from 0 on, and how many threads execute the benchmark at once. */
unsigned spex_bench_thread(const struct spex_bench_state *state);
unsigned spex_bench_threads(const struct spex_bench_state *state);

/* How many iterations the batch has in each thread. */
uint64_t spex_bench_iterations(const struct spex_bench_state *state);

/* What the benchmark's setup has stored with spex_bench_set_fixture. It is the same in all threads.
 * NULL: nothing. */
void *spex_bench_fixture(const struct spex_bench_state *state);
void spex_bench_set_fixture(struct spex_bench_state *state, void *fixture);

/* What one iteration in one thread processes. Reported per second, over all threads. */
void spex_bench_bytes(struct spex_bench_state *state, double bytes);
void spex_bench_items(struct spex_bench_state *state, double items);

/* A figure of the benchmark's own, which is reported as it is: the mean over threads and batches.
 * At most 8 names of at most 31 bytes. */
void spex_bench_counter(struct spex_bench_state *state, const char *name, double value);

/* The benchmark cannot be measured, for this reason. Before the loop: it is not executed then. */
void spex_bench_skip(struct spex_bench_state *state, const char *reason);

/* What is between them in an iteration is not timed. Each call reads clocks, so this is for long
 * iterations; its own time is in what is measured. */
void spex_bench_pause(struct spex_bench_state *state);
void spex_bench_resume(struct spex_bench_state *state);

/* For SPEX_BENCH_LOOP. The number of iterations until the next call; 0: the batch has ended. `left`
 * are those that were not executed. */
uint64_t spex_bench_begin(struct spex_bench_state *state);
uint64_t spex_bench_next(struct spex_bench_state *state, uint64_t left);

/* The statement that follows is what is timed. Each iteration has its own time where percentiles
 * are measured: spex_bench_next is then called after every iteration. */
#define SPEX_BENCH_LOOP(state)                                                                     \
    for (uint64_t spex_bench_left_ = spex_bench_begin(state); spex_bench_left_ != 0;               \
         spex_bench_left_ = spex_bench_next(state, spex_bench_left_))                              \
        for (; spex_bench_left_ != 0; spex_bench_left_--)

/* The compiler has to compute the value, and to assume that all memory is read and written. */
#ifdef __cplusplus
SPEX_EXTERN_C_END
extern "C++" {
template <typename Value> SPEX_INLINE void spex_bench_keep(const Value &value) {
    __asm__ __volatile__("" : : "r,m"(value) : "memory");
}
}
SPEX_EXTERN_C_BEGIN
#else
#define spex_bench_keep(value) __asm__ __volatile__("" : : "r,m"(value) : "memory")
#endif

/* The compiler no longer knows the value of the variable, so nothing is computed in advance. */
#define spex_bench_hide(variable) __asm__ __volatile__("" : "+r,m"(variable) : : "memory")

/* The compiler has to assume that all memory is read and written. */
SPEX_INLINE void spex_bench_clobber(void) {
    __asm__ __volatile__("" : : : "memory");
}

/* Registers a benchmark. `optimised`: whether the calling file is compiled so. Not NULL: without
 * memory the program ends with a message. The name is copied. */
struct spex_benchmark *spex_benchmark_add(const char *name, spex_bench_function *function,
                                          int optimised);

/* Adds a parameter with the values low, low * factor, ... and high; low, low + step, ... up to
 * high; or `count` values. There is a benchmark for every combination of values. Without memory,
 * with more than 8 parameters or 1,024 values, the program ends with a message. */
void spex_benchmark_range(struct spex_benchmark *benchmark, const char *name, int64_t low,
                          int64_t high, int64_t factor);
void spex_benchmark_steps(struct spex_benchmark *benchmark, const char *name, int64_t low,
                          int64_t high, int64_t step);
void spex_benchmark_values(struct spex_benchmark *benchmark, const char *name, unsigned count,
                           const int64_t *values);

/* Runs each benchmark in `least`, twice as many, ... and `most` threads, at most 1,024. */
void spex_benchmark_threads(struct spex_benchmark *benchmark, unsigned least, unsigned most);

/* Called once before and once after the batches of a repetition, outside of what is measured.
 * Either may be NULL. */
void spex_benchmark_fixture(struct spex_benchmark *benchmark, spex_bench_function *setup,
                            spex_bench_function *teardown);

/* Fits a model of the time to the parameters, as `spex fit` does. */
void spex_benchmark_complexity(struct spex_benchmark *benchmark);

/* Runs the benchmarks as the options say, and prints what was measured. An exit status. */
int spex_bench_main(int argc, char **argv);

SPEX_EXTERN_C_END

/* Options of SPEX_BENCHMARK. */
#define SPEX_BENCH_RANGE(name, low, high)                                                          \
    spex_benchmark_range(spex_benchmark_, (name), (low), (high), 8)
#define SPEX_BENCH_RANGE_BY(name, low, high, factor)                                               \
    spex_benchmark_range(spex_benchmark_, (name), (low), (high), (factor))
#define SPEX_BENCH_STEPS(name, low, high, step)                                                    \
    spex_benchmark_steps(spex_benchmark_, (name), (low), (high), (step))
#define SPEX_BENCH_ARG(name, value)     SPEX_BENCH_STEPS(name, value, value, 1)
#define SPEX_BENCH_THREADS(least, most) spex_benchmark_threads(spex_benchmark_, (least), (most))
#define SPEX_BENCH_FIXTURE(setup, teardown)                                                        \
    spex_benchmark_fixture(spex_benchmark_, (setup), (teardown))
#define SPEX_BENCH_COMPLEXITY spex_benchmark_complexity(spex_benchmark_)

/* Registers a function before main: SPEX_BENCHMARK(FUNCTION, OPTION, ...), for file scope. */
#define SPEX_BENCHMARK(...)                                                                        \
    SPEX_BENCHMARK_FIRST_(SPEX_BENCHMARK_AT_, __COUNTER__, __VA_ARGS__, (void)0)
#define SPEX_BENCHMARK_FIRST_(macro, place, function, ...)                                         \
    macro(place, #function, function, __VA_ARGS__)
/* The same with a name for the report. */
#define SPEX_BENCHMARK_NAMED(name, ...) SPEX_BENCHMARK_AT_(__COUNTER__, name, __VA_ARGS__, (void)0)

/* A block: SPEX_BENCHMARK_BLOCK(NAME, STATEMENTS). */
#define SPEX_BENCHMARK_BLOCK(name, ...)                                                            \
    static void name(struct spex_bench_state *spex_bench_state_) {                                 \
        SPEX_BENCH_LOOP(spex_bench_state_) {                                                       \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }                                                                                              \
    SPEX_BENCHMARK(name)

#define SPEX_BENCHMARK_AT_(place, ...) SPEX_BENCHMARK_IN_(place, __VA_ARGS__)
/* The declaration at the end takes the semicolon. */
#define SPEX_BENCHMARK_IN_(place, name, function, ...)                                             \
    __attribute__((__constructor__)) static void spex_benchmark_register_##place(void) {           \
        struct spex_benchmark *spex_benchmark_ =                                                   \
            spex_benchmark_add((name), (function), SPEX_BENCH_OPTIMISED_);                         \
        (void)spex_benchmark_;                                                                     \
        __VA_ARGS__;                                                                               \
    }                                                                                              \
    struct spex_benchmark

#ifdef __OPTIMIZE__
#define SPEX_BENCH_OPTIMISED_ 1
#else
#define SPEX_BENCH_OPTIMISED_ 0
#endif

#define SPEX_BENCHMARK_MAIN()                                                                      \
    int main(int argc, char **argv) {                                                              \
        return spex_bench_main(argc, argv);                                                        \
    }                                                                                              \
    struct spex_benchmark

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
