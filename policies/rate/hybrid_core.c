/* SPDX-License-Identifier: MIT */
/* The exact search of the core: the candidates for which the choice matters least. */
#include "policies/rate/hybrid_start.h"
#include "policies/rate/hybrid_sums.h"

/* The value of a sample a second for tracing at this sampling frequency: the worth over cost of the
 * first item that the continuous knapsack does not take whole; when it takes all, the information
 * of a sample. */
static double margin_of(struct spex_hybrid *hybrid, double probing) {
    size_t count, whole = spex_hybrid_fill(hybrid, probing, &count);
    double hits = hybrid->max_hit;
    if (whole < count)
        return hybrid->items[whole].worth;
    for (size_t i = 0; i < whole; i++)
        hits -= hybrid->candidates[hybrid->items[i].index].hit;
    return spex_hybrid_greater(hits, 0);
}

/* Sets the worth of each item to the loss of a wrong choice about it, negated, so that the least
 * loss is the greatest worth. */
static void weigh_choices(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = spex_hybrid_sums_of_traced(hybrid);
    double probing = spex_hybrid_greater(hybrid->max_f - sums.cost, 0),
           margin = margin_of(hybrid, probing);
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        double gain = candidate->profit - probing * candidate->hit - margin * candidate->cost;
        hybrid->items[c] =
            (struct spex_rate_item){.worth = gain > 0 ? -gain : gain, .index = c, .cost = 1};
    }
}

/* Chooses the core (Balas and Zemel, 1980): the candidates for which the choice matters least,
 * which are searched exactly. The others stay as they are marked. */
static void choose_core(struct spex_hybrid *hybrid, size_t core_count) {
    double rest;
    hybrid->core_count = core_count;
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->candidates[c].in_core = false;
    if (core_count < hybrid->count) {
        weigh_choices(hybrid);
        spex_rate_items_fill(hybrid->items, hybrid->count, (double)core_count, &rest);
    }
    for (size_t c = 0; c < core_count; c++) {
        hybrid->core[c] = core_count < hybrid->count ? hybrid->items[c].index : c;
        hybrid->candidates[hybrid->core[c]].in_core = true;
    }
}

static const struct spex_hybrid_candidate *core_candidate(const struct spex_hybrid *hybrid,
                                                          size_t bit) {
    return &hybrid->candidates[hybrid->core[bit]];
}

size_t spex_hybrid_table_size(size_t core_count) {
    return ((size_t)1 << core_count / 2) * sizeof(struct spex_hybrid_sums);
}

/* Computes the sums of all subsets of the first `bits` core candidates. `need` is that of the
 * candidates not in the subset, so it is computed from the full set down. */
static void fill_table(struct spex_hybrid *hybrid, size_t bits) {
    size_t all = ((size_t)1 << bits) - 1;
    struct spex_hybrid_sums *table = hybrid->table;
    table[0] = (struct spex_hybrid_sums){0, 0, 0, 0};
    for (size_t set = 1; set <= all; set++) {
        table[set] = table[set & (set - 1)];
        spex_hybrid_sums_add(&table[set], core_candidate(hybrid, (size_t)__builtin_ctzll(set)));
    }
    table[all].need = 0;
    for (size_t set = all; set-- > 0;) {
        size_t missing = (size_t)__builtin_ctzll(~set);
        table[set].need = spex_hybrid_greater(table[set | (size_t)1 << missing].need,
                                              core_candidate(hybrid, missing)->minimum);
    }
}

/* The sums over the candidates outside the core, as they are marked. */
static struct spex_hybrid_sums sums_outside(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        if (candidate->in_core)
            continue;
        if (candidate->traced)
            spex_hybrid_sums_add(&sums, candidate);
        else
            sums.need = spex_hybrid_greater(sums.need, candidate->minimum);
    }
    return sums;
}

/* An upper bound of the information of any subset of the first `bits` core candidates together with
 * `sums` of the rest. With a and q the sums of the subset's costs and hits, c what is left to spend
 * and r the hits of all that may be sampled, the information is P + c r + Σ (profit - r cost - c
 * hit) + a q. The product a q is at most c q, since a is at most c, and at most a times the hits of
 * all `bits`. */
static double information_bound(const struct spex_hybrid *hybrid, size_t bits,
                                const struct spex_hybrid_sums *sums) {
    double left = hybrid->max_f - sums->cost, hits = hybrid->max_hit - sums->hit;
    double of_bits = hybrid->table[((size_t)1 << bits) - 1].hit;
    double by_cost = 0, by_hit = 0;
    for (size_t bit = 0; bit < bits; bit++) {
        const struct spex_hybrid_candidate *candidate = core_candidate(hybrid, bit);
        by_cost += spex_hybrid_greater(candidate->profit - hits * candidate->cost, 0);
        by_hit += spex_hybrid_greater(
            candidate->profit - (hits - of_bits) * candidate->cost - left * candidate->hit, 0);
    }
    return sums->profit + left * hits + spex_hybrid_lesser(by_cost, by_hit);
}

/* Inserts a choice into the best `count` ones, in order; of equal ones the first stays first.
 * Returns their number. */
static size_t keep_choice(struct spex_hybrid_choice *choices, size_t count, size_t found,
                          struct spex_hybrid_choice choice) {
    size_t at = found < count ? found : count - 1;
    for (; at > 0 && choices[at - 1].information < choice.information; at--)
        choices[at] = choices[at - 1];
    choices[at] = choice;
    return found < count ? found + 1 : count;
}

/* The information that a choice has to exceed to be kept. */
static double least_kept(const struct spex_hybrid_choice *choices, size_t count, size_t found) {
    return found < count ? -1 : choices[count - 1].information;
}

/* Tries all subsets of the first half of the core with one subset of the second half, whose sums
 * are `high`. The first condition is a cheap test without slack terms that almost all subsets
 * fail. */
static size_t search_half(const struct spex_hybrid *hybrid, const struct spex_hybrid_sums *high,
                          uint32_t high_bits, size_t bits, struct spex_hybrid_choice *choices,
                          size_t count, size_t found) {
    double least = least_kept(choices, count, found), slack = spex_hybrid_slack(hybrid);
    double left = hybrid->max_f - high->cost, hits = hybrid->max_hit - high->hit;
    for (uint32_t set = 0; set < (uint32_t)1 << bits; set++) {
        const struct spex_hybrid_sums *low = &hybrid->table[set];
        double probing = left - low->cost;
        double got = high->profit + low->profit + probing * (hits - low->hit);
        if (got <= least || probing < -slack ||
            probing < spex_hybrid_greater(high->need, low->need) - slack)
            continue;
        struct spex_hybrid_sums sums = {high->cost + low->cost, high->profit + low->profit,
                                        high->hit + low->hit,
                                        spex_hybrid_greater(high->need, low->need)};
        struct spex_hybrid_choice choice = {spex_hybrid_information_of(hybrid, &sums),
                                            high_bits << bits | set};
        if (choice.information > least)
            found = keep_choice(choices, count, found, choice);
        least = least_kept(choices, count, found);
    }
    return found;
}

/* Takes the present marks as the first choice, so that a search for one choice only looks for
 * better ones. */
static size_t begin_with_marks(const struct spex_hybrid *hybrid,
                               struct spex_hybrid_choice *choices) {
    choices[0] = (struct spex_hybrid_choice){spex_hybrid_information(hybrid), 0};
    for (size_t bit = 0; bit < hybrid->core_count; bit++)
        choices[0].traced |= (uint32_t)core_candidate(hybrid, bit)->traced << bit;
    return choices[0].information >= 0;
}

/* Meets in the middle: a table of all subsets of one half of the core, and for each subset of the
 * other half, unless its bound rules it out, a pass over the table. */
size_t spex_hybrid_search(struct spex_hybrid *hybrid, size_t core_count,
                          struct spex_hybrid_choice *choices, size_t count) {
    choose_core(hybrid, core_count < hybrid->count ? core_count : hybrid->count);
    size_t found = count == 1 ? begin_with_marks(hybrid, choices) : 0;
    size_t low_bits = hybrid->core_count / 2, high_bits = hybrid->core_count - low_bits;
    struct spex_hybrid_sums outside = sums_outside(hybrid);
    fill_table(hybrid, low_bits);
    for (uint32_t set = 0; set < (uint32_t)1 << high_bits; set++) {
        struct spex_hybrid_sums high = outside;
        for (size_t bit = 0; bit < high_bits; bit++) {
            const struct spex_hybrid_candidate *candidate = core_candidate(hybrid, low_bits + bit);
            if (set >> bit & 1)
                spex_hybrid_sums_add(&high, candidate);
            else
                high.need = spex_hybrid_greater(high.need, candidate->minimum);
        }
        if (high.cost <= hybrid->max_f + spex_hybrid_slack(hybrid) &&
            information_bound(hybrid, low_bits, &high) > least_kept(choices, count, found))
            found = search_half(hybrid, &high, set, low_bits, choices, count, found);
    }
    return found;
}

void spex_hybrid_mark(struct spex_hybrid *hybrid, const struct spex_hybrid_choice *choice) {
    for (size_t bit = 0; bit < hybrid->core_count; bit++)
        hybrid->candidates[hybrid->core[bit]].traced = choice->traced >> bit & 1;
}
