/* SPDX-License-Identifier: MIT */
/* A study in the forms that spex_report writes. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_H
#define SPEX_EXPLORE_REPORT_REPORT_H

#include <stdio.h>

#include "explore/findings/study.h"

/* For people. */
void spex_report_text(const struct spex_study *study, FILE *out);

/* 0; -ENOMEM; -EIO. */
int spex_report_json(const struct spex_study *study, FILE *out, struct spex_error *error);

/* One row a trial (RFC 4180), the first one names. 0; -EIO. */
int spex_report_csv(const struct spex_study *study, FILE *out, struct spex_error *error);

/* A page of its own, pictures within. */
int spex_report_html(const struct spex_study *study, FILE *out, struct spex_error *error);

#endif
