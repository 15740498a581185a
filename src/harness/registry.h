/* SPDX-License-Identifier: MIT */
/* The benchmarks of the program, and what is known of each while they are measured. */
#ifndef SPEX_HARNESS_REGISTRY_H
#define SPEX_HARNESS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/bench.h>

#include "harness/figures.h"

enum {
    SPEX_BENCH_PARAMETERS_MAX = 8,
    SPEX_BENCH_VALUES_MAX = 1024,
    SPEX_BENCH_THREADS_MAX = 1024,
    SPEX_BENCH_INSTANCES_MAX = 65536
};

struct spex_bench_parameter {
    char *name;
    int64_t *values;
    size_t count;
};

struct spex_benchmark {
    struct spex_benchmark *next;
    char *name;
    spex_bench_function *function, *setup, *teardown;
    struct spex_bench_parameter parameters[SPEX_BENCH_PARAMETERS_MAX];
    size_t parameter_count;
    unsigned threads_least, threads_most;
    bool complexity;
    bool optimised;
};

/* A benchmark with one value of each parameter and one number of threads. */
struct spex_bench_instance {
    const struct spex_benchmark *family;
    size_t family_index, index;
    char *name;
    int64_t args[SPEX_BENCH_PARAMETERS_MAX];
    unsigned threads;
    struct spex_bench_figures figures;
};

struct spex_bench_instances {
    struct spex_bench_instance *items;
    size_t count;
};

/* All instances, in the order in which they were registered. Without memory, or with more than
 * SPEX_BENCH_INSTANCES_MAX, the program ends with a message. To be freed. */
void spex_bench_instances_make(struct spex_bench_instances *instances);
void spex_bench_instances_free(struct spex_bench_instances *instances);

/* Keeps those whose name matches the regular expression; with "-" before it, the others. 0 or
 * -EINVAL: it is no regular expression. */
int spex_bench_instances_filter(struct spex_bench_instances *instances, const char *filter);

/* Whether all benchmarks are compiled with optimisation. */
bool spex_bench_optimised(void);

#endif
