/* SPDX-License-Identifier: MIT */
#ifndef SPEX_TOOLS_MODELS_TRAIN_JSON_H
#define SPEX_TOOLS_MODELS_TRAIN_JSON_H

#include "explore/train.h"
#include "tools/models/next_run.h"

/* Prints the models, the account of the runs and the proposed run as one object. An exit status. */
int spex_train_print_json(const struct spex_models *models, const struct spex_train_progress *last,
                          const struct spex_next_run *next);

#endif
