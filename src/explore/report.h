/* SPDX-License-Identifier: MIT */
/* A study in the forms that spex_report writes. */
#ifndef SPEX_REPORT_H
#define SPEX_REPORT_H

#include <stdio.h>

#include "picture.h"
#include "study.h"

/* For people. */
void spex_report_text(const struct spex_study *study, FILE *out);

/* 0; -ENOMEM; -EIO. */
int spex_report_json(const struct spex_study *study, FILE *out, struct spex_why *why);

/* One row a trial (RFC 4180), the first one names. 0; -EIO. */
int spex_report_csv(const struct spex_study *study, FILE *out, struct spex_why *why);

/* A page of its own, pictures within. */
int spex_report_html(const struct spex_study *study, FILE *out, struct spex_why *why);

/* Pictures; their subject is a struct spex_study with a result. */

/* Two parameters, and the objective in colours: one panel for each combination of the others when
 * these are few, else the best over them. */
spex_drawing spex_draw_heatmap;

/* A panel for each parameter: what the objective was by its values. */
spex_drawing spex_draw_effects;

/* The first objective against each other one. */
spex_drawing spex_draw_pareto;

/* The best so far, over trials and over measured seconds. */
spex_drawing spex_draw_convergence;

#endif
