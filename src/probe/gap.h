/* SPDX-License-Identifier: MIT */
/* How many executions lie between one that is recorded and the next, when executions are sampled at
 * random: each by itself with probability p, which are gaps of the geometric law (a Bernoulli
 * process by its inter-arrival times: Liblit, Aiken, Zheng, Jordan: Bug isolation via remote
 * program sampling, PLDI 2003).
 *
 * Nothing here locks, allocates, touches errno or calls the C library. */
#ifndef SPEX_PROBE_GAP_H
#define SPEX_PROBE_GAP_H

#include <stdint.h>

#include "base/random.h"

#define SPEX_GAP_MAX 0xfffffeu

/* 1 to SPEX_GAP_MAX: k with probability p (1 - p)^(k - 1), where 1/p is the gaps' mean, for which
 * `scale` is spex_sampling_gap_scale. A longer gap is cut. */
uint32_t spex_gap_geometric(struct spex_random *random, double scale);

/* From `from` to `to`, which is not below it; no value is likelier than another by more than 2^-32
 * of its probability. */
uint32_t spex_gap_even(struct spex_random *random, uint32_t from, uint32_t to);

/* -ln(U), exponentially distributed with mean 1, where U is the middle of one of 2^63 equal parts
 * of 0 to 1, which the upper 63 bits choose. */
double spex_gap_exponential(uint64_t bits);

#endif
