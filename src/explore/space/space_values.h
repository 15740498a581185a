/* SPDX-License-Identifier: MIT */
/* Lists the values of a <parameter>: its list, or its range in steps, factors or points. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_VALUES_H
#define SPEX_EXPLORE_SPACE_SPACE_VALUES_H

#include <spex/policy.h>

#include "xml/xml.h"

#define SPEX_VALUES_MAX     100000
#define SPEX_CATEGORIES_MAX 4096 /* each is compared with all others */
#define SPEX_POINTS_DEFAULT 33   /* points of a range of real numbers */

/* The parameter's kind and scale have to be set. The parameter owns its values even after an
 * error. */
int spex_values_take(struct spex_xml *xml, const xmlNode *element,
                     struct spex_parameter *parameter);

#endif
