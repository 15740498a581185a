/* SPDX-License-Identifier: MIT */
/* The output of `spex sample`: a table, or JSON. */
#ifndef SPEX_TOOLS_MODELS_SAMPLE_OUTPUT_H
#define SPEX_TOOLS_MODELS_SAMPLE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "tools/models/sample_analysis.h"

struct spex_sample_account {
    const struct spex_sampled_kernel *kernels;
    size_t count;
    /* Asked for, an execution. */
    double samples;
    double seconds;
    /* Records. */
    uint64_t lost;
};

void spex_sample_print(const struct spex_sample_account *account, FILE *file);

/* 0 or -ENOMEM. */
int spex_sample_print_json(const struct spex_sample_account *account, FILE *file);

#endif
