/* SPDX-License-Identifier: MIT */
/* What several pictures have in common: axes, labels, colours. */
#ifndef SPEX_EXPLORE_PICTURE_PICTURE_AXIS_H
#define SPEX_EXPLORE_PICTURE_PICTURE_AXIS_H

#include <math.h>

#include "explore/findings/bins.h"
#include "explore/picture/picture.h"
#include "measure/criterion.h"

#define SPEX_COLOUR_POINTS "#9aa5b1"
#define SPEX_COLOUR_MEAN   "#21918c"
#define SPEX_COLOUR_BEST   "#440154"

/* Writes "cache [MB]". */
void spex_script_parameter(const struct spex_script *script,
                           const struct spex_parameter *parameter);

/* Writes an axis with the bins at 0, 1, …, and as many labels as fit into `width` characters (x) or
 * half lines (y). `axis` is "x" or "y". */
void spex_script_bins(const struct spex_script *script, const char *axis,
                      const struct spex_bins *bins, size_t width);

/* The range of what is drawn along an axis. gnuplot makes the axis as long. */
struct spex_axis_range {
    double low, high;
};

#define SPEX_AXIS_RANGE_EMPTY ((struct spex_axis_range){INFINITY, -INFINITY})

static inline void spex_axis_range_add(struct spex_axis_range *range, double value) {
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

/* Writes how the axis' numbers are labelled: with prefixes of the criterion's unit, "1.5 M/s".
 * `axis` is "x", "y" or "cb". */
void spex_script_numbers(const struct spex_script *script, const char *axis,
                         const struct spex_criterion *criterion, struct spex_axis_range range);

/* Writes the axis' label, as "throughput of query:tpt [/s]", and spex_script_numbers. */
void spex_script_criterion(const struct spex_script *script, const char *axis,
                           const struct spex_criterion *criterion, struct spex_axis_range range);

#endif
