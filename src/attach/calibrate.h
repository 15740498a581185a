/* SPDX-License-Identifier: MIT */
/* What a hit costs on this machine, by kind of instruction and task. It is measured on functions of this
 * process, with the same kind of sites. */
#ifndef SPEX_ATTACH_CALIBRATE_H
#define SPEX_ATTACH_CALIBRATE_H

#include <math.h>

#include "attach/kind.h"

struct spex_hit_cost {
    /* Nanoseconds: with a warm cache, and with one that the program uses for something else. */
    double least, most;
    /* With nothing of the kernel's in the first two caches: programs that use much memory pay up to that. */
    double coldest;
};

struct spex_hit_costs {
    struct spex_hit_cost of[SPEX_HITS][SPEX_SITE_TASKS];
    /* What a function reads that does nothing, from a beginning of this kind to its end. */
    double empty[SPEX_HITS];
    /* What switching a site on and off takes of this process's CPU time. */
    double switching;
};

/* What is taken for the cost of a hit: programs are between the two, and this is as many times the one as
 * the other is of it. */
static inline double spex_hit_cost_ns(const struct spex_hit_cost *cost) {
    return sqrt(cost->least * cost->most);
}

/* Takes some tenths of a second. 0 or a negative errno value: this user may use no uprobes, or this kernel
 * has none. Then there are the costs of calls through slots alone. */
int spex_hit_costs_measure(const struct spex_kind_of_site *kind, struct spex_hit_costs *costs,
                           struct spex_error *error);

#endif
