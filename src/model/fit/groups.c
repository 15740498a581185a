/* SPDX-License-Identifier: MIT */
/* Each leaf joins the group of the first leaf before it with which it shares a switch: the same
 * context, and the same class over the same parameters or nearly the same times. Takes time in
 * proportion to the square of the number of models, at most some thousands. */
#define _GNU_SOURCE
#include "model/fit/groups.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Kernels whose times differ by at most this share of the greater one share a switch, whatever
 * their classes are (ADLER, section 3.2). */
#define SAME_WITHIN 0.05

/* Values of the parameters at which trends are compared. */
enum { TREND_STEPS = 9 };

/* Bytes of the path before the kernel's own name; 0 for an outermost kernel. */
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

/* Whether a kernel of path `inner` executes within one of path `outer`. */
static bool path_is_around(const char *outer, const char *inner) {
    size_t length = strlen(outer);
    return strncmp(outer, inner, length) == 0 && inner[length] == '/';
}

/* Removes names from the path's end until a model has that path. Kernels without a model, for
 * example because their probes were off, are so skipped. */
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

/* Predicted time where all parameters are moved together, in TREND_STEPS steps, from their least
 * to their greatest values. A model without a class predicts nothing: its least time stands for
 * it. */
static double time_at(const struct spex_kernel_model *kernel, unsigned step) {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    if (kernel->model.class == SPEX_MODEL_UNKNOWN)
        return kernel->least_seconds;
    for (size_t p = 0; p < kernel->model.parameter_count; p++)
        values[p] =
            kernel->low[p] + (kernel->high[p] - kernel->low[p]) * step / (double)(TREND_STEPS - 1);
    return spex_model_value(&kernel->model, values);
}

/* Whether the kernel takes at least `seconds` at any step. */
static bool kernel_takes(const struct spex_kernel_model *kernel, double seconds) {
    for (unsigned step = 0; step < TREND_STEPS; step++)
        if (time_at(kernel, step) >= seconds)
            return true;
    return false;
}

/* Whether the kernel takes `seconds`, and none within it does. All later paths are compared,
 * since those within are no neighbours: "a b" sorts between "a" and "a/b". */
static bool kernel_is_leaf(const struct spex_models *models, size_t model, double seconds) {
    for (size_t k = model + 1; k < models->count; k++)
        if (path_is_around(models->items[model].path, models->items[k].path) &&
            kernel_takes(&models->items[k], seconds))
            return false;
    return kernel_takes(&models->items[model], seconds);
}

/* Whether the parameter is in any term, or segments go by it. */
static bool parameter_matters(const struct spex_model *model, size_t parameter) {
    if (model->change_count && model->change_parameter == parameter)
        return true;
    for (size_t t = 0; t < model->term_count; t++)
        if (spex_exponents_any(model->terms[t].factors[parameter]))
            return true;
    return false;
}

/* Number of the parameter with this name; parameter_count: there is none. */
static size_t parameter_named(const struct spex_kernel_model *kernel, const char *name) {
    size_t p = 0;
    while (p < kernel->model.parameter_count && strcmp(kernel->names[p], name) != 0)
        p++;
    return p;
}

/* Whether every parameter in the first model's terms is in those of the other. */
static bool parameters_within(const struct spex_kernel_model *one,
                              const struct spex_kernel_model *other) {
    for (size_t p = 0; p < one->model.parameter_count; p++) {
        size_t there = parameter_named(other, one->names[p]);
        if (parameter_matters(&one->model, p) &&
            (there == other->model.parameter_count || !parameter_matters(&other->model, there)))
            return false;
    }
    return true;
}

static bool same_class(const struct spex_kernel_model *a, const struct spex_kernel_model *b) {
    return a->model.class == b->model.class && a->model.class != SPEX_MODEL_UNKNOWN &&
           parameters_within(a, b) && parameters_within(b, a);
}

static bool close_to(double a, double b) {
    return fabs(a - b) <= SAME_WITHIN * fmax(fabs(a), fabs(b));
}

/* Whether each parameter in the first model's terms had the same least and greatest value in the
 * training of the other. */
static bool same_range(const struct spex_kernel_model *one, const struct spex_kernel_model *other) {
    for (size_t p = 0; p < one->model.parameter_count; p++) {
        size_t there = parameter_named(other, one->names[p]);
        if (parameter_matters(&one->model, p) &&
            (there == other->model.parameter_count || other->low[there] != one->low[p] ||
             other->high[there] != one->high[p]))
            return false;
    }
    return true;
}

/* Whether the times are nearly equal in the whole range of the training. They are compared only if
 * the parameters that matter had the same ranges. */
static bool same_trend(const struct spex_kernel_model *a, const struct spex_kernel_model *b) {
    if (!same_range(a, b) || !same_range(b, a))
        return false;
    for (unsigned step = 0; step < TREND_STEPS; step++)
        if (!close_to(time_at(a, step), time_at(b, step)))
            return false;
    return true;
}

/* The group of the first leaf before this one that shares a switch with it; SPEX_GROUP_NONE:
 * there is none. */
static size_t group_before(const struct spex_groups *groups, const struct spex_models *models,
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

/* Groups are numbered in the order of their first members' paths. */
int spex_groups_make(struct spex_groups *groups, const struct spex_models *models, double seconds) {
    *groups = (struct spex_groups){.of = malloc((models->count + 1) * sizeof(*groups->of))};
    if (!groups->of)
        return -ENOMEM;
    for (size_t k = 0; k < models->count; k++) {
        groups->of[k] = SPEX_GROUP_NONE;
        if (!kernel_is_leaf(models, k, seconds))
            continue;
        size_t group = group_before(groups, models, k);
        groups->of[k] = group != SPEX_GROUP_NONE ? group : groups->count++;
    }
    return 0;
}

void spex_groups_free(struct spex_groups *groups) {
    free(groups->of);
    *groups = (struct spex_groups){.of = NULL};
}
