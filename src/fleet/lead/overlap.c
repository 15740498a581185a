/* SPDX-License-Identifier: MIT */
#include "fleet/lead/overlap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/ascending.h"
#include "base/random.h"

/* Fleets that are drawn; fewer where that takes more steps than this. */
enum { DRAWS_MOST = 400, DRAWS_LEAST = 40 };
#define STEPS_MOST 2e7

struct draw {
    const struct spex_overlap_rates *rates;
    struct spex_random random;
    /* Of each probe: the mean rate, by how much a few instances differ less than all do, and in how
     * many it is recorded. */
    double *mean, *stretch;
    size_t *count;
    /* Sums of what was drawn, of the sample and of the fleet, and of how many instances. */
    double *sample, *fleet;
    size_t *sample_count, *fleet_count;
};

static double rate_at(const struct spex_overlap_rates *rates, size_t instance, size_t probe) {
    return (double)rates->rates[instance * rates->probes + probe];
}

/* False: nothing was executed. */
static bool take_means(struct draw *draw) {
    const struct spex_overlap_rates *rates = draw->rates;
    double all = 0;
    for (size_t p = 0; p < rates->probes; p++) {
        double sum = 0;
        size_t count = 0;
        for (size_t i = 0; i < rates->instances; i++) {
            bool recorded = rate_at(rates, i, p) >= 0;
            sum += recorded ? rate_at(rates, i, p) : 0;
            count += recorded;
        }
        draw->count[p] = count;
        draw->mean[p] = count ? sum / (double)count : 0;
        draw->stretch[p] = count > 1 ? sqrt((double)count / (double)(count - 1)) : 1;
        all += draw->mean[p];
    }
    return all > 0;
}

/* Adds an instance that is drawn to the fleet, and to the sample if it is one of the first. */
static void add_instance(struct draw *draw, size_t instance, bool sampled) {
    for (size_t p = 0; p < draw->rates->probes; p++) {
        double rate = rate_at(draw->rates, instance, p);
        if (rate < 0)
            continue;
        rate = fmax(draw->mean[p] + draw->stretch[p] * (rate - draw->mean[p]), 0);
        draw->fleet[p] += rate;
        draw->fleet_count[p]++;
        draw->sample[p] += sampled ? rate : 0;
        draw->sample_count[p] += sampled;
    }
}

/* Means in the place of sums; of a probe that was not drawn, that of all. Returns their sum. */
static double divide(const struct draw *draw, double *sums, const size_t *counts) {
    double all = 0;
    for (size_t p = 0; p < draw->rates->probes; p++) {
        sums[p] = counts[p] ? sums[p] / (double)counts[p] : draw->mean[p];
        all += sums[p];
    }
    return all;
}

static double overlap_of(const struct draw *draw, double sample, double fleet) {
    double sum = 0;
    if (sample <= 0 || fleet <= 0)
        return 0;
    for (size_t p = 0; p < draw->rates->probes; p++)
        sum += fmin(draw->sample[p] / sample, draw->fleet[p] / fleet);
    return fmin(sum, 1);
}

static double draw_one(struct draw *draw) {
    const struct spex_overlap_rates *rates = draw->rates;
    for (size_t p = 0; p < rates->probes; p++) {
        draw->sample[p] = draw->fleet[p] = 0;
        draw->sample_count[p] = draw->fleet_count[p] = 0;
    }
    for (size_t i = 0; i < rates->fleet; i++)
        add_instance(draw, spex_random_next(&draw->random) % rates->instances,
                     i < rates->instances);
    double sample = divide(draw, draw->sample, draw->sample_count);
    return overlap_of(draw, sample, divide(draw, draw->fleet, draw->fleet_count));
}

static void draw_all(struct draw *draw, struct spex_overlap *overlap) {
    double overlaps[DRAWS_MOST] = {0}, sum = 0;
    double steps = (double)draw->rates->fleet * (double)draw->rates->probes;
    double most = floor(STEPS_MOST / steps);
    size_t draws = most < DRAWS_LEAST ? DRAWS_LEAST : most > DRAWS_MOST ? DRAWS_MOST : (size_t)most;
    spex_random_seed(&draw->random, 1, 0);
    for (size_t d = 0; d < draws; d++) {
        overlaps[d] = draw_one(draw);
        sum += overlaps[d];
    }
    qsort(overlaps, draws, sizeof(*overlaps), spex_ascending);
    size_t tail = draws / 40;
    *overlap =
        (struct spex_overlap){sum / (double)draws, overlaps[tail], overlaps[draws - 1 - tail]};
}

int spex_overlap_estimate(const struct spex_overlap_rates *rates, struct spex_overlap *overlap) {
    size_t probes = rates->probes;
    if (rates->instances < 2 || !probes || rates->fleet < rates->instances)
        return 0;
    double *numbers = calloc(4 * probes, sizeof(*numbers));
    size_t *counts = calloc(3 * probes, sizeof(*counts));
    struct draw draw = {.rates = rates,
                        .mean = numbers,
                        .stretch = numbers + probes,
                        .sample = numbers + 2 * probes,
                        .fleet = numbers + 3 * probes,
                        .count = counts,
                        .sample_count = counts + probes,
                        .fleet_count = counts + 2 * probes};
    int known = numbers && counts ? 1 : -ENOMEM;
    if (known == 1)
        known = take_means(&draw);
    if (known == 1)
        draw_all(&draw, overlap);
    free(numbers);
    free(counts);
    return known;
}
