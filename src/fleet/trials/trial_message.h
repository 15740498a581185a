/* SPDX-License-Identifier: MIT */
/* What the explorer of a fleet and its workers send each other, as JSON, and what is accepted of
 * it: what comes is data of others. A worker is told which values of its own space a trial has, and
 * nothing else.
 *
 * Functions that write return a text to be freed, or NULL: no memory. Those that read return 0,
 * -EINVAL or -ENOMEM with the reason. */
#ifndef SPEX_FLEET_TRIALS_TRIAL_MESSAGE_H
#define SPEX_FLEET_TRIALS_TRIAL_MESSAGE_H

#include "explore/elsewhere.h"

/* Most bytes of a selection of probes, and of a text of a machine. */
enum { SPEX_TRIAL_PROBES_BYTES = 16384, SPEX_TRIAL_TEXT_BYTES = 256 };

/* What space and program have to have in common with a worker's: a hash of the space's identity and
 * of the program's arguments. The program's path may be another one on each host. */
int spex_trial_key(const struct spex_space_file *file, char *const *argv,
                   char key[SPEX_CLASS_BYTES]);

/* An exploration that looks for workers. */
struct spex_trial_offer {
    char key[SPEX_CLASS_BYTES];
    struct spex_store_fleet fleet;
};
char *spex_trial_offer_write(const struct spex_trial_offer *offer);
int spex_trial_offer_read(const char *text, size_t size, struct spex_trial_offer *offer,
                          struct spex_error *error);

/* A worker that is there. */
struct spex_trial_worker {
    /* Drawn at its start. */
    uint64_t id;
    char key[SPEX_CLASS_BYTES];
    struct spex_circumstances machine;
};
char *spex_trial_worker_write(const struct spex_trial_worker *worker);
int spex_trial_worker_read(const char *text, size_t size, struct spex_trial_worker *worker,
                           struct spex_error *error);

/* A trial that is to be run. */
struct spex_trial_task {
    struct spex_store_fleet fleet;
    struct spex_trial_id id;
    /* Its levels and probes are of the task. */
    struct spex_plan plan;
};
char *spex_trial_task_write(const struct spex_trial_task *task, const struct spex_space *space);
int spex_trial_task_read(const char *text, size_t size, const struct spex_space *space,
                         struct spex_trial_task *task, struct spex_error *error);
void spex_trial_task_free(struct spex_trial_task *task);

/* What has come of a trial. `fleet` is that of its task: another one is refused. */
char *spex_trial_result_write(const struct spex_trial_result *result,
                              const struct spex_store_fleet *fleet, const struct spex_space *space);
int spex_trial_result_read(const char *text, size_t size, const struct spex_space *space,
                           const struct spex_store_fleet *fleet, struct spex_trial_result *result,
                           struct spex_error *error);
void spex_trial_result_free(struct spex_trial_result *result);

#endif
