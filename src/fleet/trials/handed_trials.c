/* SPDX-License-Identifier: MIT */
#include "fleet/trials/handed_trials.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/link/queue.h"
#include "fleet/trials/trial_names.h"

int spex_handed_trials_add(struct spex_handed_trials *trials, const struct spex_trial_task *task,
                           const struct spex_space *space) {
    struct spex_handed_trial *trial = &trials->items[trials->count++];
    size_t bytes = space->parameter_count * sizeof(*task->plan.levels);
    *trial = (struct spex_handed_trial){.id = task->id};
    trial->text = spex_trial_task_write(task, space);
    trial->levels = malloc(bytes + 1);
    if (!trial->text || !trial->levels) {
        spex_handed_trials_remove(trials, trial);
        return -ENOMEM;
    }
    memcpy(trial->levels, task->plan.levels, bytes);
    return 0;
}

struct spex_handed_trial *spex_handed_trials_find(struct spex_handed_trials *trials,
                                                  const struct spex_trial_id *id) {
    for (size_t t = 0; t < trials->count; t++)
        if (trials->items[t].id.asked == id->asked && trials->items[t].id.repeat == id->repeat)
            return &trials->items[t];
    return NULL;
}

void spex_handed_trials_remove(struct spex_handed_trials *trials, struct spex_handed_trial *trial) {
    free(trial->text);
    free(trial->levels);
    *trial = trials->items[--trials->count];
}

void spex_handed_trials_free(struct spex_handed_trials *trials) {
    while (trials->count)
        spex_handed_trials_remove(trials, &trials->items[trials->count - 1]);
}

int spex_handed_trials_send(struct spex_handed_trials *trials, struct spex_link *link,
                            const char *fleet, const struct spex_store_fleet *of, bool all,
                            struct spex_error *error) {
    int err = 0;
    for (size_t t = 0; t < trials->count && !err; t++) {
        struct spex_handed_trial *trial = &trials->items[t];
        char subject[SPEX_LINK_NAME_BYTES];
        if (trial->sent && !all)
            continue;
        spex_trial_subject(subject, fleet, SPEX_TRIALS, of, &trial->id);
        err = spex_queue_put(link, subject, trial->text, true, error);
        err = err == -EEXIST ? 0 : err;
        trial->sent = !err;
    }
    return err;
}
