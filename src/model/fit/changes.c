/* SPDX-License-Identifier: MIT */
/* Binary segmentation: the best place for one change, then the best for a second one on either side
 * of it, after which the first is placed anew. A change is a further parameter of the model that is
 * chosen among many places, and forms are chosen on both sides, so that it must be paid for.
 * src/model/README.md tells how. */
#include "model/fit/changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/ascending.h"
#include "base/student.h"
#include "model/fit/deviations.h"
#include "model/fit/power.h"
#include "model/fit/search.h"

enum {
    /* Values of the parameter that a segment must have, and that there must be. */
    VALUES_MIN = 4,
    VALUES_ALL_MIN = 10,
    /* Places that are tried at first; then those around the best one. */
    PLACES = 8,
    /* Of more points so many are searched, or a few more. */
    POINTS_SEARCHED = 256
};
/* The points must be so many times as likely with a change as without, for each place where it could
 * be, beyond what the forms' coefficients cost. */
#define CHANGE_ODDS  100
/* A place is in the interval of 95 % if chance makes its sum of squares as great so often: forms are
 * chosen anew for it, which makes the sum less. */
#define PLACE_CHANCE 0.01
#define GOLDEN       0.6180339887498949

/* One change between two bounds. */
struct split {
    bool known;
    struct spex_cost sum;
};

struct finding {
    const struct spex_problem *whole;
    size_t parameter;
    /* The parameter's different values, ascending. */
    double *values;
    size_t count;
    /* By the first value behind the change. */
    struct split *splits;
};

/* Changes by the numbers of the first values behind them, ascending. */
struct found {
    size_t changes;
    size_t at[SPEX_MODEL_CHANGES_MAX];
    /* By how much the score is better than without, less the price of the changes; not above 0:
     * there is no change. */
    double gain;
};

/* The segment from the value of number `begin` to before that of number `end`. */
static int range_make(const struct finding *finding, size_t begin, size_t end,
                      struct spex_part *part) {
    double high = end < finding->count ? finding->values[end] : INFINITY;
    return spex_part_make(part, finding->whole, finding->parameter, finding->values[begin], high,
                          begin > 0);
}

/* By how much segments are better than one form, less what the changes cost that may be at so many
 * places. Few points leave few degrees of freedom, with which chance makes a small error: only these
 * count, and errors below what is good enough are alike. */
static double cost_gain(const struct spex_cost *segments, const struct spex_cost *one,
                        size_t changes, size_t places) {
    double freedom = fmax(segments->count - segments->columns - (double)changes, 0);
    double enough = segments->count * SPEX_ENOUGH * SPEX_ENOUGH;
    return freedom * log((one->errors + enough) / (segments->errors + enough)) + one->price -
           segments->price - 2 * (double)changes * log((double)places * CHANGE_ODDS);
}

static int range_cost(const struct finding *finding, size_t begin, size_t end,
                      struct spex_cost *cost) {
    struct spex_part part;
    int err = range_make(finding, begin, end, &part);
    if (!err)
        *cost = spex_part_cost(&part);
    spex_part_free(&part);
    return err;
}

/* The cost with a change at this value, once. */
static int split_cost(struct finding *finding, size_t begin, size_t at, size_t end,
                      struct split **split) {
    struct spex_cost before, behind;
    *split = &finding->splits[at];
    if ((*split)->known)
        return 0;
    int err = range_cost(finding, begin, at, &before);
    err = err ? err : range_cost(finding, at, end, &behind);
    if (err)
        return err;
    (*split)->sum = before;
    spex_cost_add(&(*split)->sum, &behind);
    (*split)->known = true;
    return 0;
}

/* Keeps the better of the best place and this one. */
static int place_try(struct finding *finding, size_t begin, size_t at, size_t end, size_t *best,
                     double *score) {
    struct split *split;
    int err = split_cost(finding, begin, at, end, &split);
    if (!err && spex_cost_score(&split->sum) < *score) {
        *score = spex_cost_score(&split->sum);
        *best = at;
    }
    return err;
}

/* Improves on the best place by those around it, halving the distance from `step` on. */
static int places_refine(struct finding *finding, size_t begin, size_t end, size_t step,
                         size_t *best, double *score) {
    size_t first = begin + VALUES_MIN, last = end - VALUES_MIN;
    int err = 0;
    while (step > 1 && !err) {
        size_t middle = *best;
        step = (step + 1) / 2;
        if (middle >= first + step)
            err = place_try(finding, begin, middle - step, end, best, score);
        if (middle + step <= last && !err)
            err = place_try(finding, begin, middle + step, end, best, score);
    }
    return err;
}

/* The best place by its score: of PLACES, and then of those around. */
static int places_search(struct finding *finding, size_t begin, size_t end, size_t *best,
                         double *score) {
    size_t first = begin + VALUES_MIN, last = end - VALUES_MIN;
    size_t step = (last - first) / PLACES + 1;
    int err = 0;
    *score = INFINITY;
    *best = first;
    for (size_t at = first; at <= last && !err; at += step)
        err = place_try(finding, begin, at, end, best, score);
    return err ? err : places_refine(finding, begin, end, step, best, score);
}

/* The cost without a change, with any power in place of a function of the parameter if that is
 * better: what is in no dictionary is no change. */
static int one_cost(const struct finding *finding, size_t begin, size_t end,
                    struct spex_cost *one) {
    struct spex_part part;
    double score = 0, price = 0;
    int err = range_make(finding, begin, end, &part);
    err = err ? err
              : spex_power_score(&part.workspace, &part.form, finding->parameter, &score, &price);
    *one = spex_part_cost_of(&part, score, price);
    spex_part_free(&part);
    return err;
}

static void splits_forget(struct finding *finding) {
    for (size_t v = 0; v < finding->count; v++)
        finding->splits[v].known = false;
}

/* The best change among the values from `begin` to before `end`; *one: the cost without. */
static int change_find(struct finding *finding, size_t begin, size_t end, struct found *found,
                       struct spex_cost *one) {
    double score;
    *found = (struct found){.changes = 1, .gain = -INFINITY};
    if (end - begin < 2 * VALUES_MIN)
        return 0;
    splits_forget(finding);
    int err = places_search(finding, begin, end, &found->at[0], &score);
    err = err ? err : one_cost(finding, begin, end, one);
    if (!err && isfinite(score))
        found->gain =
            cost_gain(&finding->splits[found->at[0]].sum, one, 1, end - begin - 2 * VALUES_MIN + 1);
    return err;
}

/* The gain of two changes together. */
static int two_gain(const struct finding *finding, const struct spex_cost *one, struct found *two) {
    struct spex_cost sum = {.count = 0}, part;
    int err = 0;
    for (size_t s = 0; s <= 2 && !err; s++) {
        err =
            range_cost(finding, s ? two->at[s - 1] : 0, s < 2 ? two->at[s] : finding->count, &part);
        if (!err)
            spex_cost_add(&sum, &part);
    }
    two->gain = cost_gain(&sum, one, 2, finding->count - 2 * VALUES_MIN + 1);
    return err;
}

/* Two changes: a second one on the side of `at` that gains more, and the first one placed anew
 * between its neighbours. Each must gain by itself. */
static int two_find(struct finding *finding, size_t at, const struct spex_cost *one,
                    struct found *two) {
    struct found left, right, again;
    struct spex_cost part;
    *two = (struct found){.changes = 2, .gain = -INFINITY};
    int err = change_find(finding, 0, at, &left, &part);
    err = err ? err : change_find(finding, at, finding->count, &right, &part);
    if (err)
        return err;
    bool before = left.gain > right.gain;
    size_t second = before ? left.at[0] : right.at[0];
    if (!(fmax(left.gain, right.gain) > 0))
        return 0;
    err = before ? change_find(finding, second, finding->count, &again, &part)
                 : change_find(finding, 0, second, &again, &part);
    if (err || !(again.gain > 0))
        return err;
    two->at[before ? 0 : 1] = second;
    two->at[before ? 1 : 0] = again.at[0];
    return two_gain(finding, one, two);
}

/* One change, or two where these gain more: with one alone, three segments may look like one
 * form. */
static int changes_find(struct finding *finding, struct found *found) {
    struct found two;
    struct spex_cost one;
    int err = change_find(finding, 0, finding->count, found, &one);
    if (err || !isfinite(found->gain))
        return err;
    err = two_find(finding, found->at[0], &one, &two);
    if (!err && two.gain > found->gain)
        *found = two;
    return err;
}

/* Whether the change may as well be there as at its best place, by their sums of squares. */
static int is_likely(struct finding *finding, size_t begin, size_t at, size_t end, double most,
                     bool *likely) {
    struct split *split;
    int err = split_cost(finding, begin, at, end, &split);
    *likely = !err && split->sum.squares <= most;
    return err;
}

/* The interval of a change between its neighbours, by the profile of the sum of squares: outwards
 * from the best place, as long as what is left is no greater than chance makes it. */
static int change_bound(struct finding *finding, size_t begin, size_t at, size_t end,
                        struct spex_changes *changes, size_t number) {
    struct split *best;
    splits_forget(finding);
    int err = split_cost(finding, begin, at, end, &best);
    if (err)
        return err;
    double freedom = fmax(best->sum.count - best->sum.columns - 1, 1);
    double variance = fmax(best->sum.squares / freedom, finding->whole->noise);
    double quantile = spex_student_two_sided(PLACE_CHANCE, freedom);
    double most = best->sum.squares + quantile * quantile * variance;
    size_t low = at, high = at;
    for (bool likely = true; low > begin + VALUES_MIN && likely && !err; low -= likely)
        err = is_likely(finding, begin, low - 1, end, most, &likely);
    for (bool likely = true; high < end - VALUES_MIN && likely && !err; high += likely)
        err = is_likely(finding, begin, high + 1, end, most, &likely);
    changes->at[number].low = finding->values[low - 1];
    changes->at[number].high = finding->values[high];
    return err;
}

/* The parameter's different values. 0 or -ENOMEM; to be freed in any case. */
static int finding_make(struct finding *finding, const struct spex_problem *whole,
                        size_t parameter) {
    const struct spex_points *points = whole->points;
    *finding = (struct finding){.whole = whole,
                                .parameter = parameter,
                                .values = calloc(points->count + 1, sizeof(double)),
                                .splits = calloc(points->count + 1, sizeof(struct split))};
    if (!finding->values || !finding->splits)
        return -ENOMEM;
    for (size_t i = 0; i < points->count; i++)
        finding->values[i] = points->parameters[i * points->parameter_count + parameter];
    qsort(finding->values, points->count, sizeof(double), spex_ascending);
    for (size_t i = 0; i < points->count; i++)
        if (i == 0 || finding->values[i] != finding->values[finding->count - 1])
            finding->values[finding->count++] = finding->values[i];
    return 0;
}

static void finding_free(struct finding *finding) {
    free(finding->values);
    free(finding->splits);
}

/* A change is searched for between the change before it, or the first value, and the change
 * behind it, or the last value. */
static size_t neighbour_before(const struct found *found, size_t change) {
    return change ? found->at[change - 1] : 0;
}

static size_t neighbour_behind(const struct finding *finding, const struct found *found,
                               size_t change) {
    return change + 1 < found->changes ? found->at[change + 1] : finding->count;
}

/* Tells the changes by values. */
static int changes_tell(struct finding *finding, const struct found *found,
                        struct spex_changes *changes) {
    int err = 0;
    changes->count = found->changes;
    changes->gain = found->gain;
    for (size_t c = 0; c < found->changes && !err; c++) {
        changes->at[c].before = finding->values[found->at[c] - 1];
        changes->at[c].from = finding->values[found->at[c]];
        err = change_bound(finding, neighbour_before(found, c), found->at[c],
                           neighbour_behind(finding, found, c), changes, c);
    }
    return err;
}

/* Finds changes of some of the points, or of all. */
static int find_among(const struct spex_problem *problem, size_t parameter,
                      struct spex_changes *changes) {
    struct finding finding;
    struct found found = {.gain = -INFINITY};
    int err = finding_make(&finding, problem, parameter);
    if (!err && finding.count >= VALUES_ALL_MIN)
        err = changes_find(&finding, &found);
    if (!err && found.gain > 0)
        err = changes_tell(&finding, &found, changes);
    finding_free(&finding);
    return err;
}

/* The number of the first value that is not below this one. */
static size_t value_number(const struct finding *finding, double value) {
    size_t v = 0;
    while (v < finding->count && finding->values[v] < value)
        v++;
    return v;
}

/* Places changes that were found among some points between the values of all points. */
static int places_among_all(const struct spex_problem *problem, size_t parameter,
                            struct spex_changes *changes) {
    struct finding finding;
    struct found found = {.changes = changes->count};
    int err = finding_make(&finding, problem, parameter);
    for (size_t c = 0; c < found.changes && !err; c++)
        found.at[c] = value_number(&finding, changes->at[c].from);
    for (size_t c = 0; c < found.changes && !err; c++) {
        double score = INFINITY;
        size_t begin = neighbour_before(&found, c), end = neighbour_behind(&finding, &found, c);
        size_t step = found.at[c] - value_number(&finding, changes->at[c].before);
        splits_forget(&finding);
        err = place_try(&finding, begin, found.at[c], end, &found.at[c], &score);
        err = err ? err : places_refine(&finding, begin, end, step, &found.at[c], &score);
        changes->at[c].before = finding.values[found.at[c] - 1];
        changes->at[c].from = finding.values[found.at[c]];
        changes->at[c].low = fmin(changes->at[c].low, changes->at[c].before);
        changes->at[c].high = fmax(changes->at[c].high, changes->at[c].from);
    }
    finding_free(&finding);
    return err;
}

/* Searches POINTS_SEARCHED points. The fractions of multiples of the golden ratio spread them over
 * all parameters. */
static int find_among_some(const struct spex_problem *problem, size_t parameter,
                           struct spex_changes *changes) {
    double share = POINTS_SEARCHED / (double)problem->data.count;
    bool *marked = calloc(problem->data.count + 1, sizeof(*marked));
    struct spex_points points;
    struct spex_problem some;
    if (!marked)
        return -ENOMEM;
    for (size_t i = 0; i < problem->data.count; i++)
        marked[i] = fmod((double)i * GOLDEN, 1) < share;
    int err = spex_problem_make_part(&some, &points, problem, marked);
    err = err ? err : find_among(&some, parameter, changes);
    spex_problem_free(&some);
    spex_points_free(&points);
    free(marked);
    return err || !changes->count ? err : places_among_all(problem, parameter, changes);
}

int spex_changes_find(const struct spex_problem *problem, size_t parameter,
                      const struct spex_hypothesis *best, const struct spex_least_squares *fit,
                      struct spex_changes *changes) {
    bool may;
    *changes = (struct spex_changes){.gain = -INFINITY};
    int err = spex_deviations_go_by(problem, best, fit, parameter, &may);
    if (err || !may)
        return err;
    return problem->data.count > POINTS_SEARCHED ? find_among_some(problem, parameter, changes)
                                                 : find_among(problem, parameter, changes);
}
