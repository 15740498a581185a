/* SPDX-License-Identifier: MIT */
/* Compares two stores: whether they are comparable, and the changes of configurations that are in
 * both. */
#ifndef SPEX_EXPLORE_FINDINGS_COMPARE_H
#define SPEX_EXPLORE_FINDINGS_COMPARE_H

#include "explore/findings/change.h"
#include "explore/findings/study.h"

/* A configuration that has a result in both stores. */
struct spex_pair {
    size_t a, b;               /* groups */
    struct spex_change change; /* change of the first objective */
    bool apart;                /* its change differs significantly from that of all pairs */
};

struct spex_comparison {
    /* The first line in which the spaces differ, as A has "…", B "…"; NULL when they are the
     * same. */
    char *difference;
    bool same_program;
    /* The first circumstance in which the first machines differ; SPEX_ON_COUNT when they do not. */
    size_t machine_differs;
    bool same_criteria;      /* otherwise there are no pairs */
    struct spex_pair *pairs; /* those apart first, then by size of the change */
    size_t pair_count;
    size_t apart_count;
    struct spex_change *all; /* change of each criterion over all pairs; valid if pair_count > 0 */
    /* The change from the best of A to the best of B, which may be another configuration. */
    struct spex_change best_to_best;
    /* Spearman's rank correlation of the first objective; NaN with less than 3 pairs. */
    double order;
    /* The group of B with the values of A's best; SPEX_RANKING_NONE when it has no result there. */
    size_t best_of_a_in_b;
};

/* 0 or -ENOMEM; to be freed in any case. */
int spex_compare(struct spex_comparison *comparison, const struct spex_study *a,
                 const struct spex_study *b);
void spex_comparison_free(struct spex_comparison *comparison);

#endif
