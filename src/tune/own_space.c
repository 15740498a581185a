/* SPDX-License-Identifier: MIT */
/* Checks, completes and copies a space that a program gives in C. The space is copied because the
 * program may free or change its own while the tuning runs.
 *
 * The copy is built in place: after an error spex_own_space_free frees as many parameters and
 * criteria as their counts say. Messages name the member of the C structure that is wrong. */
#define _GNU_SOURCE
#include "tune/own_space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "measure/criterion.h"
#include "measure/plan.h"
#include "measure/rules.h"
#include "text/plain_numbers.h"

/* The limit that the explorer has, too (spex_space_configurations). */
#define CONFIGURATIONS_MAX (UINT64_C(1) << 40)

/* The space that is being made. In `own` its arrays are pointers to const, so these are the same
 * arrays, to be written. */
struct space_making {
    struct spex_own_space *own;
    struct spex_parameter *parameters;
    struct spex_criterion *criteria;
    struct spex_error *error;
};

static int out_of_memory(struct spex_error *error) {
    return spex_fail(error, -ENOMEM, "out of memory");
}

static bool kind_is_number(enum spex_parameter_kind kind) {
    return kind == SPEX_INTEGER || kind == SPEX_REAL;
}

/* A parameter without a name is called by its index, `p`. */
static int check_parameter(const struct spex_parameter *parameter, size_t p,
                           struct spex_error *error) {
    if (!parameter->name || !*parameter->name)
        return spex_fail(error, -EINVAL, "parameter %zu: a name was expected", p);
    if (parameter->kind < SPEX_INTEGER || parameter->kind > SPEX_BOOLEAN)
        return spex_fail(error, -EINVAL, "parameter %s: a kind was expected", parameter->name);
    if (!parameter->values || parameter->count == 0)
        return spex_fail(error, -EINVAL, "parameter %s: values were expected", parameter->name);
    if (parameter->default_level >= parameter->count)
        return spex_fail(error, -EINVAL, "parameter %s: default_level: less than %zu was expected",
                         parameter->name, parameter->count);
    return 0;
}

/* Distance of two values on the parameter's scale, linear or logarithmic. */
static double position_distance(const struct spex_parameter *parameter, double from, double to) {
    return parameter->logarithmic ? log(to / from) : to - from;
}

/* Completes `number` of integers, and positions of all numbers: 0 for the first value, 1 for the
 * last. Values must ascend. */
static int values_complete_numbers(const struct spex_parameter *parameter,
                                   struct spex_value *values, struct spex_error *error) {
    const size_t last = parameter->count - 1;
    for (size_t v = 0; v <= last; v++) {
        if (parameter->kind == SPEX_INTEGER)
            values[v].number = (double)values[v].integer;
        if (!isfinite(values[v].number) || (v && !(values[v].number > values[v - 1].number)))
            return spex_fail(error, -EINVAL, "parameter %s: ascending values were expected",
                             parameter->name);
    }
    if (parameter->logarithmic && !(values[0].number > 0))
        return spex_fail(error, -EINVAL, "parameter %s: logarithmic: values above 0 were expected",
                         parameter->name);
    double whole = position_distance(parameter, values[0].number, values[last].number);
    for (size_t v = 1; v <= last; v++)
        values[v].position =
            position_distance(parameter, values[0].number, values[v].number) / whole;
    values[0].position = 0;
    return 0;
}

/* 15 digits show a real number as the program wrote it, where 17 would show the error of its binary
 * form. */
static int value_text(const struct spex_parameter *parameter, const struct spex_value *value,
                      char **text) {
    SPEX_PLAIN_NUMBERS;
    if (value->text)
        return (*text = spex_strdup(value->text)) ? 0 : -ENOMEM;
    int length = parameter->kind == SPEX_REAL ? spex_asprintf(text, "%.15g", value->number)
                                              : spex_asprintf(text, "%" PRId64, value->integer);
    return length < 0 ? -ENOMEM : 0;
}

/* Gives each value a text of its own: the given one, or its number. */
static int values_take_texts(const struct spex_parameter *parameter, struct spex_value *values,
                             const struct spex_value *given, struct spex_error *error) {
    for (size_t v = 0; v < parameter->count; v++) {
        char *text;
        if (!given[v].text && !kind_is_number(parameter->kind))
            return spex_fail(error, -EINVAL, "parameter %s: value %zu: a text was expected",
                             parameter->name, v);
        if (value_text(parameter, &given[v], &text))
            return out_of_memory(error);
        values[v].text = text;
    }
    return 0;
}

/* Values of a boolean for which the program gives none. */
static const struct spex_value booleans[] = {{.text = "false"}, {.text = "true", .integer = 1}};

/* The casts by uintptr_t take the const away without a warning: the public structure is const, the
 * memory is ours. */
static void parameter_free(const struct spex_parameter *parameter) {
    for (size_t v = 0; parameter->values && v < parameter->count; v++)
        spex_free((char *)(uintptr_t)parameter->values[v].text);
    spex_free((void *)(uintptr_t)parameter->values);
    spex_free((char *)(uintptr_t)parameter->name);
    spex_free((char *)(uintptr_t)parameter->unit);
}

/* The texts are NULL until they are copied, so that parameter_free may be called at any point. */
static int parameter_take_values(struct spex_parameter *parameter, const struct spex_value *given,
                                 struct spex_error *error) {
    struct spex_value *values = spex_calloc(parameter->count, sizeof(*values));
    parameter->values = values;
    if (!values)
        return out_of_memory(error);
    for (size_t v = 0; v < parameter->count; v++) {
        values[v] = given[v];
        values[v].text = NULL;
    }
    int err =
        kind_is_number(parameter->kind) ? values_complete_numbers(parameter, values, error) : 0;
    return err ? err : values_take_texts(parameter, values, given, error);
}

/* The count grows before the first allocation can fail: parameter_free then frees what exists. */
static int space_take_parameter(struct space_making *making, const struct spex_parameter *given,
                                size_t p) {
    struct spex_parameter whole = *given, *parameter = &making->parameters[p];
    if (given->kind == SPEX_BOOLEAN && !given->values) {
        whole.values = booleans;
        whole.count = 2;
    }
    int err = check_parameter(&whole, p, making->error);
    if (err)
        return err;
    *parameter = whole;
    parameter->values = NULL;
    parameter->name = spex_strdup(whole.name);
    parameter->unit = spex_strdup(whole.unit ? whole.unit : "");
    making->own->space.parameter_count = p + 1;
    if (!parameter->name || !parameter->unit)
        return out_of_memory(making->error);
    return parameter_take_values(parameter, whole.values, making->error);
}

/* The product of the numbers of values is checked as it grows. */
static int space_take_parameters(struct space_making *making, const struct spex_space *given) {
    uint64_t all = 1;
    int err = 0;
    if (given->parameter_count < 1 || given->parameter_count > SPEX_PARAMETERS_MAX ||
        !given->parameters)
        return spex_fail(making->error, -EINVAL, "1 to %d parameters were expected",
                         SPEX_PARAMETERS_MAX);
    for (size_t p = 0; p < given->parameter_count && !err; p++) {
        err = space_take_parameter(making, &given->parameters[p], p);
        if (!err && (__builtin_mul_overflow(all, making->parameters[p].count, &all) ||
                     all > CONFIGURATIONS_MAX))
            err = spex_fail(making->error, -EINVAL, "at most 2^40 configurations were expected");
    }
    return err;
}

/* The parameter of threads is optional: an index equal to parameter_count stands for none. */
static int check_threads(const struct spex_space *space, struct spex_error *error) {
    size_t p = space->threads_parameter;
    if (p > space->parameter_count)
        return spex_fail(error, -EINVAL,
                         "threads_parameter: an index, or %zu for none, was expected",
                         space->parameter_count);
    if (p < space->parameter_count &&
        (space->parameters[p].kind != SPEX_INTEGER || space->parameters[p].values[0].integer < 1))
        return spex_fail(error, -EINVAL,
                         "threads_parameter: %s: integers from 1 on were expected; %zu for none",
                         space->parameters[p].name, space->parameter_count);
    return 0;
}

/* A criterion is about one probe of one type, because a metric of several probes' records together
 * says nothing. */
static int check_probe(const struct spex_criterion *criterion, size_t c, struct spex_error *error) {
    struct spex_selection selection;
    struct spex_error reason;
    if (!criterion->probe || !criterion->metric)
        return spex_fail(error, -EINVAL, "criterion %zu: a probe and a metric were expected", c);
    int err = spex_selection_parse(criterion->probe, &selection, &reason);
    if (err)
        return spex_fail(error, err, "criterion %zu: %s", c, reason.text);
    if (!spex_criterion_names_one(&selection, criterion->probe))
        err = spex_fail(error, -EINVAL,
                        "criterion %zu: \"%s\": one probe and its type was expected, as "
                        "\"query:tpt\"",
                        c, criterion->probe);
    else if (!spex_criterion_fits(criterion->metric, selection.items[0].types))
        err = spex_fail(error, -EINVAL, "criterion %zu: %s has no metric \"%s\"", c,
                        criterion->probe, criterion->metric);
    spex_selection_free(&selection);
    return err;
}

/* Objectives come first, limits after them: a goal of the other sort is refused. */
static int check_goal(const struct spex_criterion *criterion, size_t c, bool objective,
                      struct spex_error *error) {
    if (criterion->goal < SPEX_MAXIMISE || criterion->goal > SPEX_AT_LEAST ||
        spex_criterion_is_limit(criterion) == objective)
        return spex_fail(error, -EINVAL, "criterion %zu: the goal of %s was expected", c,
                         objective ? "an objective" : "a limit");
    return 0;
}

/* The count grows before the texts are checked, so that spex_own_space_free frees the one that was
 * copied. */
static int space_take_criterion(struct space_making *making, const struct spex_criterion *given,
                                size_t c) {
    struct spex_space *space = &making->own->space;
    int err = check_probe(given, c, making->error);
    err = err ? err : check_goal(given, c, c < space->objective_count, making->error);
    if (err)
        return err;
    making->criteria[c] = *given;
    making->criteria[c].probe = spex_strdup(given->probe);
    making->criteria[c].metric = spex_strdup(given->metric);
    space->criterion_count = c + 1;
    return making->criteria[c].probe && making->criteria[c].metric ? 0
                                                                   : out_of_memory(making->error);
}

/* The given number of objectives; where it is 0, the number of criteria before the first limit. */
static size_t objective_count(const struct spex_space *given) {
    size_t count = given->objective_count;
    while (given->objective_count == 0 && count < given->criterion_count &&
           !spex_criterion_is_limit(&given->criteria[count]))
        count++;
    return count;
}

static int space_take_criteria(struct space_making *making, const struct spex_space *given) {
    int err = 0;
    if (given->criterion_count < 1 || given->criterion_count > SPEX_CRITERIA_MAX ||
        !given->criteria)
        return spex_fail(making->error, -EINVAL, "1 to %d criteria were expected",
                         SPEX_CRITERIA_MAX);
    size_t objectives = objective_count(given);
    if (objectives < 1 || objectives > SPEX_OBJECTIVES_MAX || objectives > given->criterion_count)
        return spex_fail(making->error, -EINVAL,
                         "1 to %d objectives, before the limits, were expected",
                         SPEX_OBJECTIVES_MAX);
    making->own->space.objective_count = objectives;
    for (size_t c = 0; c < given->criterion_count && !err; c++)
        err = space_take_criterion(making, &given->criteria[c], c);
    return err;
}

/* Takes the defaults for rules that are 0, and checks all. The comparisons are written so that NaN
 * fails them. */
static int rules_complete(struct spex_rules *rules, struct spex_error *error) {
    const struct spex_rules *other = &spex_rules_default;
    if (!rules->trials_per_config)
        rules->trials_per_config = other->trials_per_config;
    if (!rules->records_per_thread)
        rules->records_per_thread = other->records_per_thread;
    if (rules->startup_seconds == 0)
        rules->startup_seconds = other->startup_seconds;
    if (rules->duration_seconds == 0)
        rules->duration_seconds = other->duration_seconds;
    if (!rules->seed)
        rules->seed = other->seed;
    if (!(rules->startup_seconds > 0 && rules->startup_seconds <= 86400))
        return spex_fail(error, -EINVAL, "startup_seconds: up to a day was expected");
    if (!(rules->duration_seconds > 0 && rules->duration_seconds <= 86400))
        return spex_fail(error, -EINVAL, "duration_seconds: up to a day was expected");
    if (!(rules->warmup_seconds < rules->duration_seconds))
        return spex_fail(error, -EINVAL, "warmup_seconds: less than duration_seconds was expected");
    if (!(rules->finals < 1 && rules->finals_zone >= 0 && rules->finals_zone < 1 &&
          rules->finals_sure >= 0 && rules->finals_sure < 1))
        return spex_fail(error, -EINVAL,
                         "rules: finals, finals_zone and finals_sure: parts below 1 were expected");
    if (!(rules->precision >= 0 && rules->precision < 1))
        return spex_fail(error, -EINVAL, "precision: a share, less than 1, was expected");
    return 0;
}

/* The parameters come first: the index of threads refers to them. */
static int space_make(struct space_making *making, const struct spex_space *given) {
    struct spex_space *space = &making->own->space;
    int err = space_take_parameters(making, given);
    err = err ? err : check_threads(space, making->error);
    err = err ? err : space_take_criteria(making, given);
    err = err ? err : rules_complete(&space->rules, making->error);
    if (!err && !(making->own->probes = spex_criteria_probes(space)))
        err = out_of_memory(making->error);
    return err;
}

int spex_own_space_make(const struct spex_space *given, struct spex_own_space **out,
                        struct spex_error *error) {
    *out = NULL;
    if (!given || given->size != sizeof(*given))
        return spex_fail(error, -EINVAL, "a space of this version was expected");
    struct space_making making = {
        .own = spex_calloc(1, sizeof(*making.own)),
        .parameters = spex_calloc(SPEX_PARAMETERS_MAX, sizeof(*making.parameters)),
        .criteria = spex_calloc(SPEX_CRITERIA_MAX, sizeof(*making.criteria)),
        .error = error,
    };
    if (!making.own || !making.parameters || !making.criteria) {
        spex_free(making.own);
        spex_free(making.parameters);
        spex_free(making.criteria);
        return out_of_memory(error);
    }
    struct spex_space *space = &making.own->space;
    *space = *given;
    space->name = spex_strdup(given->name ? given->name : "");
    space->parameters = making.parameters;
    space->criteria = making.criteria;
    /* The counts grow with the copies that exist. */
    space->parameter_count = space->criterion_count = 0;
    int err = space->name ? space_make(&making, given) : out_of_memory(error);
    if (err)
        spex_own_space_free(making.own);
    else
        *out = making.own;
    return err;
}

void spex_own_space_free(struct spex_own_space *own) {
    if (!own)
        return;
    for (size_t p = 0; p < own->space.parameter_count; p++)
        parameter_free(&own->space.parameters[p]);
    for (size_t c = 0; c < own->space.criterion_count; c++) {
        spex_free((char *)(uintptr_t)own->space.criteria[c].probe);
        spex_free((char *)(uintptr_t)own->space.criteria[c].metric);
    }
    spex_free((void *)(uintptr_t)own->space.parameters);
    spex_free((void *)(uintptr_t)own->space.criteria);
    spex_free((char *)(uintptr_t)own->space.name);
    spex_free(own->probes);
    spex_free(own);
}
