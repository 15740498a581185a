/* SPDX-License-Identifier: MIT */
/* Two configurations side by side, in all that their trials recorded. */
#ifndef SPEX_EXPLORE_COMPARE_EXPLAIN_H
#define SPEX_EXPLORE_COMPARE_EXPLAIN_H

#include "explore/compare/change.h"
#include "explore/findings/study.h"

/* A quantity that trials recorded, over those of each configuration. */
struct spex_quantity {
    char *name; /* "query:lat p99", "usage rss" */
    char *unit;
    struct spex_sample *samples; /* one a group of the summary */
};

struct spex_quantities {
    struct spex_quantity *items;
    size_t count;
};

/* Of all successful trials. 0 or what went wrong; to be freed in any case. */
int spex_quantities_read(struct spex_quantities *quantities, const struct spex_study *study,
                         struct spex_store *store, struct spex_error *error);
void spex_quantities_free(struct spex_quantities *quantities);

/* What became of a quantity. */
struct spex_explained {
    const char *name;
    const char *unit;
    struct spex_sample a, b;
    struct spex_change change;
};

struct spex_explanation {
    const struct spex_study *study;
    size_t a, b; /* groups */
    /* Those that both recorded: what changed surely comes first, by how much at least. */
    struct spex_explained *items;
    size_t count;
    size_t significant; /* of these, how many changed surely */
    size_t unknown;     /* and of how many it cannot be told */
};

/* 0 or -ENOMEM; `items` is to be freed. */
int spex_explanation_find(struct spex_explanation *explanation,
                          const struct spex_quantities *quantities);

#endif
