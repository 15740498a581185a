/* SPDX-License-Identifier: MIT */
/* Trains models of functions of a running program that was built without spex. */
#ifndef SPEX_TOOLS_MODELS_TRAIN_FUNCTIONS_H
#define SPEX_TOOLS_MODELS_TRAIN_FUNCTIONS_H

#include "tools/models/train_running.h"

/* `probes` of `running` are functions with their arguments. `budget`: as a share of the program's CPU time. `argv`: a
 * program to be run, in place of `running->process`, or NULL. Otherwise as spex_train_running. */
int spex_train_functions(const struct spex_train_running *running, double budget, char *const *argv,
                         struct spex_training *training, struct spex_models *models);

#endif
