/* SPDX-License-Identifier: MIT */
/* Opening a store's file: the writer's lock, and SQLite's write-ahead log, which is a file beside
 * it. */
#ifndef SPEX_EXPLORE_STORE_STORE_LOG_H
#define SPEX_EXPLORE_STORE_STORE_LOG_H

#include "explore/store/store_file.h"

/* Makes the file if it does not exist, and locks it. 0; -EBUSY when another exploration has the
 * lock; or the error of opening. */
int spex_store_lock(struct spex_store *store, struct spex_error *error);

/* Opens the database; `flags` are those of sqlite3_open_v2(). */
int spex_store_open_database(struct spex_store *store, int flags, struct spex_error *error);

/* Returns `err` while the file is at its path. If somebody has removed, renamed or replaced it,
 * which leaves what is stored to this process alone: -ESTALE, and a copy of it is made beside it,
 * which the line in `error` names. */
int spex_store_check_place(const struct spex_store *store, int err, struct spex_error *error);

/* Switches to a write-ahead log, which needs one synchronisation a transaction instead of three,
 * and no new file each. Where a log is not possible, nothing changes. */
void spex_store_write_ahead(struct spex_store *store);

/* -EBADMSG when the file's log is missing. To be called before anything is read, since SQLite then
 * makes an empty log. */
int spex_store_check_whole(const struct spex_store *store, struct spex_error *error);

/* Removes the log, so that the store is a single file again. While another process reads the store,
 * the log stays. */
void spex_store_become_one_file(struct spex_store *store);

#endif
