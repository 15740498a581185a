/* SPDX-License-Identifier: MIT */
/* Replays the trials and ranks the configurations after each. */
#include "explore/findings/convergence.h"

#include <math.h>
#include <stdlib.h>

#include "explore/findings/ranking.h"

/* The state of the replay. */
struct race {
    struct spex_summary summary;
    size_t *first; /* the first trial of each group */
};

static int race_take_trial(struct race *race, const struct spex_trial *trial, size_t number) {
    int err = spex_summary_add(&race->summary, trial);
    if (err || !trial->ok)
        return err;
    const struct spex_group *group = spex_summary_find(&race->summary, trial->levels);
    if (group->trials == 1)
        race->first[group - race->summary.groups] = number;
    return 0;
}

static int race_find_best(const struct race *race, struct spex_best_so_far *so_far) {
    struct spex_ranking standing;
    size_t best;
    int err = spex_ranking_best(&race->summary, &standing, &best);
    if (err || best == SPEX_RANKING_NONE)
        return err;
    so_far->value = standing.estimate;
    so_far->margin = standing.margin;
    so_far->trial = race->first[best];
    return 0;
}

/* A ranking takes time in proportion to the configurations. */
static bool is_looked_at(size_t number, size_t count) {
    return number % (number / SPEX_CONVERGENCE_EACH + 1) == 0 || number + 1 == count;
}

/* The time is that of all trials, failed ones included. */
struct spex_best_so_far *spex_convergence(const struct spex_space *space,
                                          const struct spex_trials *trials) {
    struct race race = {.first = calloc(trials->count + 1, sizeof(size_t))};
    struct spex_best_so_far *path = calloc(trials->count + 1, sizeof(*path));
    struct spex_best_so_far so_far = {.value = NAN, .margin = NAN};
    int err = !race.first || !path;
    spex_summary_init(&race.summary, space);
    for (size_t t = 0; t < trials->count && !err; t++) {
        err = race_take_trial(&race, &trials->items[t], t);
        so_far.seconds += trials->items[t].seconds;
        if (!err && is_looked_at(t, trials->count))
            err = race_find_best(&race, &so_far);
        path[t] = so_far;
    }
    spex_summary_free(&race.summary);
    free(race.first);
    if (err) {
        free(path);
        path = NULL;
    }
    return path;
}
