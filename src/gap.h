/* SPDX-License-Identifier: MIT */
/* How many executions lie between one that is recorded and the next, when executions are sampled at
 * random: each by itself with probability p, which are gaps of the geometric law (a Bernoulli
 * process by its inter-arrival times: Liblit, Aiken, Zheng, Jordan: Bug isolation via remote
 * program sampling, PLDI 2003).
 *
 * Nothing here locks, allocates, or touches errno, and only spex_gap_scale calls the C library. */
#ifndef SPEX_GAP_H
#define SPEX_GAP_H

#include <stdint.h>

#include "random.h"

/* Beyond it SPEX_GAP_MAX would cut off more than e^-16 of the gaps. */
#define SPEX_GAP_PERIOD_MAX (1u << 20)
#define SPEX_GAP_MAX        0xfffffeu

/* What spex_gap_geometric wants for gaps of this mean, 2 to SPEX_GAP_PERIOD_MAX: -1 / ln(1 -
 * 1/period). */
double spex_gap_scale(uint32_t period);

/* 1 to SPEX_GAP_MAX: k with probability p (1 - p)^(k - 1), where p is 1/period; what is longer is
 * cut. */
uint32_t spex_gap_geometric(struct spex_random *random, double scale);

/* From `from` to `to`, which is not below it; no value is likelier than another by more than 2^-32
 * of its probability. */
uint32_t spex_gap_even(struct spex_random *random, uint32_t from, uint32_t to);

/* -ln(U), exponentially distributed with mean 1, where U is the middle of one of 2^63 equal parts
 * of 0 to 1, which the upper 63 bits choose. */
double spex_gap_exponential(uint64_t bits);

#endif
