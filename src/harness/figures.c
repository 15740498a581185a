/* SPDX-License-Identifier: MIT */
/* Repetitions of one process have its layout in common. So, with several processes, the values from
 * which the interval comes are the processes' medians. */
#include "harness/figures.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/ascending.h"
#include "model/fit/points.h"

/* The share of batches whose times are near to each other, and from how many batches on these are
 * enough to tell. */
enum { NEAR_SHARE = 5, NEAR_LEAST = 40 };

double spex_bench_median(double *values, size_t count) {
    qsort(values, count, sizeof(*values), spex_ascending);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Of equally short ranges the first: disturbances make times longer. */
double spex_bench_undisturbed(double *values, size_t count) {
    double median = spex_bench_median(values, count), sum = 0;
    size_t near = count / NEAR_SHARE, first = 0;
    if (count < NEAR_LEAST)
        return median;
    for (size_t i = 1; i + near <= count; i++)
        if (values[i + near - 1] - values[i] < values[first + near - 1] - values[first])
            first = i;
    for (size_t i = 0; i < near; i++)
        sum += values[first + i];
    return sum / (double)near;
}

int spex_bench_figures_add(struct spex_bench_figures *figures,
                           const struct spex_bench_repetition *repetition) {
    if (figures->count == figures->room) {
        size_t room = figures->room ? 2 * figures->room : 8;
        struct spex_bench_repetition *more =
            realloc(figures->repetitions, room * sizeof(*figures->repetitions));
        if (!more)
            return -ENOMEM;
        figures->repetitions = more;
        figures->room = room;
    }
    figures->repetitions[figures->count++] = *repetition;
    return 0;
}

int spex_bench_figures_add_singles(struct spex_bench_figures *figures,
                                   const struct spex_histogram *singles) {
    if (!figures->singles && !(figures->singles = calloc(1, sizeof(*figures->singles))))
        return -ENOMEM;
    figures->singles->total += singles->total;
    for (unsigned b = 0; b < SPEX_HISTOGRAM_BUCKETS; b++)
        figures->singles->weights[b] += singles->weights[b];
    return 0;
}

void spex_bench_figures_free(struct spex_bench_figures *figures) {
    free(figures->repetitions);
    free(figures->singles);
    *figures = (struct spex_bench_figures){.repetitions = NULL};
}

/* The medians of each process's times, whose repetitions stand together; returns their number.
 * `scratch` has room for all repetitions. */
static size_t process_medians(const struct spex_bench_figures *figures, double *scratch,
                              double *medians) {
    size_t processes = 0;
    for (size_t from = 0, to; from < figures->count; from = to) {
        for (to = from; to < figures->count &&
                        figures->repetitions[to].process == figures->repetitions[from].process;
             to++)
            scratch[to - from] = figures->repetitions[to].time.real_ns;
        medians[processes++] = spex_bench_median(scratch, to - from);
    }
    return processes;
}

static struct spex_bench_time mean_of_all(const struct spex_bench_figures *figures) {
    struct spex_bench_time mean = {.ticks = 0};
    double iterations = 0;
    for (size_t r = 0; r < figures->count; r++) {
        const struct spex_bench_repetition *repetition = &figures->repetitions[r];
        iterations += repetition->iterations;
        mean.real_ns += repetition->mean.real_ns * repetition->iterations;
        mean.cpu_ns += repetition->mean.cpu_ns * repetition->iterations;
        mean.ticks += repetition->mean.ticks * repetition->iterations;
    }
    return (struct spex_bench_time){mean.real_ns / iterations, mean.cpu_ns / iterations,
                                    mean.ticks / iterations};
}

/* Looks at the first and last process: repetitions stand in their order. */
int spex_bench_figures_estimate(struct spex_bench_figures *figures) {
    size_t count = figures->count;
    const struct spex_bench_repetition *repetitions = figures->repetitions;
    double *values = calloc(2 * count, sizeof(*values));
    if (!values)
        return -ENOMEM;
    for (size_t r = 0; r < count; r++)
        values[r] = repetitions[r].time.cpu_ns;
    figures->cpu_ns = spex_centre(values, count).value;
    for (size_t r = 0; r < count; r++)
        values[r] = repetitions[r].time.real_ns;
    size_t independent = count;
    if (repetitions[0].process != repetitions[count - 1].process)
        independent = process_medians(figures, values + count, values);
    figures->estimate = spex_centre(values, independent);
    figures->mean = mean_of_all(figures);
    free(values);
    return isnan(figures->estimate.value) ? -ENOMEM : 0;
}

double spex_bench_figures_error(const struct spex_bench_figures *figures) {
    const struct spex_estimate *estimate = &figures->estimate;
    return (estimate->high - estimate->low) / 2 / estimate->value;
}

bool spex_bench_figures_precise(const struct spex_bench_figures *figures, double precision) {
    return spex_bench_figures_error(figures) < precision;
}
