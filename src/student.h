/* SPDX-License-Identifier: MIT */
/* Quantiles of Student's distribution. */
#ifndef SPEX_STUDENT_H
#define SPEX_STUDENT_H

/* What Student's variable exceeds, to one side or the other, with this probability; from 1 degree of freedom on. */
double spex_student_two_sided(double probability, double freedom);

#endif
