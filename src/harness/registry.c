/* SPDX-License-Identifier: MIT */
/* Benchmarks register in constructors, before main: a list without a lock, as long as libraries are
 * loaded by one thread. What is wrong there ends the program, since nobody looks at results. */
#define _GNU_SOURCE
#include "harness/registry.h"

#include <errno.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/message.h"
#include "text/printable.h"

static struct spex_benchmark *families;

_Noreturn static void give_up(const char *name, const char *why) {
    spex_message("benchmark \"%s\": %s", name, why);
    exit(1);
}

static void *needed(void *memory, const char *name) {
    if (!memory)
        give_up(name, "out of memory");
    return memory;
}

struct spex_benchmark *spex_benchmark_add(const char *name, spex_bench_function *function,
                                          int optimised) {
    struct spex_benchmark *benchmark = needed(calloc(1, sizeof(*benchmark)), name);
    benchmark->name = needed(strdup(name), name);
    spex_make_printable(benchmark->name);
    benchmark->function = function;
    benchmark->threads_least = benchmark->threads_most = 1;
    benchmark->optimised = optimised;
    struct spex_benchmark **end = &families;
    while (*end)
        end = &(*end)->next;
    return *end = benchmark;
}

/* The benchmark's next parameter. */
static struct spex_bench_parameter *parameter_add(struct spex_benchmark *benchmark,
                                                  const char *name) {
    if (benchmark->parameter_count == SPEX_BENCH_PARAMETERS_MAX)
        give_up(benchmark->name, "8 parameters at most were expected");
    struct spex_bench_parameter *parameter = &benchmark->parameters[benchmark->parameter_count++];
    parameter->name = needed(strdup(name), benchmark->name);
    spex_make_printable(parameter->name);
    parameter->values =
        needed(calloc(SPEX_BENCH_VALUES_MAX, sizeof(*parameter->values)), benchmark->name);
    return parameter;
}

static void value_add(struct spex_benchmark *benchmark, struct spex_bench_parameter *parameter,
                      int64_t value) {
    if (parameter->count == SPEX_BENCH_VALUES_MAX)
        give_up(benchmark->name, "1,024 values of a parameter at most were expected");
    parameter->values[parameter->count++] = value;
}

void spex_benchmark_range(struct spex_benchmark *benchmark, const char *name, int64_t low,
                          int64_t high, int64_t factor) {
    struct spex_bench_parameter *parameter = parameter_add(benchmark, name);
    if (low < 1 || low > high || factor < 2)
        give_up(benchmark->name,
                "a range from 1 or more up, by a factor of 2 or more, was expected");
    for (int64_t value = low; value < high; value *= factor) {
        value_add(benchmark, parameter, value);
        if (value > high / factor)
            break;
    }
    value_add(benchmark, parameter, high);
}

/* The difference is computed without sign, as it may be greater than any signed number. */
void spex_benchmark_steps(struct spex_benchmark *benchmark, const char *name, int64_t low,
                          int64_t high, int64_t step) {
    struct spex_bench_parameter *parameter = parameter_add(benchmark, name);
    if (low > high || step < 1)
        give_up(benchmark->name, "steps of 1 or more upwards were expected");
    uint64_t steps = ((uint64_t)high - (uint64_t)low) / (uint64_t)step;
    for (uint64_t i = 0; i <= steps; i++)
        value_add(benchmark, parameter, (int64_t)((uint64_t)low + i * (uint64_t)step));
}

void spex_benchmark_values(struct spex_benchmark *benchmark, const char *name, unsigned count,
                           const int64_t *values) {
    struct spex_bench_parameter *parameter = parameter_add(benchmark, name);
    if (!count)
        give_up(benchmark->name, "a value of each parameter was expected");
    for (unsigned i = 0; i < count; i++)
        value_add(benchmark, parameter, values[i]);
}

void spex_benchmark_threads(struct spex_benchmark *benchmark, unsigned least, unsigned most) {
    if (least < 1 || least > most || most > SPEX_BENCH_THREADS_MAX)
        give_up(benchmark->name, "1 to 1,024 threads were expected");
    benchmark->threads_least = least;
    benchmark->threads_most = most;
}

void spex_benchmark_fixture(struct spex_benchmark *benchmark, spex_bench_function *setup,
                            spex_bench_function *teardown) {
    benchmark->setup = setup;
    benchmark->teardown = teardown;
}

void spex_benchmark_complexity(struct spex_benchmark *benchmark) {
    if (!benchmark->parameter_count)
        give_up(benchmark->name, "a parameter before SPEX_BENCH_COMPLEXITY was expected");
    benchmark->complexity = true;
}

bool spex_bench_optimised(void) {
    for (const struct spex_benchmark *family = families; family; family = family->next)
        if (!family->optimised)
            return false;
    return true;
}

/* As Google Benchmark names them: "sort/n:64/threads:2". */
static char *instance_name(const struct spex_bench_instance *instance) {
    const struct spex_benchmark *family = instance->family;
    char *name = NULL;
    size_t size;
    FILE *out = needed(open_memstream(&name, &size), family->name);
    fputs(family->name, out);
    for (size_t p = 0; p < family->parameter_count; p++)
        fprintf(out, "/%s:%" PRId64, family->parameters[p].name, instance->args[p]);
    if (family->threads_most > 1)
        fprintf(out, "/threads:%u", instance->threads);
    bool failed = ferror(out);
    return needed(fclose(out) || failed ? NULL : name, family->name);
}

static void instance_add(struct spex_bench_instances *instances,
                         struct spex_bench_instance instance) {
    const char *family = instance.family->name;
    if (instances->count == SPEX_BENCH_INSTANCES_MAX)
        give_up(family, "65,536 combinations of parameters at most were expected");
    /* Grows in steps of powers of two. */
    if (!(instances->count & (instances->count - 1))) {
        size_t room = instances->count ? 2 * instances->count : 1;
        instances->items =
            needed(realloc(instances->items, room * sizeof(*instances->items)), family);
    }
    instance.name = instance_name(&instance);
    instances->items[instances->count++] = instance;
}

/* All numbers of threads, of one combination of values. */
static void add_threads(struct spex_bench_instances *instances, struct spex_bench_instance *next) {
    const struct spex_benchmark *family = next->family;
    next->threads = family->threads_least;
    for (;;) {
        instance_add(instances, *next);
        next->index++;
        if (next->threads == family->threads_most)
            return;
        next->threads *= 2;
        if (next->threads > family->threads_most)
            next->threads = family->threads_most;
    }
}

/* All combinations: the last parameter changes fastest. */
static void add_family(struct spex_bench_instances *instances, const struct spex_benchmark *family,
                       size_t family_index) {
    size_t at[SPEX_BENCH_PARAMETERS_MAX] = {0}, p;
    struct spex_bench_instance next = {.family = family, .family_index = family_index};
    do {
        for (p = 0; p < family->parameter_count; p++)
            next.args[p] = family->parameters[p].values[at[p]];
        add_threads(instances, &next);
        p = family->parameter_count;
        while (p > 0 && ++at[p - 1] == family->parameters[p - 1].count)
            at[--p] = 0;
    } while (p > 0);
}

void spex_bench_instances_make(struct spex_bench_instances *instances) {
    *instances = (struct spex_bench_instances){.items = NULL};
    size_t index = 0;
    for (const struct spex_benchmark *family = families; family; family = family->next)
        add_family(instances, family, index++);
}

static void instance_free(struct spex_bench_instance *instance) {
    free(instance->name);
    spex_bench_figures_free(&instance->figures);
}

void spex_bench_instances_free(struct spex_bench_instances *instances) {
    for (size_t i = 0; i < instances->count; i++)
        instance_free(&instances->items[i]);
    free(instances->items);
    *instances = (struct spex_bench_instances){.items = NULL};
}

int spex_bench_instances_filter(struct spex_bench_instances *instances, const char *filter) {
    regex_t expression;
    bool without = *filter == '-';
    size_t kept = 0;
    if (regcomp(&expression, filter + without, REG_EXTENDED | REG_NOSUB) != 0)
        return -EINVAL;
    for (size_t i = 0; i < instances->count; i++) {
        struct spex_bench_instance *instance = &instances->items[i];
        bool matches = regexec(&expression, instance->name, 0, NULL, 0) == 0;
        if (matches != without)
            instances->items[kept++] = *instance;
        else
            instance_free(instance);
    }
    instances->count = kept;
    regfree(&expression);
    return 0;
}
