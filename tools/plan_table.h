/* SPDX-License-Identifier: MIT */
/* The classes of events that `spex plan` divides, from a table with a header line. */
#ifndef SPEX_PLAN_TABLE_H
#define SPEX_PLAN_TABLE_H

#include <spex/rate_policy.h>

#include "csv.h"

struct spex_plan_table {
    size_t class_count;
    struct spex_rate_class *classes;
    bool has_report_cost, has_detect_cost; /* columns */
    struct spex_csv csv;                   /* names are in it */
};

/* Fills in the table from the cells, which it takes; also when it fails. 0, -EINVAL, -ENOMEM. */
int spex_plan_table_make(struct spex_plan_table *table, struct spex_csv *csv, struct spex_why *why);

void spex_plan_table_free(struct spex_plan_table *table);

#endif
