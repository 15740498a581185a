/* SPDX-License-Identifier: MIT */
/* Which kernels share one point where sampling frequencies are switched: Bhattacharyya and Amza, "ADLER", section 3.2,
 * "Grouping of Kernels". A switch stands before the kernels without others within them (the leaves of the loop call graph)
 * that have the same context around them, and sets the frequency of each of them by its own model. */
#ifndef SPEX_MODEL_TRAINING_GROUPS_H
#define SPEX_MODEL_TRAINING_GROUPS_H

#include "model/models.h"

/* In the place of a group: it has others within it, or is too short. */
#define SPEX_GROUP_NONE SIZE_MAX

struct spex_groups {
    size_t *of;   /* the group of each of the models; SPEX_GROUP_NONE */
    size_t count; /* of groups: the switching points */
};

/* Kernels that never take so many seconds are too short for frequencies of their own: they go by that of the kernel around
 * them, as if they were not there. 0 or -ENOMEM; to be freed in any case. */
int spex_groups_make(struct spex_groups *groups, const struct spex_models *models, double seconds);
void spex_groups_free(struct spex_groups *groups);

/* The model of the kernel around this one: its number, or models->count where there is none. */
size_t spex_models_parent(const struct spex_models *models, size_t model);

/* What a path's last kernel is called. */
const char *spex_kernel_name(const struct spex_kernel_model *kernel);

#endif
