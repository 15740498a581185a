/* SPDX-License-Identifier: MIT */
/* Margins of means by the variance between units (bursts, stretches between losses) where the
 * sums of variance.h know it, else by records. Margins of quantiles by the interval of ranks:
 * the share of the weight below a limit has a known variance, so the limits of the share give
 * those of the quantile. */
#include "profile/confidence.h"

#include <math.h>

#include "base/rounding.h"
#include "base/student.h"

/* All executions that have ended while the probe was selected: those that were counted, and at most
 * those that were not. */
static double population(const struct spex_profile_probe *probe) {
    return spex_profile_ended(probe) + fmax(probe->uncounted, 0);
}

/* Executions that are in no record's weight, for sure, and not lost: the budget had no records made for a
 * while, as at the start, or a thread had used up its own budget. */
static double missing(const struct spex_profile_probe *probe, double weight) {
    double chance = sqrt(fmax(probe->weight_squares - probe->weight, 0));
    double lost = fmax(probe->lost - fmax(weight - probe->weight, 0), 0);
    return fmax(spex_profile_ended(probe) - weight - lost - chance, 0);
}

/* So small a share of the executions may just not have been taken out of a ring yet, and tells next to
 * nothing about the mean. */
#define MISSING_LEAST 1e-3

static bool executions_are_missing(const struct spex_profile_probe *probe, double weight) {
    double ended = spex_profile_ended(probe);
    return probe->uncounted > 0 || weight < 0.9 * (ended - probe->held_count) ||
           missing(probe, weight) > MISSING_LEAST * ended;
}

/* Records that have no value: their counter was not available, or their time contains the making
 * ready of their thread or counter. */
static uint64_t records_without(const struct spex_profile_probe *probe) {
    uint64_t unavailable = probe->marked[__builtin_ctz(SPEX_MARK_UNAVAILABLE)];
    return spex_profile_left_out(probe) + unavailable;
}

/* Also true where executions were counted but no record was made, or none is left. */
bool spex_sampled(const struct spex_profile_probe *probe) {
    return probe->weight > (double)probe->records || probe->lost > 0 ||
           records_without(probe) > 0 || executions_are_missing(probe, probe->weight);
}

/* Kish's effective sample size: the number of records of equal weight with the same variance, at
 * most the number of records. */
static double effective_records(const struct spex_profile_probe *probe) {
    double records = (double)probe->records;
    if (!(probe->weight_squares > 0))
        return 0;
    double effective = probe->weight * probe->weight / probe->weight_squares;
    return effective < records ? effective : records;
}

/* The variance of the weight of records that have values, over its square: one of weight w was left to
 * chance for w - 1 executions (Horvitz and Thompson, for a Poisson sample). Those that are in no
 * weight are like the others. 0 where all executions are recorded. */
static double chance_of(const struct spex_profile_probe *probe, const struct spex_values *values) {
    double weight = values->weight, all = fmax(population(probe), weight);
    if (!(weight > 0) || !(probe->weight > 0))
        return 1;
    double squares = probe->weight_squares * weight / probe->weight;
    return fmax(squares - weight * weight / all, 0) / (weight * weight);
}

/* Of fewer units nothing is told. */
#define UNITS_LEAST 3

/* By how much sums over the same records may differ: some have no values. */
#define UNITS_ALIKE 0.01

/* Where more than such a share of the records has no time, those that have are no sample: they are
 * left in where they are long. */
#define LEFT_OUT_MOST 0.1

/* Whether records of most counted executions were lost. Those that are left are not like the others
 * then: a ring keeps the last ones before it is read, and while a long execution lasts, which is
 * before its own record, nothing pushes them out. Where not all make records, those that a few
 * moments have lost may be many and stand for few executions. */
static bool most_are_lost(const struct spex_profile_probe *probe) {
    double missing = spex_profile_ended(probe) - probe->held_count - probe->weight;
    bool counted = probe->count > 0 && probe->count_variance <= 0;
    return probe->lost > (double)probe->records && (!counted || missing > probe->weight);
}

double spex_count_margin(const struct spex_profile_probe *probe) {
    return probe->refused ? INFINITY : spex_counted_margin(probe) + probe->uncounted;
}

/* The margin of the executions a second. */
static double rate_margin(const struct spex_profile_probe *probe) {
    double executions = spex_profile_executions(probe);
    double margin = spex_counted_margin(probe) + (probe->held_count > 0 ? probe->uncounted : 0);
    return executions > 0 ? margin / executions * spex_profile_rate(probe) : 0;
}

/* Where more than such a share of a SPAN's executions that have ended is in no record's weight, the
 * long ones are: a budget has held the probe off before their END. */
#define SPANS_MISSING 0.02

static bool long_spans_are_missing(const struct spex_profile_probe *probe) {
    double ended = spex_profile_ended(probe) - probe->held_count;
    double chance = 3 * sqrt(probe->weight_squares);
    return probe->probe_type == SPEX_SPAN && probe->held_seconds > 0 &&
           ended - probe->weight > SPANS_MISSING * ended + chance;
}

static bool many_are_left_out(const struct spex_profile_probe *probe) {
    return (double)spex_profile_left_out(probe) > LEFT_OUT_MOST * (double)probe->records;
}

/* Whether the records with values are none of which anything follows for the others. */
static bool is_no_sample(const struct spex_profile_probe *probe) {
    return most_are_lost(probe) || long_spans_are_missing(probe) || many_are_left_out(probe);
}

bool spex_count_known(const struct spex_profile_probe *probe) {
    return spex_count_margin(probe) <= spex_profile_executions(probe);
}

bool spex_rate_known(const struct spex_profile_probe *probe) {
    return spex_profile_counted_seconds(probe) > 0 && !probe->refused &&
           rate_margin(probe) <= spex_profile_rate(probe) &&
           (spex_count_known(probe) || probe->held_seconds <= probe->polled_seconds);
}

double spex_count_told(const struct spex_profile_probe *probe) {
    return spex_count_known(probe)
               ? spex_profile_executions(probe)
               : fmax(spex_profile_executions_least(probe) - spex_counted_margin(probe), 0);
}

bool spex_rate_is_bound(const struct spex_profile_probe *probe) {
    return spex_profile_counted_seconds(probe) > 0 && !spex_rate_known(probe) &&
           spex_profile_held_is_bound(probe);
}

double spex_rate_told(const struct spex_profile_probe *probe) {
    double executions = spex_profile_executions(probe), rate = spex_profile_rate(probe);
    return spex_rate_is_bound(probe) ? rate * spex_count_told(probe) / executions : rate;
}

double spex_counted_margin(const struct spex_profile_probe *probe) {
    return probe->count_variance > 0 ? SPEX_NORMAL_95 * sqrt(probe->count_variance) : 0;
}

/* Variance of the mean, and the effective number of units. */
struct estimate {
    double variance;
    double units;
};

/* Estimate where each record is a unit, independent of the others. */
static struct estimate estimate_by_records(const struct spex_profile_probe *probe,
                                           const struct spex_values *values) {
    double records = effective_records(probe), deviation = spex_values_deviation(values);
    if (!(records > 1))
        return (struct estimate){0, records};
    double chance = chance_of(probe, values) * records / (records - 1);
    return (struct estimate){deviation * deviation * chance, records};
}

/* Estimate of a ratio of sums over units (Cochran, Sampling Techniques, 3rd ed., 6.4). The
 * effective number of units follows from the spread of their weights (Satterthwaite's degrees of
 * freedom, without the distances from the mean). */
static struct estimate estimate_by_units(const struct spex_profile_probe *probe,
                                         const struct spex_values *values,
                                         const struct spex_variance_sums *sums) {
    double mean = values->mean - values->spread.origin;
    double apart = sums->distances - 2 * mean * sums->products + mean * mean * sums->weights;
    double squares = sums->local + spex_settled(apart, sums->distances);
    double units =
        fmin(sums->weights_all * sums->weights_all / sums->squares, (double)probe->records);
    if (!(squares > 0) || !(units > 1))
        return (struct estimate){0, units};
    return (struct estimate){squares / (values->weight * values->weight) * units / (units - 1),
                             units};
}

/* Blocks from which on their variance is known. */
#define BLOCKS_LEAST 3

/* What executions of which no record was made add to the variance of the mean of all. They come in
 * stretches, and the program may do something else in these. A block of records, which lasts about as
 * long, differs from the mean by a variance that is known; as many stretches as blocks have the
 * executions vary independently. A stretch varies no more than one execution, or a whole block. */
static struct estimate estimate_of_missing(const struct spex_profile_probe *probe,
                                           const struct spex_values *values) {
    const struct spex_block_sums blocks = spex_variance_sums(&values->spread).blocks;
    double all = fmax(spex_profile_ended(probe), values->weight);
    double gone = missing(probe, values->weight), deviation = spex_values_deviation(values);
    double one = deviation * deviation, mean = values->mean - values->spread.origin;
    double count = blocks.squares > 0 ? blocks.weights * blocks.weights / blocks.squares : 0;
    if (!(gone > 0) || !(all > 0))
        return (struct estimate){0, 0};
    double share = gone / all * (gone / all);
    if (!(count >= BLOCKS_LEAST))
        return (struct estimate){share * one, BLOCKS_LEAST};
    double apart = blocks.distances - 2 * mean * blocks.products + mean * mean * blocks.squares;
    double block = spex_settled(apart, blocks.distances) / blocks.squares * count / (count - 1);
    double stretches = gone * blocks.weights / blocks.squares;
    return (struct estimate){share * fmin(fmax(block, 0) / stretches, fmax(block, one)), count};
}

/* The sum of two (Satterthwaite), of which each may be from the same few records. */
static struct estimate both(struct estimate one, struct estimate other) {
    double sum = one.variance + other.variance;
    if (!(other.variance > 0))
        return one;
    if (!(one.variance > 0))
        return other;
    double freedom = sum * sum /
                     (one.variance * one.variance / fmax(one.units - 1, 1) +
                      other.variance * other.variance / fmax(other.units - 1, 1));
    return (struct estimate){sum, fmin(freedom + 1, fmax(one.units, other.units))};
}

/* Whether the sums of variance.h hold any unit. */
static bool units_known(const struct spex_values *values, const struct spex_variance_sums *sums) {
    return sums->weights_all > 0 && sums->squares > 0 && values->weight > 0;
}

/* Whether all units are single records. */
static bool units_are_records(const struct spex_profile_probe *probe,
                              const struct spex_variance_sums *sums) {
    double chance = probe->weight_squares - probe->weight;
    return fabs(sums->weights_all - chance) <= UNITS_ALIKE * chance;
}

/* Few units that are records tell nothing of how
 * values differ, but all records do, most of which may have been left to no chance. */
static struct estimate estimate_of_recorded(const struct spex_profile_probe *probe,
                                            const struct spex_values *values) {
    struct spex_variance_sums sums = spex_variance_sums(&values->spread);
    struct estimate by_records = estimate_by_records(probe, values);
    if (!units_known(values, &sums))
        return by_records;
    struct estimate by_units = estimate_by_units(probe, values, &sums);
    if (by_units.units < UNITS_LEAST && units_are_records(probe, &sums))
        return by_records;
    if (executions_are_missing(probe, values->weight))
        by_units.variance = fmax(by_units.variance, by_records.variance);
    return by_units;
}

static struct estimate estimate_of(const struct spex_profile_probe *probe,
                                   const struct spex_values *values) {
    struct estimate recorded = estimate_of_recorded(probe, values);
    return recorded.units < UNITS_LEAST ? recorded
                                        : both(recorded, estimate_of_missing(probe, values));
}

enum spex_margin_unknown spex_margin_unknown(const struct spex_profile_probe *probe,
                                             const struct spex_values *values) {
    if (most_are_lost(probe))
        return SPEX_MOST_LOST;
    if (many_are_left_out(probe))
        return SPEX_MANY_LEFT_OUT;
    if (long_spans_are_missing(probe))
        return SPEX_LONG_SPANS_MISSING;
    bool few = estimate_of(probe, values).units < UNITS_LEAST;
    return few && effective_records(probe) >= UNITS_LEAST ? SPEX_FEW_STRETCHES : SPEX_FEW_RECORDS;
}

/* 0 where nothing was sampled: the figure is exact. */
double spex_mean_margin(const struct spex_profile_probe *probe, const struct spex_values *values) {
    if (!spex_sampled(probe))
        return 0;
    struct estimate estimate = estimate_of(probe, values);
    return is_no_sample(probe) || estimate.units < UNITS_LEAST
               ? -1
               : spex_student_95(estimate.units - 1) * sqrt(estimate.variance);
}

/* Whether all records have the same weight, and the units of the variance are single records.
 * The binomial distribution of the share is then exact enough. */
static bool is_simple_sample(const struct spex_profile_probe *probe, double units) {
    return units > 0.999 * (double)probe->records &&
           effective_records(probe) > 0.999 * (double)probe->records;
}

/* Precision of a share q of the weight: its variance divided by q (1 - q), and the degrees of
 * freedom of this variance. */
struct share {
    double variance;
    double freedom;
};

/* The precision from the rows of variance.h, at the row limit next to the quantile. False: the rows
 * do not tell. */
static bool share_by_rows(const struct spex_values *values, double q, double units,
                          struct share *share) {
    double weight = (double)values->histogram.total;
    unsigned row = 0, bucket = spex_histogram_quantile_bucket(&values->histogram, q);
    double above = 0;
    row = spex_variance_row(bucket) + (q < 0.5);
    for (unsigned b = spex_variance_bucket(row); b < SPEX_HISTOGRAM_BUCKETS; b++)
        above += (double)values->histogram.weights[b];
    above /= weight;
    if (!(above > 0) || !(above < 1))
        return false;
    double variance = spex_variance_above(&values->spread, row, above) / (weight * weight);
    *share = (struct share){variance / (above * (1 - above)),
                            1 / (1.0 / SPEX_VARIANCE_WAYS + 1 / units)};
    return variance > 0;
}

/* The precision of a share of the weight where each record is a unit. */
static struct share share_by_records(const struct spex_profile_probe *probe,
                                     const struct spex_values *values) {
    return (struct share){chance_of(probe, values), effective_records(probe) - 1};
}

/* The precision of a share q of the weight: by records where they are a simple sample, else by
 * the rows of variance.h. Where rows do not tell, the share is taken for as imprecise as the
 * mean: the design effect of the mean is used. */
static struct share share_by_values(const struct spex_profile_probe *probe,
                                    const struct spex_values *values, double q) {
    struct spex_variance_sums sums = spex_variance_sums(&values->spread);
    struct estimate mean = estimate_of_recorded(probe, values);
    struct share share;
    if (!units_known(values, &sums) || is_simple_sample(probe, mean.units))
        return share_by_records(probe, values);
    if (share_by_rows(values, q, mean.units, &share))
        return share;
    double deviation = spex_values_deviation(values);
    return (struct share){deviation > 0 ? mean.variance / (deviation * deviation) : 1 / mean.units,
                          mean.units - 1};
}

/* The same, with what is not known of executions that are missing: a share of them differs as their mean
 * does, relative to how single ones differ. */
static struct share share_of(const struct spex_profile_probe *probe,
                             const struct spex_values *values, double q) {
    struct share share = share_by_values(probe, values, q);
    struct estimate of_share = {share.variance, share.freedom + 1};
    struct estimate of_missing = estimate_of_missing(probe, values);
    double deviation = spex_values_deviation(values);
    of_missing.variance = deviation > 0 ? of_missing.variance / (deviation * deviation) : 0;
    of_share = both(of_share, of_missing);
    return (struct share){of_share.variance, of_share.units - 1};
}

/* Whether the greatest of so many values is above the q-quantile in 97.5 % of cases. With fewer the
 * expansion of ranks_of() holds no more. */
static bool reaches(double q, struct share share) {
    return share.variance <= 0 || pow(q, 1 / share.variance) < (1 - 0.95) / 2;
}

/* Widens bounds within one bucket, or two neighbours, to the buckets' bounds: the histogram has no
 * finer resolution. */
static void widen_to_buckets(const struct spex_values *values, double *low, double *high) {
    unsigned scale = values->spread.scale;
    unsigned first = spex_value_scale_bucket(scale, *low),
             last = spex_value_scale_bucket(scale, *high);
    double edge;
    if (last > first + 1)
        return;
    spex_value_scale_bounds(scale, first, low, &edge);
    spex_value_scale_bounds(scale, last, &edge, high);
    *low = *low < values->min ? values->min : *low;
    *high = *high > values->max ? values->max : *high;
}

/* Bounds of the quantile's rank, as shares of the weight, by the Cornish-Fisher expansion of the
 * binomial distribution up to its skewness. */
struct ranks {
    double low, high;
};

static struct ranks ranks_of(double q, struct share share) {
    double t = share.freedom > 2 ? spex_student_95(share.freedom) : spex_student_95(2);
    double variance = fmin(share.variance, 1); /* at 1 the records tell nothing */
    double margin = t * sqrt(q * (1 - q) * variance);
    double skew = (1 - 2 * q) * (SPEX_NORMAL_95 * SPEX_NORMAL_95 - 1) / 6 * variance;
    return (struct ranks){q - margin + skew, q + margin + skew};
}

bool spex_quantile_bounds(const struct spex_profile_probe *probe, const struct spex_values *values,
                          double q, double *low, double *high) {
    bool sampled = spex_sampled(probe);
    struct share share = sampled ? share_of(probe, values, q) : (struct share){0, 0};
    struct ranks ranks = ranks_of(q, share);
    /* A profile of another process may have a weight and no values. */
    bool none = !values->histogram.total;
    if (none || (sampled && (is_no_sample(probe) || effective_records(probe) < UNITS_LEAST ||
                             (probe->lost > 0 && estimate_of(probe, values).units < UNITS_LEAST))))
        return false;
    /* Executions beyond the smallest and the largest record may have any value. */
    *low = spex_values_quantile(values, ranks.low);
    if (share.variance > 0 && ranks.low <= 0)
        *low = values->spread.scale == SPEX_SCALE_NATURAL ? 0 : -INFINITY;
    *high = spex_values_quantile(values, ranks.high < 1 ? ranks.high : 1);
    if (isnan(*low) || isnan(*high))
        return false;
    widen_to_buckets(values, low, high);
    return !sampled || (ranks.high < 1 && reaches(q, share));
}
