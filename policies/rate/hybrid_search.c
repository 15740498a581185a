/* SPDX-License-Identifier: MIT */
/* Solves Problem 2 in four steps: quick solutions as a start (the paper's approximation, a
 * knapsack for each of some sampling frequencies, and one that keeps the minima); flips of
 * single candidates; an exact search of the candidates for which the choice matters least (the
 * core); flips again.
 *
 * Nothing here allocates. Sums of many candidates are rounded, so limits are compared with a
 * slack. */
#include "policies/rate/hybrid_search.h"

/* SCANS sampling frequencies are tried, each interval is halved REFINEMENTS times, and candidates
 * are flipped in at most FLIP_ROUNDS rounds. */
enum { SCANS = 8, REFINEMENTS = 5, FLIP_ROUNDS = 8 };

static double greater_of(double a, double b) {
    return a > b ? a : b;
}

static double lesser_of(double a, double b) {
    return a < b ? a : b;
}

/* How far costs may exceed a limit, in samples a second. */
static double rounding_slack(const struct spex_hybrid *hybrid) {
    return hybrid->max_f * SPEX_RATE_ROUNDING;
}

/* The information of these sums; negative when they break the budget or a minimum. */
static double information_of(const struct spex_hybrid *hybrid,
                             const struct spex_hybrid_sums *sums) {
    double probing = hybrid->max_f - sums->cost, slack = rounding_slack(hybrid);
    if (probing < -slack || probing < sums->need - slack)
        return -1;
    return sums->profit + greater_of(probing, 0) * greater_of(hybrid->max_hit - sums->hit, 0);
}

static void sums_add(struct spex_hybrid_sums *sums, const struct spex_hybrid_candidate *candidate) {
    sums->cost += candidate->cost;
    sums->profit += candidate->profit;
    sums->hit += candidate->hit;
}

static void sums_subtract(struct spex_hybrid_sums *sums,
                          const struct spex_hybrid_candidate *candidate) {
    sums->cost -= candidate->cost;
    sums->profit -= candidate->profit;
    sums->hit -= candidate->hit;
}

/* The sums over the candidates that are marked as traced, and the greatest minimum of the
 * others. */
static struct spex_hybrid_sums sums_of_traced(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    for (size_t c = 0; c < hybrid->count; c++) {
        if (hybrid->candidates[c].traced)
            sums_add(&sums, &hybrid->candidates[c]);
        else
            sums.need = greater_of(sums.need, hybrid->candidates[c].minimum);
    }
    return sums;
}

double spex_hybrid_information(const struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = sums_of_traced(hybrid);
    return information_of(hybrid, &sums);
}

/* The two greatest minima of the candidates that are not traced. With both, the greatest minimum
 * without any one candidate is known in O(1). */
struct needs {
    double first, second;
    size_t of_first;
};

/* Both are 0 without any minimum. */
static struct needs needs_of(const struct spex_hybrid *hybrid) {
    struct needs needs = {0, 0, hybrid->count};
    for (size_t c = 0; hybrid->has_minimum && c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        if (candidate->traced || candidate->minimum <= needs.second)
            continue;
        if (candidate->minimum > needs.first)
            needs = (struct needs){candidate->minimum, needs.first, c};
        else
            needs.second = candidate->minimum;
    }
    return needs;
}

/* The greatest minimum of the candidates that are not traced, were `c` traced, too. */
static double need_without(const struct needs *needs, size_t c) {
    return c == needs->of_first ? needs->second : needs->first;
}

/* Worth over cost; very great where the cost is 0. */
static double over_cost(double worth, double cost) {
    return cost > 0 ? worth / cost : 1e300;
}

/* Permutes the candidates into the order of the items, in place, following the permutation's
 * cycles. items[i].index becomes i. */
static void permute_candidates(struct spex_hybrid *hybrid) {
    for (size_t start = 0; start < hybrid->count; start++) {
        struct spex_hybrid_candidate moved = hybrid->candidates[start];
        size_t to = start;
        while (hybrid->items[to].index != start) {
            size_t from = hybrid->items[to].index;
            hybrid->candidates[to] = hybrid->candidates[from];
            hybrid->items[to].index = to;
            to = from;
        }
        hybrid->candidates[to] = moved;
        hybrid->items[to].index = to;
    }
}

/* Sorts the candidates by profit over cost, descending. */
void spex_hybrid_sort(struct spex_hybrid *hybrid) {
    hybrid->max_hit = 0;
    hybrid->has_minimum = false;
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        hybrid->items[c] = (struct spex_rate_item){
            .worth = over_cost(candidate->profit, candidate->cost), .index = c};
        hybrid->max_hit += candidate->hit;
        hybrid->has_minimum |= candidate->minimum > 0;
    }
    spex_rate_items_sort(hybrid->items, hybrid->count);
    permute_candidates(hybrid);
}

static void trace_none(struct spex_hybrid *hybrid) {
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->candidates[c].traced = false;
}

/* The solutions S_0,1 to S_0,to of the paper: traces what fits, in order. Returns the number of the
 * best of them that exceeds *best, which becomes its information, or 0. items[c].worth holds the
 * greatest minimum of the candidates after c. */
static size_t trace_in_order(struct spex_hybrid *hybrid, size_t to, double *best) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    double skipped = 0, later = 0;
    size_t best_step = 0;
    trace_none(hybrid);
    for (size_t c = hybrid->count; c-- > 0;) {
        hybrid->items[c].worth = later;
        later = greater_of(later, hybrid->candidates[c].minimum);
    }
    for (size_t c = 0; c < to; c++) {
        struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        if (sums.cost + candidate->cost > hybrid->max_f + rounding_slack(hybrid)) {
            skipped = greater_of(skipped, candidate->minimum);
            continue;
        }
        candidate->traced = true;
        sums_add(&sums, candidate);
        sums.need = greater_of(skipped, hybrid->items[c].worth);
        double found = information_of(hybrid, &sums);
        if (found > *best) {
            *best = found;
            best_step = c + 1;
        }
    }
    return best_step;
}

/* The solutions S_1,0 to S_n,0: traces one candidate. Returns the number of the best if it exceeds
 * *best, or 0. */
static size_t trace_one(struct spex_hybrid *hybrid, double *best) {
    size_t best_step = 0;
    trace_none(hybrid);
    struct needs needs = needs_of(hybrid);
    for (size_t c = 0; c < hybrid->count; c++) {
        struct spex_hybrid_sums sums = {0, 0, 0, need_without(&needs, c)};
        sums_add(&sums, &hybrid->candidates[c]);
        double found = information_of(hybrid, &sums);
        if (found > *best) {
            *best = found;
            best_step = c + 1;
        }
    }
    return best_step;
}

/* The approximation algorithm of 4.2. The paper's order by weight is that by profit over cost where
 * costs differ. trace_in_order marks candidates beyond the best solution, so it runs again up to
 * that. */
bool spex_hybrid_approximate(struct spex_hybrid *hybrid) {
    trace_none(hybrid);
    double best = spex_hybrid_information(hybrid);
    size_t one = trace_one(hybrid, &best);
    double ignored = -1;
    size_t steps = trace_in_order(hybrid, hybrid->count, &best);
    if (steps) {
        trace_in_order(hybrid, steps, &ignored);
        return true;
    }
    trace_none(hybrid);
    if (one)
        hybrid->candidates[one - 1].traced = true;
    return best >= 0;
}

/* For a fixed sampling frequency of `probing` Hz, the best candidates to trace are a knapsack of
 * capacity max_f - probing, where a candidate is worth what tracing tells beyond sampling. Brings
 * to the front of the items those that the continuous knapsack takes whole; returns their number.
 * *count is the number of all items. */
static size_t fill_for(struct spex_hybrid *hybrid, double probing, size_t *count) {
    double rest;
    *count = 0;
    for (size_t c = 0; c < hybrid->count; c++) {
        const struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
        double worth = candidate->profit - probing * candidate->hit;
        bool needed = candidate->minimum > probing;
        if (worth > 0 || needed)
            hybrid->items[(*count)++] =
                (struct spex_rate_item){.first = needed,
                                        .worth = over_cost(worth, candidate->cost),
                                        .index = c,
                                        .cost = candidate->cost};
    }
    return spex_rate_items_fill(hybrid->items, *count,
                                hybrid->max_f - probing + rounding_slack(hybrid), &rest);
}

/* Marks the candidates of fill_for. Returns the information, negative when that is not allowed. */
static double trace_for(struct spex_hybrid *hybrid, double probing) {
    size_t count, whole = fill_for(hybrid, probing, &count);
    trace_none(hybrid);
    for (size_t i = 0; i < whole; i++)
        hybrid->candidates[hybrid->items[i].index].traced = true;
    return spex_hybrid_information(hybrid);
}

/* Searches the sampling frequency for which trace_for() returns the most information, which becomes
 * *best: a scan with even steps, then steps of half the size around the best. */
static double best_probing(struct spex_hybrid *hybrid, double *best) {
    double step = hybrid->max_f / SCANS, chosen = hybrid->max_f;
    *best = -1;
    for (unsigned s = 0; s <= SCANS; s++) {
        double got = trace_for(hybrid, step * s);
        if (got > *best) {
            *best = got;
            chosen = step * s;
        }
    }
    for (unsigned r = 0; r < REFINEMENTS; r++) {
        step /= 2;
        double around[] = {greater_of(chosen - step, 0), lesser_of(chosen + step, hybrid->max_f)};
        for (unsigned side = 0; side < 2; side++) {
            double got = trace_for(hybrid, around[side]);
            if (got > *best) {
                *best = got;
                chosen = around[side];
            }
        }
    }
    return chosen;
}

/* Flips single candidates between traced and sampled as long as that increases the information.
 * Sums are computed anew after each round, so that rounding does not accumulate. */
static void flip_while_better(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = sums_of_traced(hybrid);
    double best = information_of(hybrid, &sums);
    bool better = true;
    for (unsigned round = 0; better && round < FLIP_ROUNDS; round++) {
        better = false;
        struct needs needs = needs_of(hybrid);
        for (size_t c = 0; c < hybrid->count; c++) {
            struct spex_hybrid_candidate *candidate = &hybrid->candidates[c];
            struct spex_hybrid_sums other = sums;
            (candidate->traced ? sums_subtract : sums_add)(&other, candidate);
            other.need = candidate->traced ? greater_of(needs.first, candidate->minimum)
                                           : need_without(&needs, c);
            double got = information_of(hybrid, &other);
            if (got <= best * (1 + SPEX_RATE_ROUNDING))
                continue;
            candidate->traced = !candidate->traced;
            needs = needs_of(hybrid);
            sums = other;
            best = got;
            better = true;
        }
        sums = sums_of_traced(hybrid);
        best = information_of(hybrid, &sums);
    }
}

/* Keeps the minima with as little tracing as possible (4.3.5): traces the candidates of the
 * greatest minima, as many as give the most information. False when no number of them is
 * allowed. */
static bool trace_needed(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = {0, 0, 0, 0};
    double best = -1;
    size_t best_count = 0;
    for (size_t c = 0; c < hybrid->count; c++)
        hybrid->items[c] =
            (struct spex_rate_item){.worth = hybrid->candidates[c].minimum, .index = c};
    spex_rate_items_sort(hybrid->items, hybrid->count);
    trace_none(hybrid);
    for (size_t i = 0; i <= hybrid->count; i++) {
        sums.need = i < hybrid->count ? hybrid->items[i].worth : 0;
        double got = information_of(hybrid, &sums);
        if (got > best) {
            best = got;
            best_count = i;
        }
        if (i < hybrid->count)
            sums_add(&sums, &hybrid->candidates[hybrid->items[i].index]);
    }
    for (size_t i = 0; i < best_count; i++)
        hybrid->candidates[hybrid->items[i].index].traced = true;
    return best >= 0;
}

/* Marks the best of the solutions that are quick to find, as a start for the search. False when
 * none is allowed. */
static bool find_start(struct spex_hybrid *hybrid) {
    double parametric, approximate = -1, needed = -1;
    double probing = best_probing(hybrid, &parametric);
    if (hybrid->has_minimum && trace_needed(hybrid))
        needed = spex_hybrid_information(hybrid);
    if (spex_hybrid_approximate(hybrid))
        approximate = spex_hybrid_information(hybrid);
    if (needed > approximate && needed > parametric)
        return trace_needed(hybrid);
    if (parametric > approximate)
        trace_for(hybrid, probing);
    return parametric >= 0 || approximate >= 0;
}

/* Flips again after the search of a core, since the candidates outside of it may fit better
 * then. */
bool spex_hybrid_improve(struct spex_hybrid *hybrid) {
    struct spex_hybrid_choice choice;
    if (!find_start(hybrid))
        return false;
    flip_while_better(hybrid);
    if (spex_hybrid_search(hybrid, SPEX_HYBRID_EXACT_QUICKLY, &choice, 1))
        spex_hybrid_mark(hybrid, &choice);
    if (hybrid->count > SPEX_HYBRID_EXACT_QUICKLY)
        flip_while_better(hybrid);
    return true;
}

/* The value of a sample a second for tracing at this sampling frequency: the worth over cost of the
 * first item that the continuous knapsack does not take whole; when it takes all, the information
 * of a sample. */
static double margin_of(struct spex_hybrid *hybrid, double probing) {
    size_t count, whole = fill_for(hybrid, probing, &count);
    double hits = hybrid->max_hit;
    if (whole < count)
        return hybrid->items[whole].worth;
    for (size_t i = 0; i < whole; i++)
        hits -= hybrid->candidates[hybrid->items[i].index].hit;
    return greater_of(hits, 0);
}

/* Sets the worth of each item to the loss of a wrong choice about it, negated, so that the least
 * loss is the greatest worth. */
static void weigh_choices(struct spex_hybrid *hybrid) {
    struct spex_hybrid_sums sums = sums_of_traced(hybrid);
    double probing = greater_of(hybrid->max_f - sums.cost, 0), margin = margin_of(hybrid, probing);
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
        sums_add(&table[set], core_candidate(hybrid, (size_t)__builtin_ctzll(set)));
    }
    table[all].need = 0;
    for (size_t set = all; set-- > 0;) {
        size_t missing = (size_t)__builtin_ctzll(~set);
        table[set].need = greater_of(table[set | (size_t)1 << missing].need,
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
            sums_add(&sums, candidate);
        else
            sums.need = greater_of(sums.need, candidate->minimum);
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
        by_cost += greater_of(candidate->profit - hits * candidate->cost, 0);
        by_hit += greater_of(
            candidate->profit - (hits - of_bits) * candidate->cost - left * candidate->hit, 0);
    }
    return sums->profit + left * hits + lesser_of(by_cost, by_hit);
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
    double least = least_kept(choices, count, found), slack = rounding_slack(hybrid);
    double left = hybrid->max_f - high->cost, hits = hybrid->max_hit - high->hit;
    for (uint32_t set = 0; set < (uint32_t)1 << bits; set++) {
        const struct spex_hybrid_sums *low = &hybrid->table[set];
        double probing = left - low->cost;
        double got = high->profit + low->profit + probing * (hits - low->hit);
        if (got <= least || probing < -slack || probing < greater_of(high->need, low->need) - slack)
            continue;
        struct spex_hybrid_sums sums = {high->cost + low->cost, high->profit + low->profit,
                                        high->hit + low->hit, greater_of(high->need, low->need)};
        struct spex_hybrid_choice choice = {information_of(hybrid, &sums), high_bits << bits | set};
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
                sums_add(&high, candidate);
            else
                high.need = greater_of(high.need, candidate->minimum);
        }
        if (high.cost <= hybrid->max_f + rounding_slack(hybrid) &&
            information_bound(hybrid, low_bits, &high) > least_kept(choices, count, found))
            found = search_half(hybrid, &high, set, low_bits, choices, count, found);
    }
    return found;
}

void spex_hybrid_mark(struct spex_hybrid *hybrid, const struct spex_hybrid_choice *choice) {
    for (size_t bit = 0; bit < hybrid->core_count; bit++)
        hybrid->candidates[hybrid->core[bit]].traced = choice->traced >> bit & 1;
}
