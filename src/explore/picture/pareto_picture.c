/* SPDX-License-Identifier: MIT */
/* Draws each objective against the first: the front, configurations that may be on it, and the
 * others. */
#include <errno.h>

#include "explore/findings/study.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/picture_values.h"
#include "explore/picture/study_pictures.h"
#include "text/quantity.h"

/* Pixels. */
#define PANEL_WIDTH  520
#define PANEL_HEIGHT 380

#define POINTS_MAX 2000 /* most points behind the front */

/* Writes the groups whose places are between `from` and `to`, a column for each objective. Of those
 * behind the front every n-th is drawn if there are many; those on the front all are. */
static void write_points(const struct spex_study *study, const struct spex_script *script,
                         const char *name, enum spex_pareto_place from, enum spex_pareto_place to) {
    const struct spex_summary *summary = &study->summary;
    size_t every = to < SPEX_PARETO_FRONT ? summary->count / POINTS_MAX + 1 : 1, seen = 0;
    fprintf(script->out, "$%s << EOD\n", name);
    for (size_t g = 0; g < summary->count; g++) {
        if (!summary->groups[g].trials || study->findings.places[g] < from ||
            study->findings.places[g] > to || seen++ % every != 0)
            continue;
        for (size_t c = 0; c < summary->space->objective_count; c++)
            fprintf(script->out, "%.17g ", summary->groups[g].criteria[c].mean);
        fputc('\n', script->out);
    }
    /* gnuplot fails on an empty data set. */

    for (size_t c = 0; c < summary->space->objective_count; c++)
        fputs("NaN ", script->out);
    fputs("\nEOD\n", script->out);
}

/* Writes the front by the first objective, the order in which gnuplot connects the points. */
static void write_front(const struct spex_study *study, const struct spex_script *script) {
    fputs("$front << EOD\n", script->out);
    for (size_t f = 0; f < study->findings.front_count; f++) {
        const struct spex_group *group = &study->summary.groups[study->findings.front[f]];
        for (size_t c = 0; c < study->file->space.objective_count; c++)
            fprintf(script->out, "%.17g ", group->criteria[c].mean);
        fputc('\n', script->out);
    }
    fputs("EOD\n", script->out);
}

/* What is told of the front: the configuration and both means. */
static void write_values(const struct spex_study *study, const struct spex_script *script,
                         size_t objective) {
    const struct spex_space *space = &study->file->space;
    char levels[512], means[2][48], text[640];
    spex_script_values_begin(script, "values", objective);
    for (size_t f = 0; f < study->findings.front_count; f++) {
        const struct spex_group *group = &study->summary.groups[study->findings.front[f]];
        for (size_t m = 0; m < 2; m++)
            spex_quantity_text(group->criteria[m * objective].mean, NAN,
                               spex_criterion_unit(&space->criteria[m * objective]), means[m],
                               sizeof(means[m]));
        spex_levels_text(space, group->levels, levels, sizeof(levels));
        snprintf(text, sizeof(text), "%s, %s: %s", means[0], means[1], levels);
        spex_script_value(script, group->criteria[0].mean, group->criteria[objective].mean, text);
    }
    spex_script_values_end(script);
}

/* The means of an objective, which are what is drawn. */
static void write_axis(const struct spex_study *study, const struct spex_script *script,
                       const char *axis, size_t objective) {
    struct spex_axis_range range = SPEX_AXIS_RANGE_EMPTY;
    for (size_t g = 0; g < study->summary.count; g++)
        if (study->summary.groups[g].trials)
            spex_axis_range_add(&range, study->summary.groups[g].criteria[objective].mean);
    spex_script_criterion(script, axis, &study->file->space.criteria[objective], range);
}

/* A line connects the front for two objectives only: with more, neighbours in one panel are not
 * neighbours on the front. */
static void write_panel(const struct spex_study *study, const struct spex_script *script,
                        size_t objective) {
    const struct spex_space *space = &study->file->space;
    write_values(study, script, objective);
    write_axis(study, script, "x", 0);
    write_axis(study, script, "y", objective);
    size_t y = objective + 1;
    fprintf(script->out,
            "plot $others using 1:%zu with points pt 7 ps 0.35 lc rgb '" SPEX_COLOUR_POINTS
            "' title 'beaten', "
            "$perhaps using 1:%zu with points pt 6 ps 0.7 lc rgb '" SPEX_COLOUR_MEAN
            "' title 'perhaps in front', ",
            y, y);
    if (space->objective_count == 2)
        fprintf(script->out,
                "$front using 1:%zu with lines lw 1 lc rgb '" SPEX_COLOUR_BEST "' notitle, ", y);
    fprintf(script->out,
            "$unsure using 1:%zu with points pt 6 ps 0.9 lw 2 lc rgb '" SPEX_COLOUR_BEST
            "' title 'in front by the means', "
            "$sure using 1:%zu with points pt 7 ps 0.9 lc rgb '" SPEX_COLOUR_BEST
            "' title 'in front'",
            y, y);
    spex_script_values_plot(script, "values", objective, SPEX_VALUE_PIXELS);
    fputc('\n', script->out);
}

int spex_draw_pareto(const void *subject, struct spex_script *script, struct spex_error *error) {
    const struct spex_study *study = subject;
    size_t panels = study->file->space.objective_count - 1;
    if (panels == 0)
        return spex_fail(error, -EINVAL, "a Pareto front needs a space of two objectives or more");
    size_t columns = panels < 2 ? 1 : 2;
    size_t rows = (panels + columns - 1) / columns;
    spex_script_terminal(script, columns * PANEL_WIDTH + 40, rows * PANEL_HEIGHT + 60);
    write_points(study, script, "others", SPEX_PARETO_OUT, SPEX_PARETO_BEATEN);
    write_points(study, script, "perhaps", SPEX_PARETO_PERHAPS, SPEX_PARETO_PERHAPS);
    write_points(study, script, "unsure", SPEX_PARETO_FRONT, SPEX_PARETO_FRONT);
    write_points(study, script, "sure", SPEX_PARETO_SURE_FRONT, SPEX_PARETO_SURE_FRONT);
    write_front(study, script);
    fprintf(script->out, "set multiplot layout %zu,%zu rowsfirst title '", rows, columns);
    spex_script_text(script, study->file->space.name);
    fputs(": what one objective costs of another'\nset border 3\nset grid lc rgb '#dddddd'\n"
          "set datafile missing 'NaN'\nset xtics nomirror\nset ytics nomirror\n"
          "set key bmargin center horizontal samplen 0.5 font ',9'\n",
          script->out);
    for (size_t o = 1; o <= panels; o++)
        write_panel(study, script, o);
    fputs("unset multiplot\n", script->out);
    return 0;
}
