/* SPDX-License-Identifier: MIT */
/* One <objective> or <limit> of a space. */
#ifndef SPEX_SPACE_CRITERION_H
#define SPEX_SPACE_CRITERION_H

#include <spex/policy.h>

#include "xml.h"

#define SPEX_OBJECTIVES_MAX 8
#define SPEX_CRITERIA_MAX   16

/* Adds it to the space's criteria, which stay owned by the space even after an error: the objectives in their order,
 * then the limits in theirs. */
int spex_criterion_take(struct spex_xml *xml, const xmlNode *element, bool limit,
                        struct spex_space *space);

void spex_criterion_free(const struct spex_criterion *criterion);

/* "/s", "s" or "". */
const char *spex_criterion_unit(const struct spex_criterion *criterion);

/* "maximise throughput of query:tpt", "p99 of query:lat at most 0.002 s". */
void spex_criterion_text(const struct spex_criterion *criterion, char *text, size_t size);

/* A selection of the probes of all criteria, to be freed, or NULL: out of memory. */
char *spex_criteria_probes(const struct spex_space *space);

#endif
