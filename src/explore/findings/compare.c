/* SPDX-License-Identifier: MIT */
/* Compares two stores: spaces, programs, machines, and the results of configurations that are in
 * both. Parameters are matched by name and levels by their text, since the spaces may list them in
 * another order. */
#define _GNU_SOURCE
#include "explore/findings/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "explore/space/space_parameter.h"

/* The two studies that are compared. */
struct sides {
    const struct spex_study *a, *b;
    size_t *levels; /* scratch: levels of one configuration of b */
};

/* Sets *line to a description of the first line in which the texts differ, NULL if none; to be
 * freed. 0 or -ENOMEM. */
static int text_difference(const char *a, const char *b, char **line) {
    *line = NULL;
    spex_identity_skip_equal(&a, &b);
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
    int err = a && b ? text_difference(a, b, &comparison->difference) : -ENOMEM;
    free(a);
    free(b);
    return err;
}

/* Returns whether both spaces have the same objectives and limits in the same order, and as many
 * parameters. */
static bool have_same_criteria(const struct spex_space *a, const struct spex_space *b) {
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

/* A store has several machines if it is a mixed one; the first is that of its first trials. */
static size_t machines_first_difference(const struct sides *sides) {
    if (!sides->a->machine_count || !sides->b->machine_count)
        return SPEX_ON_COUNT;
    return spex_circumstances_differ(&sides->a->machines[0], &sides->b->machines[0]);
}

/* The group of b with the same values; SPEX_RANKING_NONE when it does not exist or has no result.
 * O(parameters × levels). */
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

/* Lists the configurations that have a result in both studies. */
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

static struct spex_sample group_sample(const struct spex_study *study, size_t group,
                                       size_t criterion) {
    return spex_group_sample(&study->summary.groups[group], criterion);
}

/* Returns whether changes of a criterion are ratios: both studies have positive values only. */
static bool are_ratios(const struct sides *sides, size_t criterion) {
    return sides->a->findings.accuracies[criterion].ratios &&
           sides->b->findings.accuracies[criterion].ratios;
}

/* The change from a to b: of logarithms if ratios are compared. */
static double pair_difference(const struct sides *sides, const struct spex_pair *pair, size_t c) {
    double a = group_sample(sides->a, pair->a, c).mean, b = group_sample(sides->b, pair->b, c).mean;
    return are_ratios(sides, c) ? log(b / a) : b - a;
}

/* Mean and sum of squares of the changes of all pairs. */
static struct spex_sample sample_over_pairs(const struct spex_comparison *comparison,
                                            const struct sides *sides, size_t c) {
    struct spex_sample all = {0};
    for (size_t i = 0; i < comparison->pair_count; i++)
        spex_sample_add(&all, pair_difference(sides, &comparison->pairs[i], c));
    return all;
}

/* The mean change of each criterion. Its error is that between pairs, which includes that of the
 * trials. */
static int compare_all(struct spex_comparison *comparison, const struct sides *sides) {
    size_t count = sides->a->file->space.criterion_count;
    comparison->all = calloc(count, sizeof(*comparison->all));
    if (!comparison->all)
        return -ENOMEM;
    for (size_t c = 0; c < count && comparison->pair_count; c++) {
        struct spex_sample all = sample_over_pairs(comparison, sides, c);
        comparison->all[c] = spex_change_of_pairs(all.mean, all.squares, comparison->pair_count,
                                                  are_ratios(sides, c));
    }
    return 0;
}

static double group_error(const struct spex_study *study, size_t group) {
    return spex_group_error(&study->findings.accuracies[0], &study->summary.groups[group], 0);
}

/* The change between two groups. The variance of a's trials is estimated from a, of b's from b; the
 * degrees of freedom are the lesser of the two. */
static struct spex_change change_between(const struct sides *sides, size_t a, size_t b) {
    double trials =
        (double)sides->a->summary.groups[a].trials + (double)sides->b->summary.groups[b].trials - 2;
    double freedom = fmin(spex_accuracy_freedom(&sides->a->findings.accuracies[0], trials),
                          spex_accuracy_freedom(&sides->b->findings.accuracies[0], trials));
    return spex_change_by(group_sample(sides->a, a, 0).mean, group_error(sides->a, a),
                          group_sample(sides->b, b, 0).mean, group_error(sides->b, b), freedom);
}

/* The standard error of a pair's change, in the unit of pair_difference. */
static double pair_error(const struct sides *sides, const struct spex_pair *pair) {
    double a = group_error(sides->a, pair->a), b = group_error(sides->b, pair->b);
    if (are_ratios(sides, 0)) {
        a /= group_sample(sides->a, pair->a, 0).mean;
        b /= group_sample(sides->b, pair->b, 0).mean;
    }
    return hypot(a, b);
}

/* Order of pairs: those apart first, then by the size of the change, then by group. */
static int compare_pairs(const void *a, const void *b) {
    const struct spex_pair *one = a, *other = b;
    if (one->apart != other->apart)
        return one->apart ? -1 : 1;
    double x = one->change.ratio ? fabs(log(one->change.value)) : fabs(one->change.value);
    double y = other->change.ratio ? fabs(log(other->change.value)) : fabs(other->change.value);
    return x != y ? (x > y ? -1 : 1) : one->a < other->a ? -1 : one->a > other->a;
}

/* Finds the pairs whose change differs from the mean change of all, at 95 % with Bonferroni's
 * correction: in 19 of 20 comparisons no pair is taken for different by chance. */
static void judge_pairs(struct spex_comparison *comparison, const struct sides *sides) {
    double common = sample_over_pairs(comparison, sides, 0).mean;
    double count = (double)comparison->pair_count;
    for (size_t i = 0; i < comparison->pair_count; i++) {
        struct spex_pair *pair = &comparison->pairs[i];
        double error = pair_error(sides, pair);
        pair->change = change_between(sides, pair->a, pair->b);
        pair->apart = comparison->pair_count > 2 &&
                      fabs(pair_difference(sides, pair, 0) - common) >
                          spex_student_two_sided(0.05 / count, SPEX_NOISE_FREEDOM_MAX) * error;
        comparison->apart_count += pair->apart;
    }
    qsort(comparison->pairs, comparison->pair_count, sizeof(*comparison->pairs), compare_pairs);
}

/* The mean of a pair's configuration on one side, to be sorted. */
struct ranked {
    double value;
    size_t pair;
};

/* Ascending order of values, for qsort. */
static int compare_ranked(const void *a, const void *b) {
    double x = ((const struct ranked *)a)->value, y = ((const struct ranked *)b)->value;
    return x < y ? -1 : x > y;
}

/* Sets ranks[] to the ranks of one side's means, by pair; equal means share the mean of their
 * ranks. */
static void rank_side(const struct spex_comparison *comparison, const struct spex_study *study,
                      bool second, struct ranked *ranked, double *ranks) {
    size_t count = comparison->pair_count;
    for (size_t i = 0; i < count; i++) {
        const struct spex_pair *pair = &comparison->pairs[i];
        ranked[i] = (struct ranked){group_sample(study, second ? pair->b : pair->a, 0).mean, i};
    }
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < count;) {
        size_t end = i;
        while (end < count && ranked[end].value == ranked[i].value)
            end++;
        for (size_t e = i; e < end; e++)
            ranks[ranked[e].pair] = (double)(i + end - 1) / 2;
        i = end;
    }
}

/* Pearson's correlation of two lists of ranks, whose mean is known. */
static double rank_correlation(const double *x, const double *y, size_t count) {
    double middle = ((double)count - 1) / 2, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        xx += (x[i] - middle) * (x[i] - middle);
        yy += (y[i] - middle) * (y[i] - middle);
        xy += (x[i] - middle) * (y[i] - middle);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Tells whether both stores put the configurations into the same order: Spearman's rank
 * correlation, which is Pearson's of the ranks. With two pairs it would always be 1 or -1. */
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
        comparison->order = rank_correlation(ranks, ranks + count, count);
    }
    int err = ranked && ranks ? 0 : -ENOMEM;
    free(ranked);
    free(ranks);
    return err;
}

/* Compares the best of A with the best of B, and finds A's best in B. */
static void compare_best(struct spex_comparison *comparison, const struct sides *sides) {
    size_t a = sides->a->findings.best, b = sides->b->findings.best;
    comparison->best_of_a_in_b = SPEX_RANKING_NONE;
    if (!comparison->same_criteria || a == SPEX_RANKING_NONE || b == SPEX_RANKING_NONE)
        return;
    comparison->best_of_a_in_b = counterpart(sides, &sides->a->summary.groups[a]);
    comparison->best_to_best = change_between(sides, a, b);
}

/* Other criteria leave the lists empty, and no error: what can be compared is. */
int spex_compare(struct spex_comparison *comparison, const struct spex_study *a,
                 const struct spex_study *b) {
    struct sides sides = {a, b, calloc(b->file->space.parameter_count, sizeof(size_t))};
    *comparison = (struct spex_comparison){
        .same_program = strcmp(spex_store_program(a->store), spex_store_program(b->store)) == 0,
        .same_criteria = have_same_criteria(&a->file->space, &b->file->space),
        .machine_differs = machines_first_difference(&sides),
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
