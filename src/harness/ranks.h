/* SPDX-License-Identifier: MIT */
/* Estimates by ranks (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, chapters 3 and
 * 4). Disturbances of a machine make single values several times too great; ranks bound what such a
 * value does to an estimate, at the price of 5 % of the power where there are none. Arithmetic
 * alone. */
#ifndef SPEX_HARNESS_RANKS_H
#define SPEX_HARNESS_RANKS_H

#include <stddef.h>

/* Of more values than these so many are taken, evenly spread: all their pairs are looked at. */
enum { SPEX_CENTRE_MAX = 256, SPEX_SHIFT_MAX = 64 };

/* An estimate with its 95 % interval, which is infinite where there are too few values for one. */
struct spex_estimate {
    double value;
    double low;
    double high;
};

/* The centre of values that are distributed symmetrically around it: the median of the means of all
 * pairs, with the interval of Wilcoxon's signed-rank test. `count` 1 or more. The interval needs
 * 6. NAN: out of memory. */
struct spex_estimate spex_centre(const double *values, size_t count);

/* The same with an interval that misses with the chance `miss`, instead of 5 %. */
struct spex_estimate spex_centre_within(const double *values, size_t count, double miss);

/* The median with the 95 % interval of the sign test, whatever the distribution. The interval needs 6
 * values. Sorts them. `count` 1 or more. */
struct spex_estimate spex_median_estimate(double *values, size_t count);

/* By how much the values of b are greater than those of a: the median of all differences, with the
 * interval of the rank-sum test (Mann, Whitney). NAN: out of memory. */
struct spex_estimate spex_shift(const double *a, size_t a_count, const double *b, size_t b_count);

/* The chance that values lie above `than` as much as these although their centre does not; below,
 * if `above` is -1; on either side, if it is 0: the signed-rank test. 1: out of memory. */
double spex_centre_chance(const double *values, size_t count, double than, int above);

/* The same for the values of b, each less `than`, against those of a. */
double spex_shift_chance(const double *a, size_t a_count, const double *b, size_t b_count,
                         double than, int above);

/* Corrects the chances of `count` tests (Holm, 1979): with each chance that is still below 5 %
 * taken for a difference, there is a false one among all of them in at most 5 % of runs. */
void spex_holm(double *chances, size_t count);

#endif
