/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "explore/space/space_parameter.h"

/* Both sides, and of the parameters which of b's is which of a's. */
struct sides {
    const struct spex_study *a, *b;
    size_t *levels; /* of b, room for one configuration */
};

/* The first line in which two texts differ. */
static int find_difference(const char *a, const char *b, char **line) {
    *line = NULL;
    while (*a && *b) {
        size_t length = strcspn(a, "\n"), other = strcspn(b, "\n");
        if (length != other || memcmp(a, b, length) != 0)
            break;
        a += length + (a[length] == '\n');
        b += other + (b[other] == '\n');
    }
    if (!*a && !*b)
        return 0;
    int length = asprintf(line, "A has \"%.*s\", B \"%.*s\"", (int)strcspn(a, "\n"), a,
                          (int)strcspn(b, "\n"), b);
    if (length < 0)
        *line = NULL;
    return length < 0 ? -ENOMEM : 0;
}

static int compare_spaces(struct spex_comparison *comparison, const struct sides *sides) {
    char *a = spex_space_identity(sides->a->file), *b = spex_space_identity(sides->b->file);
    int err = a && b ? find_difference(a, b, &comparison->difference) : -ENOMEM;
    free(a);
    free(b);
    return err;
}

/* The same figures of the same probes, in the same order. */
static bool same_criteria(const struct spex_space *a, const struct spex_space *b) {
    bool same = a->criterion_count == b->criterion_count &&
                a->objective_count == b->objective_count &&
                a->parameter_count == b->parameter_count;
    for (size_t c = 0; c < a->criterion_count && same; c++) {
        const struct spex_criterion *one = &a->criteria[c], *other = &b->criteria[c];
        same = strcmp(one->probe, other->probe) == 0 && strcmp(one->metric, other->metric) == 0 &&
               one->field == other->field && one->goal == other->goal;
    }
    return same;
}

static size_t first_difference_of_machines(const struct sides *sides) {
    if (!sides->a->machine_count || !sides->b->machine_count)
        return SPEX_ON_COUNT;
    return spex_circumstances_differ(&sides->a->machines[0], &sides->b->machines[0]);
}

/* The group of b with the same values, if it has a result. */
static size_t counterpart(const struct sides *sides, const struct spex_group *group) {
    const struct spex_space *a = &sides->a->file->space, *b = &sides->b->file->space;
    for (size_t p = 0; p < a->parameter_count; p++) {
        const struct spex_parameter *parameter = &a->parameters[p];
        size_t q = spex_space_parameter(b, parameter->name);
        if (q == b->parameter_count)
            return SPEX_RANKING_NONE;
        sides->levels[q] =
            spex_parameter_level(&b->parameters[q], parameter->values[group->levels[p]].text);
        if (sides->levels[q] == b->parameters[q].count)
            return SPEX_RANKING_NONE;
    }
    const struct spex_group *found = spex_summary_find(&sides->b->summary, sides->levels);
    return found && found->trials ? (size_t)(found - sides->b->summary.groups) : SPEX_RANKING_NONE;
}

static int find_pairs(struct spex_comparison *comparison, const struct sides *sides) {
    const struct spex_summary *summary = &sides->a->summary;
    comparison->pairs = calloc(summary->count + 1, sizeof(*comparison->pairs));
    if (!comparison->pairs)
        return -ENOMEM;
    for (size_t g = 0; g < summary->count && comparison->same_criteria; g++) {
        size_t other =
            summary->groups[g].trials ? counterpart(sides, &summary->groups[g]) : SPEX_RANKING_NONE;
        if (other != SPEX_RANKING_NONE)
            comparison->pairs[comparison->pair_count++] = (struct spex_pair){.a = g, .b = other};
    }
    return 0;
}

static struct spex_sample sample(const struct spex_study *study, size_t group, size_t criterion) {
    return spex_group_sample(&study->summary.groups[group], criterion);
}

static bool all_ratios(const struct sides *sides, size_t criterion) {
    return sides->a->findings.accuracies[criterion].ratios &&
           sides->b->findings.accuracies[criterion].ratios;
}

static double difference(const struct sides *sides, const struct spex_pair *pair, size_t c) {
    double a = sample(sides->a, pair->a, c).mean, b = sample(sides->b, pair->b, c).mean;
    return all_ratios(sides, c) ? log(b / a) : b - a;
}

/* Mean and squares over all pairs. */
static struct spex_sample over_pairs(const struct spex_comparison *comparison,
                                     const struct sides *sides, size_t c) {
    struct spex_sample all = {0};
    for (size_t i = 0; i < comparison->pair_count; i++) {
        double value = difference(sides, &comparison->pairs[i], c), distance = value - all.mean;
        all.mean += distance / (double)++all.trials;
        all.squares += distance * (value - all.mean);
    }
    return all;
}

static int compare_all(struct spex_comparison *comparison, const struct sides *sides) {
    size_t count = sides->a->file->space.criterion_count;
    comparison->all = calloc(count, sizeof(*comparison->all));
    if (!comparison->all)
        return -ENOMEM;
    for (size_t c = 0; c < count && comparison->pair_count; c++) {
        struct spex_sample all = over_pairs(comparison, sides, c);
        comparison->all[c] = spex_change_of_pairs(all.mean, all.squares, comparison->pair_count,
                                                  all_ratios(sides, c));
    }
    return 0;
}

static double error_of(const struct spex_study *study, size_t group) {
    return spex_group_error(&study->findings.accuracies[0], &study->summary.groups[group], 0);
}

/* Errors of a's trials as they vary in a, of b's as in b. */
static struct spex_change change_between(const struct sides *sides, size_t a, size_t b) {
    double trials =
        (double)sides->a->summary.groups[a].trials + (double)sides->b->summary.groups[b].trials - 2;
    double freedom = fmin(spex_accuracy_freedom(&sides->a->findings.accuracies[0], trials),
                          spex_accuracy_freedom(&sides->b->findings.accuracies[0], trials));
    return spex_change_by(sample(sides->a, a, 0).mean, error_of(sides->a, a),
                          sample(sides->b, b, 0).mean, error_of(sides->b, b), freedom);
}

static double error_of_pair(const struct sides *sides, const struct spex_pair *pair) {
    double a = error_of(sides->a, pair->a), b = error_of(sides->b, pair->b);
    if (all_ratios(sides, 0)) {
        a /= sample(sides->a, pair->a, 0).mean;
        b /= sample(sides->b, pair->b, 0).mean;
    }
    return hypot(a, b);
}

static int apart_first(const void *a, const void *b) {
    const struct spex_pair *one = a, *other = b;
    if (one->apart != other->apart)
        return one->apart ? -1 : 1;
    double x = one->change.ratio ? fabs(log(one->change.value)) : fabs(one->change.value);
    double y = other->change.ratio ? fabs(log(other->change.value)) : fabs(other->change.value);
    return x != y ? (x > y ? -1 : 1) : one->a < other->a ? -1 : one->a > other->a;
}

/* Bonferroni's correction: of all pairs, one that is not apart is taken for it in 1 of 20
 * comparisons. */
static void judge_pairs(struct spex_comparison *comparison, const struct sides *sides) {
    double common = over_pairs(comparison, sides, 0).mean;
    double count = (double)comparison->pair_count;
    for (size_t i = 0; i < comparison->pair_count; i++) {
        struct spex_pair *pair = &comparison->pairs[i];
        double error = error_of_pair(sides, pair);
        pair->change = change_between(sides, pair->a, pair->b);
        pair->apart = comparison->pair_count > 2 &&
                      fabs(difference(sides, pair, 0) - common) >
                          spex_student_two_sided(0.05 / count, SPEX_NOISE_FREEDOM_MAX) * error;
        comparison->apart_count += pair->apart;
    }
    qsort(comparison->pairs, comparison->pair_count, sizeof(*comparison->pairs), apart_first);
}

struct ranked {
    double value;
    size_t pair;
};

static int by_value(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;
    return x < y ? -1 : x > y;
}

/* Ranks of one side's means; equals share theirs. */
static void rank_side(const struct spex_comparison *comparison, const struct spex_study *study,
                      bool second, struct ranked *ranked, double *ranks) {
    size_t count = comparison->pair_count;
    for (size_t i = 0; i < count; i++) {
        const struct spex_pair *pair = &comparison->pairs[i];
        ranked[i] = (struct ranked){sample(study, second ? pair->b : pair->a, 0).mean, i};
    }
    qsort(ranked, count, sizeof(*ranked), by_value);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && ranked[end].value == ranked[i].value)
            end++;
        for (size_t e = i; e < end; e++)
            ranks[ranked[e].pair] = (double)(i + end - 1) / 2;
        i = end;
    }
}

static double correlation(const double *x, const double *y, size_t count) {
    double middle = ((double)count - 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - middle) * (x[i] - middle);
        yy += (y[i] - middle) * (y[i] - middle);
        xy += (x[i] - middle) * (y[i] - middle);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static int find_order(struct spex_comparison *comparison, const struct sides *sides) {
    size_t count = comparison->pair_count;
    comparison->order = NAN;
    if (count < 3)
        return 0;
    struct ranked *ranked = calloc(count, sizeof(*ranked));
    double *ranks = calloc(2 * count, sizeof(*ranks));
    if (ranked && ranks) {
        rank_side(comparison, sides->a, false, ranked, ranks);
        rank_side(comparison, sides->b, true, ranked, ranks + count);
        comparison->order = correlation(ranks, ranks + count, count);
    }
    int err = ranked && ranks ? 0 : -ENOMEM;
    free(ranked);
    free(ranks);
    return err;
}

static void compare_best(struct spex_comparison *comparison, const struct sides *sides) {
    size_t a = sides->a->findings.best, b = sides->b->findings.best;
    comparison->best_of_a_in_b = SPEX_RANKING_NONE;
    if (!comparison->same_criteria || a == SPEX_RANKING_NONE || b == SPEX_RANKING_NONE)
        return;
    comparison->best_of_a_in_b = counterpart(sides, &sides->a->summary.groups[a]);
    comparison->best_to_best = change_between(sides, a, b);
}

int spex_compare(struct spex_comparison *comparison, const struct spex_study *a,
                 const struct spex_study *b) {
    struct sides sides = {a, b, calloc(b->file->space.parameter_count, sizeof(size_t))};
    *comparison = (struct spex_comparison){
        .same_program = strcmp(spex_store_program(a->store), spex_store_program(b->store)) == 0,
        .same_criteria = same_criteria(&a->file->space, &b->file->space),
        .machine_differs = first_difference_of_machines(&sides),
    };
    int err = sides.levels ? compare_spaces(comparison, &sides) : -ENOMEM;
    err = err ? err : find_pairs(comparison, &sides);
    err = err ? err : compare_all(comparison, &sides);
    if (!err) {
        judge_pairs(comparison, &sides);
        compare_best(comparison, &sides);
        err = find_order(comparison, &sides);
    }
    free(sides.levels);
    return err;
}

void spex_comparison_free(struct spex_comparison *comparison) {
    free(comparison->difference);
    free(comparison->pairs);
    free(comparison->all);
    *comparison = (struct spex_comparison){.pairs = NULL};
}
