/* SPDX-License-Identifier: MIT */
/* Conditions between parameters, in XPath 1.0: when a parameter applies (<parameter when="…">), and
 * which configurations are allowed (<constraint require="…">). $name is a parameter's value: a
 * number, a text or, of a boolean one, a truth value. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_CONDITION_H
#define SPEX_EXPLORE_SPACE_SPACE_CONDITION_H

#include <stdio.h>

#include <spex/policy.h>

#include "explore/space/xml.h"

#define SPEX_CONSTRAINTS_MAX 64

struct spex_conditions;

/* NULL: out of memory. `space` must outlive them. */
struct spex_conditions *spex_conditions_new(const struct spex_space *space);
void spex_conditions_free(struct spex_conditions *conditions);

/* For the parameter that was taken last: the condition may name those before it. */
int spex_conditions_when(struct spex_conditions *conditions, struct spex_xml *xml,
                         const xmlNode *element);

/* Once all parameters are there. */
int spex_conditions_require(struct spex_conditions *conditions, struct spex_xml *xml,
                            const xmlNode *element);

bool spex_conditions_any(const struct spex_conditions *conditions);

/* struct spex_space's functions, its context being the conditions; for any thread. */
bool spex_conditions_settle(const struct spex_space *space, size_t *levels);
bool spex_conditions_apply(const struct spex_space *space, const size_t *levels, size_t parameter);

/* A line each, for the space's identity. */
void spex_conditions_print(const struct spex_conditions *conditions, FILE *out);

#endif
