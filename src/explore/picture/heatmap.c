/* SPDX-License-Identifier: MIT */
/* The heat map of Go and Colmenares, Figure 3. The axes are two parameters, each combination of the
 * others is a panel, and colours show the objective's mean. If there are too many combinations, a
 * single panel shows the best of them. Parameters with many values are grouped into bins (bins.h);
 * a place shows the best configuration in it. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/findings/study.h"
#include "explore/picture/picture_axis.h"
#include "explore/picture/study_pictures.h"
#include "explore/space/space_parameter.h"

/* Most panels; and sizes in pixels. */
#define PANELS_MAX     64
#define PLACES_MAX     24 /* most places on an axis of numbers */
#define PANEL_WIDTH    250
#define PANEL_HEIGHT   230
#define MARGIN_WIDTH   190
#define MARGIN_HEIGHT  130
#define SPACING_PIXELS 64

/* The best configuration in a place of the map; NULL: none has a result. */
struct cell {
    const struct spex_group *best;
};

/* The picture's layout and contents. */
struct map {
    const struct spex_study *study;
    const struct spex_space *space;
    size_t x, y;
    struct spex_bins x_bins, y_bins;
    size_t across; /* the first other parameter: its levels are the columns of panels */
    size_t columns, rows;
    bool panels;          /* otherwise a single one, of the best over the other parameters */
    size_t width, height; /* size in pixels */
    struct cell *cells;   /* indexed by panel, y, x */
    struct spex_script *script;
};

static void write_title(const struct map *map) {
    const struct spex_script *script = map->script;
    spex_script_text(script, map->space->name);
    fputs(": ", script->out);
    spex_script_text(script, map->space->criteria[0].metric);
    fputs(" of ", script->out);
    spex_script_text(script, map->space->criteria[0].probe);
    fputs(map->panels ? "; a ring marks the best'\n"
                      : ", best over the other parameters; a ring marks the best'\n",
          script->out);
}

/* All panels share one scale of colours. Where all means are equal, its range is widened by a
 * little, because a range must not be empty. */
static void write_preamble(const struct map *map) {
    /* The colours of viridis; a darker one stands for a greater value. */
    static const char palette[] =
        "set palette defined (0 '#fde725', 1 '#90d743', 2 '#35b779', 3 '#21918c', 4 '#31688e', "
        "5 '#443983', 6 '#440154')\n";
    const char *unit = spex_criterion_unit(map->space->criteria);
    double width = (double)map->width, height = (double)map->height;
    double low = INFINITY, high = -INFINITY;
    size_t cells = map->columns * map->rows * map->x_bins.count * map->y_bins.count;
    for (size_t c = 0; c < cells; c++)
        if (map->cells[c].best) {
            low = fmin(low, map->cells[c].best->criteria[0].mean);
            high = fmax(high, map->cells[c].best->criteria[0].mean);
        }
    if (high <= low)
        high = low + (low != 0 ? fabs(low) : 1) * 1e-6;
    spex_script_terminal(map->script, map->width, map->height);
    fprintf(map->script->out,
            "set multiplot layout %zu,%zu rowsfirst margins screen %.4f,%.4f,%.4f,%.4f "
            "spacing screen %.4f,%.4f title '",
            map->rows, map->columns, 70.0 / width, 1 - 120.0 / width, 62.0 / height,
            1 - 65.0 / height, SPACING_PIXELS / width, (SPACING_PIXELS + 20) / height);
    write_title(map);
    fputs(palette, map->script->out);
    fprintf(map->script->out,
            "set cbrange [%.17g:%.17g]\nset cblabel '%s%s%s'\nunset colorbox\nunset key\n", low,
            high, map->space->criteria[0].metric, *unit ? ", " : "", unit);
    spex_script_bins(map->script, "x", &map->x_bins, map->panels ? 30 : 75);
    spex_script_bins(map->script, "y", &map->y_bins, map->panels ? 32 : 64);
}

/* Sets levels[] of the other parameters to those of a panel. Panels are numbered row by row; a row
 * is a number whose digits are the levels of the parameters other than x, y and `across`, the last
 * one the lowest digit. */
static void map_panel_levels(const struct map *map, size_t panel, size_t *levels) {
    size_t rest = panel / map->columns;
    for (size_t p = map->space->parameter_count; p-- > 0;) {
        if (p == map->x || p == map->y || p == map->across)
            continue;
        levels[p] = rest % map->space->parameters[p].count;
        rest /= map->space->parameters[p].count;
    }
    if (map->across < map->space->parameter_count)
        levels[map->across] = panel % map->columns;
}

/* The values of the other parameters, which tell panels apart; a single panel has no title. */
static void write_panel_title(const struct map *map, const size_t *levels) {
    const struct spex_script *script = map->script;
    const char *separator = "";
    fputs("set title '", script->out);
    for (size_t p = 0; p < map->space->parameter_count && map->panels; p++) {
        const struct spex_parameter *parameter = &map->space->parameters[p];
        if (p == map->x || p == map->y)
            continue;
        fputs(separator, script->out);
        spex_script_text(script, parameter->name);
        fputc(' ', script->out);
        spex_script_text(script, parameter->values[levels[p]].text);
        if (parameter->unit[0]) {
            fputc(' ', script->out);
            spex_script_text(script, parameter->unit);
        }
        separator = ", ";
    }
    fputs("' offset 0,-0.7\n", script->out);
}

static struct cell *map_cell(const struct map *map, size_t panel, size_t y, size_t x) {
    return &map->cells[(panel * map->y_bins.count + y) * map->x_bins.count + x];
}

/* Writes the panel's grid of means; "NaN" leaves a cell blank. Returns whether the best
 * configuration is in it. */
static bool write_panel_data(const struct map *map, size_t panel, size_t *best_x, size_t *best_y) {
    const struct spex_group *best = &map->study->summary.groups[map->study->findings.best];
    bool best_is_here = false;
    fprintf(map->script->out, "$panel%zu << EOD\n", panel);
    for (size_t y = 0; y < map->y_bins.count; y++)
        for (size_t x = 0; x < map->x_bins.count; x++) {
            const struct spex_group *group = map_cell(map, panel, y, x)->best;
            if (group)
                fprintf(map->script->out, "%zu %zu %.17g\n", x, y, group->criteria[0].mean);
            else
                fprintf(map->script->out, "%zu %zu NaN\n", x, y);
            if (group != best)
                continue;
            best_is_here = true;
            *best_x = x;
            *best_y = y;
        }
    fputs("EOD\n", map->script->out);
    return best_is_here;
}

/* The colour scale is drawn with the last panel alone. `levels` is room for the panel's. */
static void write_panel(const struct map *map, size_t panel, size_t *levels) {
    FILE *out = map->script->out;
    size_t x = 0, y = 0;
    if (map->panels)
        map_panel_levels(map, panel, levels);
    write_panel_title(map, levels);
    bool best_is_here = write_panel_data(map, panel, &x, &y);
    if (panel == map->columns * map->rows - 1)
        fprintf(out, "set colorbox user origin screen %.4f,0.15 size screen %.4f,0.7\n",
                1 - 105.0 / (double)map->width, 18.0 / (double)map->width);
    fprintf(out, "plot $panel%zu using 1:2:3 with image pixels", panel);
    if (best_is_here)
        fprintf(out,
                ", '+' using (%zu):(%zu) every ::0::0 with points pt 6 ps 1.6 lw 3 lc rgb 'white'",
                x, y);
    fputc('\n', out);
}

/* Takes the axes that the user named; if only one was named, the other is the first other
 * parameter. */
static int map_choose_named_axes(struct map *map, struct spex_error *error) {
    const char *names[] = {map->study->heatmap_x, map->study->heatmap_y};
    size_t *axes[] = {&map->x, &map->y}, none = map->space->parameter_count;
    for (int a = 0; a < 2; a++) {
        if (!names[a])
            continue;
        *axes[a] = spex_space_parameter(map->space, names[a]);
        if (*axes[a] == none)
            return spex_fail(error, -EINVAL, "the space has no parameter \"%s\" for the heat map",
                             names[a]);
    }
    for (int a = 0; a < 2; a++)
        if (!names[a] && (*axes[a] == none || *axes[a] == *axes[1 - a]))
            *axes[a] = *axes[1 - a] == 0 ? 1 : 0;
    if (map->x == map->y)
        return spex_fail(error, -EINVAL, "the axes of a heat map were expected to differ");
    return 0;
}

/* Chooses the axes: those that the user named, those of the space, or the threads parameter against
 * the first other one. */
static int map_choose_axes(struct map *map, struct spex_error *error) {
    size_t none = map->space->parameter_count, threads = map->space->threads_parameter;
    if (none < 2)
        return spex_fail(error, -EINVAL, "a heat map needs a space of two parameters or more");
    map->x = map->study->file->heatmap_x;
    map->y = map->study->file->heatmap_y;
    if (map->study->heatmap_x || map->study->heatmap_y)
        return map_choose_named_axes(map, error);
    if (map->x == none) {
        map->y = threads < none ? threads : 1;
        map->x = map->y == 0 ? 1 : 0;
    }
    return 0;
}

/* The first other parameter makes the columns, the product of the rest the rows. A single panel is
 * drawn twice as large. */
static void map_choose_panels(struct map *map) {
    size_t none = map->space->parameter_count;
    map->across = none;
    map->columns = map->rows = 1;
    map->panels = true;
    for (size_t p = 0; p < none && map->panels; p++) {
        if (p == map->x || p == map->y)
            continue;
        size_t *along = map->across == none ? &map->columns : &map->rows;
        if (map->across == none)
            map->across = p;
        *along *= map->space->parameters[p].count;
        map->panels = map->columns * map->rows <= PANELS_MAX;
    }
    if (!map->panels)
        map->columns = map->rows = 1;
    map->width = MARGIN_WIDTH + map->columns * PANEL_WIDTH * (map->panels ? 1 : 2);
    map->height = MARGIN_HEIGHT + map->rows * PANEL_HEIGHT * (map->panels ? 1 : 2);
}

/* The panel of a configuration: the inverse of map_panel_levels. */
static size_t map_panel(const struct map *map, const size_t *levels) {
    size_t row = 0;
    for (size_t p = 0; p < map->space->parameter_count && map->panels; p++)
        if (p != map->x && p != map->y && p != map->across)
            row = row * map->space->parameters[p].count + levels[p];
    bool across = map->panels && map->across < map->space->parameter_count;
    return row * map->columns + (across ? levels[map->across] : 0);
}

/* The best configuration always has its place, also where the means of another in the same place
 * are better: the ranking, not the mean, says what is recommended. */
static void map_fill_cells(const struct map *map) {
    const struct spex_summary *summary = &map->study->summary;
    const struct spex_group *best = &summary->groups[map->study->findings.best];
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        if (!group->trials)
            continue;
        struct cell *at = map_cell(map, map_panel(map, group->levels),
                                   map->y_bins.of_level[group->levels[map->y]],
                                   map->x_bins.of_level[group->levels[map->x]]);
        if (at->best != best && (group == best || spex_group_better(map->space, group, at->best)))
            at->best = group;
    }
}

static int fail_memory(struct spex_error *error) {
    return spex_fail(error, -ENOMEM, "out of memory");
}

/* PANELS_MAX and, for numbers, PLACES_MAX bound the number of cells. After an error the caller
 * frees what was made. */
static int map_init(struct map *map, struct spex_error *error) {
    int err = map_choose_axes(map, error);
    if (err)
        return err;
    map_choose_panels(map);
    if (spex_bins_init(&map->x_bins, &map->space->parameters[map->x], PLACES_MAX) ||
        spex_bins_init(&map->y_bins, &map->space->parameters[map->y], PLACES_MAX))
        return fail_memory(error);
    map->cells = calloc(map->columns * map->rows * map->x_bins.count * map->y_bins.count,
                        sizeof(*map->cells));
    return map->cells ? 0 : fail_memory(error);
}

/* O(configurations + cells). */
int spex_draw_heatmap(const void *subject, struct spex_script *script, struct spex_error *error) {
    const struct spex_study *study = subject;
    struct map map = {.study = study, .space = &study->file->space, .script = script};
    size_t *levels = calloc(map.space->parameter_count, sizeof(*levels));
    int err = levels ? map_init(&map, error) : fail_memory(error);
    if (!err) {
        map_fill_cells(&map);
        write_preamble(&map);
        for (size_t panel = 0; panel < map.columns * map.rows; panel++)
            write_panel(&map, panel, levels);
        fputs("unset multiplot\n", script->out);
    }
    free(levels);
    free(map.cells);
    spex_bins_free(&map.x_bins);
    spex_bins_free(&map.y_bins);
    return err;
}
