/* SPDX-License-Identifier: MIT */
/* Configurations that fill a space evenly, each once. They are points of a Kronecker sequence with
 * the powers of the generalised golden ratio (Roberts, The Unreasonable Effectiveness of
 * Quasirandom Sequences, 2018), shifted by the seed and rounded to levels. The sequence needs no
 * tables, is as even for 3 points as for 3,000, and unlike Halton's is as even in the last
 * dimension as in the first. Points whose configuration is known are skipped. When most points are,
 * the remaining configurations come in a random order, as do those of a list. */
#ifndef SPEX_POLICIES_EXPLORE_LATTICE_H
#define SPEX_POLICIES_EXPLORE_LATTICE_H

#include "policies/explore/configurations.h"
#include "policies/explore/results.h"

struct spex_lattice {
    const struct spex_space *space;
    uint64_t points; /* points drawn so far */
    double ratio;    /* 1 / r, with r the root above 1 of x^(d + 1) = x + 1 for d dimensions */
    struct spex_order order;
    uint64_t looked; /* places of the order that have been looked at */
    uint64_t first;  /* of the space's `first`, those that have been looked at */
};

/* After so many points in a row that are not new, the random order is used; after so many known
 * configurations in a row in that, the space is taken to be exhausted. */
enum { SPEX_LATTICE_TRIES = 32, SPEX_LATTICE_LOOKS = 1 << 20 };

/* The root is found by iteration of x = (x + 1)^(1 / (d + 1)), which contracts. */
static inline void spex_lattice_init(struct spex_lattice *lattice, const struct spex_space *space) {
    double ratio = 2;
    for (int i = 0; i < 60; i++)
        ratio = pow(1 + ratio, 1 / (1 + (double)space->parameter_count));
    *lattice = (struct spex_lattice){
        .space = space,
        .ratio = 1 / ratio,
        .order = spex_order_of(spex_space_configurations(space), space->rules.seed)};
}

/* The levels of the next point, whether they are allowed or not. */
static inline void spex_lattice_point(struct spex_lattice *lattice, size_t *levels) {
    double step = 1, number = (double)++lattice->points;
    for (size_t p = 0; p < lattice->space->parameter_count; p++) {
        struct spex_draw shift = {lattice->space->rules.seed * 1000003 + p};
        step *= lattice->ratio;
        double place = spex_draw_share(&shift) + number * step;
        size_t count = lattice->space->parameters[p].count;
        size_t level = (size_t)((place - floor(place)) * (double)count);
        levels[p] = level < count ? level : count - 1;
    }
}

/* Sets `levels` to an allowed configuration that is not in `results`, first to those that the space
 * wants first; false when none is found. */
static inline bool spex_lattice_next(struct spex_lattice *lattice,
                                     const struct spex_results *results, size_t *levels) {
    while (lattice->first < lattice->space->first_count) {
        size_t parameters = lattice->space->parameter_count;
        memcpy(levels, lattice->space->first + lattice->first++ * parameters,
               parameters * sizeof(*levels));
        if (spex_results_find(results, levels) == SPEX_RESULTS_NONE)
            return true;
    }
    for (int i = 0; i < SPEX_LATTICE_TRIES && !lattice->space->listed_count; i++) {
        spex_lattice_point(lattice, levels);
        if (spex_space_settle(lattice->space, levels) &&
            spex_results_find(results, levels) == SPEX_RESULTS_NONE)
            return true;
    }
    for (uint64_t i = 0; i < SPEX_LATTICE_LOOKS && lattice->looked < lattice->order.count; i++) {
        uint64_t number = spex_order_at(&lattice->order, lattice->looked++);
        if (spex_configuration_is_distinct(lattice->space, number, levels) &&
            spex_results_find(results, levels) == SPEX_RESULTS_NONE)
            return true;
    }
    return false;
}

#endif
