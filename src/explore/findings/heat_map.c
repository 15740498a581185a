/* SPDX-License-Identifier: MIT */
#include "explore/findings/heat_map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_parameter.h"
#include "measure/summary.h"

/* Most panels, and most places on an axis of numbers. */
enum { PANELS_MAX = 64, PLACES_MAX = 24 };

/* The level of a parameter in a panel. Panels are numbered row by row; a row is a number whose
 * digits are the levels of the parameters other than x, y and `across`, the last one the lowest
 * digit. */
static size_t panel_level(const struct spex_heat_map *map, size_t panel, size_t parameter) {
    size_t rest = panel / map->columns;
    if (parameter == map->across)
        return panel % map->columns;
    for (size_t p = map->space->parameter_count; p-- > parameter + 1;)
        if (p != map->x && p != map->y && p != map->across)
            rest /= map->space->parameters[p].count;
    return rest % map->space->parameters[parameter].count;
}

/* Appends to a text of `size` bytes, of which `*at` are taken; what has no room is cut. */
static void append(char *text, size_t size, size_t *at, const char *more) {
    size_t bytes = strlen(more), room = size - 1 - *at;
    bytes = bytes < room ? bytes : room;
    memcpy(text + *at, more, bytes);
    *at += bytes;
    text[*at] = '\0';
}

void spex_heat_map_title(const struct spex_heat_map *map, size_t panel, char *text, size_t size) {
    char value[256];
    size_t at = 0;
    *text = '\0';
    for (size_t p = 0; p < map->space->parameter_count && map->panels; p++) {
        const struct spex_parameter *parameter = &map->space->parameters[p];
        if (p == map->x || p == map->y)
            continue;
        append(text, size, &at, at ? ", " : "");
        append(text, size, &at, parameter->name);
        append(text, size, &at, " ");
        append(text, size, &at,
               spex_value_shown(parameter, panel_level(map, panel, p), value, sizeof(value)));
        if (parameter->unit[0] && !spex_parameter_is_bytes(parameter)) {
            append(text, size, &at, " ");
            append(text, size, &at, parameter->unit);
        }
    }
}

static size_t cell_of(const struct spex_heat_map *map, size_t panel, size_t y, size_t x) {
    return (panel * map->y_bins.count + y) * map->x_bins.count + x;
}

const struct spex_group *spex_heat_map_at(const struct spex_heat_map *map, size_t panel, size_t y,
                                          size_t x) {
    return map->cells[cell_of(map, panel, y, x)].best;
}

bool spex_heat_map_best(const struct spex_heat_map *map, size_t panel, size_t *y, size_t *x) {
    const struct spex_group *best = &map->study->summary.groups[map->study->findings.best];
    for (*y = 0; *y < map->y_bins.count; ++*y)
        for (*x = 0; *x < map->x_bins.count; ++*x)
            if (spex_heat_map_at(map, panel, *y, *x) == best)
                return true;
    return false;
}

/* Takes the axes that the user named; if only one was named, the other is the first other
 * parameter. */
static int map_choose_named_axes(struct spex_heat_map *map, struct spex_error *error) {
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
static int map_choose_axes(struct spex_heat_map *map, struct spex_error *error) {
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

/* The first other parameter makes the columns, the product of the rest the rows. */
static void map_choose_panels(struct spex_heat_map *map) {
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
}

/* The panel of a configuration: the inverse of panel_level. */
static size_t map_panel(const struct spex_heat_map *map, const size_t *levels) {
    size_t row = 0;
    for (size_t p = 0; p < map->space->parameter_count && map->panels; p++)
        if (p != map->x && p != map->y && p != map->across)
            row = row * map->space->parameters[p].count + levels[p];
    bool across = map->panels && map->across < map->space->parameter_count;
    return row * map->columns + (across ? levels[map->across] : 0);
}

/* The best configuration always has its place, also where the means of another in the same place
 * are better: the ranking, not the mean, says what is recommended. */
static void map_fill_cells(const struct spex_heat_map *map) {
    const struct spex_summary *summary = &map->study->summary;
    const struct spex_group *best = &summary->groups[map->study->findings.best];
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        if (!group->trials)
            continue;
        struct spex_heat_cell *at = &map->cells[cell_of(
            map, map_panel(map, group->levels), map->y_bins.of_level[group->levels[map->y]],
            map->x_bins.of_level[group->levels[map->x]])];
        if (at->best != best && (group == best || spex_group_better(map->space, group, at->best)))
            at->best = group;
    }
}

static int fail_memory(struct spex_error *error) {
    return spex_fail(error, -ENOMEM, "out of memory");
}

static void map_find_range(struct spex_heat_map *map) {
    size_t count = map->columns * map->rows * map->x_bins.count * map->y_bins.count;
    map->low = INFINITY;
    map->high = -INFINITY;
    for (size_t c = 0; c < count; c++)
        if (map->cells[c].best) {
            map->low = fmin(map->low, map->cells[c].best->criteria[0].mean);
            map->high = fmax(map->high, map->cells[c].best->criteria[0].mean);
        }
}

/* PANELS_MAX and, for numbers, PLACES_MAX bound the number of cells. */
int spex_heat_map_init(struct spex_heat_map *map, const struct spex_study *study,
                       struct spex_error *error) {
    *map = (struct spex_heat_map){.study = study, .space = &study->file->space};
    int err = map_choose_axes(map, error);
    if (err)
        return err;
    map_choose_panels(map);
    if (spex_bins_init(&map->x_bins, &map->space->parameters[map->x], PLACES_MAX) ||
        spex_bins_init(&map->y_bins, &map->space->parameters[map->y], PLACES_MAX))
        return fail_memory(error);
    map->cells = calloc(map->columns * map->rows * map->x_bins.count * map->y_bins.count,
                        sizeof(*map->cells));
    if (!map->cells)
        return fail_memory(error);
    map_fill_cells(map);
    map_find_range(map);
    return 0;
}

void spex_heat_map_free(struct spex_heat_map *map) {
    free(map->cells);
    spex_bins_free(&map->x_bins);
    spex_bins_free(&map->y_bins);
}
