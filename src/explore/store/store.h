/* SPDX-License-Identifier: MIT */
/* The trials of one exploration, in an SQLite file: each is on the disk before the next begins. One
 * process writes at a time; others may read meanwhile. Tables, for whoever wants to query them:
 *
 *     exploration  one row: what was explored, by which policy, with which program
 *     machine      one row a machine, kernel, build of the program and version of spex
 *     trial        one row a finished trial, in the order in which they finished
 *     plan         one row a plan of the policy that was under way while another trial finished
 *     trial_value  the configuration: one row a trial and parameter
 *     trial_measured  the criteria: one row a trial that succeeded and criterion, with its standard
 *                  error
 *     trial_metric what every probe said: one row a trial, probe and field; times in seconds
 *     trial_usage  what the program has used, trial_load what has run beside it: CPU time, memory,
 *                  input and output
 *     trial_note   what went wrong without making the trial fail */
#ifndef SPEX_EXPLORE_STORE_STORE_H
#define SPEX_EXPLORE_STORE_STORE_H

#include <spex/policy.h>

#include "explore/space/space.h"
#include "explore/store/circumstances.h"
#include "explore/store/history.h"
#include "measure/trial.h"
#include "text/error.h"

struct spex_store;

/* Opens or makes the file for exploring `space` with `policy` and the program `argv`. 0; -EEXIST
 * when the file holds something else; -EBUSY when another exploration is writing to it; or as
 * opening it failed. */
int spex_store_open(const char *path, const struct spex_space_file *space, const char *policy,
                    char *const *argv, struct spex_store **out, struct spex_error *error);

/* Opens an existing store to read it. */
int spex_store_read(const char *path, struct spex_store **out, struct spex_error *error);

void spex_store_close(struct spex_store *store);

/* What is put in from here on is under these circumstances. -EEXIST when trials under others are
 * there, unless they may be mixed. */
int spex_store_begin(struct spex_store *store, const struct spex_circumstances *now, bool mixed,
                     struct spex_error *error);

/* All circumstances under which there are trials, or were to be; in the order in which they
 * came. */
int spex_store_machines(struct spex_store *store, struct spex_circumstances **machines,
                        size_t *count, struct spex_error *error);
void spex_store_machines_free(struct spex_circumstances **machines, size_t *count);

/* The directory of the explorer that writes to the store, or was killed when it did; NULL for none.
 * To be freed. */
int spex_store_directory(struct spex_store *store, char **directory, struct spex_error *error);
int spex_store_set_directory(struct spex_store *store, const char *directory,
                             struct spex_error *error);

/* The space's XML as it was explored, the policy's name and the program with its arguments. Live
 * until the store is closed. */
const char *spex_store_space(const struct spex_store *store);
const char *spex_store_policy(const struct spex_store *store);
const char *spex_store_program(const struct spex_store *store);

/* All trials in the order in which they finished, without their metrics; to be freed. 0; -EBADMSG
 * when they do not fit the space. */
int spex_store_trials(struct spex_store *store, const struct spex_space *space,
                      struct spex_trials *trials, struct spex_error *error);

/* Puts a finished trial in, as the number-th from 1, instead of the one that may be there, and
 * which plans are under way meanwhile; both are on the disk when this returns 0. After an error the
 * store is as it was. */
int spex_store_put(struct spex_store *store, uint64_t number, const struct spex_space *space,
                   const struct spex_trial *trial, const struct spex_unfinished *unfinished,
                   size_t unfinished_count, struct spex_error *error);

/* All plans that were under way when a trial was put in, by their number; to be freed. */
int spex_store_unfinished(struct spex_store *store, struct spex_unfinished **unfinished,
                          size_t *count, struct spex_error *error);

#endif
