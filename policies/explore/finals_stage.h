/* SPDX-License-Identifier: MIT */
/* The finals of all policies: when they begin, who is in them, and what runs next. They begin when the
 * share of the trials is left that the rules give them, or, where the host has a clock, of the time. When
 * they have ended and trials are left, the search goes on; what it finds then races against the winner in
 * finals of their own. */
#ifndef SPEX_POLICIES_EXPLORE_FINALS_STAGE_H
#define SPEX_POLICIES_EXPLORE_FINALS_STAGE_H

#include "policies/explore/finals.h"
#include "policies/explore/race.h"

/* A configuration of which it is less likely than this that it is better than the leader is no
 * finalist, unless none is more likely. */
#define SPEX_FINALS_DOUBT 0.01

struct spex_finals_stage {
    struct spex_finals finals;
    bool on, hastened;
    unsigned round;
    uint64_t since;                     /* planned runs when the search before them began */
    uint64_t from;                      /* planned runs after which they begin; 0: by the share */
    uint64_t blocks;                    /* of the rounds before */
    size_t configs[SPEX_FINALISTS_MAX]; /* the finalists */
    size_t queue[SPEX_FINALISTS_MAX];   /* finalists to run in the block that was begun */
    size_t queued;
    size_t *raced; /* all finalists of the rounds before, but for the winner */
    size_t raced_count;
};

SPEX_INLINE void spex_finals_stage_free(struct spex_finals_stage *stage) {
    spex_finals_free(&stage->finals);
    free(stage->raced);
}

/* Several objectives have no single best. */
SPEX_INLINE bool spex_finals_apply(const struct spex_space *space) {
    return space->objective_count == 1 && spex_finals_share(&space->rules) > 0;
}

/* Whether so many trials are enough for finals. Nobody who has not asked for them has finals that
 * cannot tell four from each other: the search needs their trials more. */
SPEX_INLINE bool spex_finals_are_worth(const struct spex_rules *rules, double trials) {
    return trials >= (rules->finals > 0 ? 2 : 4) * SPEX_FINALS_BLOCKS;
}

/* The planned runs after which the next finals begin; UINT64_MAX: never. */
static inline uint64_t spex_finals_from(const struct spex_finals_stage *stage,
                                        const struct spex_rules *rules, uint64_t budget) {
    if (stage->from)
        return stage->from;
    double left = budget > stage->since ? (double)(budget - stage->since) : 0;
    double share = spex_finals_share(rules);
    return spex_finals_are_worth(rules, share * left)
               ? stage->since + (uint64_t)ceil((1 - share) * left)
               : UINT64_MAX;
}

/* The search before the first finals has so many of `budget` runs, whatever share that leaves; 0: it has
 * what their share leaves. */
static inline void spex_finals_after(struct spex_finals_stage *stage,
                                     const struct spex_rules *rules, uint64_t runs,
                                     uint64_t budget) {
    double left = budget > runs ? (double)(budget - runs) : 0;
    if (stage->round == 0 && !stage->hastened)
        stage->from = !runs || spex_finals_are_worth(rules, left) ? runs : UINT64_MAX;
}

/* Whether finals are to begin: the first ones by the host's clock, if it tells, where it leaves time for
 * enough trials and the search has no number of runs; else by the number of trials. */
static inline bool spex_finals_are_due(const struct spex_finals_stage *stage,
                                       const struct spex_results *results, uint64_t budget,
                                       const struct spex_plan *plan) {
    const struct spex_rules *rules = &results->space->rules;
    if (stage->on || !spex_finals_apply(results->space))
        return false;
    if (plan->finals_due && stage->round == 0 && !stage->from)
        return spex_finals_are_worth(rules, (double)(budget - results->planned));
    bool timed = plan->trials == budget && stage->round == 0 && !stage->from;
    return !timed && results->planned >= spex_finals_from(stage, rules, budget);
}

static inline bool spex_finals_was_in(const struct spex_finals_stage *stage, size_t config) {
    for (size_t i = 0; i < stage->raced_count; i++)
        if (stage->raced[i] == config)
            return true;
    return false;
}

/* The place of a finalist; SPEX_FINALISTS_MAX: it is none. */
static inline size_t spex_finals_place(const struct spex_finals_stage *stage, size_t config) {
    for (size_t f = 0; f < stage->finals.count; f++)
        if (stage->configs[f] == config)
            return f;
    return SPEX_FINALISTS_MAX;
}

/* The configuration that was not in finals before and is not in `chosen`, with the greatest chance
 * to be better than the leader, which is set. */
static inline size_t spex_finals_challenger(const struct spex_finals_stage *stage,
                                            const struct spex_race *race,
                                            const struct spex_loss *loss,
                                            const struct spex_results *results, size_t count,
                                            double *chance) {
    struct spex_race_entry entry = spex_race_entry(&race->noise, loss, results, race->leader);
    struct spex_belief leader = spex_race_belief(race, &entry);
    double most = -INFINITY;
    size_t found = SPEX_RESULTS_NONE;
    for (size_t c = 0; c < results->count; c++) {
        size_t i = 0;
        while (i < count && stage->configs[i] != c)
            i++;
        if (i < count || !results->configs[c].trials || spex_finals_was_in(stage, c))
            continue;
        entry = spex_race_entry(&race->noise, loss, results, c);
        struct spex_belief other = spex_race_belief(race, &entry);
        double z = spex_race_doubt(&leader, &other);
        if (z > most) {
            most = z;
            found = c;
        }
    }
    *chance = spex_loss_normal(most);
    return found;
}

/* As many finalists as can have SPEX_FINALS_BLOCKS trials and more. */
static inline size_t spex_finals_size(const struct spex_results *results, uint64_t budget) {
    double left = (double)(budget - results->planned);
    return (size_t)fmin(fmax(left / SPEX_FINALS_BLOCKS, 2), SPEX_FINALISTS_MAX);
}

/* Chooses the finalists: the leader, then the likeliest to be better; returns how many. 0: more have a
 * chance than there are trials for, and there is time to find out by repeats who has. */
static inline size_t spex_finals_choose(struct spex_finals_stage *stage,
                                        const struct spex_race *race, const struct spex_loss *loss,
                                        const struct spex_results *results, uint64_t budget,
                                        bool due) {
    size_t most = spex_finals_size(results, budget), count = 0;
    stage->configs[count++] = race->leader;
    for (;;) {
        double chance;
        size_t other = spex_finals_challenger(stage, race, loss, results, count, &chance);
        if (other == SPEX_RESULTS_NONE ||
            (chance < SPEX_FINALS_DOUBT && (count > 1 || stage->round > 0)))
            return count;
        if (count == most)
            return due || stage->hastened || most == 2 ? count : 0;
        stage->configs[count++] = other;
    }
}

/* Begins finals, if there are two finalists; 0. -EAGAIN: they begin when nothing is under way, since what
 * was planned before has no block. */
static inline int spex_finals_open(struct spex_finals_stage *stage, const struct spex_loss *loss,
                                   const struct spex_results *results, uint64_t budget, bool due) {
    struct spex_race race = spex_race_run(loss, results, UINT64_MAX);
    if (race.leader == SPEX_RESULTS_NONE)
        return 0;
    size_t count = spex_finals_choose(stage, &race, loss, results, budget, due);
    if (count == 1 && !results->pending)
        stage->from = UINT64_MAX; /* none that was found since may be better */
    if (count < 2 || results->pending)
        return count < 2 ? 0 : -EAGAIN;
    stage->blocks += stage->finals.block_count;
    spex_finals_begin(&stage->finals, results->space, count, ++stage->round);
    stage->queued = 0;
    stage->on = true;
    return 0;
}

/* The finalist that is left and has the least loss, by all its trials. */
static inline size_t spex_finals_leader(const struct spex_finals_stage *stage,
                                        const struct spex_loss *loss,
                                        const struct spex_results *results) {
    struct spex_race race = spex_race_run(loss, results, UINT64_MAX);
    double least = INFINITY;
    size_t leader = 0;
    for (size_t f = 0; f < stage->finals.count; f++) {
        struct spex_race_entry entry =
            spex_race_entry(&race.noise, loss, results, stage->configs[f]);
        struct spex_belief belief = spex_race_belief(&race, &entry);
        if (!stage->finals.out[f] && spex_belief_score(&belief) < least) {
            least = spex_belief_score(&belief);
            leader = f;
        }
    }
    return leader;
}

/* Ends the finals: all but the winner have had their chance. 0 or -ENOMEM. */
static inline int spex_finals_close(struct spex_finals_stage *stage, size_t winner) {
    size_t *raced =
        realloc(stage->raced, (stage->raced_count + stage->finals.count) * sizeof(*raced));
    if (!raced)
        return -ENOMEM;
    stage->raced = raced;
    for (size_t f = 0; f < stage->finals.count; f++)
        if (f != winner)
            raced[stage->raced_count++] = stage->configs[f];
    stage->on = false;
    return 0;
}

/* Begins a block: all that are left, in random order. 0 or -ENOMEM. */
static inline int spex_finals_shuffle(struct spex_finals_stage *stage, struct spex_draw *draw) {
    if (spex_finals_add_block(&stage->finals))
        return -ENOMEM;
    for (size_t f = 0; f < stage->finals.count; f++)
        if (!stage->finals.out[f]) {
            size_t place = spex_draw_below(draw, ++stage->queued);
            stage->queue[stage->queued - 1] = stage->queue[place];
            stage->queue[place] = f;
        }
    return 0;
}

/* The next run of the finals: 1 with `levels` and the number of the block; or -ENOMEM. */
static inline int spex_finals_plan(struct spex_finals_stage *stage,
                                   const struct spex_results *results, struct spex_draw *draw,
                                   struct spex_plan *plan) {
    size_t finalist;
    do {
        if (!stage->queued && spex_finals_shuffle(stage, draw))
            return -ENOMEM;
        finalist = stage->queue[--stage->queued];
    } while (stage->finals.out[finalist]);
    memcpy(plan->levels, spex_results_levels(results, stage->configs[finalist]),
           results->space->parameter_count * sizeof(*plan->levels));
    plan->block = stage->blocks + stage->finals.block_count;
    return 1;
}

/* Takes the result of a finalist. Its trials come in the order of the blocks. */
static inline void spex_finals_take(struct spex_finals_stage *stage, size_t config,
                                    const struct spex_result *result) {
    struct spex_finals *finals = &stage->finals;
    size_t place = spex_finals_place(stage, config);
    if (place == SPEX_FINALISTS_MAX || finals->out[place] ||
        finals->finished[place] >= finals->block_count)
        return;
    finals->blocks[finals->finished[place]++][place] = result->ok ? result->measured[0].value : NAN;
}

/* What runs next as far as finals go. 1: `plan` is filled in; 0: the search is to go on; -EAGAIN:
 * results have to come first; or -ENOMEM. */
static inline int spex_finals_next(struct spex_finals_stage *stage, struct spex_loss *loss,
                                   const struct spex_results *results, struct spex_draw *draw,
                                   uint64_t budget, struct spex_plan *plan) {
    if (!stage->on) {
        bool due = plan->finals_due && stage->round == 0;
        if (!spex_finals_are_due(stage, results, budget, plan) || spex_race_is_exact(results))
            return 0;
        spex_loss_learn(loss, results);
        int err = spex_finals_open(stage, loss, results, budget, due);
        if (err || !stage->on)
            return err;
    }
    spex_loss_learn(loss, results);
    spex_finals_eliminate(&stage->finals);
    size_t leader = spex_finals_leader(stage, loss, results);
    if (!spex_finals_known(&stage->finals, leader))
        return spex_finals_plan(stage, results, draw, plan);
    int err = spex_finals_close(stage, leader);
    stage->since = results->planned;
    stage->from = 0;
    return err;
}

/* Has finals begin now, where the search has nothing to do any more and enough trials are left. */
static inline bool spex_finals_hasten(struct spex_finals_stage *stage,
                                      const struct spex_results *results, uint64_t budget) {
    double left = budget > results->planned ? (double)(budget - results->planned) : 0;
    bool may = !stage->on && !stage->hastened && !results->pending &&
               spex_finals_apply(results->space) &&
               spex_finals_are_worth(&results->space->rules, left);
    if (may) {
        stage->hastened = true;
        stage->from = results->planned;
    }
    return may;
}

#endif
