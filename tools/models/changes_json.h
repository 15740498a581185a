/* SPDX-License-Identifier: MIT */
#ifndef SPEX_TOOLS_MODELS_CHANGES_JSON_H
#define SPEX_TOOLS_MODELS_CHANGES_JSON_H

#include <jansson.h>

#include "model/model.h"

/* An array of the model's changes: the parameter's name, where, and the interval. NULL: without
 * memory. */
json_t *spex_changes_json(const struct spex_model *model, const char *const *names);

#endif
