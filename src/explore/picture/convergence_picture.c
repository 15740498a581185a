/* SPDX-License-Identifier: MIT */
/* Draws the best value so far and the single trials, over the number of trials and over time. */
#include <math.h>

#include "explore/findings/study.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/picture_values.h"
#include "explore/picture/study_pictures.h"
#include "text/quantity.h"

#define POINTS_MAX 2000 /* most trials that are drawn */

/* Columns: number of the trial, measured seconds, value. Of many trials every n-th is drawn, since
 * an SVG has an element for each point. Returns the range of the values. */
static struct spex_axis_range write_trials(const struct spex_study *study,
                                           const struct spex_script *script) {
    struct spex_axis_range range = SPEX_AXIS_RANGE_EMPTY;
    const struct spex_best_so_far *path = study->findings.convergence;
    fputs("$trials << EOD\n", script->out);
    size_t every = study->trials.count / POINTS_MAX + 1;
    for (size_t t = 0; t < study->trials.count; t += every)
        if (study->trials.items[t].ok) {
            double value = study->trials.items[t].measured[0].value;
            fprintf(script->out, "%zu %.9g %.17g\n", t + 1, path[t].seconds, value);
            spex_axis_range_add(&range, value);
        }
    fputs("EOD\n", script->out);
    return range;
}

/* Where the best value changes, and the last one. */
static bool is_step(const struct spex_study *study, size_t t) {
    const struct spex_best_so_far *path = study->findings.convergence;
    return !isnan(path[t].value) &&
           (t == 0 || t + 1 == study->trials.count || path[t].value != path[t - 1].value);
}

/* What is told of the best: over trials, and over seconds. */
static void write_values(const struct spex_study *study, const struct spex_script *script,
                         bool seconds) {
    const struct spex_best_so_far *path = study->findings.convergence;
    char value[48], text[128];
    spex_script_values_begin(script, "values", seconds);
    for (size_t t = 0; t < study->trials.count; t++) {
        if (!is_step(study, t))
            continue;
        spex_quantity_text(path[t].value, NAN, spex_criterion_unit(study->file->space.criteria),
                           value, sizeof(value));
        snprintf(text, sizeof(text), "trial %zu, %.3g s: best %s", t + 1, path[t].seconds, value);
        spex_script_value(script, seconds ? path[t].seconds : (double)(t + 1), path[t].value, text);
    }
    spex_script_values_end(script);
}

/* gnuplot draws steps between the points. */
static void write_best(const struct spex_study *study, const struct spex_script *script) {
    const struct spex_best_so_far *path = study->findings.convergence;
    fputs("$best << EOD\n", script->out);
    for (size_t t = 0; t < study->trials.count; t++)
        if (is_step(study, t))
            fprintf(script->out, "%zu %.9g %.17g\n", t + 1, path[t].seconds, path[t].value);
    fputs("EOD\n", script->out);
}

/* `seconds`: what the horizontal axis shows, of the columns of write_trials. */
static void write_panel(const struct spex_script *script, const char *label, bool seconds) {
    int column = seconds ? 2 : 1;
    fprintf(script->out,
            "set xlabel '%s'\nplot $trials using %d:3 with points pt 7 ps 0.3 lc rgb "
            "'" SPEX_COLOUR_POINTS "', $best using %d:3 with steps lw 2 lc rgb "
            "'" SPEX_COLOUR_BEST "'",
            label, column, column);
    spex_script_values_plot(script, "values", seconds, SPEX_VALUE_PIXELS);
    fputc('\n', script->out);
}

int spex_draw_convergence(const void *subject, struct spex_script *script,
                          struct spex_error *error) {
    const struct spex_study *study = subject;
    (void)error;
    spex_script_terminal(script, 960, 340);
    struct spex_axis_range range = write_trials(study, script);
    write_best(study, script);
    write_values(study, script, false);
    write_values(study, script, true);
    fputs("set multiplot layout 1,2 title '", script->out);
    spex_script_text(script, study->file->space.name);
    fputs(": the best so far, and all trials (dots)'\nset border 3\nset grid lc rgb '#dddddd'\nset "
          "xtics nomirror\n"
          "set ytics nomirror\nunset key\n",
          script->out);
    spex_script_criterion(script, "y", study->file->space.criteria, range);
    write_panel(script, "trials", false);
    write_panel(script, "measured seconds", true);
    fputs("unset multiplot\n", script->out);
    return 0;
}
