/* SPDX-License-Identifier: MIT */
/* The report as a self-contained HTML page, for the screen (light and dark) and for print. Pictures
 * are included as SVG. Every text that comes from the store is escaped (html.h); the page's own
 * texts are written as they are. Errors of writing are noticed at the end, by ferror. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/picture/picture.h"
#include "explore/picture/study_pictures.h"
#include "explore/report/report_parts.h"
#include "measure/criterion.h"
#include "text/html.h"
#include "text/quantity.h"

/* Most rows of the tables: of all configurations, of tied ones, of the Pareto front, of pairs of
 * parameters. */
#define ROWS_MAX  200
#define TIED_MAX  20
#define FRONT_MAX 50
#define PAIRS_MAX 5

static const char style[] =
    ":root{--paper:#fff;--ink:#1c2430;--faint:#5c6773;--line:#d8dee4;--band:#f4f6f8;--mark:#440154;"
    "color-scheme:light dark}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#14181d;--ink:#e4e9ee;--faint:#9aa5b1;"
    "--line:#323a43;--band:#1c2229;--mark:#c9a3dc}}\n"
    "body{background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif;"
    "max-width:62rem;margin:2rem auto;padding:0 1.2rem}\n"
    "h1{font-size:1.7rem;margin:0 0 .2rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem;"
    "border-bottom:1px solid var(--line);padding-bottom:.2rem}\n"
    "p{margin:.4rem 0}.faint{color:var(--faint)}\n"
    ".best{background:var(--band);border-left:4px solid var(--mark);padding:.8rem 1.1rem;"
    "margin:1.2rem 0;border-radius:0 6px 6px 0}\n"
    ".best b{font-size:1.5rem;margin-right:.6rem}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;"
    "min-width:60%}\n"
    "th,td{text-align:left;padding:.28rem .9rem .28rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top}\n"
    "th{font-weight:600;color:var(--faint);font-size:.85rem}td.n,th.n{text-align:right;white-space:"
    "nowrap}\n"
    "code{font:0.92em ui-monospace,monospace}tr.first td{font-weight:600}\n"
    ".bar{display:inline-block;height:.7em;background:var(--mark);border-radius:2px}\n"
    "figure{margin:1rem 0;background:#fff;border:1px solid var(--line);border-radius:6px;"
    "padding:.6rem;overflow-x:auto}figure "
    "svg{max-width:100%;min-width:34rem;height:auto;display:block;"
    "margin:0 auto}\n" SPEX_PICTURE_VALUES_STYLE
    "@media print{body{max-width:none;margin:0;font-size:10pt}figure,tr,.best{break-inside:avoid}"
    "h2{break-after:avoid}.scroll{overflow:visible}}\n";

/* A cell of a table, aligned to the right. */
static void cell_number(FILE *out, const char *text) {
    fputs("<td class=\"n\">", out);
    spex_html_text(out, text);
    fputs("</td>", out);
}

static void cell_measured(FILE *out, const struct spex_study *study, const struct spex_group *group,
                          size_t criterion) {
    char text[48];
    cell_number(out, spex_report_measured(study, group, criterion, text, sizeof(text)));
}

/* An empty heading is none. */
static void head_number(FILE *out, const char *text) {
    fputs(*text ? "<th class=\"n\">" : "<td>", out);
    spex_html_text(out, text);
    fputs(*text ? "</th>" : "</td>", out);
}

/* A row of a name and a value. */
static void write_row(FILE *out, const char *name, const char *value) {
    fputs("<tr><th>", out);
    spex_html_text(out, name);
    fputs("</th><td>", out);
    spex_html_text(out, value);
    fputs("</td></tr>\n", out);
}

/* Writes the page's head. The content security policy forbids scripts and external resources: texts
 * of the report come from programs and stores. */
static void write_head(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    char text[48];
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"
          "style-src 'unsafe-inline';img-src data:\">\n<title>",
          out);
    spex_html_text(out, space->name);
    fputs("</title>\n<style>\n", out);
    fputs(style, out);
    fputs("</style></head><body><main>\n<h1>", out);
    spex_html_text(out, space->name);
    fputs("</h1>\n<p class=\"faint\">", out);
    spex_html_format(out,
                     "%zu trials of %zu configurations, of %" PRIu64 " that there are; policy %s; "
                     "measured for %s",
                     study->trials.count, study->summary.count, spex_space_configurations(space),
                     spex_store_policy(study->store),
                     spex_quantity_text(study->findings.seconds, NAN, "s", text, sizeof(text)));
    fputs("</p>\n", out);
}

/* Writes the box with the best configuration and how certain it is. */
static void write_best(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_findings *findings = &study->findings;
    const struct spex_group *best = &study->summary.groups[findings->best];
    struct spex_figure_texts estimate = spex_report_figure(study, findings->best, 0);
    char text[512], measured[48];
    spex_levels_text(space, best->levels, text, sizeof(text));
    fputs("<div class=\"best\"><p><b>", out);
    spex_html_text(out, estimate.value);
    fputs("</b><span class=\"faint\">", out);
    spex_html_format(out, "%s; measured %s in %" PRIu64 " trial%s", estimate.certainty,
                     spex_report_measured(study, best, 0, measured, sizeof(measured)), best->trials,
                     best->trials == 1 ? "" : "s");
    fputs("</span></p>\n<p><code>", out);
    spex_html_text(out, text);
    fputs("</code></p>\n<p class=\"faint\">", out);
    const char *probability = findings->accuracies[0].exact ? "" : ", with a probability of 95 %";
    uint64_t tried = study->summary.count;
    if (findings->tied_count < 2)
        spex_html_format(out, "Of the %" PRIu64 " tried no other is as good%s.", tried,
                         probability);
    else
        spex_html_format(out, "One of %zu of the %" PRIu64 " tried of which one is the best%s.",
                         findings->tied_count, tried, probability);
    if (findings->configurations > tried)
        spex_html_format(out, " %" PRIu64 " of %" PRIu64 " configurations were not tried.",
                         findings->configurations - tried, findings->configurations);
    if (!findings->limits_kept && space->criterion_count > space->objective_count)
        fputs(" No configuration keeps the limits: all are compared as if there were none.", out);
    fputs("</p></div>\n", out);
}

/* The interval of the first objective is that of the ranking, which allows for the choice of the
 * best; those of the others are of the means. */
static void write_criteria(const struct spex_study *study, FILE *out) {
    const struct spex_space *space = &study->file->space;
    size_t g = study->findings.best;
    char text[512];
    fputs("<h2>Objectives and limits</h2>\n<div class=\"scroll\" "
          "tabindex=\"0\"><table><tr><td></td><td></td>"
          "<th class=\"n\">best configuration</th><th class=\"n\">95 %</th></tr>\n",
          out);
    for (size_t c = 0; c < space->criterion_count; c++) {
        struct spex_figure_texts figure = {"-", "-", ""};
        if (g != SPEX_RANKING_NONE)
            figure = spex_report_figure(study, g, c);
        spex_criterion_text(&space->criteria[c], text, sizeof(text));
        fputs(c < space->objective_count ? "<tr><td>objective</td><td>" : "<tr><td>limit</td><td>",
              out);
        spex_html_text(out, text);
        fputs("</td>", out);
        cell_number(out, figure.value);
        cell_number(out, figure.interval);
        fputs("</tr>\n", out);
    }
    fputs("</table></div>\n", out);
}

/* Writes the head of a table of configurations. */
static void write_group_head(const struct spex_study *study, const char *first, FILE *out) {
    const struct spex_space *space = &study->file->space;
    char text[512], name[SPEX_CRITERION_TEXT_BYTES];
    fputs("<div class=\"scroll\" tabindex=\"0\"><table><tr>", out);
    head_number(out, first);
    head_number(out, "estimate");
    head_number(out, "95 %");
    for (size_t c = 0; c < space->criterion_count; c++) {
        spex_criterion_name(&space->criteria[c], name, sizeof(name));
        snprintf(text, sizeof(text), "measured %.500s", name);
        head_number(out, text);
    }
    head_number(out, "trials");
    for (size_t p = 0; p < space->parameter_count; p++) {
        fputs("<th>", out);
        spex_parameter_heading(&space->parameters[p], text, sizeof(text));
        spex_html_text(out, text);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
}

/* A row of a table of configurations, in the columns of write_group_head. `first`: the first
 * cell. */
static void write_group(const struct spex_study *study, size_t g, const char *first, FILE *out) {
    const struct spex_space *space = &study->file->space;
    const struct spex_group *group = &study->summary.groups[g];
    struct spex_figure_texts estimate = spex_report_figure(study, g, 0);
    char text[256];
    fputs(g == study->findings.best ? "<tr class=\"first\">" : "<tr>", out);
    cell_number(out, first);
    cell_number(out, estimate.value);
    cell_number(out, estimate.interval);
    for (size_t c = 0; c < space->criterion_count; c++)
        cell_measured(out, study, group, c);
    snprintf(text, sizeof(text), "%" PRIu64, group->trials);
    cell_number(out, text);
    for (size_t p = 0; p < space->parameter_count; p++) {
        fputs("<td>", out);
        spex_html_text(out, spex_level_shown(space, group->levels, p, text, sizeof(text)));
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void write_drift(const struct spex_study *study, FILE *out) {
    char text[SPEX_DRIFT_TEXT_BYTES];
    if (!study->findings.drift.kind)
        return;
    fputs("<h2>Drift</h2>\n<p>By the reference configuration, ", out);
    spex_html_format(out, "%s.", spex_report_drift(study, text, sizeof(text)));
    fputs("</p>\n", out);
}

/* How sure the race has made the best, and who was in it. */
static void write_race(const struct spex_study *study, FILE *out) {
    const struct spex_final_race *race = &study->findings.race;
    char text[SPEX_RACE_TEXT_BYTES];
    if (!race->trials)
        return;
    fputs("<h2>Finals</h2>\n<p>", out);
    spex_html_format(out, "In %" PRIu64 " blocks of trials: %s.", race->blocks,
                     spex_report_race(study, text, sizeof(text)));
    fputs("</p>\n", out);
    write_group_head(study, "finalist", out);
    for (size_t f = 0; f < race->count; f++) {
        const struct spex_finalist *finalist = &race->finalists[f];
        const struct spex_group *group = &study->summary.groups[finalist->group];
        char after[48] = "left";
        if (finalist->out)
            snprintf(after, sizeof(after), "worse, after %" PRIu64, finalist->out_after);
        snprintf(text, sizeof(text), "%s%s", after,
                 spex_findings_spread(group) > SPEX_UNSTABLE_SHARE ? ", unstable" : "");
        write_group(study, finalist->group, text, out);
    }
    fputs("</table></div>\n", out);
}

static void write_tied(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    char text[32];
    if (findings->tied_count < 2)
        return;
    fputs("<h2>As good as the best, as far as these trials can tell</h2>\n", out);
    write_group_head(study, "rank", out);
    for (size_t i = 0; i < findings->tied_count && i < TIED_MAX; i++) {
        snprintf(text, sizeof(text), "%zu", i + 1);
        write_group(study, findings->tied[i], text, out);
    }
    fputs("</table></div>\n", out);
    if (findings->tied_count > TIED_MAX)
        fprintf(out, "<p class=\"faint\">and %zu more</p>\n", findings->tied_count - TIED_MAX);
}

static void write_front(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    if (study->file->space.objective_count < 2)
        return;
    fputs("<h2>Pareto front: no other one beats these in all objectives</h2>\n", out);
    write_group_head(study, "surely", out);
    for (size_t f = 0; f < findings->front_count && f < FRONT_MAX; f++)
        write_group(study, findings->front[f],
                    findings->places[findings->front[f]] == SPEX_PARETO_SURE_FRONT ? "yes"
                                                                                   : "perhaps",
                    out);
    fputs("</table></div>\n", out);
    if (findings->front_count > FRONT_MAX)
        fprintf(out, "<p class=\"faint\">and %zu more</p>\n", findings->front_count - FRONT_MAX);
    if (findings->perhaps_count)
        fprintf(out,
                "<p class=\"faint\">%zu more configurations may belong to it, as far as these "
                "trials can tell.</p>\n",
                findings->perhaps_count);
}

/* Writes the row of a share with its interval and a bar. */
static void write_share(FILE *out, const char *names, const struct spex_sensitivity_share *of) {
    double share = of->value;
    fputs("<tr><td>", out);
    spex_html_text(out, names);
    char text[32] = "-", interval[48] = "";
    if (!isnan(share))
        snprintf(text, sizeof(text), "%.1f %%", share * 100);
    if (!isnan(of->low))
        snprintf(interval, sizeof(interval), "%.0f to %.0f %%", of->low * 100, of->high * 100);
    fputs("</td>", out);
    cell_number(out, text);
    cell_number(out, interval);
    fprintf(out, "<td><span class=\"bar\" style=\"width:%.1frem\"></span></td></tr>\n",
            share > 0 ? share * 14 : 0);
}

/* Pairs that explain less than half a percent are left out. */
static void write_effects(const struct spex_study *study, FILE *out) {
    const struct spex_effects *effects = &study->findings.effects;
    const struct spex_parameter *parameters = study->file->space.parameters;
    char names[512];
    fprintf(
        out,
        "<h2>What matters: shares of the first objective's variance</h2>\n<p "
        "class=\"faint\">%s</p>\n<div class=\"scroll\" tabindex=\"0\"><table><tr><th>parameter</th>"
        "<th class=\"n\">share</th><th class=\"n\">95 %%</th><td></td></tr>\n",
        effects->modelled ? "In a model of the whole space."
                          : "Among the configurations that were tried.");
    for (size_t p = 0; p < effects->parameter_count; p++) {
        const struct spex_sensitivity_share share = spex_effects_share(effects, p);
        if (parameters[p].count > 1)
            write_share(out, parameters[p].name, &share);
    }
    for (size_t i = 0; i < effects->interaction_count && i < PAIRS_MAX; i++) {
        const struct spex_interaction *pair = &effects->interactions[i];
        snprintf(names, sizeof(names), "%s and %s together, beyond each on its own",
                 parameters[pair->a].name, parameters[pair->b].name);
        if (pair->share.value >= 0.005)
            write_share(out, names, &pair->share);
    }
    fputs("</table></div>\n", out);
}

static void write_failures(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    if (!findings->failed)
        return;
    fprintf(out, "<h2>%" PRIu64 " trials failed</h2>\n<table><tr>", findings->failed);
    head_number(out, "trials");
    fputs("<th>reason</th></tr>\n", out);
    for (size_t f = 0; f < findings->failure_count; f++) {
        char text[32];
        snprintf(text, sizeof(text), "%" PRIu64, findings->failures[f].trials);
        fputs("<tr>", out);
        cell_number(out, text);
        fputs("<td>", out);
        spex_html_text(out, findings->failures[f].reason);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

/* Writes the table of all configurations with a result, the best first. 0 or -ENOMEM. */
static int write_configurations(const struct spex_study *study, FILE *out) {
    size_t count, *order = spex_report_order(study, &count);
    char text[32];
    if (!order)
        return -ENOMEM;
    fprintf(out, "<h2>Configurations, the best first</h2>\n");
    write_group_head(study, "", out);
    for (size_t i = 0; i < count && i < ROWS_MAX; i++) {
        snprintf(text, sizeof(text), "%zu", i + 1);
        write_group(study, order[i], text, out);
    }
    fputs("</table></div>\n", out);
    if (count > ROWS_MAX)
        fprintf(out, "<p class=\"faint\">and %zu more</p>\n", count - ROWS_MAX);
    free(order);
    return 0;
}

/* A mixed store has several machines, which are listed one after another. */
static void write_circumstances(const struct spex_study *study, FILE *out) {
    const struct spex_findings *findings = &study->findings;
    char text[96];
    fputs("<h2>How it was measured</h2>\n<div class=\"scroll\" tabindex=\"0\"><table>\n", out);
    write_row(out, "program", spex_store_program(study->store));
    for (size_t m = 0; m < study->machine_count; m++)
        for (size_t c = 0; c < SPEX_ON_COUNT; c++)
            write_row(out, spex_circumstance_names[c], study->machines[m].texts[c]);
    if (spex_circumstances_mixed(study->machines, study->machine_count))
        write_row(out, "classes", "several, ranked as if they were one");
    snprintf(text, sizeof(text), "%" PRIu64 " used, %" PRIu64 " lost", findings->records_used,
             findings->records_lost);
    if (!spex_space_of_command(&study->file->space))
        write_row(out, "records", text);
    fputs("</table></div>\n", out);
}

/* Draws a picture and includes its SVG in the page. The SVG is gnuplot's and not escaped; texts in
 * it have passed spex_script_text, and the page's content policy forbids scripts. */
static int write_picture(const struct spex_study *study, const char *name, spex_drawing *draw,
                         FILE *out, struct spex_error *error) {
    const struct spex_picture picture = {.name = name, .draw = draw, .subject = study};
    char *svg;
    int err = spex_picture_svg(&picture, &svg, error);
    if (err)
        return err;
    fputs("<figure tabindex=\"0\">", out);
    fputs(svg, out);
    fputs("</figure>\n", out);
    free(svg);
    return 0;
}

/* Writes the pictures that the space has data for. */
static int write_pictures(const struct spex_study *study, FILE *out, struct spex_error *error) {
    const struct spex_space *space = &study->file->space;
    bool varied = spex_space_configurations(space) > 1;
    int err = 0;
    if (space->objective_count > 1)
        err = write_picture(study, "pareto", spex_draw_pareto, out, error);
    if (!err && space->parameter_count > 1)
        err = write_picture(study, "heatmap", spex_draw_heatmap, out, error);
    if (!err && varied)
        err = write_picture(study, "effects", spex_draw_effects, out, error);
    return err ? err : write_picture(study, "convergence", spex_draw_convergence, out, error);
}

/* Goes on after a picture that could not be drawn: with an error the page does not get its name
 * anyway. */
static int write_results(const struct spex_study *study, FILE *out, struct spex_error *error) {
    write_best(study, out);
    int err = write_pictures(study, out, error);
    write_criteria(study, out);
    write_drift(study, out);
    write_race(study, out);
    write_tied(study, out);
    write_effects(study, out);
    write_front(study, out);
    write_failures(study, out);
    if (!err && write_configurations(study, out))
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

int spex_report_html(const struct spex_study *study, FILE *out, struct spex_error *error) {
    int err = 0;
    write_head(study, out);
    if (study->findings.best == SPEX_RANKING_NONE) {
        fputs("<p><b>No trial has a result.</b></p>\n", out);
        write_criteria(study, out);
        write_failures(study, out);
    } else {
        err = write_results(study, out, error);
    }
    write_circumstances(study, out);
    fputs("</main></body></html>\n", out);
    if (!err && (fflush(out) != 0 || ferror(out)))
        err = spex_fail(error, -EIO, "cannot write the page: %s", strerror(errno));
    return err;
}
