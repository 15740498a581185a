/* SPDX-License-Identifier: MIT */
/* One <parameter> of a space: its range or list becomes its values. space_condition.h takes its
 * condition. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_PARAMETER_H
#define SPEX_EXPLORE_SPACE_SPACE_PARAMETER_H

#include <spex/policy.h>

#include "explore/space/xml.h"
#include "measure/plan.h"

/* What a name begins with; digits, "." and "-" may follow. */
#define SPEX_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Appends to the space's parameters, which stay owned by the space even after an error. */
int spex_parameter_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space);

void spex_parameter_free(const struct spex_parameter *parameter);

/* Position of a parameter, or parameter_count. */
size_t spex_space_parameter(const struct spex_space *space, const char *name);

/* Position of a value given as text, or the parameter's count. */
size_t spex_parameter_level(const struct spex_parameter *parameter, const char *text);

#endif
