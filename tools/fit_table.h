/* SPDX-License-Identifier: MIT */
/* Measurements for `spex fit`, from a table: a column a parameter, perhaps "rep", which is passed over, and the times in
 * the last. */
#ifndef SPEX_FIT_TABLE_H
#define SPEX_FIT_TABLE_H

#include "csv.h"
#include "fit.h"

struct spex_fit_table {
    const char *names[SPEX_MODEL_PARAMETERS_MAX]; /* in the cells */
    struct spex_measurements measured;
    double *parameters;
    double *times;
    struct spex_csv csv;
};

/* Fills in the table from the cells, which it takes; also when it fails. 0, -EINVAL, -ENOMEM. */
int spex_fit_table_make(struct spex_fit_table *table, struct spex_csv *csv, struct spex_why *why);
void spex_fit_table_free(struct spex_fit_table *table);

#endif
