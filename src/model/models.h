/* SPDX-License-Identifier: MIT */
/* The models of a program's kernels, one for each calling context, and the file that holds them
 * (docs/models.md). */
#ifndef SPEX_MODEL_MODELS_H
#define SPEX_MODEL_MODELS_H

#include <stdio.h>

#include "base/files/whole_file.h"
#include "model/model.h"
#include "text/error.h"

/* The version of the files' format (docs/models.md). */
enum { SPEX_MODELS_VERSION = 3 };

/* Points that are kept of a kernel. */
enum { SPEX_MODEL_POINTS = 64 };

/* Measurements with these values of the parameters. */
struct spex_model_point {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    /* The median. */
    double seconds;
    double executions;
};

struct spex_kernel_model {
    /* Names of the kernels from the outermost on: "main/sort". */
    char *path;
    /* Names of the model's parameters. */
    char *names[SPEX_MODEL_PARAMETERS_MAX];
    double executions;
    /* The least time of a measured execution. */
    double least_seconds;
    /* Least and greatest values of the parameters in the training. */
    double low[SPEX_MODEL_PARAMETERS_MAX];
    double high[SPEX_MODEL_PARAMETERS_MAX];
    struct spex_model model;
    /* As of struct spex_fit; of a model that has just been trained, files do not have it. */
    double power_error;
    /* Some of what it was trained with, for people to see. */
    struct spex_model_point *points;
    size_t point_count;
};

struct spex_models {
    /* Sorted by path. */
    struct spex_kernel_model *items;
    size_t count;
    size_t room;
};

/* Adds a model with nothing but its path and its parameters' names, behind the others. 0 or
 * -ENOMEM. */
int spex_models_add(struct spex_models *models, const char *path, const char *const *names,
                    size_t parameter_count, struct spex_kernel_model **model);
void spex_models_free(struct spex_models *models);

/* The model of this path, by binary search; NULL: there is none. */
const struct spex_kernel_model *spex_models_find(const struct spex_models *models,
                                                 const char *path);

/* Number of models of class unknown, which do not say how times depend on parameters. */
size_t spex_models_without_class(const struct spex_models *models);

/* Writes the file. 0; -EIO: writing has failed. */
int spex_models_write(const struct spex_models *models, FILE *out);

/* Reads a file. `name`: the file's name for messages, which also name the line. 0; -EINVAL: the
 * file is of another kind or version, or damaged; -ENOMEM; -EIO. `models` is to be freed in any
 * case. */
int spex_models_read(struct spex_models *models, FILE *in, const char *name,
                     struct spex_error *error);

/* The same from a path to a file of this kind; -EFBIG or the error of opening, too. */
int spex_models_read_file(struct spex_models *models, const char *path, enum spex_file_kind kind,
                          struct spex_error *error);

#endif
