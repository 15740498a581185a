/* SPDX-License-Identifier: MIT */
/* The loop call graph as a picture: a node for each kernel in each context, in the colour of its class, and one frame
 * around those that share a switch. */
#ifndef SPEX_MODELS_GRAPH_H
#define SPEX_MODELS_GRAPH_H

#include "explore/picture.h"
#include "groups.h"

struct spex_models_graph {
    const struct spex_models *models;
    const struct spex_groups *groups;
};

/* `subject` is the graph. */
int spex_draw_models(const void *subject, struct spex_script *script, struct spex_why *why);

#endif
