/* SPDX-License-Identifier: MIT */
/* Draws the loop call graph: a node for each kernel in each context, in the colour of its class,
 * and a frame around kernels that share a switching point. */
#ifndef SPEX_TOOLS_MODELS_MODELS_GRAPH_H
#define SPEX_TOOLS_MODELS_MODELS_GRAPH_H

#include "explore/picture/picture.h"
#include "model/fit/groups.h"

struct spex_models_graph {
    const struct spex_models *models;
    const struct spex_groups *groups;
};

/* For struct spex_picture; `subject` is a struct spex_models_graph. */
int spex_draw_models(const void *subject, struct spex_script *script, struct spex_error *error);

#endif
