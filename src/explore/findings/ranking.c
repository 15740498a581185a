/* SPDX-License-Identifier: MIT */
#include "explore/findings/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"
#include "policies/explore/draw.h"
#include "policies/explore/noise.h"

/* Of the probability that one is the best. */
enum { DRAWS = 2000 };

/* One that is further from the best than so many standard deviations of both is never drawn. */
#define CONTENDS 6.0

/* Trials beyond the first that it takes to doubt what runs say of themselves; and how much more
 * than it the trials of one configuration, which may have been disturbed, count for at most. */
#define TRUST_FREEDOM 8
#define RATIO_MAX     4.0

/* A configuration as a loss: logarithms if all values are positive, the less the better. */
struct contender {
    size_t index;
    double mean, squares;
    double trials;
    double floor; /* of the variance of one trial: what the runs said themselves */
    double variance;
    struct spex_belief belief;
    unsigned wins;
};

struct field {
    struct contender *contenders;
    size_t count;
    bool ratios;
    double sign; /* of a loss that is a value or its logarithm */
    struct spex_noise noise;
    struct spex_prior prior;
};

static bool all_positive(const struct spex_ranking_input *inputs, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (inputs[i].trials && !(inputs[i].mean > 0))
            return false;
    return true;
}

static void enter(struct field *field, const struct spex_ranking_input *input, size_t index) {
    double slope = field->ratios ? 1 / input->mean : 1;
    double error = isfinite(input->error) ? input->error * slope : 0;
    field->contenders[field->count++] = (struct contender){
        .index = index,
        .mean = field->sign * (field->ratios ? log(input->mean) : input->mean),
        .squares = input->squares * slope * slope,
        .trials = (double)input->trials,
        .floor = error * error,
    };
}

/* Runs say themselves how far they may be off, and may be wrong: where records come in bursts that
 * add up to the same in every run, trials vary by far less. So what they say is held against how
 * trials vary, of those configurations for which it would matter. What it is to be multiplied by: 1
 * at most, with what chance has in it on the side of the runs. */
static double trust_in_runs(const struct field *field) {
    double varies = 0, said = 0, said_squares = 0;
    for (size_t c = 0; c < field->count; c++) {
        const struct contender *contender = &field->contenders[c];
        double freedom = contender->trials - 1, says = contender->floor * freedom;
        if (contender->trials < 2 || contender->floor <= field->noise.variance)
            continue;
        varies += fmin(contender->squares, RATIO_MAX * says);
        said += says;
        said_squares += says * contender->floor;
    }
    double freedom = said > 0 ? said * said / said_squares : 0;
    if (freedom < TRUST_FREEDOM)
        return 1;
    /* The lower 5 % of a chi-squared variable over its degrees of freedom, by Wilson and
     * Hilferty. */
    double ninth = 2 / (9 * freedom);
    double least = pow(1 - ninth - 1.645 * sqrt(ninth), 3);
    return fmin(varies / said / least, 1);
}

static void learn_noise(struct field *field) {
    struct spex_noise_sums sums = {0};
    for (size_t c = 0; c < field->count; c++)
        spex_noise_add(&sums, field->contenders[c].trials, field->contenders[c].squares);
    field->noise = spex_noise_of(&sums);
    double trust = trust_in_runs(field);
    for (size_t c = 0; c < field->count; c++) {
        struct contender *contender = &field->contenders[c];
        contender->variance =
            fmax(spex_noise_variance(&field->noise, contender->trials, contender->squares),
                 trust * contender->floor);
    }
}

static void learn_prior(struct field *field) {
    for (int pass = 0; pass < 3; pass++) {
        struct spex_prior before = field->prior;
        field->prior = (struct spex_prior){0};
        for (size_t c = 0; c < field->count; c++)
            spex_prior_add_clipped(&field->prior, &before, field->contenders[c].mean,
                                   field->contenders[c].variance / field->contenders[c].trials);
    }
}

static double freedom(const struct field *field, const struct contender *contender) {
    return field->noise.freedom + contender->trials - 1;
}

static double value_of(const struct field *field, double loss) {
    double value = field->sign * loss;
    return field->ratios ? exp(value) : value;
}

/* What a true mean exceeds with this probability. */
static double quantile(const struct spex_belief *belief, double probability) {
    double low = belief->mean - 60 * belief->deviation,
           high = belief->mean + 60 * belief->deviation;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2, above = 0;
        for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
            double z = (middle - belief->means[k]) / belief->deviations[k];
            above += belief->weights[k] * erfc(z / sqrt(2)) / 2;
        }
        if (above > probability)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

static void set_interval(const struct field *field, const struct contender *contender, double level,
                         struct spex_ranking *standing) {
    double a = value_of(field, quantile(&contender->belief, level / 2));
    double b = value_of(field, quantile(&contender->belief, 1 - level / 2));
    standing->low = fmin(a, b);
    standing->high = fmax(a, b);
}

static void estimate(const struct field *field, struct contender *contender,
                     struct spex_ranking *standing) {
    contender->belief = spex_prior_belief(&field->prior, contender->mean, contender->variance,
                                          contender->trials, freedom(field, contender));
    standing->estimate = value_of(field, contender->belief.mean);
    set_interval(field, contender, 0.05, standing);
}

static size_t leader_of(const struct field *field) {
    size_t leader = 0;
    for (size_t c = 1; c < field->count; c++)
        if (spex_belief_score(&field->contenders[c].belief) <
            spex_belief_score(&field->contenders[leader].belief))
            leader = c;
    return leader;
}

/* Box and Muller's. */
static double draw_normal(struct spex_draw *draw) {
    double radius = sqrt(-2 * log(1 - spex_draw_share(draw)));
    return radius * cos(2 * M_PI * spex_draw_share(draw));
}

/* A true mean as it may be: first which variance, then the mean given it. */
static double draw_mean(const struct contender *contender, struct spex_draw *draw) {
    const struct spex_belief *belief = &contender->belief;
    double left = spex_draw_share(draw);
    unsigned k = 0;
    while (k + 1 < SPEX_BELIEF_PARTS && (left -= belief->weights[k]) > 0)
        k++;
    return belief->means[k] + belief->deviations[k] * draw_normal(draw);
}

/* Those that have a chance come first; how many. */
static size_t bring_forward(struct field *field, size_t leader) {
    struct spex_belief best = field->contenders[leader].belief;
    size_t chances = 0;
    for (size_t c = 0; c < field->count; c++) {
        struct contender contender = field->contenders[c];
        double reach = CONTENDS * hypot(contender.belief.deviation, best.deviation);
        if (contender.belief.mean - best.mean > reach)
            continue;
        field->contenders[c] = field->contenders[chances];
        field->contenders[chances++] = contender;
    }
    return chances;
}

static int more_wins(const void *a, const void *b) {
    const struct contender *one = a, *other = b;
    if (one->wins != other->wins)
        return one->wins < other->wins ? 1 : -1;
    return one->index > other->index ? 1 : -1;
}

static void draw_wins(struct field *field, size_t chances) {
    struct spex_draw draw = {field->count};
    for (int d = 0; d < DRAWS; d++) {
        size_t first = 0;
        double least = INFINITY;
        for (size_t c = 0; c < chances; c++) {
            double mean = draw_mean(&field->contenders[c], &draw);
            if (mean < least) {
                least = mean;
                first = c;
            }
        }
        field->contenders[first].wins++;
    }
}

/* The fewest of which the best is one with 95 %. */
static void tie(struct field *field, size_t chances, struct spex_ranking *standings) {
    unsigned together = 0;
    qsort(field->contenders, chances, sizeof(*field->contenders), more_wins);
    for (size_t c = 0; c < chances; c++) {
        struct spex_ranking *standing = &standings[field->contenders[c].index];
        standing->first = (double)field->contenders[c].wins / DRAWS;
        standing->tied = together < 0.95 * DRAWS;
        together += field->contenders[c].wins;
    }
}

/* So many equally likely ones would leave it as open which is the best (Simpson's index): the
 * intervals of those that are tied hold for so many at a time (Bonferroni), since one of them was
 * picked for being ahead. */
static void widen(const struct field *field, struct spex_ranking *standings) {
    double squares = 0;
    for (size_t c = 0; c < field->count; c++)
        squares += pow(field->contenders[c].wins / (double)DRAWS, 2);
    double level = 0.05 * fmin(squares, 1);
    for (size_t c = 0; c < field->count; c++) {
        struct spex_ranking *standing = &standings[field->contenders[c].index];
        if (standing->tied)
            set_interval(field, &field->contenders[c], level, standing);
    }
}

int spex_ranking_of(const struct spex_ranking_input *inputs, size_t count, bool maximise,
                    struct spex_ranking *standings, size_t *best) {
    struct field field = {.ratios = all_positive(inputs, count), .sign = maximise ? -1 : 1};
    field.contenders = calloc(count ? count : 1, sizeof(*field.contenders));
    if (!field.contenders)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        standings[i] = (struct spex_ranking){.estimate = NAN, .low = NAN, .high = NAN};
        if (inputs[i].trials)
            enter(&field, &inputs[i], i);
    }
    learn_noise(&field);
    learn_prior(&field);
    for (size_t c = 0; c < field.count; c++)
        estimate(&field, &field.contenders[c], &standings[field.contenders[c].index]);
    *best = SPEX_RANKING_NONE;
    if (field.count) {
        size_t leader = leader_of(&field);
        *best = field.contenders[leader].index;
        size_t chances = bring_forward(&field, leader);
        draw_wins(&field, chances);
        tie(&field, chances, standings);
        standings[*best].tied = true;
        widen(&field, standings);
    }
    free(field.contenders);
    return 0;
}
