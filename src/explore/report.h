/* SPDX-License-Identifier: MIT */
/* What a store holds, ready to be written in one form or another. */
#ifndef SPEX_REPORT_H
#define SPEX_REPORT_H

#include <stdio.h>

#include "../measure/summary.h"
#include "space.h"
#include "space_criterion.h"
#include "store.h"
#include "why.h"

struct spex_report_data {
    const struct spex_store *store;
    const struct spex_space_file *file;
    const struct spex_trials *trials;
    const struct spex_summary *summary;
};

/* For people. */
void spex_report_text(const struct spex_report_data *data, FILE *out);

/* 0; -ENOMEM; -EIO. */
int spex_report_json(const struct spex_report_data *data, FILE *out, struct spex_why *why);

/* Draws an SVG file with gnuplot: x and y as the space says, one panel for each combination of the
 * other parameters, one colour scale. */
int spex_report_heatmap(const struct spex_report_data *data, const char *path,
                        struct spex_why *why);

#endif
