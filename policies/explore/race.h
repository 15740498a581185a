/* SPDX-License-Identifier: MIT */
/* Chooses the configuration that needs one more trial, so that the best of those tried is told from
 * the others with the fewest trials: the leader, or the configuration most likely to be better,
 * whichever is known less well (top-two sampling: Russo, Simple Bayesian Algorithms for Best-Arm
 * Identification, 2020). */
#ifndef SPEX_POLICIES_EXPLORE_RACE_H
#define SPEX_POLICIES_EXPLORE_RACE_H

#include "policies/explore/loss.h"

struct spex_race {
    struct spex_noise noise;
    struct spex_prior prior;
    size_t leader;
    size_t challenger;
    double doubt; /* probability that the challenger is better by more than SPEX_RACE_INDIFFERENT */
};

struct spex_race_entry {
    double mean;     /* loss */
    double variance; /* of one trial */
    double trials;
};

/* Losses that differ by less count as equal. Losses are logarithms or, with several objectives,
 * shares of ranges. */
#define SPEX_RACE_INDIFFERENT 0.01

/* A configuration's loss, with the variance of one trial: by the differences between trials or by
 * the run's own error, whichever is greater. */
static inline struct spex_race_entry spex_race_entry(const struct spex_noise *noise,
                                                     const struct spex_loss *loss,
                                                     const struct spex_results *results,
                                                     size_t config) {
    struct spex_loss_value value = spex_loss_value(loss, results, config);
    double trials = (double)results->configs[config].trials;
    double variance = spex_noise_variance(noise, trials, value.squares);
    if (value.error * value.error > variance)
        variance = value.error * value.error;
    return (struct spex_race_entry){value.loss, variance, trials};
}

/* The prior of the trials' variance, from all configurations with at least two trials. */
static inline struct spex_noise spex_race_noise(const struct spex_loss *loss,
                                                const struct spex_results *results) {
    struct spex_noise_sums sums = {0};
    for (size_t c = 0; c < results->count; c++)
        if (results->configs[c].trials > 1)
            spex_noise_add(&sums, (double)results->configs[c].trials,
                           spex_loss_value(loss, results, c).squares);
    return spex_noise_of(&sums);
}

/* Whether all criteria are exact, so that no trial needs to be repeated. */
static inline bool spex_race_is_exact(const struct spex_results *results) {
    size_t criteria = results->space->criterion_count;
    bool exact = true;
    for (size_t k = 0; exact && k < criteria; k++) {
        struct spex_noise_sums sums = {0};
        for (size_t c = 0; c < results->count && !(sums.all_squares > 0); c++)
            spex_noise_add(&sums, (double)results->configs[c].trials,
                           spex_results_values(results, c)[k].squares);
        exact = spex_noise_is_exact(&sums);
    }
    return exact;
}

SPEX_INLINE struct spex_belief spex_race_belief(const struct spex_race *race,
                                                const struct spex_race_entry *entry) {
    return spex_prior_belief(&race->prior, entry->mean, entry->variance, entry->trials,
                             race->noise.freedom + entry->trials - 1);
}

/* Makes the configuration with the least score the leader. */
static inline void spex_race_lead(struct spex_race *race, const struct spex_loss *loss,
                                  const struct spex_results *results) {
    double least = INFINITY;
    for (size_t c = 0; c < results->count; c++) {
        if (!results->configs[c].trials)
            continue;
        struct spex_race_entry entry = spex_race_entry(&race->noise, loss, results, c);
        struct spex_belief belief = spex_race_belief(race, &entry);
        double score = spex_belief_score(&belief);
        if (score < least) {
            least = score;
            race->leader = c;
        }
    }
}

/* How many standard deviations the challenger leads by; the standard normal distribution function
 * makes it a probability. */
SPEX_INLINE double spex_race_doubt(const struct spex_belief *leader,
                                   const struct spex_belief *other) {
    double gap = leader->mean - other->mean - SPEX_RACE_INDIFFERENT;
    return gap / hypot(leader->deviation, other->deviation);
}

/* Makes the configuration that is most likely better than the leader the challenger. Trials
 * under way count as if they had confirmed the mean, so that not all places run the same
 * configuration. */
static inline void spex_race_challenge(struct spex_race *race, const struct spex_loss *loss,
                                       const struct spex_results *results, uint64_t trials_max) {
    struct spex_race_entry entry = spex_race_entry(&race->noise, loss, results, race->leader);
    struct spex_belief leader = spex_race_belief(race, &entry);
    double most = -INFINITY;
    for (size_t c = 0; c < results->count; c++) {
        const struct spex_results_config *known = &results->configs[c];
        if (!known->trials || c == race->leader || known->trials + known->pending >= trials_max)
            continue;
        entry = spex_race_entry(&race->noise, loss, results, c);
        entry.trials += (double)known->pending;
        struct spex_belief other = spex_race_belief(race, &entry);
        double z = spex_race_doubt(&leader, &other);
        if (z > most) {
            most = z;
            race->challenger = c;
        }
    }
    race->doubt = spex_loss_normal(most);
}

/* Finds leader and challenger among the configurations tried; both may be SPEX_RESULTS_NONE. A
 * configuration that has had trials_max trials is no challenger. The prior is fitted in three
 * passes, each clipping outliers by the pass before. */
static inline struct spex_race spex_race_run(const struct spex_loss *loss,
                                             const struct spex_results *results,
                                             uint64_t trials_max) {
    struct spex_race race = {.noise = spex_race_noise(loss, results),
                             .leader = SPEX_RESULTS_NONE,
                             .challenger = SPEX_RESULTS_NONE};
    for (int pass = 0; pass < 3; pass++) {
        struct spex_prior before = race.prior;
        race.prior = (struct spex_prior){0};
        for (size_t c = 0; c < results->count; c++)
            if (results->configs[c].trials) {
                struct spex_race_entry entry = spex_race_entry(&race.noise, loss, results, c);
                spex_prior_add_clipped(&race.prior, &before, entry.mean,
                                       entry.variance / entry.trials);
            }
    }
    spex_race_lead(&race, loss, results);
    if (race.leader != SPEX_RESULTS_NONE)
        spex_race_challenge(&race, loss, results, trials_max);
    return race;
}

/* Whichever of the two needs one more trial: the one whose mean has the greater variance, trials
 * under way included. */
static inline size_t spex_race_next(const struct spex_race *race, const struct spex_loss *loss,
                                    const struct spex_results *results) {
    if (race->leader == SPEX_RESULTS_NONE || race->challenger == SPEX_RESULTS_NONE)
        return race->leader;
    struct spex_race_entry a = spex_race_entry(&race->noise, loss, results, race->leader);
    struct spex_race_entry b = spex_race_entry(&race->noise, loss, results, race->challenger);
    a.trials += (double)results->configs[race->leader].pending;
    b.trials += (double)results->configs[race->challenger].pending;
    return a.variance / a.trials > b.variance / b.trials ? race->leader : race->challenger;
}

/* The configuration, or if that was run last, the other one of leader and challenger, if there is one. */
SPEX_INLINE size_t spex_race_spread(const struct spex_race *race,
                                    const struct spex_results *results, size_t config) {
    size_t other = config == race->leader ? race->challenger : race->leader;
    return spex_results_was_last(results, config) && other != SPEX_RESULTS_NONE ? other : config;
}

/* How much better, in losses, the recommended configuration is expected to be after one more trial
 * of `config`, leader or challenger: by the chance that the trial changes which of them leads
 * (knowledge gradient: Frazier, Powell and Dayanik, The Knowledge-Gradient Policy for Correlated
 * Normal Beliefs, 2009). */
static inline double spex_race_gain(const struct spex_race *race, const struct spex_loss *loss,
                                    const struct spex_results *results, size_t config) {
    if (race->leader == SPEX_RESULTS_NONE || race->challenger == SPEX_RESULTS_NONE)
        return 0;
    bool leads = config == race->leader;
    size_t other = leads ? race->challenger : race->leader;
    struct spex_race_entry entry = spex_race_entry(&race->noise, loss, results, config);
    struct spex_race_entry against = spex_race_entry(&race->noise, loss, results, other);
    struct spex_belief one = spex_race_belief(race, &entry);
    struct spex_belief two = spex_race_belief(race, &against);
    double known = one.deviation * one.deviation;
    double moved = known / sqrt(known + entry.variance); /* deviation of the mean's change */
    double z = -fabs(one.mean - two.mean) / fmax(moved, 1e-12);
    return moved * (z * spex_loss_normal(z) + exp(-z * z / 2) / sqrt(2 * M_PI));
}

/* The configuration to repeat while reports could not say that the leader alone is the best, however
 * clear it looks; SPEX_RESULTS_NONE: they could. */
static inline size_t spex_race_unclear(struct spex_loss *loss, const struct spex_results *results) {
    spex_loss_learn(loss, results);
    struct spex_race race = spex_race_run(loss, results, UINT64_MAX);
    double least = SPEX_BELIEF_SURE;
    if (race.leader == SPEX_RESULTS_NONE)
        return race.leader;
    spex_prior_allow_odd(&race.prior);
    spex_race_lead(&race, loss, results);
    race.challenger = SPEX_RESULTS_NONE;
    struct spex_race_entry entry = spex_race_entry(&race.noise, loss, results, race.leader);
    struct spex_belief leader = spex_race_belief(&race, &entry);
    for (size_t c = 0; c < results->count; c++) {
        if (c == race.leader || !results->configs[c].trials)
            continue;
        entry = spex_race_entry(&race.noise, loss, results, c);
        struct spex_belief other = spex_race_belief(&race, &entry);
        double evidence = spex_belief_evidence(&race.prior, &leader, &other);
        if (evidence < least) {
            least = evidence;
            race.challenger = c;
        }
    }
    return race.challenger == SPEX_RESULTS_NONE ? race.challenger
                                                : spex_race_next(&race, loss, results);
}

/* A leader has at least so many trials: fewer may agree by chance. */
#define SPEX_RACE_TRIALS 5

/* The configuration to repeat; SPEX_RESULTS_NONE when the best is clear, trials are exact, or none has
 * succeeded.
 * With several objectives the best is never clear, since every call draws other weights. */
static inline size_t spex_race_choose(struct spex_loss *loss, const struct spex_results *results,
                                      struct spex_draw *draw, uint64_t trials_max) {
    if (spex_race_is_exact(results))
        return SPEX_RESULTS_NONE;
    if (loss->objectives > 1)
        spex_loss_turn(loss, draw);
    spex_loss_learn(loss, results);
    struct spex_race race = spex_race_run(loss, results, trials_max);
    if (race.leader == SPEX_RESULTS_NONE)
        return race.leader;
    const struct spex_results_config *leader = &results->configs[race.leader];
    if (leader->trials + leader->pending < SPEX_RACE_TRIALS)
        return spex_race_spread(&race, results, race.leader);
    if (loss->objectives == 1 && race.doubt < 0.01)
        return SPEX_RESULTS_NONE;
    return spex_race_spread(&race, results, spex_race_next(&race, loss, results));
}

/* A configuration gets at most an eighth of the budget and 4 trials. */
SPEX_INLINE uint64_t spex_race_trials_max(uint64_t budget) {
    return 4 + budget / 8;
}

/* Sets `levels` to those of the configuration to repeat; false when there is none. */
static inline bool spex_race_repeat(struct spex_loss *loss, const struct spex_results *results,
                                    struct spex_draw *draw, uint64_t budget, size_t *levels) {
    size_t config = spex_race_choose(loss, results, draw, spex_race_trials_max(budget));
    if (config == SPEX_RESULTS_NONE)
        return false;
    memcpy(levels, spex_results_levels(results, config),
           results->space->parameter_count * sizeof(*levels));
    return true;
}

#endif
