/* SPDX-License-Identifier: MIT */
/* What several pictures have in common: axes, labels, colours. */
#ifndef SPEX_EXPLORE_PICTURE_PICTURE_AXIS_H
#define SPEX_EXPLORE_PICTURE_PICTURE_AXIS_H

#include "explore/findings/bins.h"
#include "explore/picture/picture.h"
#include "measure/criterion.h"
#include "measure/summary.h"

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

/* Writes how the axis' numbers from `low` to `high` are labelled: with prefixes of the criterion's
 * unit, "1.5 M/s". `axis` is "x", "y" or "cb". */
void spex_script_numbers(const struct spex_script *script, const char *axis,
                         const struct spex_criterion *criterion, double low, double high);

/* Writes the axis' label, as "throughput of query:tpt [/s]", and spex_script_numbers for the values
 * of all trials. */
void spex_script_criterion(const struct spex_script *script, const char *axis,
                           const struct spex_summary *summary, size_t criterion);

#endif
