/* SPDX-License-Identifier: MIT */
/* The figure of one criterion, from the records of its probe in the order of time. Sums are in
 * ticks and weights; units are applied when a value is asked for. The error comes from batch means
 * (batch_means.h). A minimum or maximum has no error. */
#include "measure/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "measure/steady.h"
#include "ring/field_value.h"
#include "ring/probe_type.h"
#include "text/number.h"

/* Records before the first error: ten batches of five records, as in MSER-5 (steady.c). */
#define LEAST_RECORDS 50

/* Any other metric is a quantile: criteria have been checked (spex_criterion_fits). */
static enum spex_figure_metric metric_named(const char *metric) {
    static const char *const names[] = {[SPEX_FIGURE_RATE] = "throughput",
                                        [SPEX_FIGURE_MEAN] = "mean",
                                        [SPEX_FIGURE_MIN] = "min",
                                        [SPEX_FIGURE_MAX] = "max"};
    for (unsigned m = 0; m < sizeof(names) / sizeof(names[0]); m++)
        if (strcmp(metric, names[m]) == 0)
            return (enum spex_figure_metric)m;
    return SPEX_FIGURE_QUANTILE;
}

/* "p99" has the q 0.99. */
int spex_figure_open(struct spex_figure *figure, const struct spex_criterion *criterion,
                     uint64_t batch_records, bool values) {
    *figure = (struct spex_figure){
        .metric = metric_named(criterion->metric),
        .field = criterion->field,
        .measured = {NAN, NAN},
    };
    if (figure->metric == SPEX_FIGURE_QUANTILE)
        figure->q = spex_number_seconds(criterion->metric + 1, &figure->q) ? figure->q / 100 : NAN;
    return spex_batch_means_open(&figure->means, batch_records,
                                 values && figure->metric == SPEX_FIGURE_QUANTILE);
}

void spex_figure_close(struct spex_figure *figure) {
    spex_batch_means_close(&figure->means);
}

bool spex_figure_is_of(const struct spex_figure *figure, const struct spex_record *record) {
    return record->probe_id == figure->probe_id && record->probe_type == figure->probe_type;
}

void spex_figure_begin(struct spex_figure *figure, uint64_t ticks) {
    figure->begun = true;
    figure->begin_ticks = figure->last_ticks = ticks;
}

/* Each record stands for the records that were lost before it, too. A record that overtook another
 * has time 0. A record without the value (its counter was not available, it has fewer fields,
 * or the value is infinite or no number) is left out; its time stays in the figure. */
void spex_figure_add(struct spex_figure *figure, const struct spex_record *record) {
    double time = 0, weight = record->weight * (1.0 + record->lost);
    double value = 0;
    if (record->timestamp > figure->last_ticks) {
        time = (double)(record->timestamp - figure->last_ticks);
        figure->last_ticks = record->timestamp;
    }
    if (figure->metric != SPEX_FIGURE_RATE) {
        unsigned field = figure->field + spex_probe_type_first_value(record->probe_type);
        if (record->marks & SPEX_MARK_UNAVAILABLE || field >= record->field_count)
            return;
        value = spex_field_number(record, field);
        if (!isfinite(value))
            return;
    }
    figure->records++;
    spex_batch_means_add(&figure->means, value, weight, time);
}

/* A time of single executions is no surer than a tick. */
static struct spex_measured figure_quantile(const struct spex_figure *figure) {
    struct spex_measured measured = spex_batch_means_quantile(&figure->means, figure->q);
    if (spex_probe_type_ticks(figure->probe_type) && measured.error < SPEX_STEP_DEVIATION)
        measured.error = SPEX_STEP_DEVIATION;
    return measured;
}

/* Value and error in ticks; NaN without records. */
static struct spex_measured figure_measure(const struct spex_figure *figure) {
    const struct spex_batch_means *means = &figure->means;
    if (!figure->records)
        return (struct spex_measured){NAN, NAN};
    switch (figure->metric) {
    case SPEX_FIGURE_RATE:
        return spex_batch_means_rate(means);
    case SPEX_FIGURE_MEAN:
        return spex_batch_means_mean(means);
    case SPEX_FIGURE_MIN:
        return (struct spex_measured){means->min, NAN};
    case SPEX_FIGURE_MAX:
        return (struct spex_measured){means->max, NAN};
    default:
        return figure_quantile(figure);
    }
}

/* Infinite values come from rates over no time: they are not known. */
static struct spex_measured measured_scaled(struct spex_measured measured, double factor) {
    measured.value *= factor;
    measured.error *= factor;
    if (!isfinite(measured.value))
        return (struct spex_measured){NAN, NAN};
    if (!isfinite(measured.error))
        measured.error = NAN;
    return measured;
}

/* Keeps the error in a ring of the latest SPEX_FIGURE_LOOKS. */
static void figure_add_error(struct spex_figure *figure, double error) {
    if (isnan(error))
        return;
    if (!figure->first_error_records)
        figure->first_error_records = figure->records;
    figure->looks[figure->look_count++ % SPEX_FIGURE_LOOKS] =
        (struct spex_figure_look){figure->records, error};
}

/* The greatest of this error and of those that were found when there were at least half as many
 * records. An error falls with the square root of the number of records, so earlier ones are
 * scaled. */
static double figure_greatest_error(const struct spex_figure *figure, double error) {
    for (size_t l = 0; l < figure->look_count && l < SPEX_FIGURE_LOOKS; l++) {
        const struct spex_figure_look *look = &figure->looks[l];
        if (look->records * 2 >= figure->records)
            error =
                fmax(error, look->error * sqrt((double)look->records / (double)figure->records));
    }
    return error;
}

/* Computes value and error, and keeps the error. Times are in ticks. Before the end an error counts
 * only after errors have been watched while the number of records doubled (figure.h). */
static struct spex_measured figure_take_error(struct spex_figure *figure, bool end) {
    struct spex_measured measured = figure_measure(figure);
    figure_add_error(figure, measured.error);
    if (isnan(measured.error))
        return measured;
    bool watched =
        figure->first_error_records * 2 <= figure->records && figure->records >= LEAST_RECORDS;
    measured.error = end || watched ? figure_greatest_error(figure, measured.error) : NAN;
    return measured;
}

/* Computing costs O(batches × lags), for a quantile O(batches × buckets); doing it for every
 * twentieth more records keeps that small. */
struct spex_measured spex_figure_measured(struct spex_figure *figure, double ticks_per_second,
                                          bool end) {
    double factor = 1;
    if (!end && figure->records <= figure->measured_records + figure->measured_records / 20)
        return figure->measured;
    if (figure->metric == SPEX_FIGURE_RATE)
        factor = ticks_per_second;
    else if (spex_probe_type_ticks(figure->probe_type))
        factor = 1 / ticks_per_second;
    figure->measured = measured_scaled(figure_take_error(figure, end), factor);
    figure->measured_records = figure->records;
    return figure->measured;
}

/* A rate is judged by the mean times between records, which are additive where rates are not. */
struct spex_figure_steady spex_figure_steady(const struct spex_figure *figure, double tolerance) {
    _Static_assert(SPEX_BATCHES <= SPEX_STEADY_MOST, "a series has all batches");
    double series[SPEX_BATCHES];
    if (figure->records < LEAST_RECORDS)
        return (struct spex_figure_steady){.from_ticks = figure->begin_ticks};
    size_t count = figure->metric == SPEX_FIGURE_RATE
                       ? spex_batch_means_gaps(&figure->means, series)
                       : spex_batch_means_values(&figure->means, series);
    struct spex_steady steady = spex_steady_of(series, count, tolerance);
    return (struct spex_figure_steady){
        .known = true,
        .steady = steady.steady,
        .from_ticks =
            figure->begin_ticks + (uint64_t)spex_batch_means_time(&figure->means, steady.from),
    };
}
