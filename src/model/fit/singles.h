/* SPDX-License-Identifier: MIT */
/* Outliers among points of single measurements. */
#ifndef SPEX_MODEL_FIT_SINGLES_H
#define SPEX_MODEL_FIT_SINGLES_H

#include "model/fit/points.h"

/* An outlier is further from its middle than SPEX_OUTLIER_DEVIATIONS standard deviations, estimated
 * from the median absolute deviation (MAD), and than SPEX_OUTLIER_SHARE of the middle. */
#define SPEX_OUTLIER_DEVIATIONS 4
#define SPEX_OUTLIER_SHARE      0.25
#define SPEX_OUTLIER_ROWS_MIN   3
#define SPEX_NORMAL_PER_MAD     1.4826
/* Where more than SPEX_OUTLIERS_MOST of at least SPEX_MODES_ROWS_MIN measurements would be outliers, the
 * time has several modes, and all measurements count in the mean. */
#define SPEX_MODES_ROWS_MIN     10
#define SPEX_OUTLIERS_MOST      0.1

/* Leaves out points with too few measurements to tell by themselves whether these are outliers: those whose time is
 * much longer than others say. 0 or -ENOMEM. */
int spex_points_leave_out_singles(struct spex_points *points);

#endif
