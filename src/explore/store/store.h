/* SPDX-License-Identifier: MIT */
/* The trials of one exploration, in an SQLite file: each is on the disk before the next begins. One
 * process writes at a time; others may read meanwhile. Tables, for whoever wants to query them:
 *
 *     exploration  one row: what was explored, by which policy, with which program
 *     machine      one row a machine, kernel, build of the program and version of spex
 *     trial        one row a finished trial, in the order in which they finished
 *     plan         one row a plan of the policy that was under way while another trial finished
 *     fleet        one row, if a fleet runs trials: its name for the exploration, and the class
 *                  of machines
 *     trial_value  the configuration: one row a trial and parameter
 *     trial_measured  the criteria: one row a trial that succeeded and criterion, with its standard
 *                  error
 *     trial_metric the figures of every probe: one row a trial, probe and field; times in seconds.
 *                  `probe` is the probe's number in the trial's process, which is `id`, the
 *                  developer's, unless another provider has that or the probe has none (NULL)
 *     trial_usage  CPU time, memory, input and output of the program; trial_load: the same of the
 *                  loads that ran beside it
 *     trial_note   what went wrong without making the trial fail */
#ifndef SPEX_EXPLORE_STORE_STORE_H
#define SPEX_EXPLORE_STORE_STORE_H

#include <stdbool.h>

#include <spex/policy.h>

#include "explore/space/space.h"
#include "explore/store/circumstances.h"
#include "explore/store/history.h"
#include "measure/trial.h"
#include "text/error.h"

struct spex_store;

/* Opens or makes the store of an exploration and locks it. 0; -EEXIST when the file belongs to
 * another exploration or is no store; -EBUSY when another exploration writes to it; or the error of
 * opening. */
int spex_store_open(const char *path, const struct spex_space_file *space, const char *policy,
                    char *const *argv, struct spex_store **out, struct spex_error *error);

/* Opens an existing store for reading. */
int spex_store_read(const char *path, struct spex_store **out, struct spex_error *error);

void spex_store_close(struct spex_store *store);

/* Sets the circumstances of the trials that are stored from now on. -EEXIST when the store has
 * trials under others and `mixed` is not set. */
int spex_store_begin(struct spex_store *store, const struct spex_circumstances *now, bool mixed,
                     struct spex_error *error);

/* All circumstances of the store's trials, in the order in which they were first used. */
int spex_store_machines(struct spex_store *store, struct spex_circumstances **machines,
                        size_t *count, struct spex_error *error);
void spex_store_machines_free(struct spex_circumstances **machines, size_t *count);

/* The directory of the explorer that writes to the store, or was killed while it did; NULL for
 * none. To be freed. */
int spex_store_directory(struct spex_store *store, char **directory, struct spex_error *error);
int spex_store_set_directory(struct spex_store *store, const char *directory,
                             struct spex_error *error);

/* What a fleet knows the exploration by, and the class of the machines that run its trials; empty:
 * the store has none. */
struct spex_store_fleet {
    char exploration[SPEX_CLASS_BYTES];
    char class[SPEX_CLASS_BYTES];
};
int spex_store_fleet(struct spex_store *store, struct spex_store_fleet *fleet,
                     struct spex_error *error);
int spex_store_set_fleet(struct spex_store *store, const struct spex_store_fleet *fleet,
                         struct spex_error *error);

/* Whether an exploration writes to this store now. */
bool spex_store_is_written(const char *path);

/* Where it is, the space's XML, the policy's name, and the program with its arguments as JSON,
 * which may have control characters when somebody else has written the store. Valid until the store
 * is closed. */
const char *spex_store_path(const struct spex_store *store);
const char *spex_store_space(const struct spex_store *store);
const char *spex_store_policy(const struct spex_store *store);
const char *spex_store_program(const struct spex_store *store);

/* Reads all trials in the order in which they finished, without metrics; to be freed. 0; -EBADMSG
 * when they do not fit the space. */
int spex_store_trials(struct spex_store *store, const struct spex_space *space,
                      struct spex_trials *trials, struct spex_error *error);

/* Stores a finished trial under `number`, from 1, replacing one that is there, and the plans under
 * way, in one transaction: after an error the store is unchanged. When it returns 0, the end of
 * this process cannot lose the trial; a power failure may lose those of the last second. -ESTALE:
 * the store is no longer at its path; `error` says where a copy of it is. */
int spex_store_put(struct spex_store *store, uint64_t number, const struct spex_space *space,
                   const struct spex_trial *trial, const struct spex_unfinished *unfinished,
                   size_t unfinished_count, struct spex_error *error);

/* Stores a plan before it is given to another process: a later exploration makes the same one. */
int spex_store_put_plan(struct spex_store *store, const struct spex_unfinished *plan,
                        struct spex_error *error);

/* All plans that were under way when a trial was stored, by number; to be freed. */
int spex_store_unfinished(struct spex_store *store, struct spex_unfinished **unfinished,
                          size_t *count, struct spex_error *error);

#endif
