/* SPDX-License-Identifier: MIT */
/* One <parameter> of a space: its range or list becomes its values. Its condition is another file's job. */
#ifndef SPEX_SPACE_PARAMETER_H
#define SPEX_SPACE_PARAMETER_H

#include <spex/policy.h>

#include "../measure/plan.h"
#include "xml.h"

/* What a name begins with; digits, "." and "-" may follow. */
#define SPEX_NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"

/* Appends to the space's parameters, which stay owned by the space even after an error. */
int spex_parameter_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space);

void spex_parameter_free(const struct spex_parameter *parameter);

#endif
