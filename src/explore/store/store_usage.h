/* SPDX-License-Identifier: MIT */
/* Resources that trials have used, in the tables trial_usage, trial_load and trial_note. */
#ifndef SPEX_EXPLORE_STORE_STORE_USAGE_H
#define SPEX_EXPLORE_STORE_STORE_USAGE_H

#include "explore/store/store_file.h"
#include "measure/trial.h"

#define SPEX_STORE_USAGE_COLUMNS                                                                   \
    " user_seconds REAL, system_seconds REAL, max_rss_bytes INTEGER, minor_faults INTEGER,"        \
    " major_faults INTEGER, voluntary_switches INTEGER, involuntary_switches INTEGER,"             \
    " read_bytes INTEGER, written_bytes INTEGER, storage_read_bytes INTEGER,"                      \
    " storage_written_bytes INTEGER"

/* NULL: not known. */
#define SPEX_STORE_USAGE_SCHEMA                                                                    \
    "CREATE TABLE trial_usage (trial INTEGER PRIMARY KEY REFERENCES "                              \
    "trial," SPEX_STORE_USAGE_COLUMNS ");"                                                         \
    "CREATE TABLE trial_load (trial INTEGER NOT NULL REFERENCES trial, load INTEGER NOT NULL,"     \
    " stressor TEXT NOT NULL, workers INTEGER NOT NULL," SPEX_STORE_USAGE_COLUMNS                  \
    ", PRIMARY KEY (trial, load)) WITHOUT ROWID;"                                                  \
    "CREATE TABLE trial_note (trial INTEGER PRIMARY KEY REFERENCES trial, note TEXT NOT NULL);"

/* To be called within a transaction. */
int spex_store_put_usage(struct spex_store *store, sqlite3_int64 number,
                         const struct spex_trial *trial, struct spex_error *error);
int spex_store_get_usage(struct spex_store *store, sqlite3_int64 number, struct spex_trial *trial,
                         struct spex_error *error);

#endif
