/* SPDX-License-Identifier: MIT */
/* Parts of the report for people. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_PARTS_H
#define SPEX_EXPLORE_REPORT_REPORT_PARTS_H

#include "explore/report/report.h"

/* The best by number of threads, and from how many on more do not help. */
void spex_report_threads(const struct spex_study *study, FILE *out);

#endif
