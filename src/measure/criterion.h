/* SPDX-License-Identifier: MIT */
/* Criteria (objectives and limits) of a space: which are possible, and their texts. */
#ifndef SPEX_MEASURE_CRITERION_H
#define SPEX_MEASURE_CRITERION_H

#include <spex/policy.h>

#include "site/selection/selection.h"

#define SPEX_OBJECTIVES_MAX 8
#define SPEX_CRITERIA_MAX   16

/* Returns whether `probe`, whose selection this is, names one probe and its type, without a
 * glob. */
bool spex_criterion_names_one(const struct spex_selection *selection, const char *probe);

/* Returns whether probes of this type have the metric. */
bool spex_criterion_fits(const char *metric, uint32_t type);

/* The unit of the criterion's value: "/s", "s" or "". */
const char *spex_criterion_unit(const struct spex_criterion *criterion);

/* "maximise throughput of query:tpt", "p99 of query:lat at most 2 ms". */
void spex_criterion_text(const struct spex_criterion *criterion, char *text, size_t size);

/* The same with the exact bound, "at most 0.002 s", for comparisons with what stores hold. */
void spex_criterion_identity(const struct spex_criterion *criterion, char *text, size_t size);

/* "throughput of query:tpt [/s]" */
void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size);

/* A selection of the probes of all criteria, each once; to be freed. NULL: out of memory. */
char *spex_criteria_probes(const struct spex_space *space);

#endif
