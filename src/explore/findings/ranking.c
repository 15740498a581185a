/* SPDX-License-Identifier: MIT */
/* Ranks configurations by empirical Bayes: noise.h's posterior of each true mean, then a Monte
 * Carlo estimate of the probability that each is the best. The generator's seed is the number of
 * configurations, so the same store gives the same report. One is certainly worse than the best only
 * where noise.h's evidence says so, too, which holds whenever an exploration ends. */
#include "explore/findings/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/student.h"
#include "policies/explore/draw.h"
#include "policies/explore/noise.h"

/* Draws of the Monte Carlo estimate. */
enum { DRAWS = 2000 };

/* A configuration further from the leader than so many standard deviations of both is not drawn. */
#define CONTENDER_DEVIATIONS 6.0

/* Degrees of freedom that are needed to correct the runs' own errors, and the most that the trials
 * of one configuration, which may have been disturbed, may exceed them. */
#define TRUST_FREEDOM 8
#define RATIO_MAX     4.0

/* A configuration's losses, which are values by the field's scale; less is better. */
struct contender {
    size_t index;
    double value; /* as measured */
    double mean, squares;
    double trials;
    double floor; /* lower bound of `variance`: the runs' own errors */
    double variance;
    struct spex_belief belief; /* by which a search decides, too */
    struct spex_belief said;   /* by which intervals and chances are told */
    unsigned wins;
};

/* All configurations that are ranked, and what they tell of the distributions of noise and
 * means. */
struct field {
    struct contender *contenders;
    size_t count;
    struct spex_scale scale;
    double sign; /* -1 when the objective is maximised */
    bool exact;
    struct spex_noise noise;
    double freedom; /* of all repeats; 0: nothing was repeated */
    struct spex_prior prior;
};

static struct spex_scale scale_of(const struct spex_ranking_input *inputs, size_t count) {
    struct spex_scale_sums sums = {.count = 0};
    for (size_t i = 0; i < count; i++)
        if (inputs[i].trials)
            spex_scale_add(&sums, inputs[i].mean);
    return spex_scale_of(&sums);
}

/* Transforms an input to losses: squares and errors by the slope at the mean. */
static void field_add(struct field *field, const struct spex_ranking_input *input, size_t index) {
    double slope = spex_scale_slope(&field->scale, input->mean);
    double error = isfinite(input->error) ? input->error * slope : 0;
    field->contenders[field->count++] = (struct contender){
        .index = index,
        .value = input->mean,
        .mean = field->sign * spex_scale_at(&field->scale, input->mean),
        .squares = input->squares * slope * slope,
        .trials = (double)input->trials,
        .floor = error * error,
    };
}

/* The factor, at most 1, by which the variances that the runs report are multiplied. They may be
 * too large: where records come in bursts of a constant sum, trials vary by far less than the
 * records suggest. So they are compared with the variance between trials, over the
 * configurations where they matter. The factor is only less than 1 where chance does not explain
 * the difference. */
static double field_trust_in_runs(const struct field *field) {
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
    /* The lower 5 % quantile of a chi-squared variable over its degrees of freedom, by Wilson and
     * Hilferty. */
    double ninth = 2 / (9 * freedom);
    double least = pow(1 - ninth - 1.645 * sqrt(ninth), 3);
    return fmin(varies / said / least, 1);
}

/* Sets each configuration's variance of a trial. */
static void field_learn_noise(struct field *field) {
    struct spex_noise_sums sums = {0};
    for (size_t c = 0; c < field->count; c++)
        spex_noise_add(&sums, field->contenders[c].trials, field->contenders[c].squares);
    field->noise = spex_noise_of(&sums);
    field->exact = spex_noise_is_exact(&sums);
    field->freedom = sums.all_freedom;
    double trust = field_trust_in_runs(field);
    for (size_t c = 0; c < field->count; c++) {
        struct contender *contender = &field->contenders[c];
        contender->variance =
            fmax(spex_noise_variance(&field->noise, contender->trials, contender->squares),
                 trust * contender->floor);
    }
}

/* Fits the prior in three passes, each clipping outliers by the pass before. One configuration does
 * not tell how true means vary, so that a wide prior leaves its mean as it is. */
static void field_learn_prior(struct field *field) {
    if (field->count == 1) {
        const struct contender *only = field->contenders;
        field->prior =
            (struct spex_prior){.count = 2, .mean = only->mean, .squares = 1e6 * only->variance};
        return;
    }
    for (int pass = 0; pass < 3; pass++) {
        struct spex_prior before = field->prior;
        field->prior = (struct spex_prior){0};
        for (size_t c = 0; c < field->count; c++)
            spex_prior_add_clipped(&field->prior, &before, field->contenders[c].mean,
                                   field->contenders[c].variance / field->contenders[c].trials);
    }
    spex_prior_allow_odd(&field->prior);
}

/* Degrees of freedom of the configuration's variance: its own and those that the others lend it. */
static double contender_freedom(const struct field *field, const struct contender *contender) {
    return field->noise.freedom + contender->trials - 1;
}

/* The same for what is told: no variance is known better than by all repeats there are. */
static double told_freedom(const struct field *field, const struct contender *contender) {
    double freedom = contender_freedom(field, contender);
    return field->freedom > 0 ? fmin(freedom, field->freedom) : freedom;
}

/* The objective's value for a loss. */
static double value_of(const struct field *field, double loss) {
    return spex_scale_value(&field->scale, field->sign * loss);
}

/* The value that a true mean exceeds with this probability, by bisection: the mixture has no closed
 * quantile function. 60 halvings exhaust the precision of a double. */
static double belief_quantile(const struct spex_belief *belief, double probability) {
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

/* The belief with the error of the prior's mean, which few configurations tell little of; of two
 * that are alike it is most of the error. It is the same for all, so that it is in no comparison of
 * them. */
static struct spex_belief whole_belief(const struct field *field,
                                       const struct contender *contender) {
    struct spex_belief belief = contender->said;
    double count = fmax(field->prior.count, 1), more = 0;
    double of_prior = (spex_prior_variance(&field->prior) + field->prior.uncertain / count) / count;
    for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
        double among = belief.among[k >= SPEX_BELIEF_NOISES];
        double chi =
            spex_belief_chi_squared(&spex_belief_tail, k, fmax(told_freedom(field, contender), 1));
        double within = contender->variance / chi / contender->trials;
        double rest = within / (among + within); /* the prior's share of the mean */
        more += belief.weights[k] * rest * rest * of_prior;
        belief.deviations[k] = sqrt(pow(belief.deviations[k], 2) + rest * rest * of_prior);
    }
    belief.deviation = sqrt(pow(belief.deviation, 2) + more);
    return belief;
}

/* Sets the interval that leaves out `level`, half on each side. A loss may be a negated value, so
 * the ends are put into order. */
static void ranking_set_interval(const struct field *field, const struct contender *contender,
                                 double level, struct spex_ranking *standing) {
    if (field->exact)
        return;
    struct spex_belief belief = whole_belief(field, contender);
    double a = value_of(field, belief_quantile(&belief, level / 2));
    double b = value_of(field, belief_quantile(&belief, 1 - level / 2));
    /* The estimate from a mixture may lie outside of nearly all of it. */
    standing->low = fmin(standing->estimate, fmin(a, b));
    standing->high = fmax(standing->estimate, fmax(a, b));
}

/* The posterior of each configuration's true mean. */
static void field_believe(struct field *field) {
    for (size_t c = 0; c < field->count; c++) {
        struct contender *contender = &field->contenders[c];
        double variance = contender->variance, trials = contender->trials;
        contender->belief = spex_prior_belief(&field->prior, contender->mean, variance, trials,
                                              contender_freedom(field, contender));
        contender->said = spex_prior_belief_by(&spex_belief_tail, &field->prior, contender->mean,
                                               variance, trials, told_freedom(field, contender));
    }
}

/* What configurations are ranked by, as a loss: it penalises uncertainty. One that competes with
 * none needs no caution, as little as what is exact. */
static double contender_score(const struct field *field, const struct contender *contender) {
    if (field->exact)
        return contender->mean;
    return field->count > 1 ? spex_belief_score(&contender->belief) : contender->belief.mean;
}

static struct spex_ranking contender_standing(const struct field *field,
                                              const struct contender *contender) {
    if (field->exact)
        return (struct spex_ranking){.estimate = contender->value,
                                     .low = contender->value,
                                     .high = contender->value,
                                     .exact = true};
    struct spex_belief belief = whole_belief(field, contender);
    double width = fabs(value_of(field, belief_quantile(&belief, 0.025)) -
                        value_of(field, belief_quantile(&belief, 0.975)));
    return (struct spex_ranking){.estimate = value_of(field, contender_score(field, contender)),
                                 .margin = width / 2};
}

/* The configuration to recommend. */
static size_t field_leader(const struct field *field) {
    size_t leader = 0;
    for (size_t c = 1; c < field->count; c++)
        if (contender_score(field, &field->contenders[c]) <
            contender_score(field, &field->contenders[leader]))
            leader = c;
    return leader;
}

/* A standard normal variate (Box and Muller). */
static double draw_normal(struct spex_draw *draw) {
    double radius = sqrt(-2 * log(1 - spex_draw_share(draw)));
    return radius * cos(2 * M_PI * spex_draw_share(draw));
}

/* Draws a true mean from the posterior: a part of the mixture, then the mean. */
static double draw_mean(const struct contender *contender, struct spex_draw *draw) {
    const struct spex_belief *belief = &contender->said;
    double left = spex_draw_share(draw);
    unsigned k = 0;
    while (k + 1 < SPEX_BELIEF_PARTS && (left -= belief->weights[k]) > 0)
        k++;
    return belief->means[k] + belief->deviations[k] * draw_normal(draw);
}

/* Moves the configurations that have a chance of being the best to the front; returns how many. */
static size_t field_select(struct field *field, size_t leader) {
    struct spex_belief best = field->contenders[leader].said;
    size_t chances = 0;
    for (size_t c = 0; c < field->count; c++) {
        struct contender contender = field->contenders[c];
        double reach = CONTENDER_DEVIATIONS * hypot(contender.said.deviation, best.deviation);
        if (contender.said.mean - best.mean > reach)
            continue;
        field->contenders[c] = field->contenders[chances];
        field->contenders[chances++] = contender;
    }
    return chances;
}

/* The most wins first; equals in the order of the inputs, to be deterministic. */
static int compare_wins(const void *a, const void *b) {
    const struct contender *one = a, *other = b;
    if (one->wins != other->wins)
        return one->wins < other->wins ? 1 : -1;
    return one->index > other->index ? 1 : -1;
}

/* Those whose exact figure is the least share the wins. */
static void field_share_wins(struct field *field, size_t chances) {
    double least = INFINITY;
    unsigned equal = 0;
    for (size_t c = 0; c < chances; c++)
        least = fmin(least, field->contenders[c].mean);
    for (size_t c = 0; c < chances; c++)
        equal += field->contenders[c].mean == least;
    for (size_t c = 0; c < chances; c++)
        field->contenders[c].wins = field->contenders[c].mean == least ? DRAWS / equal : 0;
}

/* Counts how often each configuration is the best of a draw of all true means. */
static void field_draw_wins(struct field *field, size_t chances) {
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

/* Marks the fewest configurations of which one is the best with a probability of 95 %. */
static void field_mark_tied(struct field *field, size_t chances, struct spex_ranking *standings) {
    unsigned together = 0;
    qsort(field->contenders, chances, sizeof(*field->contenders), compare_wins);
    for (size_t c = 0; c < chances; c++) {
        struct spex_ranking *standing = &standings[field->contenders[c].index];
        standing->first = (double)field->contenders[c].wins / DRAWS;
        standing->tied = together < 0.95 * DRAWS && standing->first > 0;
        together += field->contenders[c].wins;
    }
}

/* Marks those that may be the same as the best. The posterior's set alone is too small where a policy
 * ends as soon as one looks best, the more so the fewer configurations tell what to expect. */
static void field_mark_unclear(const struct field *field, size_t best,
                               struct spex_ranking *standings) {
    const struct contender *leader = field->contenders;
    while (leader->index != best)
        leader++;
    for (size_t c = 0; c < field->count; c++) {
        const struct contender *other = &field->contenders[c];
        if (spex_belief_evidence(&field->prior, &leader->belief, &other->belief) < SPEX_BELIEF_SURE)
            standings[other->index].tied = true;
    }
}

/* Widens the intervals of tied configurations. The best was chosen because it is ahead, so an
 * interval of its own would be too narrow. The intervals hold for n configurations at a time
 * (Bonferroni), where n is the effective number of candidates (the inverse of Simpson's index). */
static void field_widen_intervals(const struct field *field, struct spex_ranking *standings) {
    double squares = 0;
    for (size_t c = 0; c < field->count; c++)
        squares += pow(field->contenders[c].wins / (double)DRAWS, 2);
    double level = 0.05 * fmin(squares, 1);
    for (size_t c = 0; c < field->count; c++) {
        struct spex_ranking *standing = &standings[field->contenders[c].index];
        if (standing->tied)
            ranking_set_interval(field, &field->contenders[c], level, standing);
    }
}

/* 0 or -ENOMEM; the contenders are to be freed. */
static int field_make(struct field *field, const struct spex_ranking_input *inputs, size_t count,
                      bool maximise) {
    *field = (struct field){.scale = scale_of(inputs, count), .sign = maximise ? -1 : 1};
    field->contenders = calloc(count ? count : 1, sizeof(*field->contenders));
    if (!field->contenders)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        if (inputs[i].trials)
            field_add(field, &inputs[i], i);
    field_learn_noise(field);
    field_learn_prior(field);
    field_believe(field);
    return 0;
}

static void field_set_standings(struct field *field, struct spex_ranking *standings, size_t *best) {
    for (size_t c = 0; c < field->count; c++) {
        struct spex_ranking *standing = &standings[field->contenders[c].index];
        *standing = contender_standing(field, &field->contenders[c]);
        ranking_set_interval(field, &field->contenders[c], 0.05, standing);
    }
    size_t leader = field_leader(field);
    *best = field->contenders[leader].index;
    size_t chances = field_select(field, leader);
    if (field->exact)
        field_share_wins(field, chances);
    else
        field_draw_wins(field, chances);
    field_mark_tied(field, chances, standings);
    if (!field->exact)
        field_mark_unclear(field, *best, standings);
    standings[*best].tied = true;
    field_widen_intervals(field, standings);
}

/* O(count + DRAWS × contenders). The recommended configuration is always tied, even if it won few
 * draws: its score penalises uncertainty, which the draws do not. */
int spex_ranking_of(const struct spex_ranking_input *inputs, size_t count, bool maximise,
                    struct spex_ranking *standings, size_t *best) {
    struct field field;
    if (field_make(&field, inputs, count, maximise))
        return -ENOMEM;
    *best = SPEX_RANKING_NONE;
    for (size_t i = 0; i < count; i++)
        standings[i] =
            (struct spex_ranking){.estimate = NAN, .margin = NAN, .low = NAN, .high = NAN};
    if (field.count)
        field_set_standings(&field, standings, best);
    free(field.contenders);
    return 0;
}

bool spex_ranking_inputs(const struct spex_summary *summary, struct spex_ranking_input *inputs) {
    bool kept = false;
    for (size_t g = 0; g < summary->count; g++)
        kept |=
            summary->groups[g].trials && spex_group_allowed(summary->space, &summary->groups[g]);
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        const struct spex_group_criterion *of = &group->criteria[0];
        bool competes = group->trials && (!kept || spex_group_allowed(summary->space, group));
        inputs[g] = (struct spex_ranking_input){.trials = 0};
        if (competes)
            inputs[g] =
                (struct spex_ranking_input){group->trials, of->mean, of->squares, of->error};
    }
    return kept;
}

int spex_ranking_best(const struct spex_summary *summary, struct spex_ranking *standing,
                      size_t *best) {
    struct field field = {.contenders = NULL};
    struct spex_ranking_input *inputs = calloc(summary->count + 1, sizeof(*inputs));
    *best = SPEX_RANKING_NONE;
    if (inputs)
        spex_ranking_inputs(summary, inputs);
    int err = inputs ? field_make(&field, inputs, summary->count,
                                  summary->space->criteria[0].goal == SPEX_MAXIMISE)
                     : -ENOMEM;
    if (!err && field.count) {
        const struct contender *leader = &field.contenders[field_leader(&field)];
        *best = leader->index;
        *standing = contender_standing(&field, leader);
    }
    free(field.contenders);
    free(inputs);
    return err;
}
