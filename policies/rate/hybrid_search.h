/* SPDX-License-Identifier: MIT */
/* Which classes to trace and which to leave to probing (the paper's Problem 2, 4.2), as numbers.
 *
 * Costs are in samples: tracing a class takes `cost` samples a second away from probing. With T the
 * traced ones, all sums over candidates, and MaxF the samples a second that the budget pays for,
 *
 *     F_probing   = MaxF - Σ_T cost                          at least 0 (Constraint 1)
 *     information = Σ_T profit + F_probing · Σ_not-T hit
 *
 * F_probing has to be at least the greatest `minimum` of what is not traced (4.3.5). */
#ifndef SPEX_POLICIES_RATE_HYBRID_SEARCH_H
#define SPEX_POLICIES_RATE_HYBRID_SEARCH_H

#include "policies/rate/rate_items.h"

/* A search of 2^n steps for at most so many candidates: tens of milliseconds where it is needed, and
 * well under one where it is asked for every 100 ms. Beyond, this many of them, those about which it
 * is least clear. */
enum { SPEX_HYBRID_EXACT = 24, SPEX_HYBRID_EXACT_QUICKLY = 16 };

struct spex_hybrid_candidate {
    double cost;    /* samples a second: F (T_detect + T_report) / T_sampling (4.3.3) */
    double profit;  /* F W */
    double hit;     /* W EventTime / EventPeriod: information of a sample */
    double minimum; /* Hz */
    size_t index;   /* among the problem's classes */
    bool traced;
    bool in_core;
};

/* Sums over a set of traced candidates, and the greatest minimum of those that are not. */
struct spex_hybrid_sums {
    double cost, profit, hit, need;
};

/* Subsets of what is searched exactly, as bits. */
struct spex_hybrid_choice {
    double information;
    uint32_t traced;
};

struct spex_hybrid {
    double max_f;   /* of the budget, less what is traced in any case */
    double max_hit; /* sum over candidates */
    bool has_minimum;
    size_t count;
    struct spex_hybrid_candidate *candidates; /* by profit over cost, the greatest first */
    struct spex_rate_item *items;             /* count of them, to work with */
    struct spex_hybrid_sums *table;           /* of spex_hybrid_table_size */
    size_t core[SPEX_HYBRID_EXACT];           /* candidates that choices are about */
    size_t core_count;
};

/* Of a search over so many. */
size_t spex_hybrid_table_size(size_t core_count);

/* Puts the candidates in order. To be called first. */
void spex_hybrid_sort(struct spex_hybrid *hybrid);

/* Of the candidates as they are marked; negative when that is not allowed. */
double spex_hybrid_information(const struct spex_hybrid *hybrid);

/* Each marks candidates; false when it has found nothing that is allowed, with nothing marked. */

/* The paper's approximation: at least half of the optimum (Theorem 2). */
bool spex_hybrid_approximate(struct spex_hybrid *hybrid);

/* A better one: exact for SPEX_HYBRID_EXACT_QUICKLY candidates, in O(n) expected time for more. */
bool spex_hybrid_improve(struct spex_hybrid *hybrid);

/* The `count` best choices about the `core_count` candidates that are least clear, all of them when
 * there are no more; the others stay as they are marked. How many were found. */
size_t spex_hybrid_search(struct spex_hybrid *hybrid, size_t core_count,
                          struct spex_hybrid_choice *choices, size_t count);

/* Marks the candidates of the core as it says. */
void spex_hybrid_mark(struct spex_hybrid *hybrid, const struct spex_hybrid_choice *choice);

#endif
