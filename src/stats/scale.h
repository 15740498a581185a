/* SPDX-License-Identifier: MIT */
/* What the buckets of a histogram stand for, by what has been added to it. Of the last two scales,
 * which have the same buckets, one is at most 1/16 of its values wide: a quantile is within 1/32
 * (3 %) of a value that was added. */
#ifndef SPEX_STATS_SCALE_H
#define SPEX_STATS_SCALE_H

#include <stdint.h>

enum spex_value_scale {
    SPEX_SCALE_NATURAL, /* integers from 0 to 2^64 - 1, as histogram.h has them */
    SPEX_SCALE_WHOLE,   /* integers, some of them negative */
    SPEX_SCALE_REAL,    /* any numbers */
    SPEX_SCALES
};

/* The first scale that has this number, which is finite. */
enum spex_value_scale spex_value_scale_of(double value);

/* The bucket of a number; it grows with the number. NATURAL: one below 0 or above 2^64 is in the
 * outermost bucket. */
unsigned spex_value_scale_bucket(unsigned scale, double value);

/* Sets the least and the greatest value of a bucket; infinite, of the outermost buckets. */
void spex_value_scale_bounds(unsigned scale, unsigned bucket, double *low, double *high);

/* The middle of a bucket. NAN: the values may be anywhere in it, as its bounds are many powers of
 * two apart. */
double spex_value_scale_value(unsigned scale, unsigned bucket);

/* The bucket that holds the values of one of another scale, which is no wider. */
unsigned spex_value_scale_bucket_from(unsigned scale, unsigned from, unsigned bucket);

#endif
