/* SPDX-License-Identifier: MIT */
/* What several forms of the report have in common, and parts of the text report. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_PARTS_H
#define SPEX_EXPLORE_REPORT_REPORT_PARTS_H

#include "explore/report/report.h"

/* A configuration's figure for a criterion, and its 95 % interval: "not known" if there is none,
 * "exact" if trials do not vary. */
struct spex_figure_texts {
    char value[48];
    char interval[96];
    char certainty[112]; /* the same in a sentence: "95 %: 790 to 834/s" */
};

/* Of the first criterion the estimate that configurations are ranked by, of others the mean that
 * was measured. */
struct spex_figure_texts spex_report_figure(const struct spex_study *study, size_t group,
                                            size_t criterion);

/* The mean of what was measured; returns `text`. */
const char *spex_report_measured(const struct spex_study *study, const struct spex_group *group,
                                 size_t criterion, char *text, size_t size);

/* The configurations with a result, the best first, as numbers of groups to be freed. NULL: out of
 * memory. */
size_t *spex_report_order(const struct spex_study *study, size_t *count);

/* The finals in one sentence; returns `text`. */
#define SPEX_RACE_TEXT_BYTES 400
const char *spex_report_race(const struct spex_study *study, char *text, size_t size);

/* What drift means for the comparison; and the whole sentence with it, which returns `text`. There is
 * drift. */
const char *spex_report_drift_means(const struct spex_study *study);
#define SPEX_DRIFT_TEXT_BYTES 400
const char *spex_report_drift(const struct spex_study *study, char *text, size_t size);

/* Prints the best, and what is known of those tried and of the others. */
void spex_report_standing(const struct spex_study *study, FILE *out);

/* Prints the best by number of threads, and from which number on more threads do not help. */
void spex_report_threads(const struct spex_study *study, FILE *out);

#endif
