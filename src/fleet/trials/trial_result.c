/* SPDX-License-Identifier: MIT */
/* The result of a trial as a message: all that the store keeps of it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_agent.h"
#include "fleet/decide/parts.h"
#include "fleet/link/link.h"
#include "fleet/trials/trial_parts.h"
#include "ring/probe_type.h"
#include "text/printable.h"

/* Bytes of a status, a note or a name. */
enum { TEXT_BYTES = 4096 };

/* Numbers of a metric, in their order. */
enum { METRIC_NUMBERS = 9, METRIC_PARTS = 7 + METRIC_NUMBERS };

static double *const *metric_numbers(struct spex_trial_metric *metric, double *numbers[]) {
    double *all[METRIC_NUMBERS] = {&metric->count,     &metric->rate, &metric->mean,
                                   &metric->deviation, &metric->min,  &metric->p50,
                                   &metric->p90,       &metric->p99,  &metric->max};
    memcpy(numbers, all, sizeof(all));
    return numbers;
}

/* Texts of programs may be of any bytes. */
static json_t *printable_json(const char *text) {
    char *copy = text ? strndup(text, TEXT_BYTES - 1) : NULL;
    if (!copy)
        return json_null();
    spex_make_printable(copy);
    json_t *json = json_string(copy);
    free(copy);
    return json;
}

static json_t *metric_json(const struct spex_trial_metric *metric) {
    double *numbers[METRIC_NUMBERS];
    struct spex_trial_metric copy = *metric;
    json_t *json =
        json_pack("[i, i, I, i, o, o, I]", (int)metric->probe_id, (int)metric->id,
                  (json_int_t)metric->probe_type, (int)metric->field, printable_json(metric->name),
                  printable_json(metric->provider), (json_int_t)metric->records);
    metric_numbers(&copy, numbers);
    for (size_t n = 0; json && n < METRIC_NUMBERS; n++)
        json_array_append_new(json, spex_trial_real(*numbers[n]));
    return json;
}

static json_t *metrics_json(const struct spex_trial *trial) {
    json_t *json = json_array();
    for (size_t m = 0; json && m < trial->metric_count; m++)
        json_array_append_new(json, metric_json(&trial->metrics[m]));
    return json;
}

static json_t *usage_json(const struct spex_usage *usage) {
    if (!usage->known)
        return json_null();
    json_t *json =
        json_pack("[f, f, b]", usage->user_seconds, usage->system_seconds, (int)usage->io_known);
    for (size_t c = 0; json && c < SPEX_USAGE_COUNTS; c++)
        json_array_append_new(json, json_integer((json_int_t)usage->counts[c]));
    return json;
}

static json_t *loads_json(const struct spex_trial *trial) {
    json_t *json = json_array();
    for (size_t l = 0; json && l < trial->load_count; l++)
        json_array_append_new(json, json_pack("[s, i, o]", trial->loads[l].stressor,
                                              (int)trial->loads[l].workers,
                                              usage_json(&trial->loads[l].usage)));
    return json;
}

static json_t *measured_json(const struct spex_trial *trial, const struct spex_space *space) {
    json_t *json = json_array();
    for (size_t c = 0; json && trial->ok && c < space->criterion_count; c++)
        json_array_append_new(json, json_pack("[o, o]", spex_trial_real(trial->measured[c].value),
                                              spex_trial_real(trial->measured[c].error)));
    return json;
}

static json_t *result_json(const struct spex_trial_result *result,
                           const struct spex_store_fleet *fleet, const struct spex_space *space) {
    const struct spex_trial *trial = &result->trial;
    json_t *json = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o}", "format", SPEX_FLEET_FORMAT,
                             "exploration", fleet->exploration, "class", fleet->class, "trial",
                             spex_trial_id_json(&result->id), "levels",
                             spex_trial_levels_json(space, trial->levels), "machine",
                             spex_trial_machine_json(&result->machine));
    json_t *more = json_pack(
        "{s:b, s:o, s:o, s:I, s:I, s:o, s:b, s:o, s:o, s:o}", "ok", (int)trial->ok, "status",
        printable_json(trial->status), "measured", measured_json(trial, space), "used",
        (json_int_t)trial->records_used, "lost", (json_int_t)trial->records_lost, "seconds",
        spex_trial_real(trial->seconds), "steady", (int)trial->steady, "usage",
        usage_json(&trial->usage), "loads", loads_json(trial), "note", printable_json(trial->note));
    if (!json || !more || json_object_update(json, more) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(more);
    return json;
}

static char *result_text(const struct spex_trial_result *result,
                         const struct spex_store_fleet *fleet, const struct spex_space *space,
                         bool whole) {
    json_t *json = result_json(result, fleet, space);
    if (json && whole)
        json_object_set_new(json, "metrics", metrics_json(&result->trial));
    else if (json)
        json_object_set_new(json, "note",
                            json_string("the figures of its probes are left out: they are larger "
                                        "than a message of a fleet"));
    return spex_trial_json_text(json);
}

/* A trial with very many probes is more than a message can be: it is sent without their figures,
 * which the criteria do not need, and says so. */
char *spex_trial_result_write(const struct spex_trial_result *result,
                              const struct spex_store_fleet *fleet,
                              const struct spex_space *space) {
    char *text = result_text(result, fleet, space, true);
    if (!text || strlen(text) <= SPEX_LINK_BYTES)
        return text;
    free(text);
    return result_text(result, fleet, space, false);
}

static int expected(struct spex_error *error, const char *what) {
    return spex_fail(error, -EINVAL, "%s", what);
}

/* A copy of a printable text; NULL for null. */
static int text_read(const json_t *json, bool must, char **text, struct spex_error *error) {
    const char *value = json_string_value(json);
    *text = NULL;
    if (!must && (!json || json_is_null(json)))
        return 0;
    if (!value || !*value || strlen(value) >= TEXT_BYTES || !spex_is_printable(value))
        return expected(error, "a printable text was expected");
    *text = strdup(value);
    return *text ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

static bool whole_read(const json_t *json, json_int_t least, json_int_t most, json_int_t *value) {
    *value = json_integer_value(json);
    return json_is_integer(json) && *value >= least && *value <= most;
}

static bool is_there(const struct spex_trial *trial, const struct spex_trial_metric *metric) {
    for (size_t m = 0; m < trial->metric_count; m++)
        if (trial->metrics[m].probe_id == metric->probe_id &&
            trial->metrics[m].probe_type == metric->probe_type &&
            trial->metrics[m].field == metric->field)
            return true;
    return false;
}

static int metric_read(const json_t *json, struct spex_trial *trial, struct spex_error *error) {
    struct spex_trial_metric *metric = &trial->metrics[trial->metric_count], read = {.field = 0};
    double *numbers[METRIC_NUMBERS];
    json_int_t number, id, type, field, records;
    if (json_array_size(json) != METRIC_PARTS ||
        !whole_read(json_array_get(json, 0), 0, UINT16_MAX, &number) ||
        !whole_read(json_array_get(json, 1), -1, INT32_MAX, &id) ||
        !whole_read(json_array_get(json, 2), 1, UINT32_MAX, &type) ||
        !whole_read(json_array_get(json, 3), 0, UINT16_MAX, &field) ||
        !whole_read(json_array_get(json, 6), 0, INT64_MAX, &records) ||
        !spex_probe_type_valid((uint32_t)type))
        return expected(error, "metrics: numbers of a probe were expected");
    read = (struct spex_trial_metric){.probe_id = (uint16_t)number,
                                      .id = (int32_t)id,
                                      .probe_type = (uint32_t)type,
                                      .field = (unsigned)field,
                                      .records = (uint64_t)records};
    if (is_there(trial, &read))
        return expected(error, "metrics: each was expected once");
    int err = 0;
    metric_numbers(&read, numbers);
    for (size_t n = 0; n < METRIC_NUMBERS && !err; n++)
        err = spex_trial_real_read(json_array_get(json, 7 + n), numbers[n], error);
    if (!err && isnan(read.count))
        err = expected(error, "metrics: a count was expected");
    err = err ? err : text_read(json_array_get(json, 4), false, &read.name, error);
    *metric = read;
    trial->metric_count++;
    return err ? err : text_read(json_array_get(json, 5), false, &metric->provider, error);
}

static int metrics_read(const json_t *json, struct spex_trial *trial, struct spex_error *error) {
    size_t count = json_array_size(json);
    int err = 0;
    if (json && !json_is_array(json))
        return expected(error, "metrics: an array was expected");
    trial->metrics = calloc(count + 1, sizeof(*trial->metrics));
    if (!trial->metrics)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t m = 0; m < count && !err; m++)
        err = metric_read(json_array_get(json, m), trial, error);
    return err;
}

static int usage_read(const json_t *json, struct spex_usage *usage, struct spex_error *error) {
    *usage = (struct spex_usage){.known = false};
    if (json_is_null(json))
        return 0;
    bool good = json_array_size(json) == 3 + SPEX_USAGE_COUNTS;
    for (size_t c = 0; c < SPEX_USAGE_COUNTS && good; c++) {
        json_int_t count;
        good = whole_read(json_array_get(json, 3 + c), 0, INT64_MAX, &count);
        usage->counts[c] = (uint64_t)count;
    }
    if (!good || !json_is_number(json_array_get(json, 0)) ||
        !json_is_number(json_array_get(json, 1)) || !json_is_boolean(json_array_get(json, 2)))
        return expected(error, "usage: numbers were expected");
    usage->known = true;
    usage->user_seconds = json_number_value(json_array_get(json, 0));
    usage->system_seconds = json_number_value(json_array_get(json, 1));
    usage->io_known = json_is_true(json_array_get(json, 2));
    return 0;
}

static int load_read(const json_t *json, struct spex_trial *trial, struct spex_error *error) {
    struct spex_usage usage;
    char *stressor = NULL;
    json_int_t workers;
    if (json_array_size(json) != 3 || !whole_read(json_array_get(json, 1), 0, UINT16_MAX, &workers))
        return expected(error, "loads: a stressor, its workers and usage were expected");
    int err = usage_read(json_array_get(json, 2), &usage, error);
    err = err ? err : text_read(json_array_get(json, 0), true, &stressor, error);
    if (!err && spex_trial_add_load(trial, stressor, (unsigned)workers, &usage))
        err = spex_fail(error, -ENOMEM, "out of memory");
    free(stressor);
    return err;
}

static int loads_read(const json_t *json, struct spex_trial *trial, struct spex_error *error) {
    int err = 0;
    if (!json_is_array(json) || json_array_size(json) > SPEX_AGENT_LOADS_MAX)
        return expected(error, "loads: an array was expected");
    for (size_t l = 0; l < json_array_size(json) && !err; l++)
        err = load_read(json_array_get(json, l), trial, error);
    return err;
}

/* One that has succeeded has a value for each criterion, one that has failed has none. */
static int measured_read(const json_t *json, const struct spex_space *space,
                         struct spex_trial *trial, struct spex_error *error) {
    int err = 0;
    if (!json_is_array(json) || json_array_size(json) != (trial->ok ? space->criterion_count : 0))
        return expected(error, "measured: a value for each criterion was expected");
    for (size_t c = 0; c < json_array_size(json) && !err; c++) {
        struct spex_measured *measured = &trial->measured[c];
        const json_t *pair = json_array_get(json, c);
        err = spex_trial_real_read(json_array_get(pair, 0), &measured->value, error);
        err = err ? err : spex_trial_real_read(json_array_get(pair, 1), &measured->error, error);
        if (!err && (!isfinite(measured->value) || measured->error < 0))
            err = expected(error, "measured: a value with its error was expected");
    }
    return err;
}

static int status_read(const json_t *json, struct spex_trial *trial, struct spex_error *error) {
    const json_t *ok = json_object_get(json, "ok"), *steady = json_object_get(json, "steady");
    int err = text_read(json_object_get(json, "status"), true, &trial->status, error);
    err = err ? err : text_read(json_object_get(json, "note"), false, &trial->note, error);
    if (err)
        return err;
    trial->ok = json_is_true(ok);
    trial->steady = json_is_true(steady);
    if (!json_is_boolean(ok) || !json_is_boolean(steady) ||
        trial->ok != (strcmp(trial->status, "ok") == 0))
        return expected(error, "ok, status, steady: how the trial ended was expected");
    return 0;
}

static int trial_read(const json_t *json, const struct spex_space *space, struct spex_trial *trial,
                      struct spex_error *error) {
    int err = spex_trial_levels_read(json, space, trial->levels, error);
    err = err ? err : status_read(json, trial, error);
    err = err ? err : measured_read(json_object_get(json, "measured"), space, trial, error);
    err = err ? err : spex_fleet_number_read(json, "used", &trial->records_used, error);
    err = err ? err : spex_fleet_number_read(json, "lost", &trial->records_lost, error);
    err =
        err ? err : spex_trial_real_read(json_object_get(json, "seconds"), &trial->seconds, error);
    if (!err && !(trial->seconds >= 0))
        err = expected(error, "seconds: how long it was measured was expected");
    err = err ? err : usage_read(json_object_get(json, "usage"), &trial->usage, error);
    err = err ? err : loads_read(json_object_get(json, "loads"), trial, error);
    return err ? err : metrics_read(json_object_get(json, "metrics"), trial, error);
}

/* The class is reckoned from what is said of the machine, not taken from what is said of it. */
static int fleet_check(const json_t *json, const struct spex_store_fleet *fleet,
                       const struct spex_circumstances *machine, struct spex_error *error) {
    char exploration[SPEX_CLASS_BYTES], class[SPEX_CLASS_BYTES];
    int err = spex_trial_name_read(json, "exploration", exploration, error);
    if (!err && strcmp(exploration, fleet->exploration) != 0)
        err = expected(error, "exploration: another one was expected");
    if (err)
        return err;
    spex_circumstances_class(machine, class);
    return strcmp(class, fleet->class) == 0
               ? 0
               : spex_fail(error, -EINVAL, "machine: one of class %s was expected, not %s",
                           fleet->class, class);
}

int spex_trial_result_read(const char *text, size_t size, const struct spex_space *space,
                           const struct spex_store_fleet *fleet, struct spex_trial_result *result,
                           struct spex_error *error) {
    size_t *levels = calloc(space->parameter_count + 1, sizeof(*levels));
    *result = (struct spex_trial_result){.id = {0}};
    json_t *json = spex_fleet_json_read(text, size, error);
    int err = json ? spex_trial_id_read(json, &result->id, error) : -EINVAL;
    if (!err && (!levels || spex_trial_init(&result->trial, space, levels)))
        err = spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : spex_trial_machine_read(json, &result->machine, error);
    err = err ? err : fleet_check(json, fleet, &result->machine, error);
    err = err ? err : trial_read(json, space, &result->trial, error);
    json_decref(json);
    free(levels);
    if (err)
        spex_trial_result_free(result);
    return err;
}

void spex_trial_result_free(struct spex_trial_result *result) {
    spex_trial_free(&result->trial);
    spex_circumstances_free(&result->machine);
}
