/* SPDX-License-Identifier: MIT */
/* The figures of a row come from its values in four steps: values are weighed for lost
 * executions; mean and quantiles get their 95 % intervals; of times, what an empty span reads is
 * subtracted; the total follows from mean and count. */
#include "profile/figures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/line.h"
#include "base/memory/memory.h"
#include "base/student.h"
#include "profile/confidence.h"
#include "ring/probe_type.h"

const double spex_figures_quantiles[SPEX_FIGURES_QUANTILES] = {0.5, 0.9, 0.99, 0.999};

/* Records that were read next to a loss in the ring, or made in a slice of the time, stand for
 * `losses` besides themselves. Returns the part of `losses` that this probe has really lost, so
 * that no more executions are added than may have no record. */
static double part_lost(const struct spex_profile_probe *probe, const struct spex_values *losses) {
    double missing = spex_profile_ended(probe) - probe->held_count - probe->weight;
    if (probe->count_variance > 0)
        return 1; /* the count itself comes from these records */
    if (spex_profile_in_full(probe))
        missing = probe->lost;
    missing += probe->held_count + fmax(probe->uncounted, 0);
    return missing < losses->weight ? fmax(missing, 0) / losses->weight : 1;
}

/* Returns the row's values, weighed for lost executions. Where that changes them they are in *room,
 * which the caller frees. Without memory the values of the records alone are returned. */
static const struct spex_values *values_weighed(const struct spex_profile_row *row, unsigned series,
                                                struct spex_values **room) {
    const struct spex_values *losses = row->losses[series];
    double part = losses && losses->weight > 0 ? part_lost(&row->probe, losses) : 0;
    *room = part > 0 ? spex_malloc(sizeof(**room)) : NULL;
    if (!*room)
        return row->values[series];
    spex_values_weigh(*room, row->values[series], losses, part);
    return *room;
}

static struct spex_quantile quantile_of(const struct spex_profile_probe *probe,
                                        const struct spex_values *values, double q) {
    double value = spex_values_quantile(values, q);
    struct spex_quantile quantile = {.value = value, .low = value, .high = value};
    quantile.told = spex_quantile_bounds(probe, values, q, &quantile.low, &quantile.high);
    return quantile;
}

/* Whether the records suffice for the mean: its margin is known and not greater than the mean. */
static bool mean_is_told(const struct spex_figures *figures) {
    return figures->mean_margin >= 0 && figures->mean_margin <= fabs(figures->mean);
}

/* The total follows from the mean and the count, and its margin from theirs. */
static void figures_add_total(struct spex_figures *figures, const struct spex_profile_probe *probe,
                              const struct spex_values *values) {
    double executions = spex_profile_ended(probe);
    if (probe->count <= 0)
        executions = values->weight;
    figures->total = figures->mean * executions;
    figures->total_margin =
        hypot(figures->mean_margin * executions, figures->mean * spex_count_margin(probe));
}

/* Subtracts from times what an empty span reads, down to 0. Single readings of empty spans scatter
 * by `error`. The mean's margin grows by that once, since the program's readings may lie elsewhere
 * than the measuring loop's, and by error / √records for the scatter. A quantile is a single
 * reading, so its bounds move by twice the error. */
static void figures_take_off(struct spex_figures *figures, const struct spex_profile_type *type,
                             uint64_t records) {
    double empty = type->empty, error = type->empty_error;
    double off_mean = error * (1 + 1 / sqrt(fmax((double)records, 1))), off = 2 * error;
    figures->empty = empty;
    figures->mean = fmax(figures->mean - empty, 0);
    if (figures->mean_margin >= 0)
        figures->mean_margin = hypot(figures->mean_margin, off_mean);
    figures->min = fmax(figures->min - empty, 0);
    figures->max = fmax(figures->max - empty, 0);
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++) {
        struct spex_quantile *quantile = &figures->quantiles[q];
        quantile->value = fmax(quantile->value - empty, 0);
        quantile->low = fmax(quantile->low - empty - off, 0);
        quantile->high = fmax(quantile->high - empty + off, 0);
    }
}

/* The fewest executions that tell what probes within them take. */
#define NESTED_MIN 4

/* Of two executions the longer one has no more of probes within than it is longer; else what is
 * left of a long one could be less than what is left of a short one. */
#define NESTED_SLOPE 1

/* What a probe takes in a program, as a part of what it takes in calibration, is 1 give or take
 * this much in 95 % of cases: nothing where the program's own work goes on meanwhile, and twice
 * as much where its data are in no cache or each gap is drawn. */
#define COST_ERROR 1

/* What probes within take, by the time of executions that were looked at. False: too few tell. */
static bool nested_line(const struct spex_line_sums *sums, struct spex_line *line) {
    if (sums->count < NESTED_MIN || sums->y <= 0)
        return false;
    *line = spex_line_fit(sums, NESTED_SLOPE);
    return true;
}

/* The time of probes within an execution of this time. */
static double nested_of(const struct spex_line *line, double time) {
    return fmin(fmax(line->at_zero + line->slope * time, 0), time);
}

/* A quantile is the time of single executions, and no probes take less than none. */
static void quantile_take_off(struct spex_quantile *quantile, const struct spex_line *nested) {
    double value = nested_of(nested, quantile->value);
    double low = nested_of(nested, quantile->low), high = nested_of(nested, quantile->high);
    double other = SPEX_NORMAL_95 * nested->deviation;
    quantile->value -= value;
    quantile->low = fmax(quantile->low - low - hypot(other, COST_ERROR * low), 0);
    quantile->high = fmin(quantile->high - high + hypot(other, COST_ERROR * high), quantile->high);
}

/* Takes off what probes within the executions take, where executions that were looked at tell. By
 * the time of these it follows for others, such as those of a loop that runs longer. */
static void figures_take_off_nested(struct spex_figures *figures,
                                    const struct spex_line_sums *sums) {
    struct spex_line nested;
    if (!nested_line(sums, &nested))
        return;
    figures->nested = nested_of(&nested, figures->mean);
    figures->nested_margin =
        hypot(SPEX_NORMAL_95 * nested.deviation / sqrt(sums->count), COST_ERROR * figures->nested);
    figures->mean -= figures->nested;
    if (figures->mean_margin >= 0)
        figures->mean_margin = hypot(figures->mean_margin, figures->nested_margin);
    figures->min -= nested_of(&nested, figures->min);
    figures->max -= nested_of(&nested, figures->max);
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++)
        quantile_take_off(&figures->quantiles[q], &nested);
}

/* Limits a total of times to the running time of all threads, each with one execution that began
 * before. Without the limit, executions nested in others of the same probe may add up to more. A
 * SPAN takes no thread's time, and many may be open at once. */
static void figures_limit_total(struct spex_figures *figures, const struct spex_profile *profile) {
    const struct spex_profile_process *process = &profile->process;
    double ticks = process->seconds * process->ticks_per_second;
    if (figures->max > ticks)
        ticks += figures->max;
    double most = process->threads * ticks;
    /* Not by fmin, which would make a number of a total that is not known. */
    if (most > 0 && figures->total > most)
        figures->total = most;
}

void spex_figures_of(const struct spex_profile *profile, const struct spex_profile_row *row,
                     unsigned series, struct spex_figures *figures) {
    struct spex_values *room;
    const struct spex_values *values = values_weighed(row, series, &room);
    const struct spex_profile_type *type = spex_profile_type_of(profile, row->probe.probe_type);
    bool ticks = spex_probe_type_ticks(row->probe.probe_type);
    *figures = (struct spex_figures){.any = values->weight > 0,
                                     .sampled = spex_sampled(&row->probe),
                                     .mean = values->mean,
                                     .mean_margin = spex_mean_margin(&row->probe, values),
                                     .min = values->min,
                                     .max = values->max,
                                     .left_out = values->left_out};
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++)
        figures->quantiles[q] = quantile_of(&row->probe, values, spex_figures_quantiles[q]);
    figures->total = NAN;
    figures->total_margin = -1;
    bool told = mean_is_told(figures);
    if (ticks && type && type->measured && figures->any) {
        figures_take_off_nested(figures, &row->probe.nested);
        figures_take_off(figures, type, row->probe.records);
    }
    /* Nobody knows for how many executions those stand whose value is none. */
    if (told && spex_count_known(&row->probe) && !values->left_out)
        figures_add_total(figures, &row->probe, values);
    if (ticks && row->probe.probe_type != SPEX_SPAN)
        figures_limit_total(figures, profile);
    spex_free(room);
}

/* What is taken off times: what an empty span reads, and, where `nested` is set, what the probes
 * within take. */
struct correction {
    bool times; /* else nothing */
    double empty;
    bool nested;
    struct spex_line line;
};

static struct correction correction_of(const struct spex_profile *profile,
                                       const struct spex_profile_probe *probe) {
    const struct spex_profile_type *type = spex_profile_type_of(profile, probe->probe_type);
    struct correction correction = {.empty = 0};
    if (!spex_probe_type_ticks(probe->probe_type) || !type || !type->measured)
        return correction;
    correction.times = true;
    correction.empty = type->empty;
    correction.nested = nested_line(&probe->nested, &correction.line);
    return correction;
}

static double corrected(const struct correction *correction, double value) {
    if (!correction->times)
        return value;
    double nested = correction->nested ? nested_of(&correction->line, value) : 0;
    return fmax(value - nested - correction->empty, 0);
}

double spex_figures_corrected(const struct spex_profile *profile,
                              const struct spex_profile_probe *probe, double ticks) {
    const struct correction correction = correction_of(profile, probe);
    return corrected(&correction, ticks);
}

/* Corrected values grow with the buckets, so that the bounds are passed once. */
double spex_figures_divide(const struct spex_profile *profile, const struct spex_profile_row *row,
                           unsigned series, const double *bounds, size_t count, double *weights) {
    struct spex_values *room;
    const struct spex_values *values = values_weighed(row, series, &room);
    const struct correction correction = correction_of(profile, &row->probe);
    size_t range = 0;
    memset(weights, 0, (count + 1) * sizeof(*weights));
    for (unsigned b = spex_histogram_next(&values->histogram, 0); b < SPEX_HISTOGRAM_BUCKETS;
         b = spex_histogram_next(&values->histogram, b + 1)) {
        double value = corrected(&correction, spex_value_scale_value(values->spread.scale, b));
        while (range < count && value > bounds[range])
            range++;
        weights[range] += (double)values->histogram.weights[b];
    }
    double sum = values->weight * corrected(&correction, values->mean);
    spex_free(room);
    return sum;
}
