/* SPDX-License-Identifier: MIT */
#include "profile/figures.h"

#include <math.h>
#include <stdlib.h>

#include "profile/confidence.h"

const double spex_figures_quantiles[SPEX_FIGURES_QUANTILES] = {0.5, 0.9, 0.99, 0.999};

/* The part of the lost executions that records next to losses stand for which was really lost: no
 * more executions are added than have no record. */
static double part_lost(const struct spex_profile_probe *probe, const struct spex_values *losses) {
    double missing = probe->count - probe->weight;
    if (probe->count_variance > 0)
        return 1; /* the count itself comes from these records */
    if (spex_profile_in_full(probe))
        missing = probe->lost;
    return missing < losses->weight ? fmax(missing, 0) / losses->weight : 1;
}

/* The values with the weights of what was lost: in *room where they differ, which the caller frees.
 * Without memory those of the records alone. */
static const struct spex_values *values_weighed(const struct spex_profile_row *row, unsigned series,
                                                struct spex_values **room) {
    const struct spex_values *losses = row->losses[series];
    double part = losses && losses->weight > 0 ? part_lost(&row->probe, losses) : 0;
    *room = part > 0 ? malloc(sizeof(**room)) : NULL;
    if (!*room)
        return row->values[series];
    spex_values_weigh(*room, row->values[series], losses, part);
    return *room;
}

static struct spex_quantile quantile_of(const struct spex_profile_probe *probe,
                                        const struct spex_values *values, double q) {
    double value = spex_values_quantile(values, q);
    struct spex_quantile quantile = {.value = value, .low = value, .high = value, .told = true};
    if (spex_sampled(probe))
        quantile.told = spex_quantile_bounds(probe, values, q, &quantile.low, &quantile.high);
    return quantile;
}

/* The total follows from the mean and the count, and its margin from theirs. Where the mean may be
 * anything from 0 to twice what the records say, there is none. */
static void figures_add_total(struct spex_figures *figures, const struct spex_profile_probe *probe,
                              const struct spex_values *values) {
    double executions = probe->count > 0 ? probe->count : values->weight;
    bool known = figures->mean_margin >= 0 && figures->mean_margin <= fabs(figures->mean);
    figures->total = known ? figures->mean * executions : NAN;
    figures->total_margin =
        known ? hypot(figures->mean_margin * executions, figures->mean * spex_count_margin(probe))
              : -1;
}

void spex_figures_of(const struct spex_profile *profile, const struct spex_profile_row *row,
                     unsigned series, struct spex_figures *figures) {
    struct spex_values *room;
    const struct spex_values *values = values_weighed(row, series, &room);
    (void)profile;
    *figures = (struct spex_figures){.any = values->weight > 0,
                                     .sampled = spex_sampled(&row->probe),
                                     .mean = values->mean,
                                     .mean_margin = spex_mean_margin(&row->probe, values),
                                     .min = (double)values->min,
                                     .max = (double)values->max};
    for (unsigned q = 0; q < SPEX_FIGURES_QUANTILES; q++)
        figures->quantiles[q] = quantile_of(&row->probe, values, spex_figures_quantiles[q]);
    figures_add_total(figures, &row->probe, values);
    free(room);
}
