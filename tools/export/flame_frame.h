/* SPDX-License-Identifier: MIT */
/* The frames of a flame graph, and the names in them, as SVG. */
#ifndef SPEX_TOOLS_EXPORT_FLAME_FRAME_H
#define SPEX_TOOLS_EXPORT_FLAME_FRAME_H

#include <stdint.h>
#include <stdio.h>

#include "tools/export/stack_changes.h"

enum { SPEX_FLAME_TIME, SPEX_FLAME_EXECUTIONS, SPEX_FLAME_MEASURES };

/* Pixels: of all frames together, and of one. */
enum { SPEX_FLAME_WIDTH = 1180, SPEX_FLAME_ROW = 19 };

struct spex_flame_frame {
    const char *name, *class;
    /* In seconds, and executions. The frame's own are without frames within it; NULL: not shown. */
    const double *values, *own;
    double shares[SPEX_FLAME_MEASURES];
    const struct spex_stack_change *change; /* NULL: it is not compared */
    /* Where it begins, and how wide it is, in shares of all frames. */
    double begin, width;
    /* The number of its caller's frame; -1: it has none. */
    int32_t caller;
    uint32_t row;
};

void spex_flame_frame_put(FILE *out, const struct spex_flame_frame *frame);

/* Writes a name, or its beginning and "…", or nothing: what fits into so many pixels. */
void spex_flame_name_put(FILE *out, const char *name, double pixels);

#endif
