/* SPDX-License-Identifier: MIT */
/* How the time of a family of benchmarks depends on its parameters. */
#ifndef SPEX_HARNESS_COMPLEXITY_H
#define SPEX_HARNESS_COMPLEXITY_H

#include "harness/registry.h"
#include "model/fit/fit.h"

/* Fits a model to the repetitions of all instances of the family of items[first], which stand
 * together; *next is the first instance of another. Only instances of as many threads as the first
 * are taken. 0; -ENODATA: the family asks for none, or nothing was measured; or a negative errno
 * value of the fit. */
int spex_bench_complexity(const struct spex_bench_instances *instances, size_t first, size_t *next,
                          struct spex_fit *fit);

/* Half of the 95 % interval of a coefficient with this standard error; INFINITY: not known. */
double spex_bench_complexity_margin(const struct spex_model *model, double error);

/* The names of the family's parameters. */
void spex_bench_complexity_names(const struct spex_benchmark *family,
                                 const char *names[SPEX_BENCH_PARAMETERS_MAX]);

#endif
