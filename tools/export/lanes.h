/* SPDX-License-Identifier: MIT */
/* Tracks of a probe's spans. A span belongs to no thread, and two that overlap have nothing to do
 * with each other, so none is within another: a lane is a track whose spans follow each other. A
 * probe has as many lanes as spans of it were open at once, and SPEX_LANES_MAX at most. Spans come
 * in the order of their ends. */
#ifndef SPEX_TOOLS_EXPORT_LANES_H
#define SPEX_TOOLS_EXPORT_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEX_LANES_MAX = 4096 };

struct spex_lanes;

struct spex_lane {
    /* From 0 on, over all probes: PROBE * SPEX_LANES_MAX and so on. */
    uint64_t number;
    /* This span is the lane's first. */
    bool fresh;
};

/* Of so many probes. NULL: no memory. */
struct spex_lanes *spex_lanes_create(size_t probes);
void spex_lanes_destroy(struct spex_lanes *lanes);

/* Finds the lane of a span, begin <= end. 0; 1: so many are open that there is none; or -ENOMEM. */
int spex_lanes_span(struct spex_lanes *lanes, size_t probe, int64_t begin, int64_t end,
                    struct spex_lane *lane);

#endif
