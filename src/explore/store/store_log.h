/* SPDX-License-Identifier: MIT */
/* How a store's file is opened: the lock of its only writer, and SQLite's write-ahead log, which is
 * a file of its own. */
#ifndef SPEX_EXPLORE_STORE_STORE_LOG_H
#define SPEX_EXPLORE_STORE_STORE_LOG_H

#include "explore/store/store_file.h"

/* Makes the file if it is not there. 0; -EBUSY when another exploration holds the lock; or as
 * opening it failed. */
int spex_store_lock(struct spex_store *store, struct spex_error *error);

/* With SQLite's flags. */
int spex_store_open_database(struct spex_store *store, int flags, struct spex_error *error);

/* From here on what is written goes to a write-ahead log, which takes one synchronisation a trial
 * instead of three, and no new file. Where there can be no log the store stays as it is. */
void spex_store_write_ahead(struct spex_store *store);

/* -EBADMSG when the file's log is missing. To be called before anything is read: SQLite makes an
 * empty log then. */
int spex_store_check_whole(const struct spex_store *store, struct spex_error *error);

/* Removes the log, so that the store can be moved, and read from where nothing can be written.
 * While somebody reads, it keeps its log. */
void spex_store_become_one_file(struct spex_store *store);

#endif
