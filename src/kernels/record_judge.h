/* SPDX-License-Identifier: MIT */
/* Passes records of kernels to the detector of anomalies (model/anomalies.h), in a program
 * that watches itself and in the command that watches another. */
#ifndef SPEX_KERNELS_RECORD_JUDGE_H
#define SPEX_KERNELS_RECORD_JUDGE_H

#include "base/clock.h"
#include "kernels/kernel_paths.h"
#include "model/anomalies.h"

struct spex_record_judge;

/* The detector's times are seconds since `begin`. `anomalies` and `known` must outlive the judge. 0
 * or -ENOMEM. */
int spex_record_judge_create(struct spex_record_judge **judge, struct spex_anomalies *anomalies,
                             const struct spex_kernels_known *known, struct spex_instant begin,
                             double ticks_per_second);
void spex_record_judge_destroy(struct spex_record_judge *judge);

/* Judges the executions in these records; ignores records of other types and samples (weight 0).
 * One thread at a time. 0 or -ENOMEM. */
int spex_record_judge_take(struct spex_record_judge *judge, const struct spex_record *records,
                           size_t count);

/* Number of kernels' records that cannot be judged (spex_kernel_record_sound). */
uint64_t spex_record_judge_left_out(const struct spex_record_judge *judge);

#endif
