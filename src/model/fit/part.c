/* SPDX-License-Identifier: MIT */
#include "model/fit/part.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "model/fit/search.h"

int spex_part_make(struct spex_part *part, const struct spex_problem *whole, size_t parameter,
                   double low, double high, bool behind) {
    const struct spex_points *points = whole->points;
    bool *marked = calloc(points->count + 1, sizeof(*marked));
    *part = (struct spex_part){.fit = {.columns = 0}};
    if (!marked)
        return -ENOMEM;
    for (size_t i = 0; i < points->count; i++) {
        double x = points->parameters[i * points->parameter_count + parameter];
        marked[i] = x >= low && x < high;
    }
    int err = spex_problem_make_part(&part->problem, &part->points, whole, marked);
    free(marked);
    err = err ? err : spex_fit_workspace_make(&part->workspace, &part->problem);
    part->workspace.behind = behind;
    err = err ? err : spex_search(&part->workspace, &part->form);
    if (!err)
        spex_hypothesis_judge(&part->workspace, &part->form, INFINITY, &part->fit);
    return err;
}

void spex_part_free(struct spex_part *part) {
    spex_fit_workspace_free(&part->workspace);
    spex_problem_free(&part->problem);
    spex_points_free(&part->points);
}

/* A score without its price is the logarithm of the mean square of the errors, count times. */
struct spex_cost spex_part_cost_of(const struct spex_part *part, double score, double price) {
    double count = (double)part->points.count;
    return (struct spex_cost){.count = count,
                              .errors = count * exp((score - price) / count),
                              .price = price,
                              .squares = part->fit.squares,
                              .columns = (double)part->fit.columns};
}

struct spex_cost spex_part_cost(const struct spex_part *part) {
    return spex_part_cost_of(part, part->form.score,
                             spex_hypothesis_price(&part->form, part->points.parameter_count));
}

double spex_cost_score(const struct spex_cost *cost) {
    return cost->count * log(cost->errors / cost->count) + cost->price;
}

void spex_cost_add(struct spex_cost *sum, const struct spex_cost *cost) {
    sum->count += cost->count;
    sum->errors += cost->errors;
    sum->price += cost->price;
    sum->squares += cost->squares;
    sum->columns += cost->columns;
}
