/* SPDX-License-Identifier: MIT */
#include "rate/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "base/memory/memory.h"
#include "base/student.h"

/* Share of the figures that is left out of a mean at each end: other programs disturb some. */
#define TRIMMED 0.2

/* Fewer figures tell nothing. */
enum { LEAST = 4 };

/* With each full set of figures the former ones lose weight, since programs change. */
#define KEPT 0.85

/* The trimmed mean of figures and its standard error by their Winsorized variance, for which those
 * that are left out take the value of the outermost that is not (Tukey and McLaughlin, Sankhya A
 * 25, 1963). */
static struct spex_rate_finding figures_mean(const double *figures, unsigned n) {
    double sorted[SPEX_RATE_FIGURES], sum = 0, mean = 0, squares = 0;
    unsigned out = (unsigned)(n * TRIMMED), left = n - 2 * out;
    memcpy(sorted, figures, n * sizeof(*sorted));
    spex_sort(sorted, n, sizeof(*sorted), spex_ascending);
    for (unsigned f = out; f < n - out; f++)
        sum += sorted[f];
    for (unsigned f = 0; f < out; f++) {
        sorted[f] = sorted[out];
        sorted[n - 1 - f] = sorted[n - 1 - out];
    }
    for (unsigned f = 0; f < n; f++)
        mean += sorted[f] / n;
    for (unsigned f = 0; f < n; f++)
        squares += (sorted[f] - mean) * (sorted[f] - mean);
    double error = sqrt(squares / (n - 1)) / ((double)left / n * sqrt(n));
    return (struct spex_rate_finding){sum / left, error * spex_student_95(n - 1) / SPEX_NORMAL_95};
}

static struct spex_rate_part a_unit(struct spex_rate_part part) {
    return (struct spex_rate_part){part.seconds / part.units, 1, part.cost / part.units};
}

static void sums_take(struct spex_rate_contrast *contrast, unsigned figures) {
    struct spex_rate_finding mean = figures_mean(contrast->figures, figures);
    double weight = 1 / fmax(mean.error * mean.error, 1e-4);
    contrast->weight = contrast->weight * KEPT + weight;
    contrast->sum = contrast->sum * KEPT + weight * mean.factor;
}

static struct spex_rate_finding finding_make(const struct spex_rate_contrast *contrast) {
    struct spex_rate_contrast sums = *contrast;
    unsigned fresh = contrast->count % SPEX_RATE_FIGURES;
    if (fresh >= LEAST)
        sums_take(&sums, fresh);
    if (!(sums.weight > 0))
        return (struct spex_rate_finding){1, INFINITY};
    return (struct spex_rate_finding){sums.sum / sums.weight, 1 / sqrt(sums.weight)};
}

static void figure_add(struct spex_rate_contrast *contrast, const struct spex_rate_part *after) {
    const struct spex_rate_part *before = &contrast->without, *with = &contrast->with;
    double longer = with->seconds - (before->seconds + after->seconds) / 2;
    double dearer = with->cost - (before->cost + after->cost) / 2;
    if (!(before->seconds > 0) || !(with->seconds > 0) || !(dearer > 0))
        return;
    contrast->figures[contrast->count++ % SPEX_RATE_FIGURES] = longer / dearer;
    if (contrast->count % SPEX_RATE_FIGURES == 0)
        sums_take(contrast, SPEX_RATE_FIGURES);
    contrast->found = finding_make(contrast);
}

void spex_rate_contrast_add(struct spex_rate_contrast *contrast, bool with,
                            struct spex_rate_part part) {
    if (!(part.seconds > 0) || !(part.units > 0)) {
        contrast->without.seconds = contrast->with.seconds = 0;
        return;
    }
    part = a_unit(part);
    if (with) {
        contrast->with = part;
        return;
    }
    figure_add(contrast, &part);
    contrast->without = part;
    contrast->with.seconds = 0;
}

struct spex_rate_finding spex_rate_contrast_finding(const struct spex_rate_contrast *contrast) {
    return contrast->found.error > 0 ? contrast->found : (struct spex_rate_finding){1, INFINITY};
}
