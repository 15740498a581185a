/* SPDX-License-Identifier: MIT */
/* The trials that a master has handed out and that are not in its store. */
#ifndef SPEX_FLEET_TRIALS_HANDED_TRIALS_H
#define SPEX_FLEET_TRIALS_HANDED_TRIALS_H

#include "explore/trial/cpu_parts.h"
#include "fleet/link/link.h"
#include "fleet/trials/trial_message.h"

struct spex_handed_trial {
    struct spex_trial_id id;
    char *text;
    size_t *levels;
    /* It is in the queue, or with a worker. */
    bool sent;
};

struct spex_handed_trials {
    struct spex_handed_trial items[SPEX_CPU_PARTS_MAX];
    size_t count;
};

/* Copies the task; there has to be room. 0 or -ENOMEM. */
int spex_handed_trials_add(struct spex_handed_trials *trials, const struct spex_trial_task *task,
                           const struct spex_space *space);
struct spex_handed_trial *spex_handed_trials_find(struct spex_handed_trials *trials,
                                                  const struct spex_trial_id *id);
void spex_handed_trials_remove(struct spex_handed_trials *trials, struct spex_handed_trial *trial);
void spex_handed_trials_free(struct spex_handed_trials *trials);

/* Puts those into their queue that were never put there; with `all`, also those that a server or a
 * worker has lost. What is with a worker still is in its queue, and stays alone. 0 or the error of
 * sending. */
int spex_handed_trials_send(struct spex_handed_trials *trials, struct spex_link *link,
                            const char *fleet, const struct spex_store_fleet *of, bool all,
                            struct spex_error *error);

#endif
