/* SPDX-License-Identifier: MIT */
/* Quantiles of Student's distribution. */
#ifndef SPEX_BASE_STUDENT_H
#define SPEX_BASE_STUDENT_H

/* 95 % of the standard normal distribution lie between minus this and this. */
#define SPEX_NORMAL_95 1.959964

/* What Student's variable exceeds, to one side or the other, with this probability; from 1 degree
 * of freedom on. */
double spex_student_two_sided(double probability, double freedom);

/* The same for 5 %: the limits of an interval of 95 %. */
double spex_student_95(double freedom);

#endif
