/* SPDX-License-Identifier: MIT */
/* The forms in which spex_report() writes a study. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_H
#define SPEX_EXPLORE_REPORT_REPORT_H

#include <stdio.h>

#include "explore/findings/study.h"

/* As text. */
void spex_report_text(const struct spex_study *study, FILE *out);

/* As JSON, with every trial or with the findings alone. 0; -ENOMEM; -EIO. */
int spex_report_json(const struct spex_study *study, bool with_trials, FILE *out,
                     struct spex_error *error);

/* As CSV (RFC 4180): one row for each trial after one of names. 0; -EIO. */
int spex_report_csv(const struct spex_study *study, FILE *out, struct spex_error *error);

/* As an HTML page that includes its pictures. */
int spex_report_html(const struct spex_study *study, FILE *out, struct spex_error *error);

#endif
