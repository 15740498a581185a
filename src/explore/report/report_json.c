/* SPDX-License-Identifier: MIT */
/* The report as JSON: the findings, and all trials. Names of members are part of the format: they
 * keep their meaning, and new ones may be added. NaN becomes null, since JSON has no NaN. */
#include <math.h>
#include <stdlib.h>

#include "explore/findings/heat_map.h"
#include "explore/report/json_parts.h"
#include "explore/report/report.h"
#include "explore/report/report_parts.h"
#include "explore/report/report_usage.h"

/* One element for each criterion; empty for a failed trial. */
static json_t *measured_json(const struct spex_space *space, const struct spex_trial *trial) {
    json_t *list = json_array();
    for (size_t c = 0; c < space->criterion_count && trial->ok; c++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "value",
                                              spex_json_number(trial->measured[c].value), "error",
                                              spex_json_number(trial->measured[c].error)));
    return list;
}

/* The status may have a program's own output in it, which need not be UTF-8. */
static json_t *trial_json(const struct spex_space *space, const struct spex_trial *trial) {
    return spex_report_usage(
        json_pack("{s:o, s:o, s:o, s:I, s:I, s:f, s:b, s:o}", "config",
                  spex_json_config(space, trial->levels), "objective",
                  spex_json_number(trial->ok ? trial->measured[0].value : NAN), "measured",
                  measured_json(space, trial), "records_used", (json_int_t)trial->records_used,
                  "records_lost", (json_int_t)trial->records_lost, "seconds", trial->seconds,
                  "steady", (int)trial->steady, "status", json_string(trial->status)),
        trial);
}

/* Means of all criteria, with their standard errors. */
static json_t *means_json(const struct spex_study *study, const struct spex_group *group) {
    json_t *list = json_array();
    for (size_t c = 0; c < study->file->space.criterion_count; c++) {
        double error = spex_group_error(&study->findings.accuracies[c], group, c);
        json_array_append_new(list, json_pack("{s:o, s:o}", "value",
                                              spex_json_number(group->criteria[c].mean), "error",
                                              spex_json_number(error)));
    }
    return list;
}

/* An object with the members of a trial, over all successful trials of the configuration, and with
 * its number of trials, range and rank. */
static json_t *group_json(const struct spex_study *study, size_t g) {
    if (g == SPEX_RANKING_NONE)
        return json_null();
    const struct spex_group *group = &study->summary.groups[g];
    const struct spex_ranking *standing = &study->findings.standings[g];
    json_t *of = json_pack("{s:o, s:f, s:I, s:I, s:f, s:s, s:I, s:f, s:f}", "config",
                           spex_json_config(&study->file->space, group->levels), "objective",
                           group->criteria[0].mean, "records_used", (json_int_t)group->records_used,
                           "records_lost", (json_int_t)group->records_lost, "seconds",
                           group->seconds, "status", "ok", "trials", (json_int_t)group->trials,
                           "low", group->criteria[0].low, "high", group->criteria[0].high);
    json_object_set_new(of, "measured", means_json(study, group));
    json_object_set_new(of, "estimate", spex_json_number(standing->estimate));
    json_object_set_new(
        of, "interval",
        json_pack("[o, o]", spex_json_number(standing->low), spex_json_number(standing->high)));
    json_object_set_new(of, "chance", spex_json_number(standing->first));
    json_object_set_new(of, "unstable",
                        json_boolean(spex_findings_spread(group) > SPEX_UNSTABLE_SHARE));
    return of;
}

static json_t *groups_json(const struct spex_study *study, const size_t *groups, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, group_json(study, groups[i]));
    return list;
}

/* The configurations that are or may be on the Pareto front; null for one objective. */
static json_t *front_json(const struct spex_study *study) {
    const struct spex_findings *findings = &study->findings;
    if (study->file->space.objective_count < 2)
        return json_null();
    json_t *list = json_array();
    for (size_t g = 0; g < study->summary.count; g++) {
        if (findings->places[g] < SPEX_PARETO_PERHAPS)
            continue;
        json_t *of = group_json(study, g);
        json_object_set_new(of, "in_front", json_boolean(findings->places[g] >= SPEX_PARETO_FRONT));
        json_object_set_new(of, "sure",
                            json_boolean(findings->places[g] == SPEX_PARETO_SURE_FRONT));
        json_array_append_new(list, of);
    }
    return list;
}

/* What was measured by value: among the configurations that were run. */
static json_t *effect_json(const struct spex_effect *effect) {
    json_t *values = json_array();
    char text[64];
    for (size_t b = 0; b < effect->bins.count; b++) {
        spex_bin_plain(&effect->bins, b, text, sizeof(text));
        json_array_append_new(values, json_pack("{s:o, s:I, s:o, s:o}", "value",
                                                spex_json_text(text), "configurations",
                                                (json_int_t)effect->of_bins[b].configurations,
                                                "mean", spex_json_number(effect->of_bins[b].mean),
                                                "best", spex_json_number(effect->of_bins[b].best)));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "parameter", effect->bins.parameter->name, "unit",
                     effect->bins.parameter->unit, "share_of_tried",
                     spex_json_number(effect->share), "values", values);
}

static json_t *share_json(const struct spex_sensitivity_share *share) {
    return json_pack("{s:o, s:o, s:o}", "value", spex_json_number(share->value), "low",
                     spex_json_number(share->low), "high", spex_json_number(share->high));
}

/* "share" is by the model of the whole space if there is one; "total" exists with a model only. */
static json_t *effects_json(const struct spex_study *study) {
    const struct spex_effects *effects = &study->findings.effects;
    const struct spex_parameter *parameters = study->file->space.parameters;
    json_t *main = json_array(), *pairs = json_array();
    for (size_t p = 0; p < effects->parameter_count; p++) {
        const struct spex_sensitivity_share share = spex_effects_share(effects, p);
        json_t *of = effect_json(&effects->parameters[p]);
        json_object_set_new(of, "share", share_json(&share));
        if (effects->modelled)
            json_object_set_new(of, "total", share_json(&effects->parameters[p].sensitivity.total));
        json_array_append_new(main, of);
    }
    for (size_t i = 0; i < effects->interaction_count; i++)
        json_array_append_new(pairs, json_pack("{s:[s, s], s:o}", "parameters",
                                               parameters[effects->interactions[i].a].name,
                                               parameters[effects->interactions[i].b].name, "share",
                                               share_json(&effects->interactions[i].share)));
    return json_pack("{s:b, s:o, s:o}", "modelled", (int)effects->modelled, "main", main,
                     "interactions", pairs);
}

static json_t *axis_json(const struct spex_bins *bins) {
    json_t *values = json_array();
    char text[64];
    for (size_t b = 0; b < bins->count; b++) {
        spex_bin_text(bins, b, text, sizeof(text));
        json_array_append_new(values, spex_json_text(text));
    }
    return json_pack("{s:s, s:s, s:o}", "parameter", bins->parameter->name, "unit",
                     bins->parameter->unit, "values", values);
}

/* [x, y, mean] of each place that has a configuration with a result. */
static json_t *panel_json(const struct spex_heat_map *map, size_t panel) {
    char title[1024];
    json_t *cells = json_array();
    for (size_t y = 0; y < map->y_bins.count; y++)
        for (size_t x = 0; x < map->x_bins.count; x++) {
            const struct spex_group *group = spex_heat_map_at(map, panel, y, x);
            if (group)
                json_array_append_new(cells, json_pack("[I, I, o]", (json_int_t)x, (json_int_t)y,
                                                       spex_json_number(group->criteria[0].mean)));
        }
    size_t x, y;
    json_t *best = spex_heat_map_best(map, panel, &y, &x)
                       ? json_pack("[I, I]", (json_int_t)x, (json_int_t)y)
                       : json_null();
    spex_heat_map_title(map, panel, title, sizeof(title));
    return json_pack("{s:o, s:o, s:o}", "title", spex_json_text(title), "cells", cells, "best",
                     best);
}

/* null where there is no result, or one parameter alone. */
static json_t *heat_map_json(const struct spex_study *study) {
    struct spex_heat_map map;
    struct spex_error ignored;
    if (study->findings.best == SPEX_RANKING_NONE || study->file->space.parameter_count < 2)
        return json_null();
    json_t *panels = NULL;
    if (spex_heat_map_init(&map, study, &ignored) == 0) {
        panels = json_array();
        for (size_t panel = 0; panel < map.columns * map.rows; panel++)
            json_array_append_new(panels, panel_json(&map, panel));
    }
    json_t *json = panels ? json_pack("{s:o, s:o, s:o}", "x", axis_json(&map.x_bins), "y",
                                      axis_json(&map.y_bins), "panels", panels)
                          : json_null();
    spex_heat_map_free(&map);
    return json;
}

/* The points where the best value changed, and the last one. */
static json_t *convergence_json(const struct spex_study *study) {
    const struct spex_best_so_far *path = study->findings.convergence;
    json_t *list = json_array();
    for (size_t t = 0; t < study->trials.count; t++)
        if (!isnan(path[t].value) &&
            (t == 0 || t + 1 == study->trials.count || path[t].value != path[t - 1].value))
            json_array_append_new(list,
                                  json_pack("{s:I, s:f, s:f}", "trials", (json_int_t)t + 1,
                                            "seconds", path[t].seconds, "best", path[t].value));
    return list;
}

static json_t *failures_json(const struct spex_findings *findings) {
    json_t *list = json_array();
    for (size_t f = 0; f < findings->failure_count; f++)
        json_array_append_new(list, json_pack("{s:o, s:I}", "reason",
                                              spex_json_text(findings->failures[f].reason),
                                              "trials", (json_int_t)findings->failures[f].trials));
    return list;
}

static json_t *criteria_json(const struct spex_space *space) {
    json_t *list = json_array();
    for (size_t c = 0; c < space->criterion_count; c++)
        json_array_append_new(list, spex_json_criterion(&space->criteria[c]));
    return list;
}

/* The best configuration for each number of threads. */
static json_t *threads_json(const struct spex_study *study) {
    const struct spex_space *space = &study->file->space;
    size_t threads = space->threads_parameter;
    json_t *list = json_array();
    for (size_t t = 0; threads < space->parameter_count && t < space->parameters[threads].count;
         t++) {
        const struct spex_group *best = spex_summary_best(&study->summary, threads, t);
        if (best)
            json_array_append_new(list, group_json(study, (size_t)(best - study->summary.groups)));
    }
    return list;
}

/* The number of threads beyond which more do not help; null when there is none. */
static json_t *knee_json(const struct spex_study *study) {
    const struct spex_space *space = &study->file->space;
    if (space->threads_parameter == space->parameter_count)
        return json_null();
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    size_t knee = spex_summary_knee(&study->summary, space->parameter_count, 0);
    return knee < threads->count ? json_integer(threads->values[knee].integer) : json_null();
}

/* Null: there is none, or no model. */
static json_t *untried_json(const struct spex_study *study) {
    const struct spex_untried *untried = &study->findings.untried;
    if (!untried->levels)
        return json_null();
    return json_pack("{s:o, s:o, s:[o, o], s:o}", "config",
                     spex_json_config(&study->file->space, untried->levels), "expected",
                     spex_json_number(untried->expected), "interval",
                     spex_json_number(untried->low), spex_json_number(untried->high), "chance",
                     spex_json_number(untried->chance));
}

static json_t *finalist_json(const struct spex_study *study, const struct spex_finalist *finalist) {
    const struct spex_group *group = &study->summary.groups[finalist->group];
    return json_pack("{s:o, s:I, s:o, s:o, s:b}", "config",
                     spex_json_config(&study->file->space, group->levels), "blocks",
                     (json_int_t)finalist->trials, "measured",
                     spex_json_number(finalist->trials ? finalist->mean : NAN), "worse_after",
                     finalist->out ? json_integer((json_int_t)finalist->out_after) : json_null(),
                     "unstable", (int)(spex_findings_spread(group) > SPEX_UNSTABLE_SHARE));
}

/* Null: there were no finals. Numbers that are not known are null. */
static json_t *race_json(const struct spex_study *study) {
    const struct spex_final_race *race = &study->findings.race;
    char text[SPEX_RACE_TEXT_BYTES];
    if (!race->trials)
        return json_null();
    json_t *finalists = json_array();
    for (size_t f = 0; f < race->count; f++)
        json_array_append_new(finalists, finalist_json(study, &race->finalists[f]));
    return json_pack(
        "{s:s, s:b, s:f, s:f, s:f, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "text",
        spex_report_race(study, text, sizeof(text)), "known", (int)race->known, "zone", race->zone,
        "asked", race->asked, "sure", race->sure, "within", spex_json_number(race->within),
        "more_trials", spex_json_number(race->more), "round", (json_int_t)race->round, "blocks",
        (json_int_t)race->blocks, "trials", (json_int_t)race->trials, "leader",
        spex_json_config(&study->file->space,
                         study->summary.groups[race->finalists[race->leader].group].levels),
        "finalists", finalists);
}

/* Null: there was no reference configuration. */
static json_t *drift_json(const struct spex_study *study) {
    static const char *const kinds[] = {"none", "step", "while", "gradual"};
    const struct spex_drift *drift = &study->findings.drift;
    char text[SPEX_DRIFT_TEXT_BYTES];
    if (!drift->levels)
        return json_null();
    json_t *json = json_pack("{s:s, s:o, s:I, s:o}", "kind", kinds[drift->kind], "reference",
                             spex_json_config(&study->file->space, drift->levels), "trials",
                             (json_int_t)drift->trials, "chance", spex_json_number(drift->chance));
    if (!json || !drift->kind)
        return json;
    json_object_set_new(json, "text", json_string(spex_report_drift(study, text, sizeof(text))));
    json_object_set_new(json, "change", spex_json_number(drift->change));
    json_object_set_new(json, "from", json_integer(drift->from));
    json_object_set_new(json, "to", json_integer(drift->to));
    return json;
}

static void set_findings(const struct spex_study *study, json_t *report) {
    const struct spex_findings *findings = &study->findings;
    json_object_set_new(report, "criteria", criteria_json(&study->file->space));
    json_object_set_new(report, "limits_kept", json_boolean(findings->limits_kept));
    json_object_set_new(report, "noise",
                        json_pack("{s:b, s:f}", "exact", (int)findings->accuracies[0].exact,
                                  "repeats", findings->accuracies[0].repeats));
    json_object_set_new(report, "tried", json_integer((json_int_t)study->summary.count));
    json_object_set_new(report, "configurations",
                        json_integer((json_int_t)findings->configurations));
    json_object_set_new(report, "untried", untried_json(study));
    json_object_set_new(report, "measured_best", group_json(study, findings->measured));
    json_object_set_new(report, "finals", race_json(study));
    json_object_set_new(report, "drift", drift_json(study));
    json_object_set_new(report, "ties", groups_json(study, findings->tied, findings->tied_count));
    json_object_set_new(report, "pareto", front_json(study));
    json_object_set_new(report, "effects", effects_json(study));
    json_object_set_new(report, "heat_map", heat_map_json(study));
    json_object_set_new(report, "convergence", convergence_json(study));
    json_object_set_new(report, "failures", failures_json(findings));
    json_object_set_new(report, "machines",
                        spex_json_machines(study->machines, study->machine_count));
    json_object_set_new(
        report, "mixed",
        json_boolean(spex_circumstances_mixed(study->machines, study->machine_count)));
}

/* Most trials, and configurations, of a report without the trials. */
enum { POINTS_MOST = 2000, RANKED_MOST = 500 };

/* [number, objective] of each trial, or of as many as there is room for; null where it failed. */
static json_t *points_json(const struct spex_study *study) {
    size_t count = study->trials.count, step = count / POINTS_MOST + 1;
    json_t *list = json_array();
    for (size_t t = 0; t < count; t += step) {
        const struct spex_trial *trial = &study->trials.items[t];
        json_array_append_new(
            list, json_pack("[I, o]", (json_int_t)t + 1,
                            spex_json_number(trial->ok ? trial->measured[0].value : NAN)));
    }
    return list;
}

/* The configurations with a result, the best first. */
static json_t *ranked_json(const struct spex_study *study) {
    size_t count, *order = spex_report_order(study, &count);
    json_t *list = json_array();
    for (size_t i = 0; order && i < count && i < RANKED_MOST; i++) {
        const struct spex_group *group = &study->summary.groups[order[i]];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:I}", "config",
                            spex_json_config(&study->file->space, group->levels), "objective",
                            spex_json_number(group->criteria[0].mean), "estimate",
                            spex_json_number(study->findings.standings[order[i]].estimate),
                            "trials", (json_int_t)group->trials));
    }
    free(order);
    return list;
}

/* Of the last trial; "limit" is null where the exploration is not limited to a time. */
static json_t *time_json(const struct spex_study *study) {
    size_t count = study->trials.count;
    const struct spex_trial *last = count ? &study->trials.items[count - 1] : NULL;
    return json_pack("{s:o, s:o}", "passed", spex_json_number(last ? last->passed : 0), "limit",
                     last && last->limit > 0 ? spex_json_number(last->limit) : json_null());
}

/* An array, unless somebody else has written the store. */
static json_t *program_json(const char *text) {
    json_t *program = json_loads(text, 0, NULL);
    return program ? program : spex_json_text(text);
}

/* The program is stored as a JSON array and becomes one again. NULL: out of memory. */
static json_t *report_json(const struct spex_study *study, bool with_trials) {
    const struct spex_space *space = &study->file->space;
    json_t *report = json_pack(
        "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "space", space->name, "policy",
        spex_store_policy(study->store), "program", program_json(spex_store_program(study->store)),
        "objective", spex_json_criterion(space->criteria), "best",
        group_json(study, study->findings.best), "worst", group_json(study, study->findings.worst),
        "best_by_threads", threads_json(study), "threads_knee", knee_json(study));
    if (!report)
        return NULL;
    set_findings(study, report);
    json_object_set_new(report, "trials_finished", json_integer((json_int_t)study->trials.count));
    json_object_set_new(report, "trials_failed", json_integer((json_int_t)study->findings.failed));
    json_object_set_new(report, "seconds", spex_json_number(study->findings.seconds));
    json_object_set_new(report, "running",
                        json_boolean(spex_store_is_written(spex_store_path(study->store))));
    json_object_set_new(report, "time", time_json(study));
    if (!with_trials) {
        json_object_set_new(report, "points", points_json(study));
        json_object_set_new(report, "ranked", ranked_json(study));
        return report;
    }
    json_t *trials = json_array();
    for (size_t t = 0; t < study->trials.count; t++)
        json_array_append_new(trials, trial_json(space, &study->trials.items[t]));
    json_object_set_new(report, "trials", trials);
    return report;
}

int spex_report_json(const struct spex_study *study, bool with_trials, FILE *out,
                     struct spex_error *error) {
    return spex_json_write(report_json(study, with_trials), out, error);
}
