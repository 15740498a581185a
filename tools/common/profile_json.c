/* SPDX-License-Identifier: MIT */
#include "tools/common/profile_json.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "profile/confidence.h"
#include "profile/figures.h"
#include "profile/table.h"
#include "ring/probe_type.h"
#include "tools/common/json.h"

/* The names of spex_figures_quantiles. */
static const char *const quantile_names[SPEX_FIGURES_QUANTILES] = {"p50", "p90", "p99", "p999"};

/* null for a number that is not finite or not known: JSON has neither. */
static json_t *number_or_null(double value, bool known) {
    return known && isfinite(value) ? json_real(value) : json_null();
}

/* Adds the quantile and its 95 % interval: p50, p50_low, p50_high. Without sampling, the value
 * is exact and is both bounds. Returns 0, or another number when memory is short. */
static int add_quantile(json_t *json, const struct spex_figures *figures, unsigned q,
                        double scale) {
    const struct spex_quantile *quantile = &figures->quantiles[q];
    bool told = figures->any && quantile->told;
    char name[16];
    int err = json_object_set_new(json, quantile_names[q],
                                  number_or_null(quantile->value * scale, figures->any));
    snprintf(name, sizeof(name), "%s_low", quantile_names[q]);
    err |= json_object_set_new(json, name, number_or_null(quantile->low * scale, told));
    snprintf(name, sizeof(name), "%s_high", quantile_names[q]);
    return err | json_object_set_new(json, name, number_or_null(quantile->high * scale, told));
}

/* One series of values of a probe, called `value`. `unit`: NULL for values that are no times.
 * `scale`: seconds for a tick, or 1. */
static json_t *values_json(const struct spex_figures *figures, const char *value, const char *unit,
                           double scale) {
    bool any = figures->any;
    json_t *json =
        json_pack("{s:s, s:s?, s:o, s:o}", "name", value, "unit", unit, "mean",
                  number_or_null(figures->mean * scale, any), "mean_margin",
                  number_or_null(figures->mean_margin * scale, any && figures->mean_margin >= 0));
    int err = !json;
    for (unsigned q = 0; !err && q < SPEX_FIGURES_QUANTILES; q++)
        err = add_quantile(json, figures, q, scale);
    err =
        err || json_object_set_new(json, "taken_off", number_or_null(figures->empty * scale, any));
    err = err || json_object_set_new(json, "taken_off_nested",
                                     number_or_null(figures->nested * scale, any));
    err = err || json_object_set_new(json, "min", number_or_null(figures->min * scale, any));
    err = err || json_object_set_new(json, "max", number_or_null(figures->max * scale, any));
    err = err || json_object_set_new(json, "total", number_or_null(figures->total * scale, any));
    err = err || json_object_set_new(json, "left_out", json_integer((json_int_t)figures->left_out));
    return spex_json_unless(err, json);
}

/* Times are ticks of the program's clock; they stay ticks where its rate is not known. */
static json_t *all_values_json(const struct spex_profile *profile,
                               const struct spex_profile_row *row) {
    bool ticks = spex_probe_type_ticks(row->probe.probe_type);
    double rate = profile->process.ticks_per_second;
    double scale = ticks && rate > 0 ? 1 / rate : 1;
    const char *names = spex_profile_value_names(profile, &row->probe);
    json_t *json = json_array();
    int err = !json;
    for (unsigned s = 0; !err && s < row->probe.series; s++) {
        char buffer[SPEX_PROFILE_FILE_BYTES];
        const char *name = spex_profile_value_name(names, row->probe.probe_type, s, buffer);
        struct spex_figures figures;
        spex_figures_of(profile, row, s, &figures);
        err = json_array_append_new(
            json, values_json(&figures, name, ticks ? rate > 0 ? "s" : "ticks" : NULL, scale));
    }
    return spex_json_unless(err, json);
}

/* Adds the figures of a polled probe: how many threads were within it whenever the occupancy
 * sampler looked. Owns `json`, which may be NULL. */
static json_t *with_activity(json_t *json, const struct spex_profile_probe *probe) {
    const struct spex_occupancy *activity = &probe->activity;
    double share = spex_occupancy_share_margin(activity);
    double threads = spex_occupancy_threads_margin(activity);
    json_t *more = json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "looks", (json_int_t)activity->looks,
                             "active_share", number_or_null(spex_occupancy_share(activity), true),
                             "active_margin", number_or_null(share, share >= 0), "active_threads",
                             number_or_null(spex_occupancy_threads(activity), true),
                             "active_threads_margin", number_or_null(threads, threads >= 0),
                             "probed_seconds", number_or_null(probe->polled_seconds, true));
    int err = !json || !more || json_object_update(json, more);
    json_decref(more);
    return spex_json_unless(err, json);
}

/* Adds what has become of the executions of a SPAN that have no time. Owns `json`, which may be
 * NULL. */
static json_t *with_spans(json_t *json, const struct spex_profile_probe *probe) {
    json_t *more = json_pack("{s:I, s:I, s:I, s:o}", "open", (json_int_t)probe->spans_open,
                             "abandoned", (json_int_t)probe->spans_abandoned, "unrecorded",
                             (json_int_t)probe->spans_refused, "unmatched",
                             number_or_null((double)probe->spans_unmatched, !probe->spans_partial));
    int err = !json || !more || json_object_update(json, more);
    json_decref(more);
    return spex_json_unless(err, json);
}

/* What halving the interval of the mean takes of the program's CPU time; null where it has none. */
static json_t *halving_json(const struct spex_profile *profile,
                            const struct spex_profile_probe *probe) {
    double halving = probe->series ? spex_profile_halving(profile, probe) : 0;
    return number_or_null(halving, halving > 0);
}

/* "count", its margin and "rate" are null where the probe was always polled, and so was not
 * counted. */
json_t *spex_profile_row_json(const struct spex_profile *profile,
                              const struct spex_profile_row *row) {
    const struct spex_profile_probe *probe = &row->probe;
    bool counted = spex_profile_counted(probe);
    json_t *json = json_pack(
        "{s:o, s:s?, s:s?, s:s, s:I, s:s, s:o, s:o, s:o, s:I, s:o, s:b, s:o, s:b, s:o, s:o, s:o, "
        "s:I, s:o, s:o, s:o, s:b}",
        "id", spex_id_json(spex_profile_id(probe->probe_id, probe->declared)), "name",
        probe->name[0] ? probe->name : NULL, "provider",
        probe->provider[0] ? probe->provider : NULL, "type",
        spex_probe_type_name(probe->probe_type), "period", (json_int_t)probe->period, "sampling",
        spex_sampling_kind_name(probe->kind), "one_in",
        number_or_null(spex_profile_per_record(probe), probe->records > 0), "count",
        number_or_null(spex_count_told(probe), counted), "rate",
        number_or_null(spex_rate_told(probe), spex_rate_known(probe) || spex_rate_is_bound(probe)),
        "records", (json_int_t)probe->records, "lost", number_or_null(probe->lost, true),
        "lost_shared", (int)(probe->lost > 0 && probe->lost_shared), "count_margin",
        number_or_null(spex_count_margin(probe), counted), "count_at_least",
        (int)(counted && !spex_count_known(probe)), "held_seconds",
        number_or_null(probe->held_seconds, true), "off",
        number_or_null(spex_profile_off(probe), true), "counted",
        number_or_null(probe->count, counted), "left_out", (json_int_t)spex_profile_left_out(probe),
        "cost_factor", number_or_null((double)probe->cost_factor, probe->cost_factor > 0),
        "halving_share", halving_json(profile, probe), "values", all_values_json(profile, row),
        "rate_at_least", (int)spex_rate_is_bound(probe));
    if (probe->probe_type == SPEX_SPAN)
        json = with_spans(json, probe);
    return probe->activity.looks ? with_activity(json, probe) : json;
}

/* Costs in ns; null where they were not measured. */
static json_t *type_json(const struct spex_profile *profile, const struct spex_profile_type *type) {
    double rate = profile->process.ticks_per_second, ns = 1e9 / rate;
    json_t *cost = type->measured && rate > 0
                       ? json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "off",
                                   number_or_null(type->test * ns, true), "skipped",
                                   number_or_null(type->skip * ns, true), "recorded",
                                   number_or_null(type->record * ns, true), "drawn",
                                   number_or_null(type->drawn * ns, type->drawn > 0), "probed",
                                   number_or_null(type->polled * ns, type->polled > 0), "empty",
                                   number_or_null(type->empty * ns, type->empty > 0), "empty_error",
                                   number_or_null(type->empty_error * ns, type->empty > 0))
                       : json_null();
    return json_pack("{s:s, s:o, s:o, s:s?}", "type", spex_probe_type_name(type->probe_type),
                     "pcid",
                     type->probe_type == SPEX_PERFCNTR ? json_integer(type->pcid) : json_null(),
                     "cost_ns", cost, "text", type->text[0] ? type->text : NULL);
}

static json_t *records_json(const struct spex_profile_process *process) {
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "produced", (json_int_t)process->produced,
                     "consumed", (json_int_t)process->consumed, "lost", (json_int_t)process->lost,
                     "undelivered", (json_int_t)process->undelivered, "unrecorded",
                     (json_int_t)process->unrecorded);
}

/* Types that no probe uses are left out. */
json_t *spex_profile_json(const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    json_t *probes = json_array(), *types = json_array();
    int err = !probes || !types;
    for (size_t r = 0; r < profile->row_count; r++)
        err |= json_array_append_new(probes, spex_profile_row_json(profile, &profile->rows[r]));
    for (size_t t = 0; t < profile->type_count; t++)
        if (profile->types[t].used && spex_probe_type_valid(profile->types[t].probe_type))
            err |= json_array_append_new(types, type_json(profile, &profile->types[t]));
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:I, s:o, s:o}", "seconds",
                  number_or_null(process->seconds, true), "program_seconds",
                  number_or_null(process->program_seconds, true), "collector_seconds",
                  number_or_null(process->collector_seconds, true), "overhead_seconds",
                  number_or_null(spex_profile_cost(profile), true), "overhead_known",
                  (int)spex_profile_costs_known(profile), "records", records_json(process),
                  "unfollowed", (json_int_t)process->unfollowed, "probes", probes, "types", types);
    return spex_json_unless(err, json);
}

/* jansson ignores an object that is NULL. */
void spex_lease_json(json_t *json, const struct spex_profile_process *process) {
    if (process->lease_seconds <= 0)
        return;
    json_object_set_new(json, "leased", json_string(process->leased));
    json_object_set_new(json, "lease_seconds", json_real(process->lease_seconds));
}
