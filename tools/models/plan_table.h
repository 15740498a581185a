/* SPDX-License-Identifier: MIT */
/* The classes of events for `spex plan`, from a table with a header line. */
#ifndef SPEX_TOOLS_MODELS_PLAN_TABLE_H
#define SPEX_TOOLS_MODELS_PLAN_TABLE_H

#include <spex/rate_policy.h>

#include "tools/common/csv.h"

struct spex_plan_table {
    size_t class_count;
    struct spex_rate_class *classes;
    /* Whether the table has these columns. */
    bool has_report_cost, has_detect_cost;
    /* Holds the names of the classes. */
    struct spex_csv csv;
};

/* Owns the cells of `csv` from here on, also on failure. 0, -EINVAL or -ENOMEM. */
int spex_plan_table_make(struct spex_plan_table *table, struct spex_csv *csv,
                         struct spex_error *error);

void spex_plan_table_free(struct spex_plan_table *table);

#endif
