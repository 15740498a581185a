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
