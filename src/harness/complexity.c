/* SPDX-License-Identifier: MIT */
#include "harness/complexity.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"

_Static_assert((int)SPEX_BENCH_PARAMETERS_MAX <= (int)SPEX_MODEL_PARAMETERS_MAX,
               "models have the parameters of benchmarks");

/* The rows for the fit. */
struct rows {
    size_t count;
    double *parameters, *times;
};

static void rows_add(struct rows *rows, const struct spex_bench_instance *instance,
                     size_t parameters) {
    for (size_t r = 0; r < instance->figures.count; r++) {
        for (size_t p = 0; p < parameters; p++)
            rows->parameters[rows->count * parameters + p] = (double)instance->args[p];
        rows->times[rows->count++] = instance->figures.repetitions[r].time.real_ns / 1e9;
    }
}

int spex_bench_complexity(const struct spex_bench_instances *instances, size_t first, size_t *next,
                          struct spex_fit *fit) {
    const struct spex_bench_instance *items = instances->items;
    const struct spex_benchmark *family = items[first].family;
    size_t parameters = family->parameter_count, most = 0;
    for (*next = first; *next < instances->count && items[*next].family == family; ++*next)
        most += items[*next].figures.count;
    if (!family->complexity || !most)
        return -ENODATA;
    struct rows rows = {0, malloc(most * parameters * sizeof(*rows.parameters)),
                        malloc(most * sizeof(*rows.times))};
    int err = rows.parameters && rows.times ? 0 : -ENOMEM;
    for (size_t i = first; i < *next && !err; i++)
        if (items[i].threads == items[first].threads)
            rows_add(&rows, &items[i], parameters);
    const struct spex_measurements measured = {.parameter_count = parameters,
                                               .count = rows.count,
                                               .parameters = rows.parameters,
                                               .times = rows.times};
    err = err ? err : spex_fit(&measured, fit);
    free(rows.parameters);
    free(rows.times);
    return err;
}

double spex_bench_complexity_margin(const struct spex_model *model, double error) {
    return model->freedom > 0 ? spex_student_95(model->freedom) * error : INFINITY;
}

void spex_bench_complexity_names(const struct spex_benchmark *family,
                                 const char *names[SPEX_BENCH_PARAMETERS_MAX]) {
    for (size_t p = 0; p < family->parameter_count; p++)
        names[p] = family->parameters[p].name;
}
