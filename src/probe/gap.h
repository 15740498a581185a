/* SPDX-License-Identifier: MIT */
/* Random gaps between executions that are recorded. Where each execution is recorded with
 * probability p, independent of the others, the gaps have the geometric distribution. Drawing a gap
 * and counting it down is a Bernoulli process by its inter-arrival times (Liblit, Aiken, Zheng,
 * Jordan: Bug isolation via remote program sampling, PLDI 2003).
 *
 * Nothing here locks, allocates, touches errno or calls the C library. */
#ifndef SPEX_PROBE_GAP_H
#define SPEX_PROBE_GAP_H

#include <stdint.h>

#include "base/random.h"

/* The longest gap: a countdown has 24 bits. */
#define SPEX_GAP_MAX 0xfffffeu

/* Returns a gap from 1 on: k with probability p (1 - p)^(k - 1). `scale` is
 * spex_sampling_gap_scale of the mean 1/p. Longer gaps are cut to SPEX_GAP_MAX. */
uint32_t spex_gap_geometric(struct spex_random *random, double scale);

/* Returns the inverse of the probability that such a gap is at most `executions` long, for a mean
 * above 1. */
double spex_gap_one_within(double scale, uint32_t executions);

/* Returns a number of `from` to `to`, all with the same probability up to a relative error of
 * 2^-32. `to` is not less than `from`. */
uint32_t spex_gap_even(struct spex_random *random, uint32_t from, uint32_t to);

/* Returns -ln(U), which is exponentially distributed with mean 1 for random bits. The upper 63 bits
 * choose one of 2^63 equal parts of 0 to 1; U is its middle. */
double spex_gap_exponential(uint64_t bits);

#endif
