/* SPDX-License-Identifier: MIT */
#include "tools/models/models_json.h"

#include <math.h>

#include <jansson.h>

#include "explore/report/json_parts.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/models/changes_json.h"

/* Places of a curve. */
enum { CURVE_PLACES = 33 };

/* Ranges that are wider have places at equal ratios. */
#define WIDE 10.0

const enum spex_model_class spex_models_classes[SPEX_MODELS_CLASSES] = {
    SPEX_MODEL_CONSTANT,   SPEX_MODEL_LOGARITHMIC, SPEX_MODEL_LINEAR,
    SPEX_MODEL_POLYNOMIAL, SPEX_MODEL_DECREASING,  SPEX_MODEL_UNKNOWN};

size_t spex_models_count(const struct spex_models *models, enum spex_model_class class) {
    size_t count = 0;
    for (size_t k = 0; k < models->count; k++)
        count += models->items[k].model.class == class;
    return count;
}

static json_t *parameters_json(const struct spex_kernel_model *kernel) {
    json_t *list = json_array();
    int err = !list;
    for (size_t p = 0; !err && p < kernel->model.parameter_count; p++)
        err = json_array_append_new(list, json_pack("{s:o, s:f, s:f}", "name",
                                                    spex_json_text(kernel->names[p]), "low",
                                                    kernel->low[p], "high", kernel->high[p]));
    return spex_json_unless(err, list);
}

static bool is_wide(const struct spex_kernel_model *kernel, size_t p) {
    return kernel->low[p] > 0 && kernel->high[p] >= WIDE * kernel->low[p];
}

/* The value at this share of the parameter's range. */
static double value_at(const struct spex_kernel_model *kernel, size_t p, double share) {
    double low = kernel->low[p], high = kernel->high[p];
    return is_wide(kernel, p) ? low * pow(high / low, share) : low + (high - low) * share;
}

/* [value of the parameter, time, and its 95 % interval for a single execution]. */
static json_t *place_json(const struct spex_kernel_model *kernel, size_t p, const double *values) {
    struct spex_prediction told = spex_model_predict(&kernel->model, values);
    return json_pack("[f, o, o, o]", values[p], spex_json_number(told.value),
                     spex_json_number(told.low), spex_json_number(told.high));
}

/* Adds both sides of a change of this parameter between two values, so that a jump is upright. */
static int changes_add(const struct spex_kernel_model *kernel, size_t p, double from, double to,
                       double *values, json_t *places) {
    const struct spex_model *model = &kernel->model;
    int err = 0;
    for (size_t c = 0; !err && c < model->change_count && p == model->change_parameter; c++) {
        double at = model->changes[c].at;
        if (at <= from || at > to)
            continue;
        values[p] = nextafter(at, 0);
        err = json_array_append_new(places, place_json(kernel, p, values));
        values[p] = at;
        if (at < to)
            err = err ? err : json_array_append_new(places, place_json(kernel, p, values));
    }
    return err;
}

/* Over one parameter, the others in the middle of their ranges. */
static json_t *curve_json(const struct spex_kernel_model *kernel, size_t p) {
    double values[SPEX_MODEL_PARAMETERS_MAX], before = INFINITY;
    json_t *places = json_array();
    int err = !places;
    for (size_t o = 0; o < kernel->model.parameter_count; o++)
        values[o] = value_at(kernel, o, 0.5);
    for (int c = 0; !err && c < CURVE_PLACES; c++) {
        double value = value_at(kernel, p, (double)c / (CURVE_PLACES - 1));
        err = changes_add(kernel, p, before, value, values, places);
        values[p] = before = value;
        err = err ? err : json_array_append_new(places, place_json(kernel, p, values));
    }
    return spex_json_unless(
        err, json_pack("{s:b, s:o}", "logarithmic", (int)is_wide(kernel, p), "places", places));
}

static json_t *curves_json(const struct spex_kernel_model *kernel) {
    json_t *list = json_array();
    int err = !list;
    for (size_t p = 0; !err && p < kernel->model.parameter_count; p++)
        err = json_array_append_new(list, curve_json(kernel, p));
    return spex_json_unless(err, list);
}

static json_t *point_json(const struct spex_kernel_model *kernel,
                          const struct spex_model_point *point) {
    json_t *values = json_array();
    int err = !values;
    for (size_t p = 0; !err && p < kernel->model.parameter_count; p++)
        err = json_array_append_new(values, json_real(point->values[p]));
    return spex_json_unless(err, json_pack("{s:o, s:f, s:f}", "values", values, "seconds",
                                           point->seconds, "executions", point->executions));
}

static json_t *points_json(const struct spex_kernel_model *kernel) {
    json_t *list = json_array();
    int err = !list;
    for (size_t i = 0; !err && i < kernel->point_count; i++)
        err = json_array_append_new(list, point_json(kernel, &kernel->points[i]));
    return spex_json_unless(err, list);
}

/* Groups are numbered from 1 for users. */
static json_t *kernel_json(const struct spex_kernel_model *kernel, size_t group, bool curves) {
    char text[1024];
    spex_model_text(&kernel->model, (const char *const *)kernel->names, text, sizeof(text));
    json_t *json =
        json_pack("{s:o, s:s, s:f, s:f, s:f, s:o, s:o, s:o}", "path", spex_json_text(kernel->path),
                  "class", spex_model_class_name(kernel->model.class), "adjusted_r2",
                  kernel->model.adjusted_r2, "executions", kernel->executions, "least_seconds",
                  kernel->least_seconds, "model", spex_json_text(text), "changes",
                  spex_changes_json(&kernel->model, (const char *const *)kernel->names), "group",
                  group == SPEX_GROUP_NONE ? json_null() : json_integer((json_int_t)group + 1));
    if (!curves)
        return json;
    int err = json_object_set_new(json, "parameters", parameters_json(kernel)) |
              json_object_set_new(json, "curves", curves_json(kernel)) |
              json_object_set_new(json, "points", points_json(kernel));
    return spex_json_unless(err, json);
}

/* A list that is shorter than the models means that memory was short. */
int spex_models_print_json(const struct spex_models *models, const struct spex_groups *groups,
                           bool curves) {
    json_t *kernels = json_array(), *counts = json_object();
    for (size_t k = 0; k < models->count; k++)
        json_array_append_new(kernels, kernel_json(&models->items[k], groups->of[k], curves));
    for (size_t c = 0; c < SPEX_MODELS_CLASSES; c++)
        json_object_set_new(
            counts, spex_model_class_name(spex_models_classes[c]),
            json_integer((json_int_t)spex_models_count(models, spex_models_classes[c])));
    json_t *all =
        json_pack("{s:I, s:o, s:I, s:o}", "kernels", (json_int_t)models->count, "classes", counts,
                  "switching_points", (json_int_t)groups->count, "models", kernels);
    bool complete = all && json_array_size(kernels) == models->count;
    if (spex_json_print(spex_json_unless(!complete, all), stdout) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "the models cannot be written as JSON");
    return SPEX_EXIT_OK;
}
