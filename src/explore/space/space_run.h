/* SPDX-License-Identifier: MIT */
/* Reads the <run> of a space: length and number of runs. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_RUN_H
#define SPEX_EXPLORE_SPACE_SPACE_RUN_H

#include <spex/policy.h>

#include "measure/rules.h"
#include "xml/xml.h"

/* Reads all attributes but `threads`, which names a parameter that may follow. */
int spex_run_take(struct spex_xml *xml, const xmlNode *element, struct spex_rules *rules);

#endif
