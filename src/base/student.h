/* SPDX-License-Identifier: MIT */
/* Quantiles of Student's distribution, for intervals of confidence. */
#ifndef SPEX_BASE_STUDENT_H
#define SPEX_BASE_STUDENT_H

/* The quantile for infinitely many degrees of freedom: 95 % of the standard normal distribution lie
 * between -SPEX_NORMAL_95 and this. */
#define SPEX_NORMAL_95 1.959964

/* Of what is expected so many times, the probability of none is 5 %. */
#define SPEX_UNSEEN_95 3.0

/* Returns the value that the absolute value of Student's variable exceeds with this probability.
 * `freedom` is the degrees of freedom; less than 1 is taken for 1. */
double spex_student_two_sided(double probability, double freedom);

/* The same for a probability of 5 %: half the width of a 95 % interval, in standard errors. */
double spex_student_95(double freedom);

#endif
