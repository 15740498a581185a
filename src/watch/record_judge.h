/* SPDX-License-Identifier: MIT */
/* Records of kernels to the detector of anomalies (../model/anomalies.h): in a program that watches itself, and in the
 * command that watches another. */
#ifndef SPEX_WATCH_RECORD_JUDGE_H
#define SPEX_WATCH_RECORD_JUDGE_H

#include "base/clock.h"
#include "kernels/kernel_paths.h"
#include "model/anomaly/anomalies.h"

struct spex_record_judge;

/* Times are seconds since `begin`. What it is given has to stay as long as it does. 0 or -ENOMEM. */
int spex_record_judge_create(struct spex_record_judge **judge, struct spex_anomalies *anomalies,
                             const struct spex_kernels_known *known, struct spex_instant begin,
                             double ticks_per_second);
void spex_record_judge_destroy(struct spex_record_judge *judge);

/* Of what is no kernel's it takes no notice. 0 or -ENOMEM. */
int spex_record_judge_take(struct spex_record_judge *judge, const struct spex_record *records,
                           size_t count);

/* Kernels' records that were of no use: their context had no room, or their time holds what was prepared meanwhile. */
uint64_t spex_record_judge_left_out(const struct spex_record_judge *judge);

#endif
