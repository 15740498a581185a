/* SPDX-License-Identifier: MIT */
/* Finds the Pareto front: sorts the configurations by the objectives in order, so that each can
 * only be beaten by one before it, and compares each with the front so far. Then compares with the
 * errors of means, to tell which places on the front, and which defeats, are sure. */
#define _GNU_SOURCE
#include "explore/findings/pareto.h"

#include <errno.h>
#include <stdlib.h>

/* The two-sided 95 % quantile of the normal distribution. */
#define NORMAL_95 1.959964

/* The configurations that compete. */
struct field {
    const struct spex_summary *summary;
    const struct spex_space *space;
    const struct spex_accuracy *accuracies;
    size_t *order; /* groups that compete, sorted by compare_losses */
    size_t count;
    size_t *front;
    size_t front_count;
};

/* The mean of an objective, negated if it is maximised: less is better. */
static double group_loss(const struct field *field, size_t group, size_t objective) {
    double mean = field->summary->groups[group].criteria[objective].mean;
    return field->space->criteria[objective].goal == SPEX_MAXIMISE ? -mean : mean;
}

/* Order by the first objective, then by the next, so that one that beats another comes before
 * it. */
static int compare_losses(const void *a, const void *b, void *user) {
    const struct field *field = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    for (size_t c = 0; c < field->space->objective_count; c++) {
        double difference = group_loss(field, one, c) - group_loss(field, other, c);
        if (difference != 0)
            return difference < 0 ? -1 : 1;
    }
    return one < other ? -1 : 1;
}

/* Returns whether a dominates b: at least as good in all objectives and better in one. */
static bool group_beats(const struct field *field, size_t a, size_t b) {
    bool better = false;
    for (size_t c = 0; c < field->space->objective_count; c++) {
        double difference = group_loss(field, a, c) - group_loss(field, b, c);
        if (difference > 0)
            return false;
        better |= difference < 0;
    }
    return better;
}

/* Returns whether a is significantly better than b in an objective (95 %); false when errors are
 * not known, since a comparison with NaN is. */
static bool surely_better(const struct field *field, size_t a, size_t b, size_t c) {
    const struct spex_group *groups = field->summary->groups;
    double error = hypot(spex_group_error(&field->accuracies[c], &groups[a], c),
                         spex_group_error(&field->accuracies[c], &groups[b], c));
    return group_loss(field, b, c) - group_loss(field, a, c) > NORMAL_95 * error;
}

static bool surely_better_in_all(const struct field *field, size_t a, size_t b) {
    for (size_t c = 0; c < field->space->objective_count; c++)
        if (!surely_better(field, a, b, c))
            return false;
    return true;
}

static bool surely_better_in_any(const struct field *field, size_t a, size_t b) {
    for (size_t c = 0; c < field->space->objective_count; c++)
        if (surely_better(field, a, b, c))
            return true;
    return false;
}

/* Comparing with the front is enough: who is beaten by any is beaten by one of the front. */
static bool is_beaten(const struct field *field, size_t group) {
    for (size_t f = 0; f < field->front_count; f++)
        if (group_beats(field, field->front[f], group))
            return true;
    return false;
}

/* In all objectives, since a configuration that may be the better one in some may be on the
 * front. */
static bool is_surely_beaten(const struct field *field, size_t group) {
    for (size_t f = 0; f < field->front_count; f++)
        if (surely_better_in_all(field, field->front[f], group))
            return true;
    return false;
}

/* Returns whether each other configuration is significantly worse in some objective. Compares with
 * all, not only with the front: one behind the front may belong before this one. */
static bool is_surely_in_front(const struct field *field, size_t group) {
    for (size_t i = 0; i < field->count; i++)
        if (field->order[i] != group && !surely_better_in_any(field, group, field->order[i]))
            return false;
    return true;
}

/* O(competitors × front) for the front, O(competitors²) in the worst case for significance. The
 * groups on the front are judged twice; their second place counts. */
static void field_find_places(struct field *field, enum spex_pareto_place *places) {
    qsort_r(field->order, field->count, sizeof(*field->order), compare_losses, field);
    for (size_t i = 0; i < field->count; i++)
        if (!is_beaten(field, field->order[i]))
            field->front[field->front_count++] = field->order[i];
    for (size_t i = 0; i < field->count; i++)
        places[field->order[i]] =
            is_surely_beaten(field, field->order[i]) ? SPEX_PARETO_BEATEN : SPEX_PARETO_PERHAPS;
    for (size_t f = 0; f < field->front_count; f++)
        places[field->front[f]] =
            is_surely_in_front(field, field->front[f]) ? SPEX_PARETO_SURE_FRONT : SPEX_PARETO_FRONT;
}

/* Groups that do not compete beat nobody. */
int spex_pareto(const struct spex_summary *summary, const bool *competes,
                const struct spex_accuracy *accuracies, enum spex_pareto_place *places) {
    struct field field = {.summary = summary, .space = summary->space, .accuracies = accuracies};
    field.order = malloc((summary->count + 1) * sizeof(size_t));
    field.front = malloc((summary->count + 1) * sizeof(size_t));
    int err = field.order && field.front ? 0 : -ENOMEM;
    for (size_t g = 0; g < summary->count && !err; g++) {
        places[g] = SPEX_PARETO_OUT;
        if (competes[g])
            field.order[field.count++] = g;
    }
    if (!err)
        field_find_places(&field, places);
    free(field.order);
    free(field.front);
    return err;
}
