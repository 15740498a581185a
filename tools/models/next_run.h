/* SPDX-License-Identifier: MIT */
/* Proposes the next run of a training: the parameters with which the predicted time of a kernel is
 * least certain. */
#ifndef SPEX_TOOLS_MODELS_NEXT_RUN_H
#define SPEX_TOOLS_MODELS_NEXT_RUN_H

#include "model/fit/next.h"
#include "model/models.h"
#include "tools/common/value_ranges.h"

struct spex_next_run {
    /* NULL: there is no proposal. */
    const struct spex_kernel_model *kernel;
    struct spex_next next;
};

/* Within `ranges`, and for parameters that have none there within those of the training. Models
 * must be of a training. Kernels that have none of these parameters, if there are ranges, and those
 * that take less than 1 % of the time of another are left out. */
struct spex_next_run spex_next_run(const struct spex_models *models,
                                   const struct spex_value_ranges *ranges);

/* Prints one line; nothing without a proposal. */
void spex_next_run_print(const struct spex_next_run *run);

#endif
