/* SPDX-License-Identifier: MIT */
/* What a store holds, ready to be written in one form or another. */
#ifndef SPEX_REPORT_H
#define SPEX_REPORT_H

#include <stdio.h>

#include "../measure/criterion.h"
#include "findings.h"
#include "picture.h"
#include "space.h"
#include "store.h"
#include "why.h"

struct spex_report_data {
    const struct spex_store *store;
    const struct spex_space_file *file;
    const struct spex_trials *trials;
    const struct spex_summary *summary;
    const struct spex_findings *findings;
    const struct spex_circumstances *machines;
    size_t machine_count;
    const char *heatmap_x; /* names of parameters; NULL: as the space says */
    const char *heatmap_y;
};

/* For people. */
void spex_report_text(const struct spex_report_data *data, FILE *out);

/* 0; -ENOMEM; -EIO. */
int spex_report_json(const struct spex_report_data *data, FILE *out, struct spex_why *why);

/* One row a trial (RFC 4180), the first one names. 0; -EIO. */
int spex_report_csv(const struct spex_report_data *data, FILE *out, struct spex_why *why);

/* A page of its own, pictures within. */
int spex_report_html(const struct spex_report_data *data, FILE *out, struct spex_why *why);

/* Pictures; their subject is a struct spex_report_data with a result. */

/* Two parameters, and the objective in colours: one panel for each combination of the others when these are few, else
 * the best over them. */
spex_drawing spex_draw_heatmap;

/* A panel for each parameter: what the objective was by its values. */
spex_drawing spex_draw_effects;

/* The first objective against each other one. */
spex_drawing spex_draw_pareto;

/* The best so far, over trials and over measured seconds. */
spex_drawing spex_draw_convergence;

/* "throughput of query:tpt [/s]" */
void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size);

#endif
