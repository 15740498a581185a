/* SPDX-License-Identifier: MIT */
/* The models of a program's kernels, one for each calling context, and the file that keeps them (docs/models.md). */
#ifndef SPEX_MODEL_MODELS_H
#define SPEX_MODEL_MODELS_H

#include <stdio.h>

#include "model/model.h"
#include "text/error.h"

struct spex_kernel_model {
    char *path;                             /* of kernels' names, from the outermost: "main/sort" */
    char *names[SPEX_MODEL_PARAMETERS_MAX]; /* as many as the model has parameters */
    double executions;
    double least_seconds;                  /* of all that were measured */
    double low[SPEX_MODEL_PARAMETERS_MAX]; /* what the parameters were, at least and at most */
    double high[SPEX_MODEL_PARAMETERS_MAX];
    struct spex_model model;
};

struct spex_models {
    struct spex_kernel_model *items; /* by path */
    size_t count;
    size_t room;
};

/* Adds one with nothing but its path and parameters, behind the others. 0 or -ENOMEM. */
int spex_models_add(struct spex_models *models, const char *path, const char *const *names,
                    size_t parameter_count, struct spex_kernel_model **model);
void spex_models_free(struct spex_models *models);

/* The model of this path, or NULL. */
const struct spex_kernel_model *spex_models_find(const struct spex_models *models,
                                                 const char *path);

/* 0, or -EIO when the file says that writing has failed. */
int spex_models_write(const struct spex_models *models, FILE *out);

/* `name` is for messages, which name the line. 0; -EINVAL for what is no such file, of another version, or damaged;
 * -ENOMEM; -EIO. To be freed in any case. */
int spex_models_read(struct spex_models *models, FILE *in, const char *name,
                     struct spex_error *why);

#endif
