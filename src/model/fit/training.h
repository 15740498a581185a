/* SPDX-License-Identifier: MIT */
/* Collects measurements of kernels by calling context until models are fitted. Memory is bounded:
 * each combination of parameters keeps at most SPEX_TRAINING_ROWS measurements. */
#ifndef SPEX_MODEL_FIT_TRAINING_H
#define SPEX_MODEL_FIT_TRAINING_H

#include <stdbool.h>
#include <stdint.h>

#include "model/models.h"

/* Combinations of parameters that are kept for one kernel: a random sample if there are more. */
enum { SPEX_TRAINING_POINTS = 1024 };

/* Measurements that are kept for one combination: a random sample if there are more. */
enum { SPEX_TRAINING_ROWS = 64 };

/* Kernels, each counted once for every context. */
enum { SPEX_TRAINING_KERNELS = 8192 };

struct spex_training;
struct spex_trained;

/* `seed` starts the random numbers, so that a training can be repeated. 0 or -ENOMEM. */
int spex_training_create(struct spex_training **training, uint64_t seed);
void spex_training_destroy(struct spex_training *training);

/* The kernel with this path ("main/sort"), made if there is none; names of parameters are copied.
 * 0; -EINVAL: it has other parameters; -E2BIG: too many kernels or parameters; -ENOMEM. */
int spex_training_kernel(struct spex_training *training, const char *path, const char *const *names,
                         size_t parameter_count, struct spex_trained **kernel);

/* Later measurements are of another run of the program. Measurements of one run are correlated. */
void spex_training_next_run(struct spex_training *training);

/* Adds a measurement that stands for `weight` executions. 0 or -ENOMEM. */
int spex_trained_add(struct spex_training *training, struct spex_trained *kernel,
                     const double *parameters, double seconds, double weight);

/* A measurement that a training has kept, of run number `run`. It stands for `weight` executions,
 * so that those of one kernel stand for all of its executions together. */
struct spex_trained_row {
    uint32_t run;
    double seconds, weight;
    const double *parameters;
};

/* A kernel of a training. */
struct spex_trained_about {
    const char *path;
    const char *const *names;
    size_t parameter_count;
    double executions;
};

/* The first kernel whose path is behind `after` in their order (NULL: the first one), and what it
 * is. NULL: there is none. */
const struct spex_trained *spex_training_next(const struct spex_training *training,
                                              const char *after, struct spex_trained_about *about);

bool spex_training_has(const struct spex_training *training, const char *path);

/* Calls `visit` with what was kept of the kernel, or with `most` of it, spread evenly. Returns the
 * first result of it that is not 0, or 0. */
int spex_trained_visit(const struct spex_trained *kernel, size_t most,
                       int (*visit)(void *user, const struct spex_trained_row *row), void *user);

/* Later measurements are of this run. */
void spex_training_set_run(struct spex_training *training, uint32_t run);

/* Fits the models of all kernels whose executions take at least `least_seconds` on average, in the
 * order of their paths. *left_out: the number of other kernels, and of those whose numbers are
 * beyond what can be reckoned with. `models` is to be freed in any case. 0 or -ENOMEM. */
int spex_training_fit(const struct spex_training *training, double least_seconds,
                      struct spex_models *models, size_t *left_out);

#endif
