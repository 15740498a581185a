/* SPDX-License-Identifier: MIT */
/* The values of a <parameter>: its list, or its range in steps, factors or points. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_VALUES_H
#define SPEX_EXPLORE_SPACE_SPACE_VALUES_H

#include <spex/policy.h>

#include "explore/space/xml.h"

#define SPEX_VALUES_MAX     100000
#define SPEX_CATEGORIES_MAX 4096 /* compared each with each */
#define SPEX_POINTS_DEFAULT 33   /* of a real range */

/* The parameter has its kind and scale. What there is of its values is its own also after an
 * error. */
int spex_values_take(struct spex_xml *xml, const xmlNode *element,
                     struct spex_parameter *parameter);

#endif
