/* SPDX-License-Identifier: MIT */
/* Replays the trials and notes the best configuration after each, as a user would have seen it
 * then. O(trials) except where the best configuration gets another trial, which costs
 * O(configurations). */
#include "explore/findings/convergence.h"

#include <math.h>
#include <stdlib.h>

/* The state of the replay. */
struct race {
    struct spex_summary summary;
    size_t *first; /* the first trial of each group */
    size_t best;   /* group; valid if have_best */
    bool have_best;
};

static void race_find_best(struct race *race) {
    const struct spex_group *best =
        spex_summary_best(&race->summary, race->summary.space->parameter_count, 0);
    race->have_best = best;
    race->best = best ? (size_t)(best - race->summary.groups) : 0;
}

/* All groups are searched only when the best one has got another trial, and so may have become
 * worse than another. Otherwise only the trial's own group can have overtaken the best. */
static int race_take_trial(struct race *race, const struct spex_trial *trial, size_t number) {
    struct spex_summary *summary = &race->summary;
    int err = spex_summary_add(summary, trial);
    if (err || !trial->ok)
        return err;
    size_t group = (size_t)(spex_summary_find(summary, trial->levels) - summary->groups);
    if (summary->groups[group].trials == 1)
        race->first[group] = number;
    if (race->have_best && group == race->best)
        race_find_best(race); /* it may have become worse than another */
    else if (!race->have_best || spex_group_better(summary->space, &summary->groups[group],
                                                   &summary->groups[race->best]))
        race->best = group;
    race->have_best = true;
    return 0;
}

/* The time is that of all trials, failed ones included. */
struct spex_best_so_far *spex_convergence(const struct spex_space *space,
                                          const struct spex_trials *trials) {
    struct race race = {.first = calloc(trials->count + 1, sizeof(size_t))};
    struct spex_best_so_far *path = calloc(trials->count + 1, sizeof(*path));
    double seconds = 0;
    int err = !race.first || !path;
    spex_summary_init(&race.summary, space);
    for (size_t t = 0; t < trials->count && !err; t++) {
        err = race_take_trial(&race, &trials->items[t], t);
        seconds += trials->items[t].seconds;
        path[t] = (struct spex_best_so_far){.seconds = seconds, .value = NAN};
        if (err || !race.have_best)
            continue;
        path[t].value = race.summary.groups[race.best].criteria[0].mean;
        path[t].trial = race.first[race.best];
    }
    spex_summary_free(&race.summary);
    free(race.first);
    if (err) {
        free(path);
        path = NULL;
    }
    return path;
}
