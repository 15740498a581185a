/* SPDX-License-Identifier: MIT */
/* What kernels have taken in their calling contexts, collected in bounded memory until models are fitted to it: as many
 * measurements of each combination of parameters, however often it was executed. */
#ifndef SPEX_MODEL_TRAINING_TRAINING_H
#define SPEX_MODEL_TRAINING_TRAINING_H

#include <stdint.h>

#include "model/models.h"

/* Combinations of parameters of one kernel; of more, so many at random. */
enum { SPEX_TRAINING_POINTS = 1024 };

/* Measurements of one combination; of more, so many at random. */
enum { SPEX_TRAINING_ROWS = 64 };

/* Kernels, each counted once for every context. */
enum { SPEX_TRAINING_KERNELS = 8192 };

struct spex_training;
struct spex_trained;

/* What is left to chance comes out of `seed`. 0 or -ENOMEM. */
int spex_training_create(struct spex_training **training, uint64_t seed);
void spex_training_destroy(struct spex_training *training);

/* The kernel that is called so, in its context ("main/sort"), made where there is none. Its parameters' names are copied.
 * 0; -EINVAL where it has others already; -E2BIG for more kernels or parameters than there may be; -ENOMEM. */
int spex_training_kernel(struct spex_training *training, const char *path, const char *const *names,
                         size_t parameter_count, struct spex_trained **kernel);

/* What is measured from now on is of another run of the program, or of another time: measurements of one have more in
 * common than those of several. */
void spex_training_next_run(struct spex_training *training);

/* One measurement, which stands for `weight` executions. 0 or -ENOMEM. */
int spex_trained_add(struct spex_training *training, struct spex_trained *kernel,
                     const double *parameters, double seconds, double weight);

/* The models of all whose executions take `least_seconds` on average, by their paths' order. To be freed in any case.
 * 0 or -ENOMEM. */
int spex_training_fit(const struct spex_training *training, double least_seconds,
                      struct spex_models *models, size_t *left_out);

#endif
