/* SPDX-License-Identifier: MIT */
/* The search begins with the best constant, tries all combinations of candidates of the parameters
 * with the greatest gains, and then improves the best form by exchanging one function or adding one
 * at a time, until no change is better (hill climbing). */
#include "model/fit/search.h"

#include <math.h>

#include "model/fit/candidates.h"

enum {
    /* Parameters whose combinations are all tried: their number grows exponentially. */
    TOGETHER_MAX = 3,
    ROUNDS_MAX = 4
};
/* A form whose score is further above that of the best has a likelihood of 0.2 % of the best's. */
#define RIVAL_SCORE 12
/* Root mean square of the relative deviations that no form leaves which is nearly right. */
#define LOST_SPREAD 0.15

struct search {
    struct spex_fit_workspace *workspace;
    struct spex_candidates candidates[SPEX_MODEL_PARAMETERS_MAX];
    /* Numbers of the parameters that are combined, by descending gain. */
    size_t together[TOGETHER_MAX];
    size_t together_count;
    struct spex_hypothesis *best;
    /* NULL: a better form becomes the best one. */
    spex_rival_visitor *visit;
    void *user;
};

/* Tries a form, or shows it to the visitor. True: it is the best one now. */
static bool search_try(struct search *search, struct spex_hypothesis hypothesis) {
    struct spex_least_squares fit;
    if (!search->visit)
        return spex_hypothesis_try(search->workspace, hypothesis, search->best);
    spex_hypothesis_judge(search->workspace, &hypothesis, search->best->score + RIVAL_SCORE, &fit);
    if (hypothesis.score < search->best->score + RIVAL_SCORE)
        search->visit(search->user, &hypothesis, &fit);
    return false;
}

/* Chooses the parameters with the greatest gains, in descending order, by inserting each that
 * varies. */
static void search_choose_together(struct search *search) {
    const struct spex_problem *problem = search->workspace->problem;
    for (size_t p = 0; p < problem->points->parameter_count; p++) {
        size_t at = search->together_count;
        if (!problem->varies[p])
            continue;
        while (at > 0 &&
               search->candidates[search->together[at - 1]].gain < search->candidates[p].gain) {
            if (at < TOGETHER_MAX)
                search->together[at] = search->together[at - 1];
            at--;
        }
        if (at < TOGETHER_MAX)
            search->together[at] = p;
        if (search->together_count < TOGETHER_MAX)
            search->together_count++;
    }
}

/* Tries all forms in which each parameter from `next` on is left out, has a term of its own, or
 * is a factor of a term that an earlier parameter has begun. Depth-first: *hypothesis is
 * restored before the return. */
static void search_combine(struct search *search, struct spex_hypothesis *hypothesis, size_t next) {
    /* The count is never greater; compilers do not know. */
    if (next == search->together_count || next == TOGETHER_MAX) {
        search_try(search, *hypothesis);
        return;
    }
    size_t parameter = search->together[next], terms = hypothesis->terms;
    const struct spex_candidates *candidates = &search->candidates[parameter];
    search_combine(search, hypothesis, next + 1);
    for (size_t c = 0; c < candidates->count; c++)
        for (size_t t = 0; t <= terms; t++) {
            hypothesis->functions[t][parameter] = (uint8_t)(candidates->functions[c] + 1);
            hypothesis->terms = t == terms ? terms + 1 : terms;
            search_combine(search, hypothesis, next + 1);
            hypothesis->functions[t][parameter] = 0;
            hypothesis->terms = terms;
        }
}

/* Tries every function of the only parameter, and pairs of simple functions. */
static void search_one_parameter(struct search *search, size_t parameter) {
    const struct spex_problem *problem = search->workspace->problem;
    for (size_t f = 0; f < SPEX_FUNCTIONS; f++) {
        struct spex_hypothesis one = {.terms = 1};
        if (!problem->usable[parameter][f])
            continue;
        one.functions[0][parameter] = (uint8_t)(f + 1);
        search_try(search, one);
        for (size_t g = 0; g < f && f < SPEX_FUNCTIONS_SIMPLE; g++) {
            struct spex_hypothesis two = one;
            if (!problem->usable[parameter][g])
                continue;
            two.terms = 2;
            two.functions[1][parameter] = (uint8_t)(g + 1);
            search_try(search, two);
        }
    }
}

/* Tries every usable function in place of each function of the best form. True: the best form
 * has changed. */
static bool search_replace_function(struct search *search) {
    const struct spex_problem *problem = search->workspace->problem;
    struct spex_hypothesis from = *search->best;
    bool better = false;
    for (size_t t = 0; t < from.terms; t++)
        for (size_t p = 0; p < problem->points->parameter_count; p++)
            for (size_t f = 0; f < SPEX_FUNCTIONS && from.functions[t][p]; f++) {
                struct spex_hypothesis other = from;
                if (!problem->usable[p][f])
                    continue;
                other.functions[t][p] = (uint8_t)(f + 1);
                better |= search_try(search, other);
            }
    return better;
}

/* Whether the form depends on the parameter. */
static bool hypothesis_has(const struct spex_hypothesis *hypothesis, size_t parameter) {
    for (size_t t = 0; t < hypothesis->terms; t++)
        if (hypothesis->functions[t][parameter])
            return true;
    return false;
}

/* Tries to add one candidate to the best form: as a term of its own, or, for a parameter that
 * the form lacks, as a factor of a term. True: the best form has changed. */
static bool search_add_function(struct search *search) {
    struct spex_hypothesis from = *search->best;
    bool better = false;
    for (size_t p = 0; p < search->workspace->problem->points->parameter_count; p++) {
        const struct spex_candidates *candidates = &search->candidates[p];
        for (size_t c = 0; c < candidates->count; c++) {
            struct spex_hypothesis other;
            for (size_t t = 0; t < from.terms && !hypothesis_has(&from, p); t++) {
                other = from;
                other.functions[t][p] = (uint8_t)(candidates->functions[c] + 1);
                better |= search_try(search, other);
            }
            other = from;
            if (from.terms == SPEX_MODEL_TERMS_MAX)
                continue;
            other.functions[other.terms++][p] = (uint8_t)(candidates->functions[c] + 1);
            better |= search_try(search, other);
        }
    }
    return better;
}

/* Whether the parameter's function in any term decreases. */
static bool hypothesis_divides_by(const struct spex_hypothesis *hypothesis, size_t parameter) {
    for (size_t t = 0; t < hypothesis->terms; t++) {
        size_t function = hypothesis->functions[t][parameter];
        if (function && spex_functions()[function - 1].exponents.twelfths < 0)
            return true;
    }
    return false;
}

/* The form without two of its parameters, and without terms that had no others. */
static struct spex_hypothesis hypothesis_without(const struct spex_hypothesis *from, size_t one,
                                                 size_t other, size_t parameters) {
    struct spex_hypothesis to = {.terms = 0};
    for (size_t t = 0; t < from->terms; t++) {
        bool any = false;
        for (size_t p = 0; p < parameters; p++) {
            bool keep = p != one && p != other;
            to.functions[to.terms][p] = keep ? from->functions[t][p] : 0;
            any |= to.functions[to.terms][p] != 0;
        }
        to.terms += any;
    }
    return to;
}

/* Tries a further term of simple functions of two parameters, or of one of them. */
static void search_add_simple(struct search *search, struct spex_hypothesis hypothesis, size_t one,
                              size_t other) {
    const struct spex_problem *problem = search->workspace->problem;
    size_t term = hypothesis.terms++;
    for (size_t f = 0; f <= SPEX_FUNCTIONS_SIMPLE; f++)
        for (size_t g = 0; g <= SPEX_FUNCTIONS_SIMPLE; g++) {
            bool usable = (!f || problem->usable[one][f - 1]) &&
                          (!g || problem->usable[other][g - 1]) && (f || g);
            hypothesis.functions[term][one] = (uint8_t)f;
            hypothesis.functions[term][other] = (uint8_t)g;
            if (usable)
                search_try(search, hypothesis);
        }
}

/* Tries work that is divided by one parameter beside what is not: f(n)/p + g(n, p). One function of
 * each parameter cannot follow both, so that no exchange of one function leads there. */
static void search_divided(struct search *search, size_t divisor, size_t other) {
    const struct spex_problem *problem = search->workspace->problem;
    const struct spex_hypothesis from = *search->best;
    for (size_t d = 0; d < SPEX_FUNCTIONS_SIMPLE; d++)
        for (size_t f = 0; f <= SPEX_FUNCTIONS_SIMPLE; f++) {
            struct spex_hypothesis hypothesis =
                hypothesis_without(&from, divisor, other, problem->points->parameter_count);
            if (spex_functions()[d].exponents.twelfths >= 0 || !problem->usable[divisor][d] ||
                (f && !problem->usable[other][f - 1]) ||
                hypothesis.terms + 2 > SPEX_MODEL_TERMS_MAX)
                continue;
            hypothesis.functions[hypothesis.terms][divisor] = (uint8_t)(d + 1);
            hypothesis.functions[hypothesis.terms++][other] = (uint8_t)f;
            search_add_simple(search, hypothesis, divisor, other);
        }
}

/* Whether the best form leaves so much that it is not of the kind that is looked for. */
static bool search_is_lost(struct search *search) {
    struct spex_least_squares fit = {.columns = 0};
    spex_hypothesis_judge(search->workspace, search->best, INFINITY, &fit);
    return fit.squares > LOST_SPREAD * LOST_SPREAD * (double)search->workspace->problem->data.count;
}

/* Each pair of the parameters that are combined, if the time decreases with one of them, or no
 * form has been found: among small sizes it may grow with the divisor, and hide that. */
static void search_all_divided(struct search *search) {
    bool lost = search->together_count > 1 && search_is_lost(search);
    for (size_t a = 0; a < search->together_count; a++)
        for (size_t b = 0; b < search->together_count; b++)
            if (a != b && (lost || hypothesis_divides_by(search->best, search->together[a])))
                search_divided(search, search->together[a], search->together[b]);
}

/* With one parameter all its functions are tried, and not only the candidates: there are few
 * enough forms. */
int spex_search(struct spex_fit_workspace *workspace, struct spex_hypothesis *best) {
    struct search search = {.workspace = workspace, .best = best};
    struct spex_hypothesis none = {.terms = 0};
    int err = spex_candidates_find(workspace->problem, search.candidates);
    if (err)
        return err;
    *best = (struct spex_hypothesis){.score = INFINITY};
    spex_hypothesis_try(workspace, none, best);
    search_choose_together(&search);
    if (search.together_count == 1)
        search_one_parameter(&search, search.together[0]);
    else
        search_combine(&search, &none, 0);
    search_all_divided(&search);
    for (int round = 0; round < ROUNDS_MAX; round++)
        if (!search_replace_function(&search) && !search_add_function(&search))
            break;
    return 0;
}

void spex_search_rivals(struct spex_fit_workspace *workspace, struct spex_hypothesis *best,
                        spex_rival_visitor *visit, void *user) {
    struct search search = {.workspace = workspace, .best = best, .visit = visit, .user = user};
    const struct spex_problem *problem = workspace->problem;
    size_t varying = 0, last = 0;
    for (size_t p = 0; p < problem->points->parameter_count; p++)
        if (problem->varies[p]) {
            varying++;
            last = p;
        }
    if (varying == 1)
        search_one_parameter(&search, last);
    else
        search_replace_function(&search);
}
