/* SPDX-License-Identifier: MIT */
/* <configurations>: a list of the only configurations that there are. */
#ifndef SPEX_EXPLORE_SPACE_SPACE_LIST_H
#define SPEX_EXPLORE_SPACE_SPACE_LIST_H

#include <stdio.h>

#include <spex/policy.h>

#include "xml/xml.h"

/* Reads the list, of a file or in the element, into the space; all parameters and constraints have
 * to be known. A list of a file is put into the document's text, so that this says all. *order, to
 * be freed, is the list's by levels. */
int spex_list_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space,
                   size_t **order);

/* Reads <first>, configurations to be tried before others, into the space. */
int spex_list_take_first(struct spex_xml *xml, const xmlNode *element, struct spex_space *space);

/* Whether the configuration is in the list. `order`: the list's, by levels. */
bool spex_list_has(const struct spex_space *space, const size_t *order, const size_t *levels);

/* Prints a line for each, for the space's identity. */
void spex_list_print(const struct spex_space *space, FILE *out);
void spex_list_print_first(const struct spex_space *space, FILE *out);

#endif
