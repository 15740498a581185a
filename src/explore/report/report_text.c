/* SPDX-License-Identifier: MIT */
/* The report as text, for a terminal of 100 columns: what was explored, the best configuration and
 * how certain it is, and what follows from the trials. Lists are cut; the rest is counted. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "explore/report/report_parts.h"
#include "explore/report/report_usage.h"
#include "measure/criterion.h"
#include "measure/rules.h"
#include "profile/columns.h"
#include "text/quantity.h"

/* Most lines of the lists: reasons of failures, the Pareto front, pairs of parameters. */
#define REASONS_MAX 10
#define FRONT_MAX   20
#define PAIRS_MAX   5

/* Says what lost records mean for the figures, and how the user avoids losses. */
static void print_loss(const struct spex_criterion *objective, double share, FILE *out) {
    char text[32];
    fprintf(out, "           %s were lost: the program made more than could be taken",
            spex_percent_text(share, 2, text, sizeof(text)));
    if (strcmp(objective->metric, "throughput") == 0)
        fputs(", and throughputs\n           are low by up to as much", out);
    fprintf(out, "; probe=\"%.*s@100\" records one in 100\n", (int)strcspn(objective->probe, "@"),
            objective->probe);
}

/* A line for each objective and limit. */
static void print_criteria(const struct spex_space *space, FILE *out) {
    char text[512];
    for (size_t c = 0; c < space->criterion_count; c++) {
        spex_criterion_text(&space->criteria[c], text, sizeof(text));
        fprintf(out, "%-10s %s\n", c < space->objective_count ? "objective" : "limit", text);
    }
}

/* Prints the most frequent reasons of failures, and how many trials failed for others. */
static void print_failures(const struct spex_findings *findings, FILE *out) {
    uint64_t others = 0;
    for (size_t f = 0; f < findings->failure_count; f++) {
        if (f < REASONS_MAX)
            fprintf(out, "%10" PRIu64 " %s\n", findings->failures[f].trials,
                    findings->failures[f].reason);
        else
            others += findings->failures[f].trials;
    }
    if (others)
        fprintf(out, "%10" PRIu64 " for %zu other reasons\n", others,
                findings->failure_count - REASONS_MAX);
}

/* Prints the circumstances of each machine, wrapped at 100 columns. */
static void print_machines(const struct spex_study *study, FILE *out) {
    for (size_t m = 0; m < study->machine_count; m++) {
        char *const *texts = study->machines[m].texts;
        size_t column = 10;
        fputs(m ? "       and" : "on        ", out);
        for (size_t c = 0; c < SPEX_ON_COUNT; c++) {
            size_t length = strlen(spex_circumstance_names[c]) + strlen(texts[c]) + 3;
            if (column + length > 100 && column > 10) {
                fputs("\n          ", out);
                column = 10;
            }
            fprintf(out, " %s %s%s", spex_circumstance_names[c], texts[c],
                    c + 1 < SPEX_ON_COUNT ? "," : "");
            column += length;
        }
        fputc('\n', out);
    }
    if (spex_circumstances_mixed(study->machines, study->machine_count))
        fputs(
            "           which are of several classes: results are ranked as if they were of one\n",
            out);
    else if (study->machine_count > 1)
        fputs("           which are of one class\n", out);
}

/* Says that most trials were measured for less than half of the time that was asked for, as they had
 * their records before: what they tell may be of the first moments. */
static void print_short(const struct spex_study *study, FILE *out) {
    const struct spex_rules *rules = &study->file->space.rules;
    double asked = rules->duration_seconds - fmax(rules->warmup_seconds, 0), seconds = 0;
    uint64_t brief = 0, all = 0;
    char took[48], of[48];
    for (size_t t = 0; t < study->trials.count; t++) {
        const struct spex_trial *trial = &study->trials.items[t];
        all += trial->ok;
        seconds += trial->ok ? trial->seconds : 0;
        brief += trial->ok && trial->seconds < asked / 2;
    }
    if (spex_space_of_command(&study->file->space) ||
        rules->duration_seconds == spex_rules_default.duration_seconds || 2 * brief <= all)
        return;
    fprintf(
        out,
        "%10" PRIu64 " were measured for less than half of the %s that were asked for, all for %s "
        "on average:\n           they had records_per_thread=%u before; what they say may be of "
        "their first moments\n",
        brief, spex_quantity_text(asked, NAN, "s", of, sizeof(of)),
        spex_quantity_text(seconds / (double)all, NAN, "s", took, sizeof(took)),
        rules->records_per_thread);
}

/* Says that trials do not vary, where repeated ones gave the same. */
static void print_noise(const struct spex_study *study, FILE *out) {
    const struct spex_accuracy *accuracy = &study->findings.accuracies[0];
    if (accuracy->exact)
        fprintf(
            out,
            "noise      exact: %.0f repeated trials gave the same figure as those before them\n",
            accuracy->repeats);
}

/* Says that the machine has changed meanwhile. */
static void print_drift(const struct spex_study *study, FILE *out) {
    const struct spex_drift *drift = &study->findings.drift;
    const struct spex_space *space = &study->file->space;
    char text[256], levels[512];
    if (!drift->kind)
        return;
    fprintf(out, "drift      %s:\n           %s\n",
            spex_drift_text(drift, space, text, sizeof(text)), spex_report_drift_means(study));
    spex_levels_text(space, drift->levels, levels, sizeof(levels));
    fprintf(out, "           by %" PRIu64 " trials of %s, with an error of 1 %% at most\n",
            drift->trials, levels);
}

/* Prints what was explored, how many trials there are, and what limits their meaning. */
static void print_header(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_findings *findings = &study->findings;
    fprintf(out, "space      %s: %" PRIu64 " configurations, trials_per_config %u\n", space->name,
            spex_space_configurations(space), space->rules.trials_per_config);
    print_criteria(space, out);
    fprintf(out, "trials     %zu over %zu configurations, by policy %s; %" PRIu64 " failed\n",
            study->trials.count, study->summary.count, spex_store_policy(study->store),
            findings->failed);
    print_failures(findings, out);
    if (findings->unsteady)
        fprintf(out,
                "%10" PRIu64 " were not steady: what they say may be of the warm-up, too; <run "
                "warmup> can be longer\n",
                findings->unsteady);
    print_short(study, out);
    print_noise(study, out);
    print_drift(study, out);
    spex_report_notes(&study->trials, out);
    if (!spex_space_of_command(space))
        fprintf(out, "records    %" PRIu64 " used, %" PRIu64 " lost\n", findings->records_used,
                findings->records_lost);
    if (findings->records_lost)
        print_loss(space->criteria,
                   (double)findings->records_lost /
                       (double)(findings->records_used + findings->records_lost),
                   out);
    print_machines(study, out);
}

static void add_front(const struct spex_study *study, size_t g, struct spex_columns *columns) {
    const struct spex_space *space = &study->file->space;
    const struct spex_group *group = &study->summary.groups[g];
    char text[512];
    spex_levels_text(space, group->levels, text, sizeof(text));
    for (size_t c = 0; c < space->objective_count; c++) {
        char value[48];
        spex_columns_add(columns, "%s",
                         spex_report_measured(study, group, c, value, sizeof(value)));
    }
    spex_columns_add(columns, "%s", study->findings.places[g] == SPEX_PARETO_SURE_FRONT ? "" : "?");
    spex_columns_add(columns, "%s", text);
}

/* The objectives' names, a column for the mark of what is unsure, and the configuration. */
static void print_front_rows(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_findings *findings = &study->findings;
    char names[SPEX_OBJECTIVES_MAX][192];
    const char *headings[SPEX_OBJECTIVES_MAX + 2];
    unsigned count = (unsigned)space->objective_count;
    struct spex_columns columns;
    for (unsigned c = 0; c < count; c++) {
        spex_criterion_name(&space->criteria[c], names[c], sizeof(names[c]));
        headings[c] = names[c];
    }
    headings[count] = "";
    headings[count + 1] = "configuration";
    spex_columns_init(&columns, headings, count + 2, 3u << count);
    for (size_t i = 0; i < findings->front_count && i < FRONT_MAX; i++)
        add_front(study, findings->front[i], &columns);
    columns.folded = true;
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
}

/* Prints the Pareto front of several objectives. */
static void print_front(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    bool unsure = false;
    if (study->file->space.objective_count < 2)
        return;
    fprintf(out,
            "\nPareto front: %zu configurations that no other one beats in all objectives, as "
            "measured\n",
            findings->front_count);
    print_front_rows(study, out);
    for (size_t i = 0; i < findings->front_count; i++)
        unsure |= findings->places[findings->front[i]] != SPEX_PARETO_SURE_FRONT;
    if (findings->front_count > FRONT_MAX)
        fprintf(out, "and %zu more\n", findings->front_count - FRONT_MAX);
    if (unsure)
        fputs("?  another one may beat it: they differ by less than the trials vary\n", out);
    if (findings->perhaps_count)
        fprintf(out, "%zu more configurations may belong to it, as far as these trials can tell\n",
                findings->perhaps_count);
}

/* The bin with the highest or the lowest mean; the number of bins: no configuration has a value. */
static size_t extreme_bin(const struct spex_effect *effect, bool highest) {
    size_t found = effect->bins.count;
    for (size_t b = 0; b < effect->bins.count; b++) {
        double mean = effect->of_bins[b].mean;
        if (!effect->of_bins[b].configurations)
            continue;
        if (found == effect->bins.count ||
            (highest ? mean > effect->of_bins[found].mean : mean < effect->of_bins[found].mean))
            found = b;
    }
    return found;
}

/* "1.24 M/s at 64 KiB". */
static void add_end(const struct spex_study *study, const struct spex_effect *effect, bool highest,
                    struct spex_columns *columns) {
    char text[64], value[48];
    size_t bin = extreme_bin(effect, highest);
    spex_bin_text(&effect->bins, bin, text, sizeof(text));
    spex_columns_add(columns, "%s at %s",
                     spex_quantity_text(effect->of_bins[bin].mean, NAN,
                                        spex_criterion_unit(study->file->space.criteria), value,
                                        sizeof(value)),
                     text);
}

/* A share with its interval, as "34 % (20 to 41)". */
static void share_text(const struct spex_sensitivity_share *share, char *text, size_t size) {
    if (isnan(share->value))
        snprintf(text, size, "-");
    else if (isnan(share->low))
        snprintf(text, size, "%.0f %%", share->value * 100);
    else
        snprintf(text, size, "%.0f %% (%.0f to %.0f)", share->value * 100, share->low * 100,
                 share->high * 100);
}

/* One line: share alone, share in all, name, lowest and highest mean. */
static void add_effect(const struct spex_study *study, size_t p, struct spex_columns *columns) {
    const struct spex_effects *effects = &study->findings.effects;
    const struct spex_sensitivity_share share = spex_effects_share(effects, p);
    char text[64];
    share_text(&share, text, sizeof(text));
    spex_columns_add(columns, "%s", text);
    if (effects->modelled)
        spex_columns_add(columns, "%.0f %%", effects->parameters[p].sensitivity.total.value * 100);
    else
        spex_columns_add(columns, "-");
    spex_columns_add(columns, "%s", study->file->space.parameters[p].name);
    add_end(study, &effects->parameters[p], false, columns);
    add_end(study, &effects->parameters[p], true, columns);
}

/* Prints effects of parameters, then of pairs of at least half a percent. */
static void print_effects(const struct spex_study *study, FILE *out) {
    static const char *const headings[] = {"alone (95 %)", "in all", "parameter", "lowest mean",
                                           "highest mean"};
    const struct spex_effects *effects = &study->findings.effects;
    const struct spex_parameter *parameters = study->file->space.parameters;
    struct spex_columns columns;
    fprintf(out,
            "\neffects on the first objective, as shares of its variance %s;\n"
            "with the lowest and the highest mean of the configurations that were tried with a "
            "value\n",
            effects->modelled ? "in a model of the whole space" : "among what was tried");
    spex_columns_init(&columns, headings, 5, 1u << 2 | 1u << 3 | 1u << 4);
    for (size_t p = 0; p < effects->parameter_count; p++)
        if (parameters[p].count > 1 &&
            extreme_bin(&effects->parameters[p], true) < effects->parameters[p].bins.count)
            add_effect(study, p, &columns);
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 1u << 2});
    for (size_t i = 0; i < effects->interaction_count && i < PAIRS_MAX; i++) {
        const struct spex_interaction *pair = &effects->interactions[i];
        char text[64];
        share_text(&pair->share, text, sizeof(text));
        if (pair->share.value >= 0.005)
            fprintf(out, "%s  %s and %s together, beyond each on its own\n", text,
                    parameters[pair->a].name, parameters[pair->b].name);
    }
}

/* Prints the best so far after 1, 2, 5, 10, 20, 50 … trials and at the end. `turn` counts the
 * steps: 1 to 2, 2 to 5, 5 to 10. */
static void print_convergence(const struct spex_study *study, FILE *out) {
    static const char *const headings[] = {"trials", "measured for", "best estimate"};
    const struct spex_best_so_far *path = study->findings.convergence;
    const char *unit = spex_criterion_unit(study->file->space.criteria);
    size_t count = study->trials.count;
    size_t settled = spex_findings_settled(&study->findings, &study->trials);
    struct spex_columns columns;
    char value[48], seconds[48];
    if (count < 2)
        return;
    fputs("\nbest so far\n", out);
    spex_columns_init(&columns, headings, 3, 0);
    for (size_t step = 1, turn = 0, last = 0; last < count; turn++) {
        size_t at = step < count ? step : count;
        const struct spex_best_so_far *so_far = &path[at - 1];
        spex_columns_add(&columns, "%zu", at);
        spex_columns_add(&columns, "%s",
                         spex_quantity_text(so_far->seconds, NAN, "s", seconds, sizeof(seconds)));
        spex_columns_add(
            &columns, "%s",
            spex_quantity_text(so_far->value, so_far->margin, unit, value, sizeof(value)));
        last = at;
        step = turn % 3 == 1 ? step / 2 * 5 : step * 2;
    }
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 0});
    if (settled < count)
        fprintf(out, "the same configuration has been the best since trial %zu of %zu\n",
                settled + 1, count);
}

/* The caller checks the stream for errors. */
void spex_report_text(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    print_header(study, out);
    if (findings->best == SPEX_RANKING_NONE) {
        fputs("no trial has a result\n", out);
        return;
    }
    spex_report_standing(study, out);
    spex_report_threads(study, out);
    print_front(study, out);
    print_effects(study, out);
    print_convergence(study, out);
}
