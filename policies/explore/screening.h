/* SPDX-License-Identifier: MIT */
/* Configurations among which a search looks for those of which it expects most: all of a space, or
 * random ones and what is like the best. */
#ifndef SPEX_POLICIES_EXPLORE_SCREENING_H
#define SPEX_POLICIES_EXPLORE_SCREENING_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <spex/compiler.h>

#include "policies/explore/configurations.h"
#include "policies/explore/draw.h"

/* Most configurations; of a list, so many that are nearest to a good one. */
enum { SPEX_SCREENED = 2048, SPEX_NEAREST = 192 };

struct spex_screening {
    const struct spex_space *space;
    struct spex_draw *draw;
    size_t *levels; /* of each configuration */
    size_t count;
    size_t *scratch; /* levels of one configuration */
};

SPEX_INLINE void spex_screening_free(struct spex_screening *screening) {
    free(screening->levels);
    free(screening->scratch);
}

/* 0 or -ENOMEM; free it in any case. */
SPEX_INLINE int spex_screening_init(struct spex_screening *screening,
                                    const struct spex_space *space, struct spex_draw *draw) {
    *screening = (struct spex_screening){
        .space = space,
        .draw = draw,
        .levels = calloc(SPEX_SCREENED * space->parameter_count, sizeof(size_t)),
        .scratch = calloc(space->parameter_count, sizeof(size_t))};
    return screening->levels && screening->scratch ? 0 : -ENOMEM;
}

SPEX_INLINE size_t *spex_screened(const struct spex_screening *screening, size_t place) {
    return screening->levels + place * screening->space->parameter_count;
}

/* Adds the configuration in `scratch`, if it is allowed. */
SPEX_INLINE void spex_screening_add(struct spex_screening *screening) {
    if (screening->count < SPEX_SCREENED && spex_space_settle(screening->space, screening->scratch))
        memcpy(spex_screened(screening, screening->count++), screening->scratch,
               screening->space->parameter_count * sizeof(size_t));
}

SPEX_INLINE void spex_screening_number(struct spex_screening *screening, uint64_t number) {
    spex_configuration_levels(screening->space, number, screening->scratch);
    spex_screening_add(screening);
}

/* Adds a good configuration with this level of `parameter` and, if `other` is a parameter, a random
 * level of that one. */
SPEX_INLINE void spex_screening_neighbour(struct spex_screening *screening, const size_t *levels,
                                          size_t parameter, size_t level, size_t other) {
    const struct spex_space *space = screening->space;
    memcpy(screening->scratch, levels, space->parameter_count * sizeof(size_t));
    screening->scratch[parameter] = level;
    if (other < space->parameter_count)
        screening->scratch[other] =
            spex_draw_below(screening->draw, space->parameters[other].count);
    spex_screening_add(screening);
}

/* Adds configurations that differ from a good one in one or two of the parameters: for each a random
 * level together with another parameter; for an ordered one the adjacent levels, for a category a
 * random level; and the good one itself. */
SPEX_INLINE void spex_screening_neighbours(struct spex_screening *screening, const size_t *levels,
                                           const size_t *parameters, size_t count) {
    const struct spex_space *space = screening->space;
    size_t none = space->parameter_count;
    for (size_t d = 0; d < count; d++) {
        size_t p = parameters[d], last = space->parameters[p].count - 1;
        size_t any = spex_draw_below(screening->draw, last + 1);
        size_t other = parameters[spex_draw_below(screening->draw, count)];
        spex_screening_neighbour(screening, levels, p, any, other);
        if (!spex_parameter_ordered(&space->parameters[p])) {
            spex_screening_neighbour(screening, levels, p, any, none);
            continue;
        }
        if (levels[p] > 0)
            spex_screening_neighbour(screening, levels, p, levels[p] - 1, none);
        if (levels[p] < last)
            spex_screening_neighbour(screening, levels, p, levels[p] + 1, none);
    }
    spex_screening_neighbour(screening, levels, 0, levels[0], none);
}

/* The number of parameters in which two configurations differ. */
SPEX_INLINE size_t spex_configurations_differ(const struct spex_space *space, const size_t *a,
                                              const size_t *b) {
    size_t count = 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        count += a[p] != b[p];
    return count;
}

/* Adds those of a list that differ from a good one in the fewest parameters. A few changed values
 * rarely make another one of the list. */
SPEX_INLINE void spex_screening_nearest(struct spex_screening *screening, const size_t *levels) {
    const struct spex_space *space = screening->space;
    uint64_t nearest[SPEX_NEAREST];
    size_t differences[SPEX_NEAREST], kept = 0;
    for (uint64_t n = 0; n < space->listed_count; n++) {
        size_t differ =
            spex_configurations_differ(space, levels, space->listed + n * space->parameter_count);
        if (kept == SPEX_NEAREST && differ >= differences[kept - 1])
            continue;
        size_t place = kept < SPEX_NEAREST ? kept++ : kept - 1;
        for (; place > 0 && differences[place - 1] > differ; place--) {
            nearest[place] = nearest[place - 1];
            differences[place] = differences[place - 1];
        }
        nearest[place] = n;
        differences[place] = differ;
    }
    for (size_t i = 0; i < kept; i++)
        spex_screening_number(screening, nearest[i]);
}

#endif
