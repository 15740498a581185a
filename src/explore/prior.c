/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/prior.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/findings/study.h"
#include "explore/space/space_parameter.h"

struct by_estimate {
    const struct spex_findings *findings;
    const struct spex_space *space;
};

static int compare_groups(const void *a, const void *b, void *user) {
    const struct by_estimate *by = user;
    return spex_findings_order(by->findings, by->space, *(const size_t *)a, *(const size_t *)b);
}

/* The level of a value of another space: the same, or of a number the nearest. */
static size_t level_like(const struct spex_parameter *parameter, const struct spex_parameter *other,
                         const struct spex_value *value) {
    size_t level = spex_parameter_level(parameter, value->text);
    if (level < parameter->count)
        return level;
    if (!spex_parameter_ordered(parameter) || !spex_parameter_ordered(other))
        return parameter->default_level;
    level = 0;
    for (size_t v = 1; v < parameter->count; v++)
        if (fabs(parameter->values[v].number - value->number) <
            fabs(parameter->values[level].number - value->number))
            level = v;
    return level;
}

/* Parameters that the other space has not have their default. */
static void levels_like(const struct spex_space *space, const struct spex_space *other,
                        const size_t *from, size_t *levels) {
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        size_t q = spex_space_parameter(other, parameter->name);
        levels[p] = q == other->parameter_count ? parameter->default_level
                                                : level_like(parameter, &other->parameters[q],
                                                             &other->parameters[q].values[from[q]]);
    }
}

static bool is_among(const struct spex_space *space, const size_t *all, size_t count) {
    size_t parameters = space->parameter_count;
    for (size_t i = 0; i < count; i++)
        if (memcmp(all + i * parameters, all + count * parameters, parameters * sizeof(*all)) == 0)
            return true;
    return false;
}

static bool have_common(const struct spex_space *space, const struct spex_space *other) {
    for (size_t p = 0; p < space->parameter_count; p++)
        if (spex_space_parameter(other, space->parameters[p].name) < other->parameter_count)
            return true;
    return false;
}

/* The groups that compete, the best first; -ENOMEM. */
static int take_best(const struct spex_study *study, const struct spex_space *space, size_t *levels,
                     size_t *count) {
    const struct spex_summary *summary = &study->summary;
    size_t *order = calloc(summary->count + 1, sizeof(*order)), competing = 0;
    if (!order)
        return -ENOMEM;
    for (size_t g = 0; g < summary->count; g++)
        if (study->findings.competes[g])
            order[competing++] = g;
    struct by_estimate by = {&study->findings, &study->file->space};
    qsort_r(order, competing, sizeof(*order), compare_groups, &by);
    *count = 0;
    for (size_t i = 0; i < competing && *count < SPEX_PRIOR_MOST; i++) {
        size_t *here = levels + *count * space->parameter_count;
        levels_like(space, &study->file->space, summary->groups[order[i]].levels, here);
        if (spex_space_settle(space, here) && !is_among(space, levels, *count))
            ++*count;
    }
    free(order);
    return 0;
}

int spex_prior_read(const char *store, const struct spex_space *space, size_t *levels,
                    size_t *count, struct spex_error *error) {
    struct spex_study study;
    int err = spex_study_read(&study, store, error);
    if (!err && !have_common(space, &study.file->space))
        err = spex_fail(error, -EINVAL, "%s: it has no parameter of this space", store);
    if (!err && take_best(&study, space, levels, count))
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err && !*count)
        err = spex_fail(error, -EINVAL, "%s: no trial has a result", store);
    spex_study_free(&study);
    return err;
}
