/* SPDX-License-Identifier: MIT */
#include "tools/models/next_run.h"

#include <math.h>
#include <stdio.h>

#include "text/quantity.h"

/* Share of the time of the kernel that takes most. */
#define TAKES_LITTLE 0.01

/* The time of all executions, by what is kept of the points. */
static double kernel_seconds(const struct spex_kernel_model *kernel) {
    double seconds = 0, executions = 0;
    for (size_t i = 0; i < kernel->point_count; i++) {
        seconds += kernel->points[i].seconds * kernel->points[i].executions;
        executions += kernel->points[i].executions;
    }
    return executions > 0 ? seconds / executions * kernel->executions : 0;
}

/* The fit that the model is of. */
static struct spex_fit kernel_fit(const struct spex_kernel_model *kernel) {
    const struct spex_model *model = &kernel->model;
    struct spex_fit fit = {.model = *model, .power_error = kernel->power_error};
    for (size_t p = 0; p < model->parameter_count; p++) {
        fit.greatest[p] = kernel->low[p] < kernel->high[p] ? kernel->high[p] : 0;
        for (size_t t = 0; t < model->term_count; t++)
            if (model->terms[t].factors[p].twelfths < 0)
                fit.least[p] = kernel->low[p];
    }
    return fit;
}

/* The least certain place of a kernel. False: there is none, or there is nothing to choose. */
static bool kernel_next(const struct spex_kernel_model *kernel,
                        const struct spex_value_ranges *ranges, struct spex_next *next) {
    struct spex_fit fit = kernel_fit(kernel);
    double low[SPEX_MODEL_PARAMETERS_MAX], high[SPEX_MODEL_PARAMETERS_MAX];
    bool any = false, named = ranges->count == 0;
    for (size_t p = 0; p < kernel->model.parameter_count; p++) {
        const struct spex_value_range *range = spex_value_ranges_find(ranges, kernel->names[p]);
        named |= range != NULL;
        low[p] = range ? range->low : kernel->low[p];
        high[p] = range ? range->high : kernel->high[p];
        any |= low[p] < high[p];
    }
    return kernel->model.class != SPEX_MODEL_UNKNOWN && any && named &&
           spex_fit_next(&fit, low, high, next);
}

struct spex_next_run spex_next_run(const struct spex_models *models,
                                   const struct spex_value_ranges *ranges) {
    struct spex_next_run run = {.next = {.share = -1}};
    double most = 0;
    for (size_t k = 0; k < models->count; k++)
        most = fmax(most, kernel_seconds(&models->items[k]));
    for (size_t k = 0; k < models->count; k++) {
        const struct spex_kernel_model *kernel = &models->items[k];
        struct spex_next next;
        if (kernel_seconds(kernel) < TAKES_LITTLE * most || !kernel_next(kernel, ranges, &next) ||
            next.share <= run.next.share)
            continue;
        run = (struct spex_next_run){kernel, next};
    }
    return run;
}

void spex_next_run_print(const struct spex_next_run *run) {
    char share[32];
    if (!run->kernel)
        return;
    printf("next: ");
    for (size_t p = 0; p < run->kernel->model.parameter_count; p++)
        printf("%s=%.10g, ", run->kernel->names[p], run->next.values[p]);
    printf("there the prediction of %s is ± %s\n", run->kernel->path,
           spex_percent_text(run->next.share, 2, share, sizeof(share)));
}
