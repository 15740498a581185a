/* SPDX-License-Identifier: MIT */
/* Two stores: whether they can be compared, and what became of the configurations that are in
 * both. */
#ifndef SPEX_EXPLORE_COMPARE_COMPARE_H
#define SPEX_EXPLORE_COMPARE_COMPARE_H

#include "explore/compare/change.h"
#include "explore/findings/study.h"

/* A configuration that has a result in both. */
struct spex_pair {
    size_t a, b;               /* groups */
    struct spex_change change; /* of the first objective */
    bool apart;                /* its change differs surely from that of all together */
};

struct spex_comparison {
    /* A line in which the spaces differ, as "A: … B: …"; NULL: they are the same. */
    char *difference;
    bool same_program;
    /* SPEX_ON_COUNT: not; else the first circumstance in which the first machines differ. */
    size_t machine_differs;
    bool same_criteria;      /* else nothing is matched */
    struct spex_pair *pairs; /* those that are apart first, then by how much they changed */
    size_t pair_count;
    size_t apart_count;
    struct spex_change *all; /* of each criterion, over all pairs; meaningful when there are any */
    struct spex_change best_to_best; /* from A's best to B's best, whatever they are */
    /* Spearman's rank correlation of the first objective; NaN with less than 3 pairs. */
    double order;
    /* Group of B that is A's best; SPEX_RANKING_NONE when it has no result there. */
    size_t best_of_a_in_b;
};

/* 0 or -ENOMEM; to be freed in any case. */
int spex_compare(struct spex_comparison *comparison, const struct spex_study *a,
                 const struct spex_study *b);
void spex_comparison_free(struct spex_comparison *comparison);

#endif
