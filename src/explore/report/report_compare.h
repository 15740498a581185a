/* SPDX-License-Identifier: MIT */
/* Writes the comparison of two stores, as text and as JSON. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_COMPARE_H
#define SPEX_EXPLORE_REPORT_REPORT_COMPARE_H

#include <stdio.h>

#include "explore/findings/study.h"

/* `text` and `json` may be NULL. 0; -ENOMEM; -EIO. */
int spex_report_compare(const struct spex_study *a, const struct spex_study *b, FILE *text,
                        FILE *json, struct spex_error *error);

#endif
