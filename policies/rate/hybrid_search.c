/* SPDX-License-Identifier: MIT */
/* Solves Problem 2 in four steps: quick solutions as a start (hybrid_start.c); flips of single
 * candidates; an exact search of the core (hybrid_core.c); flips again. Nothing here allocates. */
#include "policies/rate/hybrid_search.h"

#include "policies/rate/hybrid_start.h"
#include "policies/rate/hybrid_sums.h"

/* Candidates are flipped in at most this many rounds. */
enum { FLIP_ROUNDS = 8 };

/* Flips single candidates between traced and sampled as long as that increases the information.
 * Sums are computed anew after each round, so that rounding does not accumulate. */
static void flip_while_better(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = spex_hybrid_sums_of_traced(hybrid);
    double best = spex_hybrid_information_of(hybrid, &sums);
    bool better = true;
    for (unsigned round = 0; better && round < FLIP_ROUNDS; round++) {
        better = false;
        struct spex_hybrid_needs needs = spex_hybrid_needs_of(hybrid);
        for (size_t c = 0; c < hybrid->count; c++) {
            struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
            struct spex_hybrid_sums other = sums;
            (candidate->traced ? spex_hybrid_sums_subtract : spex_hybrid_sums_add)(&other,
                                                                                   candidate);
            other.need = candidate->traced ? spex_hybrid_greater(needs.first, candidate->minimum)
                                           : spex_hybrid_need_without(&needs, c);
            double got = spex_hybrid_information_of(hybrid, &other);
            if (got <= best * (1 + SPEX_RATE_ROUNDING))
                continue;
            candidate->traced = !candidate->traced;
            needs = spex_hybrid_needs_of(hybrid);
            sums = other;
            best = got;
            better = true;
        }
        sums = spex_hybrid_sums_of_traced(hybrid);
        best = spex_hybrid_information_of(hybrid, &sums);
    }
}

/* Flips again after the search of a core, since the candidates outside of it may fit better
 * then. */
bool spex_hybrid_improve(struct spex_hybrid *hybrid) {
    struct spex_hybrid_choice choice;
    if (!spex_hybrid_start(hybrid))
        return false;
    flip_while_better(hybrid);
    if (spex_hybrid_search(hybrid, SPEX_HYBRID_EXACT_QUICKLY, &choice, 1))
        spex_hybrid_mark(hybrid, &choice);
    if (hybrid->count > SPEX_HYBRID_EXACT_QUICKLY)
        flip_while_better(hybrid);
    return true;
}
