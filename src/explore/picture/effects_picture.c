/* SPDX-License-Identifier: MIT */
/* Draws a panel for each parameter with mean and best of the first objective by its values, the
 * parameters of the greatest effects first. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "explore/findings/study.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/picture_values.h"
#include "explore/picture/study_pictures.h"
#include "text/quantity.h"

#define PANELS_MAX   16 /* parameters with the strongest effects */
#define COLUMNS      3
#define PANEL_WIDTH  320
#define PANEL_HEIGHT 230

/* A parameter and its share of the variance, by which panels are ordered. */
struct ranked {
    size_t parameter;
    double share;
};

static int compare_shares(const void *a, const void *b) {
    const struct ranked *one = a, *other = b;
    if (one->share != other->share)
        return one->share > other->share ? -1 : 1;
    return one->parameter < other->parameter ? -1 : 1;
}

/* Sorts the parameters with more than one value by their effect; returns how many are drawn. */
static size_t rank_parameters(const struct spex_study *study, struct ranked *ranked) {
    size_t count = 0;
    for (size_t p = 0; p < study->file->space.parameter_count; p++) {
        double share = spex_effects_share(&study->findings.effects, p).value;
        if (study->file->space.parameters[p].count > 1)
            ranked[count++] = (struct ranked){p, isnan(share) ? 0 : share};
    }
    qsort(ranked, count, sizeof(*ranked), compare_shares);
    return count < PANELS_MAX ? count : PANELS_MAX;
}

/* What is told of each mean and each best. */
static void write_values(const struct spex_script *script, const struct spex_criterion *criterion,
                         const struct spex_effect *effect, size_t p) {
    char bin[128], value[48], text[512];
    spex_script_values_begin(script, "values", p);
    for (size_t b = 0; b < effect->bins.count; b++) {
        const double values[] = {effect->of_bins[b].mean, effect->of_bins[b].best};
        static const char *const names[] = {"mean", "best"};
        spex_bin_text(&effect->bins, b, bin, sizeof(bin));
        for (size_t v = 0; effect->of_bins[b].configurations && v < 2; v++) {
            spex_quantity_text(values[v], NAN, spex_criterion_unit(criterion), value,
                               sizeof(value));
            snprintf(text, sizeof(text), "%s=%s: %s %s", effect->bins.parameter->name, bin,
                     names[v], value);
            spex_script_value(script, (double)b, values[v], text);
        }
    }
    spex_script_values_end(script);
}

/* Each panel has a data block of its own. Points of categories are not connected, because their
 * order says nothing. */
static void write_panel(const struct spex_script *script, const struct spex_criterion *criterion,
                        const struct spex_effects *effects, size_t p) {
    const struct spex_effect *effect = &effects->parameters[p];
    struct spex_axis_range range = SPEX_AXIS_RANGE_EMPTY;
    double share = spex_effects_share(effects, p).value;
    bool ordered = spex_parameter_ordered(effect->bins.parameter);
    fprintf(script->out, "$effect%zu << EOD\n", p);
    for (size_t b = 0; b < effect->bins.count; b++)
        if (effect->of_bins[b].configurations) {
            fprintf(script->out, "%zu %.17g %.17g\n", b, effect->of_bins[b].mean,
                    effect->of_bins[b].best);
            spex_axis_range_add(&range, effect->of_bins[b].mean);
            spex_axis_range_add(&range, effect->of_bins[b].best);
        }
    fputs("EOD\n", script->out);
    write_values(script, criterion, effect, p);
    spex_script_criterion(script, "y", criterion, range);
    spex_script_bins(script, "x", &effect->bins, 42);
    fputs("set title '", script->out);
    if (!isnan(share))
        fprintf(script->out, "%.0f %% of the variance", share * 100);
    fprintf(script->out,
            "' offset 0,-0.7\nplot $effect%zu using 1:3 with %s lc rgb '" SPEX_COLOUR_BEST
            "' pt 6, $effect%zu using 1:2 with %s lc rgb '" SPEX_COLOUR_MEAN "' lw 2 pt 7 ps 0.6",
            p, ordered ? "linespoints" : "points", p, ordered ? "linespoints" : "points");
    spex_script_values_plot(script, "values", p, SPEX_VALUE_PIXELS);
    fputc('\n', script->out);
}

/* Writes size, margins and title; margins are in pixels, which gnuplot takes as shares. */
static void write_preamble(const struct spex_study *study, const struct spex_script *script,
                           size_t panels) {
    size_t columns = panels < COLUMNS ? panels : COLUMNS;
    size_t rows = (panels + columns - 1) / columns;
    double height = (double)(rows * PANEL_HEIGHT + 60);
    double width = (double)(columns * PANEL_WIDTH + 40);
    spex_script_terminal(script, (size_t)width, (size_t)height);
    fprintf(script->out,
            "set multiplot layout %zu,%zu rowsfirst margins screen %.4f,%.4f,%.4f,%.4f "
            "spacing screen %.4f,%.4f title '",
            rows, columns, 85 / width, 1 - 20 / width, 75 / height, 1 - 60 / height, 85 / width,
            95 / height);
    spex_script_text(script, study->file->space.name);
    fputs(": each parameter on its own, mean (dots) and best (rings) over all others'\n"
          "set border 3\nset ytics nomirror\nset grid ytics lc rgb '#dddddd'\nunset key\n"
          "set offsets graph 0, graph 0, graph 0.08, graph 0.08\n",
          script->out);
}

int spex_draw_effects(const void *subject, struct spex_script *script, struct spex_error *error) {
    const struct spex_study *study = subject;
    const struct spex_space *space = &study->file->space;
    struct ranked *ranked = calloc(space->parameter_count, sizeof(*ranked));
    if (!ranked)
        return spex_fail(error, -ENOMEM, "out of memory");
    size_t panels = rank_parameters(study, ranked);
    int err = panels ? 0 : spex_fail(error, -EINVAL, "no parameter of the space has two values");
    if (!err) {
        write_preamble(study, script, panels);
        for (size_t i = 0; i < panels; i++)
            write_panel(script, space->criteria, &study->findings.effects, ranked[i].parameter);
        fputs("unset multiplot\n", script->out);
    }
    free(ranked);
    return err;
}
