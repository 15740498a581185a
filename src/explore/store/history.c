/* SPDX-License-Identifier: MIT */
/* Builds the history from the numbers stored with trials and unfinished plans, and checks it: a
 * store may have been edited. Arrays are indexed by the number of the plan, less 1. */
#include "explore/store/history.h"

#include <errno.h>
#include <stdlib.h>

/* Notes a plan; false when it cannot have been made, or is there twice. */
static bool history_note(struct spex_history *history, const struct spex_unfinished *plan,
                         size_t trial) {
    uint64_t asked = plan->asked, told = plan->told;
    if (asked == 0 || asked > history->plans || told > history->trials->count ||
        history->trial[asked - 1])
        return false;
    history->told[asked - 1] = told;
    history->trial[asked - 1] = trial;
    return true;
}

/* Checks that plans were made in order, and each trial told after it was planned. */
static bool history_is_consistent(const struct spex_history *history) {
    for (uint64_t p = 0; p < history->plans; p++) {
        if (p && history->told[p] < history->told[p - 1])
            return false;
        if (history->trial[p] && history->told[p] >= history->trial[p])
            return false;
    }
    return true;
}

/* The number of plans is bounded before memory is allocated for them. A plan without a trial counts
 * as made when all trials had been told, unless the store says otherwise. */
int spex_history_make(struct spex_history *history, const struct spex_trials *trials,
                      const struct spex_unfinished *unfinished, size_t unfinished_count,
                      struct spex_error *error) {
    uint64_t plans = 0;
    bool good = true;
    for (size_t t = 0; t < trials->count; t++)
        plans = trials->items[t].asked > plans ? trials->items[t].asked : plans;
    for (size_t u = 0; u < unfinished_count; u++)
        plans = unfinished[u].asked > plans ? unfinished[u].asked : plans;
    if (plans > 2 * trials->count + SPEX_HISTORY_UNFINISHED_MAX)
        return spex_fail(error, -EBADMSG, "it has trials of plans that cannot have been made");
    *history = (struct spex_history){
        .trials = trials,
        .plans = plans,
        .told = calloc(plans + 1, sizeof(*history->told)),
        .trial = calloc(plans + 1, sizeof(*history->trial)),
    };
    if (!history->told || !history->trial) {
        spex_history_free(history);
        return spex_fail(error, -ENOMEM, "out of memory");
    }
    for (uint64_t p = 0; p < plans; p++)
        history->told[p] = trials->count;
    for (size_t u = 0; u < unfinished_count; u++)
        good &= history_note(history, &unfinished[u], 0);
    for (size_t t = 0; t < trials->count; t++) {
        const struct spex_trial *trial = &trials->items[t];
        const struct spex_unfinished plan = {trial->asked, trial->told};
        good &= history_note(history, &plan, t + 1);
    }
    if (good && history_is_consistent(history))
        return 0;
    spex_history_free(history);
    return spex_fail(error, -EBADMSG, "its trials are in no order in which they can have been run");
}

void spex_history_free(struct spex_history *history) {
    free(history->told);
    free(history->trial);
    *history = (struct spex_history){.trials = NULL};
}

uint64_t spex_history_told(const struct spex_history *history, uint64_t plan) {
    return plan <= history->plans ? history->told[plan - 1] : history->trials->count;
}

const struct spex_trial *spex_history_trial(const struct spex_history *history, uint64_t plan) {
    size_t at = plan <= history->plans ? history->trial[plan - 1] : 0;
    return at ? &history->trials->items[at - 1] : NULL;
}
