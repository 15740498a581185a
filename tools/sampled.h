/* SPDX-License-Identifier: MIT */
/* What samples of kernels by their models (src/samples/) have brought, by calling context. */
#ifndef SPEX_SAMPLED_H
#define SPEX_SAMPLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "models.h"
#include "watch/kernel_paths.h"

struct spex_sampled_kernel {
    char *path;
    uint32_t context;
    uint32_t parent;                       /* its node; SPEX_CONTEXT_ROOT: none */
    const struct spex_kernel_model *model; /* NULL: none */
    double executions;
    double looked_at;  /* of them: long enough to be */
    uint64_t looks;    /* at executions that were under way */
    uint64_t records;  /* of executions that were not looked at */
    double required;   /* samples, of spex_sampled_account */
    uint32_t *threads; /* ids of those that have executed it */
    uint32_t thread_count;
    /* Of times in seconds, each by the executions that it stands for: */
    double weight, weight_squares, mean, squares;
    double predicted; /* mean of what the model says of the same, by weight; */
    double foretold;  /*   which is this */
};

struct spex_sampled;

/* What is given has to stay as long as it does. 0 or -ENOMEM. */
int spex_sampled_create(struct spex_sampled **sampled, const struct spex_models *models,
                        struct spex_kernels_known known, double samples, double ticks_per_second);
void spex_sampled_destroy(struct spex_sampled *sampled);

/* 0 or -ENOMEM. */
int spex_sampled_take(struct spex_sampled *sampled, const struct spex_record *records,
                      size_t count);

/* Kernels that have been executed, by path, with what was required of each in so many seconds. 0 or -ENOMEM. */
int spex_sampled_account(struct spex_sampled *sampled, double seconds,
                         struct spex_sampled_kernel **kernels, size_t *count);

/* Samples: looks, and records of what is too short for them. */
static inline double spex_sampled_samples(const struct spex_sampled_kernel *kernel) {
    return (double)kernel->looks + (double)kernel->records;
}

/* Within a factor of two of what was required. */
bool spex_sampled_enough(const struct spex_sampled_kernel *kernel);

/* Half of the 95 % interval of the mean; negative: there is no telling. */
double spex_sampled_margin(const struct spex_sampled_kernel *kernel);

#endif
