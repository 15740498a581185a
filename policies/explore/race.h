/* SPDX-License-Identifier: MIT */
/* Which configuration needs one more trial, so that the best of those tried is told from the others with fewest trials:
 * the one that leads, or the one most likely to be better, whichever is known less well (top-two sampling: Russo, Simple
 * Bayesian Algorithms for Best-Arm Identification, 2020). */
#ifndef SPEX_POLICIES_EXPLORE_RACE_H
#define SPEX_POLICIES_EXPLORE_RACE_H

#include "policies/explore/loss.h"

struct spex_race {
    struct spex_noise noise;
    struct spex_prior prior;
    size_t leader;
    size_t challenger;
    double doubt; /* probability that the challenger is better by more than is indifferent */
};

struct spex_race_entry {
    double mean;     /* loss */
    double variance; /* of one trial */
    double trials;
};

/* Losses are logarithms or, weighed, shares of ranges: as good as equal is what differs by less. */
#define SPEX_RACE_INDIFFERENT 0.01

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

static inline struct spex_noise spex_race_noise(const struct spex_loss *loss,
                                                const struct spex_results *results) {
    struct spex_noise_sums sums = {0};
    for (size_t c = 0; c < results->count; c++)
        if (results->configs[c].trials > 1)
            spex_noise_add(&sums, (double)results->configs[c].trials,
                           spex_loss_value(loss, results, c).squares);
    return spex_noise_of(&sums);
}

SPEX_INLINE struct spex_belief spex_race_belief(const struct spex_race *race,
                                                const struct spex_race_entry *entry) {
    return spex_prior_belief(&race->prior, entry->mean, entry->variance, entry->trials,
                             race->noise.freedom + entry->trials - 1);
}

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

/* Trials that are under way count for what they will tell. */
SPEX_INLINE double spex_race_doubt(const struct spex_belief *leader,
                                   const struct spex_belief *other) {
    double gap = leader->mean - other->mean - SPEX_RACE_INDIFFERENT;
    return gap / hypot(leader->deviation, other->deviation);
}

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

/* The order among what has been tried; leader and challenger may be SPEX_RESULTS_NONE. No configuration is a challenger
 * that has had trials_max. */
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

/* Which of the two needs one more trial: the one whose mean is less sure, with what is under way. */
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

/* Fewer do not make a leader: two may agree by chance. */
#define SPEX_RACE_TRIALS 5

/* The configuration to run once more; SPEX_RESULTS_NONE when it is clear which is best, or nothing has succeeded. With
 * several objectives it is never clear: weights are others every time. */
static inline size_t spex_race_choose(struct spex_loss *loss, const struct spex_results *results,
                                      struct spex_draw *draw, uint64_t trials_max) {
    if (loss->objectives > 1)
        spex_loss_turn(loss, draw);
    spex_loss_learn(loss, results);
    struct spex_race race = spex_race_run(loss, results, trials_max);
    if (race.leader == SPEX_RESULTS_NONE)
        return race.leader;
    const struct spex_results_config *leader = &results->configs[race.leader];
    if (leader->trials + leader->pending < SPEX_RACE_TRIALS)
        return race.leader;
    if (loss->objectives == 1 && race.doubt < 0.01)
        return SPEX_RESULTS_NONE;
    return spex_race_next(&race, loss, results);
}

/* Its levels; false when there is none. No configuration has much more than an eighth of the budget, in runs. */
static inline bool spex_race_repeat(struct spex_loss *loss, const struct spex_results *results,
                                    struct spex_draw *draw, uint64_t budget, size_t *levels) {
    size_t config = spex_race_choose(loss, results, draw, 4 + budget / 8);
    if (config == SPEX_RESULTS_NONE)
        return false;
    memcpy(levels, spex_results_levels(results, config),
           results->space->parameter_count * sizeof(*levels));
    return true;
}

#endif
