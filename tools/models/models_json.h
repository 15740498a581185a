/* SPDX-License-Identifier: MIT */
/* Models as JSON. */
#ifndef SPEX_TOOLS_MODELS_MODELS_JSON_H
#define SPEX_TOOLS_MODELS_MODELS_JSON_H

#include <stdbool.h>

#include "model/fit/groups.h"

/* The classes in the order of the table. */
enum { SPEX_MODELS_CLASSES = 6 };
extern const enum spex_model_class spex_models_classes[SPEX_MODELS_CLASSES];

/* How many of the models are of this class. */
size_t spex_models_count(const struct spex_models *models, enum spex_model_class class);

/* Prints them to standard output, with `curves` also what they tell over their parameters. An exit
 * status. */
int spex_models_print_json(const struct spex_models *models, const struct spex_groups *groups,
                           bool curves);

#endif
