/* SPDX-License-Identifier: MIT */
/* The measurements for `spex fit`, from a table: one column for each parameter, optionally "rep",
 * which is ignored, and the times in the last column. */
#ifndef SPEX_TOOLS_MODELS_FIT_TABLE_H
#define SPEX_TOOLS_MODELS_FIT_TABLE_H

#include "model/fit/fit.h"
#include "tools/common/csv.h"

struct spex_fit_table {
    /* The parameters' names, which point into the cells. */
    const char *names[SPEX_MODEL_PARAMETERS_MAX];
    struct spex_measurements measured;
    double *parameters;
    double *times;
    struct spex_csv csv;
};

/* Owns the cells of `csv` from here on, also on failure. 0, -EINVAL or -ENOMEM. */
int spex_fit_table_make(struct spex_fit_table *table, struct spex_csv *csv,
                        struct spex_error *error);
void spex_fit_table_free(struct spex_fit_table *table);

#endif
