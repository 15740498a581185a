/* SPDX-License-Identifier: MIT */
/* Makes a model of the best changes that any parameter has (changes.c). */
#include "model/fit/segments.h"

#include <math.h>

/* Steps of the bisection for where two segments cross. */
#define CROSS_STEPS 50

static double segment_value(const struct spex_part *segment, double x) {
    struct spex_model model = {.parameter_count = 0};
    spex_hypothesis_make_model(&segment->problem, &segment->form, &segment->fit, &model);
    return spex_model_value(&model, &x);
}

/* Between two values: where the segments cross, so that the time does not jump there; or else in the
 * middle. With several parameters they cross at different values. */
static double between(const struct spex_part *before, const struct spex_part *behind, double low,
                      double high) {
    double middle = low > 0 ? sqrt(low * high) : (low + high) / 2;
    if (before->problem.points->parameter_count > 1)
        return middle;
    bool greater = segment_value(before, low) > segment_value(behind, low);
    if (greater == (segment_value(before, high) > segment_value(behind, high)))
        return middle;
    for (int step = 0; step < CROSS_STEPS; step++) {
        middle = (low + high) / 2;
        bool same = greater == (segment_value(before, middle) > segment_value(behind, middle));
        low = same ? middle : low;
        high = same ? high : middle;
    }
    return high;
}

/* Makes the segments between the changes. A constant is a term here, so that they may have too many
 * together; then there are none. */
static int segments_make(struct spex_segments *segments, const struct spex_problem *whole,
                         size_t parameter, const struct spex_changes *changes) {
    size_t columns = 0, last = changes->count;
    int err = 0;
    segments->parameter = parameter;
    for (size_t s = 0; s <= last && !err; s++) {
        err = spex_part_make(&segments->parts[s], whole, parameter, s ? changes->at[s - 1].from : 0,
                             s < last ? changes->at[s].from : INFINITY, s > 0);
        columns += segments->parts[s].fit.columns;
    }
    if (err || columns > SPEX_MODEL_TERMS_MAX)
        return err;
    segments->changes = last;
    for (size_t c = 0; c < last; c++)
        segments->at[c] =
            (struct spex_model_change){.at = between(&segments->parts[c], &segments->parts[c + 1],
                                                     changes->at[c].before, changes->at[c].from),
                                       .low = changes->at[c].low,
                                       .high = changes->at[c].high};
    return 0;
}

/* Whether one form leaves so much that there may be a change: more than noise, and than matters. */
static bool may_change(const struct spex_problem *problem, const struct spex_least_squares *fit) {
    double freedom = (double)problem->data.count - (double)fit->columns;
    return freedom > 0 && fit->squares / freedom > SPEX_ENOUGH * SPEX_ENOUGH &&
           !spex_left_is_noise(problem, fit);
}

int spex_segments_find(struct spex_segments *segments, const struct spex_problem *whole,
                       const struct spex_hypothesis *best, const struct spex_least_squares *fit) {
    double gain = 0;
    int err = 0;
    *segments = (struct spex_segments){.changes = 0};
    for (size_t p = 0; p < whole->points->parameter_count && may_change(whole, fit) && !err; p++) {
        struct spex_changes changes = {.gain = 0};
        if (whole->varies[p])
            err = spex_changes_find(whole, p, best, fit, &changes);
        if (err || !(changes.gain > gain))
            continue;
        gain = changes.gain;
        spex_segments_free(segments);
        err = segments_make(segments, whole, p, &changes);
    }
    return err;
}

void spex_segments_free(struct spex_segments *segments) {
    for (size_t s = 0; s <= SPEX_MODEL_CHANGES_MAX; s++)
        spex_part_free(&segments->parts[s]);
    *segments = (struct spex_segments){.changes = 0};
}

double spex_segments_squares(const struct spex_segments *segments, size_t *columns) {
    double squares = 0;
    *columns = 0;
    for (size_t s = 0; s <= segments->changes; s++) {
        squares += segments->parts[s].fit.squares;
        *columns += segments->parts[s].fit.columns;
    }
    return squares;
}

void spex_segments_make_model(const struct spex_segments *segments, struct spex_model *model) {
    model->parameter_count = segments->parts[0].points.parameter_count;
    model->change_count = segments->changes;
    model->change_parameter = segments->parameter;
    for (size_t c = 0; c < segments->changes; c++)
        model->changes[c] = segments->at[c];
    for (size_t s = 0; s <= segments->changes; s++) {
        const struct spex_part *segment = &segments->parts[s];
        struct spex_model of = {.parameter_count = 0};
        spex_hypothesis_make_model(&segment->problem, &segment->form, &segment->fit, &of);
        if (segment->form.constant)
            model->terms[model->term_count++] =
                (struct spex_model_term){.coefficient = of.constant, .segment = (uint8_t)s};
        for (size_t t = 0; t < of.term_count; t++) {
            model->terms[model->term_count] = of.terms[t];
            model->terms[model->term_count++].segment = (uint8_t)s;
        }
    }
}
