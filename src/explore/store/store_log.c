/* SPDX-License-Identifier: MIT */
/* Opens the file of a store. A writer holds flock() on it; SQLite has locks of its own (fcntl),
 * which do not exclude a second exploration between its transactions. */
#define _GNU_SOURCE
#include "explore/store/store_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/files/trusted_path.h"
#include "explore/store/store.h"
#include "text/waits.h"

/* Longest wait for the lock; and tries, 10 ms apart, to see a store whole. */
#define LOCK_SECONDS 2
#define LOG_TRIES    20

/* Waits up to LOCK_SECONDS: the child of an explorer that was killed inherits the lock and holds it
 * for a moment, until it runs the program or ends. */
static int flock_soon(int fd) {
    struct spex_deadline deadline = spex_deadline_in(LOCK_SECONDS);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || spex_deadline_left_ms(deadline) == 0)
            return -errno;
        spex_wait_ns(5000000);
    }
    return 0;
}

/* The descriptor is not SQLite's: closing it would release SQLite's locks of the same file, so it
 * stays open as long as the database. */
int spex_store_lock(struct spex_store *store, struct spex_error *error) {
    int fd = spex_path_open(store->path, O_RDWR | O_CREAT | O_CLOEXEC);
    if (fd < 0)
        return spex_fail(error, fd, "cannot open the store %s: %s", store->path, strerror(-fd));
    store->lock = fd;
    int err = flock_soon(store->lock);
    if (err == -EWOULDBLOCK)
        return spex_fail(error, -EBUSY, "the store %s is in use by another exploration",
                         store->path);
    if (err)
        return spex_fail(error, err, "cannot lock the store %s: %s", store->path, strerror(-err));
    return 0;
}

/* SQLite opens whatever is there, and would wait at a pipe for who writes into it. */
static int not_other_than_file(const char *path, struct spex_error *error) {
    struct stat found;
    if (stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
        return 0;
    return spex_fail(error, -EINVAL, "cannot open the store: %s: a regular file was expected",
                     path);
}

/* The journal is what a transaction that was cut off has left. */
static int files_check(const struct spex_store *store, struct spex_error *error) {
    char *journal = NULL;
    if (asprintf(&journal, "%s-journal", store->path) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = not_other_than_file(store->path, error);
    err = err ? err : not_other_than_file(journal, error);
    free(journal);
    return err;
}

/* A writer that comes meanwhile tries again: see flock_soon. For readers that have read all:
 * closing the descriptor releases the locks that SQLite has on the file. */
bool spex_store_is_written(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return is;
}

/* Waits up to 10 s for another process's transaction. */
int spex_store_open_database(struct spex_store *store, int flags, struct spex_error *error) {
    int err = files_check(store, error);
    if (err)
        return err;
    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK)
        return spex_store_fail(store, "open the store", error);
    sqlite3_busy_timeout(store->db, 10000);
    /* Somebody else may have made the file: a view in the place of a table may have no end. */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return 0;
}

static bool is_at_its_path(const struct spex_store *store) {
    struct stat ours, there;
    return fstat(store->lock, &ours) == 0 && stat(store->path, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* SQLite writes into an empty file, and would follow a link. */
static int store_copy(const struct spex_store *store, const char *path, struct spex_error *error) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return spex_fail(error, -errno, "%s", strerror(errno));
    close(fd);
    char *sql = sqlite3_mprintf("VACUUM INTO %Q", path);
    int code = sql ? sqlite3_exec(store->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return code == SQLITE_OK ? 0 : spex_fail(error, -EIO, "%s", sqlite3_errmsg(store->db));
}

int spex_store_check_place(const struct spex_store *store, int err, struct spex_error *error) {
    struct spex_error why;
    char *copy = NULL;
    if (is_at_its_path(store))
        return err;
    if (asprintf(&copy, "%s.rescued-%d", store->path, (int)getpid()) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    if (store_copy(store, copy, &why) == 0)
        spex_error_set(error,
                       "the store %s was removed or replaced while trials ran; they are in %s",
                       store->path, copy);
    else
        spex_error_set(
            error,
            "the store %s was removed or replaced while trials ran; they cannot be put into %s: %s",
            store->path, copy, why.text);
    free(copy);
    return -ESTALE;
}

/* With a log, readers and the writer do not wait for each other, and a commit without
 * synchronisation is safe against the end of the process. Errors are ignored: where a log is not
 * possible, as on some network file systems, the store works without one. */
void spex_store_write_ahead(struct spex_store *store) {
    sqlite3_exec(store->db,
                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; SELECT 1 FROM exploration",
                 NULL, NULL, NULL);
    store->syncs = true;
}

/* Returns whether the file's header names a log (SQLite, Database File Format, 1.3.3). It is read
 * by SQLite's own descriptor: closing another one would release the locks of every user of the file
 * in this process. */
static bool header_names_log(sqlite3 *db) {
    enum { WRITE_VERSION = 18, WITH_LOG = 2 };
    sqlite3_file *file = NULL;
    unsigned char version = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file && file->pMethods &&
           file->pMethods->xRead(file, &version, 1, WRITE_VERSION) == SQLITE_OK &&
           version == WITH_LOG;
}

/* The log of a file that names one can be missing because the file was copied without it, or
 * because an explorer ends at this moment: it removes the log before it changes the file. The
 * second case is over after some tries. */
int spex_store_check_whole(const struct spex_store *store, struct spex_error *error) {
    char *log = NULL;
    if (asprintf(&log, "%s-wal", store->path) < 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int tries = 0, err = 0;
    while (tries < LOG_TRIES && header_names_log(store->db) && access(log, F_OK) < 0) {
        spex_wait_ns(10000000);
        tries++;
    }
    if (tries == LOG_TRIES)
        err = spex_fail(error, -EBADMSG, "%s is not complete: %s, which belongs to it, is missing",
                        store->path, log);
    free(log);
    return err;
}

/* Merges the log, so that a user can copy the store as one file. Does not wait for readers: then
 * the log stays, and the store is whole with it. */
void spex_store_become_one_file(struct spex_store *store) {
    sqlite3_busy_timeout(store->db, 0);
    sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}
