/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/findings/pareto.h"

#include <errno.h>
#include <stdlib.h>

#define NORMAL_95 1.959964

struct field {
    const struct spex_summary *summary;
    const struct spex_space *space;
    const struct spex_accuracy *accuracies;
    size_t *order; /* groups that compete, those first that cannot be beaten by any after them */
    size_t count;
    size_t *front;
    size_t front_count;
};

/* The less the better. */
static double loss(const struct field *field, size_t group, size_t objective) {
    double mean = field->summary->groups[group].criteria[objective].mean;
    return field->space->criteria[objective].goal == SPEX_MAXIMISE ? -mean : mean;
}

/* By the first objective, then by the next: one that beats another comes before it. */
static int compare(const void *a, const void *b, void *user) {
    const struct field *field = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b;
    for (size_t c = 0; c < field->space->objective_count; c++) {
        double difference = loss(field, one, c) - loss(field, other, c);
        if (difference != 0)
            return difference < 0 ? -1 : 1;
    }
    return one < other ? -1 : 1;
}

/* As good in all objectives and better in one. */
static bool beats(const struct field *field, size_t a, size_t b) {
    bool better = false;
    for (size_t c = 0; c < field->space->objective_count; c++) {
        double difference = loss(field, a, c) - loss(field, b, c);
        if (difference > 0)
            return false;
        better |= difference < 0;
    }
    return better;
}

/* Whether a is surely better than b in an objective; not where nothing is known of errors. */
static bool surely_better(const struct field *field, size_t a, size_t b, size_t c) {
    const struct spex_group *groups = field->summary->groups;
    double error = hypot(spex_group_error(&field->accuracies[c], &groups[a], c),
                         spex_group_error(&field->accuracies[c], &groups[b], c));
    return loss(field, b, c) - loss(field, a, c) > NORMAL_95 * error;
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

static bool beaten(const struct field *field, size_t group) {
    for (size_t f = 0; f < field->front_count; f++)
        if (beats(field, field->front[f], group))
            return true;
    return false;
}

static bool surely_beaten(const struct field *field, size_t group) {
    for (size_t f = 0; f < field->front_count; f++)
        if (surely_better_in_all(field, field->front[f], group))
            return true;
    return false;
}

/* Against each other one there is an objective in which it is surely better. */
static bool surely_in_front(const struct field *field, size_t group) {
    for (size_t i = 0; i < field->count; i++)
        if (field->order[i] != group && !surely_better_in_any(field, group, field->order[i]))
            return false;
    return true;
}

static void find_places(struct field *field, enum spex_pareto_place *places) {
    qsort_r(field->order, field->count, sizeof(*field->order), compare, field);
    for (size_t i = 0; i < field->count; i++)
        if (!beaten(field, field->order[i]))
            field->front[field->front_count++] = field->order[i];
    for (size_t i = 0; i < field->count; i++)
        places[field->order[i]] =
            surely_beaten(field, field->order[i]) ? SPEX_PARETO_BEATEN : SPEX_PARETO_PERHAPS;
    for (size_t f = 0; f < field->front_count; f++)
        places[field->front[f]] =
            surely_in_front(field, field->front[f]) ? SPEX_PARETO_SURE_FRONT : SPEX_PARETO_FRONT;
}

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
        find_places(&field, places);
    free(field.order);
    free(field.front);
    return err;
}
