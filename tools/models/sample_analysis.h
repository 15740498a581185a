/* SPDX-License-Identifier: MIT */
/* The results of sampling kernels by their models (kernels/sampling_plan.h), for each calling
 * context. */
#ifndef SPEX_TOOLS_MODELS_SAMPLE_ANALYSIS_H
#define SPEX_TOOLS_MODELS_SAMPLE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "kernels/kernel_paths.h"
#include "model/models.h"

struct spex_sampled_kernel {
    char *path;
    uint32_t context;
    /* The context around this one, or SPEX_CONTEXT_ROOT. */
    uint32_t parent;
    /* The model of the context; NULL: there is none. */
    const struct spex_kernel_model *model;
    double executions;
    /* Executions that are long enough to be sampled while they are under way. */
    double looked_at;
    /* Samples of executions that were under way, and records of executions that were too short for
     * that. */
    uint64_t looks, records;
    /* Samples that there should be, by spex_sampled_account. */
    double required;
    /* Ids of the threads that have executed the kernel. */
    uint32_t *threads;
    uint32_t thread_count;
    /* Times in seconds, each weighted by the executions that it stands for. */
    double weight, mean;
    /* The same, each weighted by the square of that, and their sum of squares. */
    double weight_squares, square_mean, squares;
    /* Weighted mean of the model's predictions of the same executions, and the sum of their
     * weights. */
    double predicted, predicted_weight;
};

struct spex_sampled;

/* `models` and `known` must outlive the result. 0 or -ENOMEM. */
int spex_sampled_create(struct spex_sampled **sampled, const struct spex_models *models,
                        struct spex_kernels_known known, double samples, double ticks_per_second);
void spex_sampled_destroy(struct spex_sampled *sampled);

/* 0 or -ENOMEM. */
int spex_sampled_take(struct spex_sampled *sampled, const struct spex_record *records,
                      size_t count);

/* The kernels that were executed in so many seconds, by path, each with the samples that it should
 * have. Free the array; its members belong to `sampled`. 0 or -ENOMEM. */
int spex_sampled_account(struct spex_sampled *sampled, double seconds,
                         struct spex_sampled_kernel **kernels, size_t *count);

/* Samples of both kinds. */
static inline double spex_sampled_samples(const struct spex_sampled_kernel *kernel) {
    return (double)kernel->looks + (double)kernel->records;
}

/* Whether it has half to twice the samples that it should have. */
bool spex_sampled_enough(const struct spex_sampled_kernel *kernel);

/* Half of the 95 % interval of the mean; negative with too few samples for one. */
double spex_sampled_margin(const struct spex_sampled_kernel *kernel);

/* Half of the 95 % interval of the executions; 0: each of them has made a record. */
double spex_sampled_executions_margin(const struct spex_sampled_kernel *kernel);

#endif
