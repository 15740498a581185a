/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "model/training/groups.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Kernels whose times differ by no more share a switch, whatever their classes (section 3.2). */
#define SAME_WITHIN 0.05

/* Values of each parameter that trends are compared at. */
enum { TREND_STEPS = 9 };

static size_t context_length(const struct spex_kernel_model *kernel) {
    const char *last = strrchr(kernel->path, '/');
    return last ? (size_t)(last - kernel->path) : 0;
}

const char *spex_kernel_name(const struct spex_kernel_model *kernel) {
    const char *last = strrchr(kernel->path, '/');
    return last ? last + 1 : kernel->path;
}

static bool same_context(const struct spex_kernel_model *a, const struct spex_kernel_model *b) {
    size_t length = context_length(a);
    return length == context_length(b) && memcmp(a->path, b->path, length) == 0;
}

static bool is_around(const char *outer, const char *inner) {
    size_t length = strlen(outer);
    return strncmp(outer, inner, length) == 0 && inner[length] == '/';
}

/* A kernel around it may be off, and have no model: then the next one around is. */
size_t spex_models_parent(const struct spex_models *models, size_t model) {
    char *path = strdup(models->items[model].path);
    const struct spex_kernel_model *parent = NULL;
    for (char *last; path && !parent && (last = strrchr(path, '/'));) {
        *last = '\0';
        parent = spex_models_find(models, path);
    }
    free(path);
    return parent ? (size_t)(parent - models->items) : models->count;
}

/* The time at one step between the least and the most of all parameters together. */
static double time_at(const struct spex_kernel_model *kernel, unsigned step) {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    if (kernel->model.class == SPEX_MODEL_UNKNOWN)
        return kernel->least_seconds;
    for (size_t p = 0; p < kernel->model.parameter_count; p++)
        values[p] =
            kernel->low[p] + (kernel->high[p] - kernel->low[p]) * step / (double)(TREND_STEPS - 1);
    return spex_model_value(&kernel->model, values);
}

/* Whether it takes so long for any values of its parameters that it was trained for. */
static bool takes(const struct spex_kernel_model *kernel, double seconds) {
    for (unsigned step = 0; step < TREND_STEPS; step++)
        if (time_at(kernel, step) >= seconds)
            return true;
    return false;
}

/* Paths ascend, but what begins like another need not follow it: "a b" is between "a" and "a/b". */
static bool is_leaf(const struct spex_models *models, size_t model, double seconds) {
    for (size_t k = model + 1; k < models->count; k++)
        if (is_around(models->items[model].path, models->items[k].path) &&
            takes(&models->items[k], seconds))
            return false;
    return takes(&models->items[model], seconds);
}

static bool matters(const struct spex_model *model, size_t parameter) {
    for (size_t t = 0; t < model->term_count; t++)
        if (spex_exponents_any(model->terms[t].factors[parameter]))
            return true;
    return false;
}

static size_t named(const struct spex_kernel_model *kernel, const char *name) {
    size_t p = 0;
    while (p < kernel->model.parameter_count && strcmp(kernel->names[p], name) != 0)
        p++;
    return p;
}

/* Whether all that matters to the one matters to the other. */
static bool within(const struct spex_kernel_model *one, const struct spex_kernel_model *other) {
    for (size_t p = 0; p < one->model.parameter_count; p++) {
        size_t there = named(other, one->names[p]);
        if (matters(&one->model, p) &&
            (there == other->model.parameter_count || !matters(&other->model, there)))
            return false;
    }
    return true;
}

static bool same_class(const struct spex_kernel_model *a, const struct spex_kernel_model *b) {
    return a->model.class == b->model.class && a->model.class != SPEX_MODEL_UNKNOWN &&
           within(a, b) && within(b, a);
}

static bool close_to(double a, double b) {
    return fabs(a - b) <= SAME_WITHIN * fmax(fabs(a), fabs(b));
}

static bool same_range(const struct spex_kernel_model *one, const struct spex_kernel_model *other) {
    for (size_t p = 0; p < one->model.parameter_count; p++) {
        size_t there = named(other, one->names[p]);
        if (matters(&one->model, p) &&
            (there == other->model.parameter_count || other->low[there] != one->low[p] ||
             other->high[there] != one->high[p]))
            return false;
    }
    return true;
}

/* Whether the times were the same, or nearly, in all of the training. They can be compared only where what the one
 * depends on was the same for the other. */
static bool same_trend(const struct spex_kernel_model *a, const struct spex_kernel_model *b) {
    if (!same_range(a, b) || !same_range(b, a))
        return false;
    for (unsigned step = 0; step < TREND_STEPS; step++)
        if (!close_to(time_at(a, step), time_at(b, step)))
            return false;
    return true;
}

/* The group of the first of the leaves before it that it goes with; SPEX_GROUP_NONE. */
static size_t group_of(const struct spex_groups *groups, const struct spex_models *models,
                       size_t model) {
    const struct spex_kernel_model *kernel = &models->items[model];
    for (size_t k = 0; k < model; k++) {
        const struct spex_kernel_model *other = &models->items[k];
        if (groups->of[k] != SPEX_GROUP_NONE && same_context(kernel, other) &&
            (same_class(kernel, other) || same_trend(kernel, other)))
            return groups->of[k];
    }
    return SPEX_GROUP_NONE;
}

int spex_groups_make(struct spex_groups *groups, const struct spex_models *models, double seconds) {
    *groups = (struct spex_groups){.of = malloc((models->count + 1) * sizeof(*groups->of))};
    if (!groups->of)
        return -ENOMEM;
    for (size_t k = 0; k < models->count; k++) {
        groups->of[k] = SPEX_GROUP_NONE;
        if (!is_leaf(models, k, seconds))
            continue;
        size_t group = group_of(groups, models, k);
        groups->of[k] = group != SPEX_GROUP_NONE ? group : groups->count++;
    }
    return 0;
}

void spex_groups_free(struct spex_groups *groups) {
    free(groups->of);
    *groups = (struct spex_groups){.of = NULL};
}
