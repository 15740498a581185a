/* SPDX-License-Identifier: MIT */
/* The heat map of Go and Colmenares, Figure 3. The axes are two parameters, each combination of the
 * others is a panel. If there are too many combinations, a single panel shows the best of them.
 * Parameters with many values are grouped into bins (bins.h); a place shows the best configuration
 * in it. */
#ifndef SPEX_EXPLORE_FINDINGS_HEAT_MAP_H
#define SPEX_EXPLORE_FINDINGS_HEAT_MAP_H

#include <stdbool.h>

#include "explore/findings/bins.h"
#include "explore/findings/study.h"

/* A place of the map. */
struct spex_heat_cell {
    /* The best configuration there; NULL: none has a result. */
    const struct spex_group *best;
};

struct spex_heat_map {
    const struct spex_study *study;
    const struct spex_space *space;
    /* The parameters of the axes. */
    size_t x, y;
    struct spex_bins x_bins, y_bins;
    /* The first other parameter: its levels are the columns of panels. */
    size_t across;
    size_t columns, rows;
    /* Otherwise there is a single one, of the best over the other parameters. */
    bool panels;
    /* By panel, y, x. */
    struct spex_heat_cell *cells;
    /* Least and greatest mean. */
    double low, high;
};

/* Of a study with a result. 0; -EINVAL: the space has not the parameters; -ENOMEM. To be freed in
 * any case. O(configurations + cells). */
int spex_heat_map_init(struct spex_heat_map *map, const struct spex_study *study,
                       struct spex_error *error);
void spex_heat_map_free(struct spex_heat_map *map);

const struct spex_group *spex_heat_map_at(const struct spex_heat_map *map, size_t panel, size_t y,
                                          size_t x);

/* Finds the place of the best configuration. False: it is in another panel. */
bool spex_heat_map_best(const struct spex_heat_map *map, size_t panel, size_t *y, size_t *x);

/* Writes the values of the other parameters, which tell panels apart, "cache 4, mode a"; a single
 * panel has none. The text is cut to `size`. */
void spex_heat_map_title(const struct spex_heat_map *map, size_t panel, char *text, size_t size);

#endif
