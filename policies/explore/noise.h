/* SPDX-License-Identifier: MIT */
/* Estimates how much trials of one configuration vary, and how good configurations are, when there
 * are few trials of each. The variance of one configuration is moderated by those of all others
 * (empirical Bayes: Smyth, Linear Models and Empirical Bayes Methods for Assessing Differential
 * Expression, 2004, section 6.2). */
#ifndef SPEX_POLICIES_EXPLORE_NOISE_H
#define SPEX_POLICIES_EXPLORE_NOISE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <spex/compiler.h>

/* The prior of a configuration's variance: a scaled inverse chi-squared distribution. */
struct spex_noise {
    double variance;
    double freedom; /* weight of the prior, in trials */
};

/* The prior before any configuration is repeated: a coefficient of variation of 10 %, since losses
 * are logarithms or shares. */
#define SPEX_NOISE_UNKNOWN ((struct spex_noise){0.01, 1})

/* How values are compared, so that what is assumed of noise is a share whatever their unit. */
struct spex_scale {
    bool ratios;   /* all values are positive: by their logarithms */
    bool signless; /* none is negative */
    double unit;   /* else over this, their root mean square */
};

/* The values of a scale so far. All zero: there are none. */
struct spex_scale_sums {
    bool others;   /* some are 0 or less */
    bool negative; /* some are less */
    double squares, count;
};

static inline void spex_scale_add(struct spex_scale_sums *sums, double value) {
    sums->others |= !(value > 0);
    sums->negative |= value < 0;
    sums->squares += value * value;
    sums->count++;
}

static inline struct spex_scale spex_scale_of(const struct spex_scale_sums *sums) {
    return (struct spex_scale){.ratios = !sums->others,
                               .signless = !sums->negative,
                               .unit = sums->squares > 0 ? sqrt(sums->squares / sums->count) : 1};
}

/* What is compared of a value. */
SPEX_INLINE double spex_scale_at(const struct spex_scale *scale, double value) {
    return scale->ratios ? log(value) : value / scale->unit;
}

/* The absolute derivative of that by the value. */
SPEX_INLINE double spex_scale_slope(const struct spex_scale *scale, double value) {
    return 1 / (scale->ratios ? fabs(value) : scale->unit);
}

/* The value of which that is compared. What is never negative, as faults or a time, is not so in an
 * estimate or an interval either. */
SPEX_INLINE double spex_scale_value(const struct spex_scale *scale, double at) {
    double value = scale->ratios ? exp(at) : at * scale->unit;
    return scale->signless && value < 0 ? 0 : value;
}

/* With more degrees of freedom than this, all variances count as equal. */
#define SPEX_NOISE_FREEDOM_MAX 60

/* Digamma: asymptotic series from 6 on, by recurrence below (Abramowitz and Stegun, 6.3.18; 6.4.12
 * for the trigamma function). */
SPEX_INLINE double spex_noise_digamma(double x) {
    double below = 0;
    while (x < 6) {
        below += 1 / x;
        x += 1;
    }
    double r = 1 / (x * x);
    return log(x) - 1 / (2 * x) - r * (1.0 / 12 - r * (1.0 / 120 - r / 252)) - below;
}

/* Trigamma, in the same way. */
SPEX_INLINE double spex_noise_trigamma(double x) {
    double below = 0;
    while (x < 6) {
        below += 1 / (x * x);
        x += 1;
    }
    double r = 1 / (x * x);
    return 1 / x + r / 2 + r / x * (1.0 / 6 - r * (1.0 / 30 - r / 42)) + below;
}

/* Trigamma decreases, so its inverse is found by bisection, on a logarithmic scale. */
static inline double spex_noise_trigamma_inverse(double value) {
    double low = 1e-3, high = 1e4;
    for (int i = 0; i < 40; i++) {
        double middle = sqrt(low * high);
        if (spex_noise_trigamma(middle) > value)
            low = middle;
        else
            high = middle;
    }
    return sqrt(low * high);
}

/* Sums over the configurations that have at least two trials. */
struct spex_noise_sums {
    double count;
    double mean; /* of the logarithms of variances, corrected for the bias of few trials */
    double squares;
    double expected; /* the part of `squares` that sampling with few trials explains */
    double all_squares;
    double all_freedom;
};

/* Adds a configuration of so many trials with this sum of squared distances from their mean. */
SPEX_INLINE void spex_noise_add(struct spex_noise_sums *sums, double trials, double squares) {
    double freedom = trials - 1;
    if (!(freedom >= 1) || !(squares >= 0))
        return;
    double variance = fmax(squares / freedom, 1e-12);
    double log_variance = log(variance) - spex_noise_digamma(freedom / 2) + log(freedom / 2);
    double distance = log_variance - sums->mean;
    sums->count++;
    sums->mean += distance / sums->count;
    sums->squares += distance * (log_variance - sums->mean);
    sums->expected += spex_noise_trigamma(freedom / 2);
    sums->all_squares += squares;
    sums->all_freedom += freedom;
}

/* From so many repeated trials on that all gave the same as those before, a figure is exact: a count
 * of instructions, or the size of what a compiler makes. */
#define SPEX_NOISE_REPEATS 2

SPEX_INLINE bool spex_noise_is_exact(const struct spex_noise_sums *sums) {
    return sums->all_freedom >= SPEX_NOISE_REPEATS && !(sums->all_squares > 0);
}

/* The prior from the sums. The degrees of freedom are estimated from 8 configurations on; from
 * fewer they are set to 3. */
static inline struct spex_noise spex_noise_of(const struct spex_noise_sums *sums) {
    if (sums->count < 1)
        return SPEX_NOISE_UNKNOWN;
    if (sums->count < 8)
        return (struct spex_noise){fmax(sums->all_squares / sums->all_freedom, 1e-12), 3};
    double spread = sums->squares / (sums->count - 1) - sums->expected / sums->count;
    double half = spread > 0 ? spex_noise_trigamma_inverse(spread) : SPEX_NOISE_FREEDOM_MAX / 2.0;
    half = fmin(fmax(half, 0.5), SPEX_NOISE_FREEDOM_MAX / 2.0);
    return (struct spex_noise){exp(sums->mean + spex_noise_digamma(half) - log(half)), 2 * half};
}

/* The variance of one trial of a configuration that has had so many trials: the posterior mean. */
SPEX_INLINE double spex_noise_variance(const struct spex_noise *noise, double trials,
                                       double squares) {
    double freedom = trials > 1 ? trials - 1 : 0;
    return (noise->freedom * noise->variance + (trials > 1 ? squares : 0)) /
           (noise->freedom + freedom);
}

/* The prior of configurations' true means: a normal distribution, estimated by the method of
 * moments. */
struct spex_prior {
    double count;
    double mean;
    double squares;
    double uncertain; /* sum of the variances of the estimated means */
    double odd;       /* the share of configurations that are unlike the others; 0: none is */
};

SPEX_INLINE void spex_prior_add(struct spex_prior *prior, double mean, double variance) {
    double distance = mean - prior->mean;
    prior->count++;
    prior->mean += distance / prior->count;
    prior->squares += distance * (mean - prior->mean);
    prior->uncertain += variance;
}

/* Adds a mean, moved to at most two standard deviations of `before` from its mean. A few means of
 * unknown noise then do not make all configurations look different. */
SPEX_INLINE void spex_prior_add_clipped(struct spex_prior *prior, const struct spex_prior *before,
                                        double mean, double variance) {
    double reach = before->count > 1 ? 2 * sqrt(before->squares / (before->count - 1)) : INFINITY;
    double distance = fmin(fmax(mean - before->mean, -reach), reach);
    spex_prior_add(prior, before->mean + distance, variance);
}

/* The variance of true means: that of the estimates less their uncertainty, at least a tenth of
 * it. */
SPEX_INLINE double spex_prior_variance(const struct spex_prior *prior) {
    double all = prior->count > 1 ? prior->squares / (prior->count - 1) : 0;
    return fmax(all - prior->uncertain / fmax(prior->count, 1), fmax(0.1 * all, 1e-12));
}

/* One configuration may be unlike all others, which are alike: an option that makes the program twice
 * as fast among those that do not matter. */
SPEX_INLINE void spex_prior_allow_odd(struct spex_prior *prior) {
    prior->odd = 1 / (prior->count + 1);
}

/* The posterior of a true mean, given the mean of the trials: a mixture of normal distributions,
 * one for each of SPEX_BELIEF_NOISES variances, weighted by how likely each is and how well it explains
 * the distance of the trials' mean from the prior's. A configuration that is far from all others
 * after one or two trials is thus taken to be noisy, and after more trials to be as it was
 * measured. Each variance is there twice where some configurations are odd: as one of those that are
 * alike, and as an odd one, whose prior is as wide as its distance, so that what is far better than
 * all others, which are alike, is not taken for nearly the same. */
enum { SPEX_BELIEF_NOISES = 8, SPEX_BELIEF_PARTS = 2 * SPEX_BELIEF_NOISES };

struct spex_belief {
    double mean;
    double deviation;
    double weights[SPEX_BELIEF_PARTS];
    double means[SPEX_BELIEF_PARTS];
    double deviations[SPEX_BELIEF_PARTS];
    double among[2]; /* the prior's variance of one of those that are alike, and of an odd one */
    double trial;    /* the variance of one trial */
};

/* Which variances a belief has: parts of a chi-squared distribution, from the greatest variances on. */
struct spex_belief_rule {
    double share[SPEX_BELIEF_NOISES];  /* of each part */
    double below[SPEX_BELIEF_NOISES];  /* probability of less than its middle */
    double normal[SPEX_BELIEF_NOISES]; /* quantile of a normal variable for that */
};

/* Equally likely parts, for a search. */
static const struct spex_belief_rule spex_belief_even = {
    {0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125},
    {0.0625, 0.1875, 0.3125, 0.4375, 0.5625, 0.6875, 0.8125, 0.9375},
    {-1.5341, -0.8871, -0.4888, -0.1573, 0.1573, 0.4888, 0.8871, 1.5341}};

/* For what is said of the best. Those of great variances are small: the best of a thousand may be the
 * one of which the noise is underestimated most. Equally likely parts know no variance above that of the
 * highest 6 %. */
static const struct spex_belief_rule spex_belief_tail = {
    {0.0005, 0.0035, 0.016, 0.08, 0.2, 0.3, 0.25, 0.15},
    {0.00025, 0.00225, 0.012, 0.06, 0.2, 0.45, 0.725, 0.925},
    {-3.4808, -2.8408, -2.2571, -1.5548, -0.8416, -0.1257, 0.5978, 1.4395}};

/* A chi-squared variable over its degrees of freedom, at the middle of a part, by Wilson and Hilferty's
 * cube of a normal variable. The lower bound replaces that approximation where it is far too small, with
 * one degree of freedom. It is so in the tail with any few degrees, where the first term of the
 * distribution's power series is exact. */
SPEX_INLINE double spex_belief_chi_squared(const struct spex_belief_rule *rule, unsigned part,
                                           double freedom) {
    unsigned k = part % SPEX_BELIEF_NOISES;
    double ninth = 2 / (9 * freedom), half = freedom / 2;
    double root = 1 - ninth + rule->normal[k] * sqrt(ninth), cube = root * root * root;
    if (rule->below[k] > 0.05)
        return fmax(cube, 0.006);
    return fmax(cube, exp((log(rule->below[k]) + lgamma(half + 1)) / half) / half);
}

/* The belief from a mean of `trials` trials; `variance` is that of one trial, known with `freedom`
 * degrees of freedom. */
static inline struct spex_belief spex_prior_belief_by(const struct spex_belief_rule *rule,
                                                      const struct spex_prior *prior, double mean,
                                                      double variance, double trials,
                                                      double freedom) {
    struct spex_belief belief = {.among = {spex_prior_variance(prior)}, .trial = variance};
    double distance = mean - prior->mean, sum = 0, squares = 0;
    belief.among[1] = fmax(belief.among[0], distance * distance);
    for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
        bool odd = k >= SPEX_BELIEF_NOISES;
        double among = belief.among[odd];
        double within = variance / spex_belief_chi_squared(rule, k, fmax(freedom, 1)) / trials;
        double share = among / (among + within);
        double likely = exp(-distance * distance / (2 * (among + within))) / sqrt(among + within);
        belief.means[k] = prior->mean + share * distance;
        belief.deviations[k] = sqrt(share * within);
        belief.weights[k] =
            likely * rule->share[k % SPEX_BELIEF_NOISES] * (odd ? prior->odd : 1 - prior->odd) +
            1e-300;
        sum += belief.weights[k];
    }
    for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
        belief.weights[k] /= sum;
        belief.mean += belief.weights[k] * belief.means[k];
    }
    for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
        double off = belief.means[k] - belief.mean;
        squares += belief.weights[k] * (belief.deviations[k] * belief.deviations[k] + off * off);
    }
    belief.deviation = sqrt(squares);
    return belief;
}

SPEX_INLINE struct spex_belief spex_prior_belief(const struct spex_prior *prior, double mean,
                                                 double variance, double trials, double freedom) {
    return spex_prior_belief_by(&spex_belief_even, prior, mean, variance, trials, freedom);
}

/* Configurations are ranked by a bound of their mean, so that one that was lucky once does not come
 * before one that is known well. The unit is standard deviations. */
#define SPEX_BELIEF_CAUTION 0.3

SPEX_INLINE double spex_belief_score(const struct spex_belief *belief) {
    return belief->mean + SPEX_BELIEF_CAUTION * belief->deviation;
}

/* The evidence from which on one is said to be worse than the best: half of the 5 % that this may be
 * wrong; the other half is for what the evidence takes from estimates. */
#define SPEX_BELIEF_SURE 40.0

/* The density of a difference of 0 between the true means of two beliefs, but for a factor. */
static inline double spex_belief_same(const struct spex_belief *a, const struct spex_belief *b) {
    double density = 0;
    for (unsigned j = 0; j < SPEX_BELIEF_PARTS; j++)
        for (unsigned k = 0; k < SPEX_BELIEF_PARTS; k++) {
            double apart = a->means[j] - b->means[k], of_a = a->deviations[j],
                   of_b = b->deviations[k], varies = of_a * of_a + of_b * of_b;
            density +=
                a->weights[j] * b->weights[k] * exp(-apart * apart / (2 * varies)) / sqrt(varies);
        }
    return density;
}

/* The same density before there were trials. Of few configurations the prior is nearly what their trials
 * say; so it is as wide as a trial varies, at least, which does not follow chance (Kass and Wasserman,
 * A Reference Bayesian Test for Nested Hypotheses, 1995). */
static inline double spex_belief_same_before(const struct spex_prior *prior,
                                             const struct spex_belief *a,
                                             const struct spex_belief *b) {
    const double shares[2] = {1 - prior->odd, prior->odd};
    double density = 0;
    for (unsigned j = 0; j < 2; j++)
        for (unsigned k = 0; k < 2; k++)
            density += shares[j] * shares[k] /
                       sqrt(fmax(a->among[j], a->trial) + fmax(b->among[k], b->trial));
    return density;
}

/* How many times as likely the trials are where `other` is worse than `best` than where the two are
 * the same: the Bayes factor, which is the ratio of the densities of a difference of 0 before and after
 * the trials (Dickey, The Weighted Likelihood Ratio, 1971). As far as the prior is right, it ever
 * exceeds 1/p with a probability of p at most where they are the same, whoever decides by what when to
 * end (Ville's inequality). 0: `other` seems better. */
static inline double spex_belief_evidence(const struct spex_prior *prior,
                                          const struct spex_belief *best,
                                          const struct spex_belief *other) {
    if (!(other->mean > best->mean))
        return 0;
    return spex_belief_same_before(prior, best, other) /
           fmax(spex_belief_same(best, other), 1e-300);
}

#endif
