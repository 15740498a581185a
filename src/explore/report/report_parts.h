/* SPDX-License-Identifier: MIT */
/* Parts of the text report. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_PARTS_H
#define SPEX_EXPLORE_REPORT_REPORT_PARTS_H

#include "explore/report/report.h"

/* Prints the best by number of threads, and from which number on more threads do not help. */
void spex_report_threads(const struct spex_study *study, FILE *out);

#endif
