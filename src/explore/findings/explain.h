/* SPDX-License-Identifier: MIT */
/* Compares two configurations of a store in all quantities that their trials recorded. */
#ifndef SPEX_EXPLORE_FINDINGS_EXPLAIN_H
#define SPEX_EXPLORE_FINDINGS_EXPLAIN_H

#include "explore/findings/change.h"
#include "explore/findings/study.h"

/* A quantity that trials recorded, with its samples in each configuration. */
struct spex_quantity {
    char *name; /* "query:lat p99", "usage rss" */
    char *unit;
    struct spex_sample *samples; /* one for each group of the summary */
};

struct spex_quantities {
    struct spex_quantity *items;
    size_t count;
};

/* Reads the quantities of all successful trials. 0 or a negative errno value; to be freed in any
 * case. */
int spex_quantities_read(struct spex_quantities *quantities, const struct spex_study *study,
                         struct spex_store *store, struct spex_error *error);
void spex_quantities_free(struct spex_quantities *quantities);

/* The change of a quantity between two configurations. */
struct spex_explained {
    const char *name;
    const char *unit;
    struct spex_sample a, b;
    struct spex_change change;
};

struct spex_explanation {
    const struct spex_study *study;
    size_t a, b; /* groups */
    /* The quantities that both recorded: significant changes first, by size. */
    struct spex_explained *items;
    size_t count;
    size_t significant; /* how many of the items changed significantly */
    size_t unknown;     /* how many may have changed, but have no known errors */
};

/* Fills in the items of study, a and b. 0 or -ENOMEM; `items` is to be freed. */
int spex_explanation_find(struct spex_explanation *explanation,
                          const struct spex_quantities *quantities);

#endif
