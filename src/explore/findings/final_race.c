/* SPDX-License-Identifier: MIT */
#include "explore/findings/final_race.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "explore/findings/drift_error.h"
#include "text/quantity.h"

int spex_final_trials_add(struct spex_final_trials *trials, const struct spex_summary *summary,
                          const struct spex_trial *trial) {
    const struct spex_group *group = spex_summary_find(summary, trial->levels);
    if (!group)
        return 0;
    if (trials->count == trials->room) {
        size_t room = trials->room ? 2 * trials->room : 32;
        void *more = realloc(trials->items, room * sizeof(*trials->items));
        if (!more)
            return -ENOMEM;
        trials->items = more;
        trials->room = room;
    }
    trials->items[trials->count++] =
        (struct spex_final_trial){trial->block, (size_t)(group - summary->groups),
                                  trial->ok ? trial->measured[0].value : NAN};
    return 0;
}

void spex_final_trials_free(struct spex_final_trials *trials) {
    free(trials->items);
    *trials = (struct spex_final_trials){.items = NULL};
}

static int compare_blocks(const void *a, const void *b) {
    const struct spex_final_trial *one = a, *other = b;
    if (one->block != other->block)
        return one->block < other->block ? -1 : 1;
    return one->group < other->group ? -1 : one->group > other->group;
}

static size_t place_of(const struct spex_final_race *race, size_t group) {
    size_t f = 0;
    while (f < race->count && race->finalists[f].group != group)
        f++;
    return f;
}

/* Whether a block has a configuration that is no finalist of the finals so far: new ones begin with
 * it, or have not really begun yet, where there is one trial alone. */
static bool is_new(const struct spex_final_race *race, const struct spex_final_trial *block,
                   size_t count) {
    for (size_t i = 0; i < count; i++)
        if (place_of(race, block[i].group) == race->count)
            return true;
    return false;
}

static void begin_round(struct spex_final_race *race, struct spex_finals *finals,
                        const struct spex_space *space, const struct spex_final_trial *block,
                        size_t count) {
    race->round++;
    race->count = 0;
    for (size_t i = 0; i < count && race->count < SPEX_FINALISTS_MAX; i++)
        if (place_of(race, block[i].group) == race->count)
            race->finalists[race->count++] = (struct spex_finalist){.group = block[i].group};
    spex_finals_begin(finals, space, race->count, race->round);
}

/* A configuration's later trials of a block, of a store that somebody else has written, count
 * instead of the first. */
static int add_block(struct spex_final_race *race, struct spex_finals *finals,
                     const struct spex_final_trial *block, size_t count) {
    if (spex_finals_add_block(finals))
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        size_t f = place_of(race, block[i].group);
        if (f == race->count)
            continue;
        struct spex_finalist *finalist = &race->finalists[f];
        finals->blocks[finals->block_count - 1][f] = block[i].value;
        finals->finished[f]++;
        if (isnan(block[i].value))
            continue;
        finalist->trials++;
        finalist->mean += (block[i].value - finalist->mean) / (double)finalist->trials;
    }
    spex_finals_eliminate(finals);
    return 0;
}

static void find_leader(struct spex_final_race *race, const struct spex_finals *finals,
                        const struct spex_ranking *standings) {
    double best = INFINITY, sign = finals->maximise ? -1 : 1;
    for (size_t f = 0; f < race->count; f++) {
        struct spex_finalist *finalist = &race->finalists[f];
        double loss = sign * standings[finalist->group].estimate;
        finalist->out = finals->out[f];
        finalist->out_after = finals->out_after[f];
        if (!finalist->out && loss < best) {
            best = loss;
            race->leader = f;
        }
    }
}

static void judge(struct spex_final_race *race, const struct spex_finals *finals) {
    race->blocks = finals->block_count;
    race->zone = finals->zone;
    race->asked = 1 - ldexp(finals->miss, (int)race->round);
    race->known = spex_finals_known(finals, race->leader);
    race->sure = fmax(spex_finals_sure(finals, race->leader), 0);
    race->within = spex_finals_within(finals, race->leader);
    race->more = race->known ? 0 : INFINITY;
    for (size_t f = 0; f < race->count && !race->known; f++) /* another one may come to lead */
        if (!race->finalists[f].out)
            race->more = fmin(race->more, spex_finals_more(finals, f));
}

/* Repeats the race, block by block. */
static int replay(const struct spex_space *space, const struct spex_final_trial *sorted,
                  size_t count, struct spex_finals *finals, struct spex_final_race *race) {
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && sorted[to].block == sorted[from].block;)
            to++;
        bool new = is_new(race, &sorted[from], to - from);
        if (new &&to - from < 2)
            continue;
        if (new)
            begin_round(race, finals, space, &sorted[from], to - from);
        if (add_block(race, finals, &sorted[from], to - from))
            return -ENOMEM;
    }
    return 0;
}

int spex_final_race_find(const struct spex_summary *summary, const struct spex_final_trials *trials,
                         const struct spex_ranking *standings, struct spex_final_race *race) {
    struct spex_finals finals = {.blocks = NULL};
    *race = (struct spex_final_race){.trials = trials->count};
    if (!trials->count)
        return 0;
    struct spex_final_trial *sorted = calloc(trials->count, sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < trials->count; i++)
        if (trials->items[i].block)
            sorted[count++] = trials->items[i];
    qsort(sorted, count, sizeof(*sorted), compare_blocks);
    int err = replay(summary->space, sorted, count, &finals, race);
    race->trials = race->round ? count : 0;
    if (!err && race->round) {
        find_leader(race, &finals, standings);
        judge(race, &finals);
    }
    spex_finals_free(&finals);
    free(sorted);
    return err;
}

void spex_final_race_decide(const struct spex_final_race *race, struct spex_ranking *standings,
                            size_t *best) {
    for (size_t f = 0; race->trials && f < race->count; f++) {
        const struct spex_finalist *finalist = &race->finalists[f];
        standings[finalist->group].tied &= !finalist->out;
        if (finalist->out && *best == finalist->group)
            *best = race->finalists[race->leader].group;
    }
    if (*best != SPEX_RANKING_NONE)
        standings[*best].tied = true;
}

int spex_final_race_ties(const struct spex_summary *summary, const struct spex_final_trials *trials,
                         struct spex_ranking *standing, size_t *best, size_t *tied,
                         struct spex_final_race *race) {
    struct spex_ranking_input *inputs = calloc(summary->count + 1, sizeof(*inputs));
    struct spex_ranking *standings = calloc(summary->count + 1, sizeof(*standings));
    int err = inputs && standings ? 0 : -ENOMEM;
    *best = SPEX_RANKING_NONE;
    *tied = 0;
    if (!err) {
        spex_ranking_inputs(summary, inputs);
        err = spex_ranking_of(inputs, summary->count,
                              summary->space->criteria[0].goal == SPEX_MAXIMISE, standings, best);
        err = err ? err : spex_final_race_find(summary, trials, standings, race);
    }
    if (!err) {
        spex_final_race_decide(race, standings, best);
        err = spex_drift_widen(summary, trials, standings);
    }
    for (size_t g = 0; !err && g < summary->count; g++)
        *tied += standings[g].tied;
    if (!err && *best != SPEX_RANKING_NONE)
        *standing = standings[*best];
    free(standings);
    free(inputs);
    return err;
}

/* "95 s", "22 min", "3.2 h": about so long. */
static void time_text(double seconds, char *text, size_t size) {
    if (seconds < 120)
        spex_quantity_digits(seconds, 2, false, "s", text, size);
    else if (seconds < 7200)
        snprintf(text, size, "%.0f min", seconds / 60);
    else
        snprintf(text, size, "%.1f h", seconds / 3600);
}

/* "; with about 40 more trials, 22 min, it would be known"; nothing where that cannot be said. */
static void more_text(const struct spex_final_race *race, double each, char *text, size_t size) {
    char time[48];
    text[0] = '\0';
    if (!isfinite(race->more))
        return;
    time_text(race->more * each, time, sizeof(time));
    snprintf(text, size, "; with about %.0f more trial%s%s%s%s, it would be known", race->more,
             race->more == 1 ? "" : "s", each > 0 ? " (" : "", each > 0 ? time : "",
             each > 0 ? ")" : "");
}

const char *spex_final_race_text(const struct spex_final_race *race, double each, char *text,
                                 size_t size) {
    char zone[32], asked[32], within[32], more[160];
    spex_percent_text(race->zone, 3, zone, sizeof(zone));
    spex_percent_text(race->asked, 3, asked, sizeof(asked));
    spex_percent_text(race->within, 2, within, sizeof(within));
    more_text(race, each, more, sizeof(more));
    if (race->known)
        snprintf(text, size,
                 "of %zu finalists none is better than the best by more than %s, with a "
                 "probability of %s",
                 race->count, zone, asked);
    else if (isfinite(race->within))
        snprintf(text, size,
                 "cannot tell yet which of %zu finalists is the best: one may be better by up to "
                 "%s, with a probability of %s%s",
                 race->count, within, asked, more);
    else
        snprintf(text, size,
                 "cannot tell which of %zu finalists is the best: %" PRIu64 " block%s of trials %s "
                 "too few%s",
                 race->count, race->blocks, race->blocks == 1 ? "" : "s",
                 race->blocks == 1 ? "is" : "are", more);
    return text;
}
