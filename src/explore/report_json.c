/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <errno.h>
#include <string.h>

#include <jansson.h>

#include "report_usage.h"

static json_t *config_json(const struct spex_space *space, const size_t *levels) {
    json_t *config = json_object();
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        const struct spex_value *value = &parameter->values[levels[p]];
        json_object_set_new(config, parameter->name,
                            parameter->kind == SPEX_INTEGER ? json_integer(value->integer)
                                                            : json_string(value->text));
    }
    return config;
}

static json_t *trial_json(const struct spex_space *space, const struct spex_trial *trial) {
    json_t *status = json_string(trial->status);
    return spex_report_usage(
        json_pack("{s:o, s:o, s:I, s:I, s:f, s:o}", "config", config_json(space, trial->levels),
                  "objective", trial->ok ? json_real(trial->measured[0].value) : json_null(),
                  "records_used", (json_int_t)trial->records_used, "records_lost",
                  (json_int_t)trial->records_lost, "seconds", trial->seconds, "status",
                  status ? status : json_string("failed; the reason is not UTF-8")),
        trial);
}

/* Shaped like a trial, over all of a configuration's successful ones, with their number and range.
 */
static json_t *group_json(const struct spex_space *space, const struct spex_group *group) {
    if (!group)
        return json_null();
    return json_pack("{s:o, s:f, s:I, s:I, s:f, s:s, s:I, s:f, s:f}", "config",
                     config_json(space, group->levels), "objective", group->criteria[0].mean,
                     "records_used", (json_int_t)group->records_used, "records_lost",
                     (json_int_t)group->records_lost, "seconds", group->seconds, "status", "ok",
                     "trials", (json_int_t)group->trials, "low", group->criteria[0].low, "high",
                     group->criteria[0].high);
}

/* Best configuration for each thread count. */
static json_t *threads_json(const struct spex_report_data *data) {
    const struct spex_space *space = &data->file->space;
    size_t threads = space->threads_parameter;
    json_t *list = json_array();
    for (size_t t = 0; threads < space->parameter_count && t < space->parameters[threads].count;
         t++) {
        const struct spex_group *best = spex_summary_best(data->summary, threads, t);
        if (best)
            json_array_append_new(list, group_json(space, best));
    }
    return list;
}

static json_t *knee_json(const struct spex_report_data *data) {
    const struct spex_space *space = &data->file->space;
    if (space->threads_parameter == space->parameter_count)
        return json_null();
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    size_t knee = spex_summary_knee(data->summary, space->parameter_count, 0);
    return knee < threads->count ? json_integer(threads->values[knee].integer) : json_null();
}

static json_t *report_json(const struct spex_report_data *data) {
    const struct spex_space *space = &data->file->space;
    const struct spex_criterion *objective = space->criteria;
    json_t *trials = json_array();
    for (size_t t = 0; t < data->trials->count; t++)
        json_array_append_new(trials, trial_json(space, &data->trials->items[t]));
    return json_pack("{s:s, s:s, s:o, s:{s:s, s:s, s:s, s:s}, s:o, s:o, s:o, s:o, s:o}", "space",
                     space->name, "policy", spex_store_policy(data->store), "program",
                     json_loads(spex_store_program(data->store), 0, NULL), "objective", "probe",
                     objective->probe, "metric", objective->metric, "goal",
                     objective->goal == SPEX_MAXIMISE ? "maximise" : "minimise", "unit",
                     spex_criterion_unit(objective), "best",
                     group_json(space, spex_summary_best(data->summary, space->parameter_count, 0)),
                     "worst", group_json(space, spex_summary_worst(data->summary)),
                     "best_by_threads", threads_json(data), "threads_knee", knee_json(data),
                     "trials", trials);
}

int spex_report_json(const struct spex_report_data *data, FILE *out, struct spex_why *why) {
    json_t *report = report_json(data);
    if (!report)
        return spex_fail(why, -ENOMEM, "out of memory");
    int bad = json_dumpf(report, out, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
    json_decref(report);
    if (bad || fputc('\n', out) == EOF || fflush(out) != 0)
        return spex_fail(why, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}
