/* SPDX-License-Identifier: MIT */
/* Groups kernels that share a point at which the sampling frequency is switched: Bhattacharyya and
 * Amza, "ADLER", section 3.2, "Grouping of Kernels". Such a point lies before kernels that contain
 * no others (leaves of the loop call graph) and have the same context. It sets the frequency of
 * each by its own model. */
#ifndef SPEX_MODEL_FIT_GROUPS_H
#define SPEX_MODEL_FIT_GROUPS_H

#include "model/models.h"

/* No group: the kernel contains others, or is too short. */
#define SPEX_GROUP_NONE SIZE_MAX

struct spex_groups {
    /* The group of each model; SPEX_GROUP_NONE. */
    size_t *of;
    /* Number of groups, the switching points. */
    size_t count;
};

/* Kernels that never take `seconds` are too short for a frequency of their own: they count as part
 * of the kernel around them. 0 or -ENOMEM; to be freed in any case. */
int spex_groups_make(struct spex_groups *groups, const struct spex_models *models, double seconds);
void spex_groups_free(struct spex_groups *groups);

/* Number of the model of the kernel around this one; models->count: there is none. */
size_t spex_models_parent(const struct spex_models *models, size_t model);

/* The name of the path's last kernel. */
const char *spex_kernel_name(const struct spex_kernel_model *kernel);

#endif
