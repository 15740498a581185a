/* SPDX-License-Identifier: MIT */
/* Draws the best value so far and the single trials, over the number of trials and over time. */
#include <math.h>

#include "explore/findings/study.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/study_pictures.h"

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

/* Writes the points where the best value changes, and the last one; gnuplot draws steps between
 * them. */
static void write_best(const struct spex_study *study, const struct spex_script *script) {
    const struct spex_best_so_far *path = study->findings.convergence;
    fputs("$best << EOD\n", script->out);
    for (size_t t = 0; t < study->trials.count; t++)
        if (!isnan(path[t].value) &&
            (t == 0 || t + 1 == study->trials.count || path[t].value != path[t - 1].value))
            fprintf(script->out, "%zu %.9g %.17g\n", t + 1, path[t].seconds, path[t].value);
    fputs("EOD\n", script->out);
}

/* `column`: what the horizontal axis shows, of the columns of write_trials. */
static void write_panel(const struct spex_script *script, const char *label, int column) {
    fprintf(script->out,
            "set xlabel '%s'\nplot $trials using %d:3 with points pt 7 ps 0.3 lc rgb "
            "'" SPEX_COLOUR_POINTS "', $best using %d:3 with steps lw 2 lc rgb "
            "'" SPEX_COLOUR_BEST "'\n",
            label, column, column);
}

int spex_draw_convergence(const void *subject, struct spex_script *script,
                          struct spex_error *error) {
    const struct spex_study *study = subject;
    (void)error;
    spex_script_terminal(script, 960, 340);
    struct spex_axis_range range = write_trials(study, script);
    write_best(study, script);
    fputs("set multiplot layout 1,2 title '", script->out);
    spex_script_text(script, study->file->space.name);
    fputs(": the best so far, and all trials (dots)'\nset border 3\nset grid lc rgb '#dddddd'\nset "
          "xtics nomirror\n"
          "set ytics nomirror\nunset key\n",
          script->out);
    spex_script_criterion(script, "y", study->file->space.criteria, range);
    write_panel(script, "trials", 1);
    write_panel(script, "measured seconds", 2);
    fputs("unset multiplot\n", script->out);
    return 0;
}
