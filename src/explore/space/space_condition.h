/* SPDX-License-Identifier: MIT */
/* Conditions between parameters, in XPath 1.0: when a parameter applies (<parameter when="…">), and
 * which configurations are allowed (<constraint require="…">). $name is a parameter's value: a
 * number, a text or, for a boolean parameter, a truth value. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_CONDITION_H
#define SPEX_EXPLORE_SPACE_SPACE_CONDITION_H

#include <stdio.h>

#include <spex/policy.h>

#include "xml/xml.h"

#define SPEX_CONSTRAINTS_MAX 64

struct spex_conditions;

/* NULL when out of memory. `space` has to stay as long as the result. */
struct spex_conditions *spex_conditions_new(const struct spex_space *space);
void spex_conditions_free(struct spex_conditions *conditions);

/* Takes the `when` of the parameter added last, which may name those before it. */
int spex_conditions_when(struct spex_conditions *conditions, struct spex_xml *xml,
                         const xmlNode *element);

/* Takes a <constraint>; all parameters have to be known. */
int spex_conditions_require(struct spex_conditions *conditions, struct spex_xml *xml,
                            const xmlNode *element);

/* Allows what is in the space's list alone; `order` is the list's by levels, and is taken over. */
void spex_conditions_list(struct spex_conditions *conditions, size_t *order);

bool spex_conditions_any(const struct spex_conditions *conditions);

/* Functions of struct spex_space, whose context is the conditions. Thread-safe. */
bool spex_conditions_settle(const struct spex_space *space, size_t *levels);
bool spex_conditions_apply(const struct spex_space *space, const size_t *levels, size_t parameter);

/* Prints one line for each condition, for the space's identity. */
void spex_conditions_print(const struct spex_conditions *conditions, FILE *out);

#endif
