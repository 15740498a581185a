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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/rate_policy.h>

#include "policies/rate/rate_items.h"

/* The exact search takes up to 2^n steps for so many candidates: tens of milliseconds for EXACT,
 * for `spex plan`; well under one for EXACT_QUICKLY, for the controller, which decides every 100
 * ms. With more candidates, the least clear ones are searched. */
enum { SPEX_HYBRID_EXACT = 24, SPEX_HYBRID_EXACT_QUICKLY = 16 };

struct spex_hybrid_candidate {
    double cost;    /* samples a second: F (T_detect + T_report) / T_sampling (4.3.3) */
    double profit;  /* F W */
    double hit;     /* W EventTime / EventPeriod: the information of a sample */
    double minimum; /* least sampling frequency without tracing, Hz */
    size_t index;   /* among the problem's classes */
    bool traced;
    bool in_core;
};

/* Sums over the traced candidates; `need` is the greatest minimum of those not traced. */
struct spex_hybrid_sums {
    double cost, profit, hit, need;
};

/* A choice about the core: bit i is set when core[i] is traced. */
struct spex_hybrid_choice {
    double information;
    uint32_t traced;
};

struct spex_hybrid {
    double max_f;   /* samples a second of the budget, pinned classes paid */
    double max_hit; /* sum over candidates */
    bool has_minimum;
    size_t count;
    struct spex_hybrid_candidate *candidates; /* by profit over cost, the greatest first */
    struct spex_rate_item *items;             /* `count` items of scratch */
    struct spex_hybrid_sums *table;           /* of spex_hybrid_table_size */
    size_t core[SPEX_HYBRID_EXACT]; /* indices of the candidates that are searched exactly */
    size_t core_count;
};

/* Bytes of the table of a search with a core of this size. */
size_t spex_hybrid_table_size(size_t core_count);

/* Sorts the candidates by profit over cost and sets max_hit and has_minimum. To be called first. */
void spex_hybrid_sort(struct spex_hybrid *hybrid);

/* The information of the candidates as they are marked; negative when that is not allowed. */
double spex_hybrid_information(const struct spex_hybrid *hybrid);

/* The next two mark candidates. False when they found nothing that is allowed; then no candidate is
 * marked. */

/* The paper's approximation algorithm: at least half of the optimum (Theorem 2). */
bool spex_hybrid_approximate(struct spex_hybrid *hybrid);

/* A better solution: the optimum for up to SPEX_HYBRID_EXACT_QUICKLY candidates, O(n) expected time
 * for more. */
bool spex_hybrid_improve(struct spex_hybrid *hybrid);

/* Finds the `count` best choices about the `core_count` least clear candidates, or all if there are
 * fewer; the others stay as they are marked. Returns the number found. */
size_t spex_hybrid_search(struct spex_hybrid *hybrid, size_t core_count,
                          struct spex_hybrid_choice *choices, size_t count);

/* Marks the core's candidates by the choice. */
void spex_hybrid_mark(struct spex_hybrid *hybrid, const struct spex_hybrid_choice *choice);

#endif
