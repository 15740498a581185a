/* SPDX-License-Identifier: MIT */
/* One <objective> or <limit> of a space. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_CRITERION_H
#define SPEX_EXPLORE_SPACE_SPACE_CRITERION_H

#include <spex/policy.h>

#include "explore/space/xml.h"
#include "measure/criterion.h"

/* Adds it to the space's criteria, which stay owned by the space even after an error: the
 * objectives in their order, then the limits in theirs. */
int spex_criterion_take(struct spex_xml *xml, const xmlNode *element, bool limit,
                        struct spex_space *space);

void spex_criterion_free(const struct spex_criterion *criterion);

#endif
