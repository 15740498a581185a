/* SPDX-License-Identifier: MIT */
/* Whether a round of a bench was disturbed by what else the machine does.
 *
 * That is most where it cannot be seen: code that is bound by the number of its instructions takes
 * up to twice as long while another processor of the same core works, and that may be another
 * virtual machine's. So short figures are timed together with a reference, a loop of that kind;
 * rounds in which it took longer are left out. */
#ifndef SPEX_BENCH_CALM_H
#define SPEX_BENCH_CALM_H

#include <stdbool.h>
#include <stddef.h>

#include "bench.h"

struct bench_calm_result {
    double median, low, high;
    /* Rounds that were not disturbed. */
    size_t calm;
    /* These were too few: it is the median of all rounds. */
    bool busy;
};

/* Ticks of a pass of the reference. */
double bench_reference(void);

/* Whether a round was calm, when `fastest` is the least reference of the whole run. */
bool bench_is_calm(double reference, double fastest);

/* The median of the values whose references are calm, and its 95 % confidence interval. */
struct bench_calm_result bench_calm_median(const double *values, const double *references,
                                           size_t count, double fastest);

/* Prints `, "calm": COUNT, "busy": BOOLEAN`. */
void bench_print_calm(struct bench_calm_result result);

#endif
