/* SPDX-License-Identifier: MIT */
/* The <run> of a space: how long to look, and how often. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_RUN_H
#define SPEX_EXPLORE_SPACE_SPACE_RUN_H

#include <spex/policy.h>

#include "explore/space/xml.h"
#include "measure/rules.h"

/* All but `threads`, which names a parameter that may come later. */
int spex_run_take(struct spex_xml *xml, const xmlNode *element, struct spex_rules *rules);

#endif
