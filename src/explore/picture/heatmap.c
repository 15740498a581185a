/* SPDX-License-Identifier: MIT */
/* Draws the heat map of a study: a panel for each combination of the other parameters, in which
 * colours show the objective's mean. */
#include <math.h>

#include "explore/findings/heat_map.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/picture_values.h"
#include "explore/picture/study_pictures.h"
#include "measure/criterion.h"
#include "text/quantity.h"

/* Sizes in pixels. A single panel is drawn twice as large. */
#define PANEL_WIDTH    250
#define PANEL_HEIGHT   230
#define MARGIN_WIDTH   190
#define MARGIN_HEIGHT  130
#define SPACING_PIXELS 64

/* The longest title of a panel. */
enum { TITLE_BYTES = 4096 };

static void write_title(const struct spex_heat_map *map, const struct spex_script *script) {
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_script_text(script, map->space->name);
    fputs(": ", script->out);
    spex_criterion_name(map->space->criteria, name, sizeof(name));
    spex_script_text(script, name);
    fputs(map->panels ? "; a ring marks the best'\n"
                      : ", best over the other parameters; a ring marks the best'\n",
          script->out);
}

/* The panels, and around them room for axes, titles and the scale of colours. */
static void write_layout(const struct spex_heat_map *map, const struct spex_script *script) {
    size_t times = map->panels ? 1 : 2;
    size_t pixels_x = MARGIN_WIDTH + map->columns * PANEL_WIDTH * times;
    size_t pixels_y = MARGIN_HEIGHT + map->rows * PANEL_HEIGHT * times;
    double width = (double)pixels_x, height = (double)pixels_y;
    spex_script_terminal(script, pixels_x, pixels_y);
    fprintf(script->out,
            "set multiplot layout %zu,%zu rowsfirst margins screen %.4f,%.4f,%.4f,%.4f "
            "spacing screen %.4f,%.4f title '",
            map->rows, map->columns, 70.0 / width, 1 - 120.0 / width, 62.0 / height,
            1 - 65.0 / height, SPACING_PIXELS / width, (SPACING_PIXELS + 20) / height);
    write_title(map, script);
    fprintf(script->out, "colorbar_x = %.4f\ncolorbar_width = %.4f\n", 1 - 105.0 / width,
            18.0 / width);
}

/* All panels share one scale of colours. Where all means are equal, its range is widened by a
 * little, because a range must not be empty. */
static void write_preamble(const struct spex_heat_map *map, const struct spex_script *script) {
    /* The colours of viridis; a darker one stands for a greater value. */
    static const char palette[] =
        "set palette defined (0 '#fde725', 1 '#90d743', 2 '#35b779', 3 '#21918c', 4 '#31688e', "
        "5 '#443983', 6 '#440154')\n";
    const char *unit = spex_criterion_unit(map->space->criteria);
    double low = map->low, high = map->high;
    if (high <= low)
        high = low + (low != 0 ? fabs(low) : 1) * 1e-6;
    write_layout(map, script);
    fputs(palette, script->out);
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_criterion_name(map->space->criteria, name, sizeof(name));
    fprintf(script->out, "set cbrange [%.17g:%.17g]\nset cblabel '", low, high);
    spex_script_text(script,
                     spex_space_of_command(map->space) ? name : map->space->criteria[0].metric);
    fprintf(script->out, "%s%s'\nunset colorbox\nunset key\n", *unit ? ", " : "", unit);
    spex_script_numbers(script, "cb", map->space->criteria, (struct spex_axis_range){low, high});
    spex_script_bins(script, "x", &map->x_bins, map->panels ? 30 : 75);
    spex_script_bins(script, "y", &map->y_bins, map->panels ? 32 : 64);
}

/* Writes the panel's grid of means; "NaN" leaves a cell blank. */
static void write_panel_data(const struct spex_heat_map *map, size_t panel, FILE *out) {
    fprintf(out, "$panel%zu << EOD\n", panel);
    for (size_t y = 0; y < map->y_bins.count; y++)
        for (size_t x = 0; x < map->x_bins.count; x++) {
            const struct spex_group *group = spex_heat_map_at(map, panel, y, x);
            if (group)
                fprintf(out, "%zu %zu %.17g\n", x, y, group->criteria[0].mean);
            else
                fprintf(out, "%zu %zu NaN\n", x, y);
        }
    fputs("EOD\n", out);
}

/* What is told of each cell. */
static void write_panel_values(const struct spex_heat_map *map, const struct spex_script *script,
                               size_t panel) {
    const struct spex_criterion *criterion = map->space->criteria;
    char x_text[128], y_text[128], mean[48], text[512];
    spex_script_values_begin(script, "values", panel);
    for (size_t y = 0; y < map->y_bins.count; y++)
        for (size_t x = 0; x < map->x_bins.count; x++) {
            const struct spex_group *group = spex_heat_map_at(map, panel, y, x);
            if (!group)
                continue;
            spex_bin_text(&map->x_bins, x, x_text, sizeof(x_text));
            spex_bin_text(&map->y_bins, y, y_text, sizeof(y_text));
            spex_quantity_text(group->criteria[0].mean, NAN, spex_criterion_unit(criterion), mean,
                               sizeof(mean));
            snprintf(text, sizeof(text), "%s=%s %s=%s: %s", map->x_bins.parameter->name, x_text,
                     map->y_bins.parameter->name, y_text, mean);
            spex_script_value(script, (double)x, (double)y, text);
        }
    spex_script_values_end(script);
}

/* Of the narrower side of a cell. */
static double cell_pixels(const struct spex_heat_map *map) {
    double times = map->panels ? 1 : 2;
    return times *
           fmin(PANEL_WIDTH / (double)map->x_bins.count, PANEL_HEIGHT / (double)map->y_bins.count);
}

/* The colour scale is drawn with the last panel alone. */
static void write_panel(const struct spex_heat_map *map, const struct spex_script *script,
                        size_t panel) {
    char title[TITLE_BYTES];
    size_t x = 0, y = 0;
    spex_heat_map_title(map, panel, title, sizeof(title));
    fputs("set title '", script->out);
    spex_script_text(script, title);
    fputs("' offset 0,-0.7\n", script->out);
    write_panel_data(map, panel, script->out);
    write_panel_values(map, script, panel);
    if (panel == map->columns * map->rows - 1)
        fputs("set colorbox user origin screen colorbar_x,0.15 size screen colorbar_width,0.7\n",
              script->out);
    fprintf(script->out, "plot $panel%zu using 1:2:3 with image pixels", panel);
    if (spex_heat_map_best(map, panel, &y, &x))
        fprintf(script->out,
                ", '+' using (%zu):(%zu) every ::0::0 with points pt 6 ps 1.6 lw 3 lc rgb 'white'",
                x, y);
    spex_script_values_plot(script, "values", panel, cell_pixels(map));
    fputc('\n', script->out);
}

int spex_draw_heatmap(const void *subject, struct spex_script *script, struct spex_error *error) {
    struct spex_heat_map map;
    int err = spex_heat_map_init(&map, subject, error);
    if (!err) {
        write_preamble(&map, script);
        for (size_t panel = 0; panel < map.columns * map.rows; panel++)
            write_panel(&map, script, panel);
        fputs("unset multiplot\n", script->out);
    }
    spex_heat_map_free(&map);
    return err;
}
