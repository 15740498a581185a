/* SPDX-License-Identifier: MIT */
/* Reads an <objective> or <limit> of a space. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_CRITERION_H
#define SPEX_EXPLORE_SPACE_SPACE_CRITERION_H

#include <spex/policy.h>

#include "measure/criterion.h"
#include "xml/xml.h"

/* Adds a criterion: objectives come first, in their order, then limits in theirs. The space owns it
 * even after an error. */
int spex_criterion_take(struct spex_xml *xml, const xmlNode *element, bool limit,
                        struct spex_space *space);

void spex_criterion_free(const struct spex_criterion *criterion);

#endif
