/* SPDX-License-Identifier: MIT */
/* Reads a <parameter> of a space and lists its values. space_condition.h reads its condition. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_PARAMETER_H
#define SPEX_EXPLORE_SPACE_SPACE_PARAMETER_H

#include <spex/policy.h>

#include "measure/plan.h"
#include "xml/xml.h"

/* First characters of a name; digits, "." and "-" may follow. */
#define SPEX_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Appends a parameter, which the space owns even after an error. */
int spex_parameter_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space);

void spex_parameter_free(const struct spex_parameter *parameter);

/* The index of a parameter; parameter_count when there is none. */
size_t spex_space_parameter(const struct spex_space *space, const char *name);

/* The level of a value; the parameter's count when it is none of its values. */
size_t spex_parameter_level(const struct spex_parameter *parameter, const char *text);

#endif
