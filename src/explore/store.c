/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <sqlite3.h>

#include "deadline.h"
#include "store_file.h"
#include "store_usage.h"

#define APPLICATION_ID 0x53504558 /* "SPEX" */
#define SCHEMA_VERSION 2
#define LOCK_SECONDS   2
#define LOG_TRIES      20

static const char schema[] =
    "CREATE TABLE exploration (space TEXT NOT NULL, identity TEXT NOT NULL, policy TEXT NOT NULL,"
    " program TEXT NOT NULL, begun TEXT NOT NULL, directory TEXT);"
    "CREATE TABLE machine (id INTEGER PRIMARY KEY, host TEXT NOT NULL, kernel TEXT NOT NULL,"
    " cpu TEXT NOT NULL, cpus TEXT NOT NULL, memory TEXT NOT NULL, build TEXT NOT NULL,"
    " spex TEXT NOT NULL);"
    "CREATE TABLE plan (asked INTEGER PRIMARY KEY, told INTEGER NOT NULL);"
    "CREATE TABLE trial (number INTEGER PRIMARY KEY, asked INTEGER NOT NULL, told INTEGER NOT NULL,"
    " machine INTEGER NOT NULL REFERENCES machine, refused INTEGER NOT NULL, retried INTEGER NOT "
    "NULL, status TEXT NOT NULL, "
    "records_used INTEGER NOT NULL, records_lost "
    "INTEGER NOT NULL,"
    " seconds REAL NOT NULL, steady INTEGER NOT NULL, finished TEXT NOT NULL);"
    "CREATE TABLE trial_value (trial INTEGER NOT NULL REFERENCES trial, parameter TEXT NOT NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (trial, parameter)) WITHOUT ROWID;"
    "CREATE TABLE trial_measured (trial INTEGER NOT NULL REFERENCES trial, criterion INTEGER NOT "
    "NULL,"
    " value REAL NOT NULL, error REAL, PRIMARY KEY (trial, criterion)) WITHOUT ROWID;"
    "CREATE TABLE trial_metric (trial INTEGER NOT NULL REFERENCES trial, probe INTEGER NOT NULL,"
    " type TEXT NOT NULL, field INTEGER NOT NULL, name TEXT, records INTEGER NOT NULL,"
    " count REAL NOT NULL, rate REAL, mean REAL, deviation REAL, min REAL, p50 REAL, p90 REAL,"
    " p99 REAL, max REAL, PRIMARY KEY (trial, probe, type, field)) WITHOUT "
    "ROWID;" SPEX_STORE_USAGE_SCHEMA;

int spex_store_fail(const struct spex_store *store, const char *what, struct spex_why *why) {
    int code = sqlite3_errcode(store->db) & 0xff;
    int err = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
    int system = sqlite3_system_errno(store->db);
    if (code == SQLITE_NOTADB)
        return spex_fail(why, -EEXIST, "%s is no store of spex", store->path);
    if ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) && system)
        return spex_fail(why, -system, "cannot %s %s: %s", what, store->path, strerror(system));
    return spex_fail(why, err, "cannot %s %s: %s", what, store->path, sqlite3_errmsg(store->db));
}

int spex_store_execute(struct spex_store *store, const char *sql, const char *what,
                       struct spex_why *why) {
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return spex_store_fail(store, what, why);
}

int spex_store_prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                       struct spex_why *why) {
    if (sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK)
        return 0;
    return spex_store_fail(store, "use", why);
}

int spex_store_keep(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                    struct spex_why *why) {
    size_t k = 0;
    while (k < store->kept_count && store->kept[k].sql != sql)
        k++;
    if (k == store->kept_count) {
        assert(k < SPEX_STORE_KEPT_MAX);
        if (sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                               &store->kept[k].statement, NULL) != SQLITE_OK)
            return spex_store_fail(store, "use", why);
        store->kept[k].sql = sql;
        store->kept_count++;
    }
    *statement = store->kept[k].statement;
    return 0;
}

int spex_store_put_row(struct spex_store *store, sqlite3_stmt *statement, struct spex_why *why) {
    int err = sqlite3_step(statement) == SQLITE_DONE
                  ? 0
                  : spex_store_fail(store, "write to the store", why);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return err;
}

int spex_store_has_table(struct spex_store *store, const char *table, bool *has,
                         struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_prepare(
        store, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", &statement, why);
    if (err)
        return err;
    sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
    int got = sqlite3_step(statement);
    *has = got == SQLITE_ROW;
    if (got != SQLITE_ROW && got != SQLITE_DONE)
        err = spex_store_fail(store, "read", why);
    sqlite3_finalize(statement);
    return err;
}

static int integer_of(struct spex_store *store, const char *sql, int64_t *value,
                      struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_prepare(store, sql, &statement, why);
    if (!err && sqlite3_step(statement) != SQLITE_ROW)
        err = spex_store_fail(store, "read", why);
    if (!err)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return err;
}

/* A child of an explorer that was killed holds its lock until it runs the program or finds itself alone: that takes a
 * moment, not seconds. */
static int flock_soon(int fd) {
    const struct timespec pause = {.tv_nsec = 5000000};
    struct spex_deadline deadline = spex_deadline_in(LOCK_SECONDS);
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || spex_deadline_left_ms(deadline) == 0)
            return -errno;
        nanosleep(&pause, NULL);
    }
    return 0;
}

static int lock(struct spex_store *store, struct spex_why *why) {
    store->lock = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->lock < 0)
        return spex_fail(why, -errno, "cannot open the store %s: %s", store->path, strerror(errno));
    int err = flock_soon(store->lock);
    if (err == -EWOULDBLOCK)
        return spex_fail(why, -EBUSY, "the store %s is in use by another exploration", store->path);
    if (err)
        return spex_fail(why, err, "cannot lock the store %s: %s", store->path, strerror(-err));
    return 0;
}

static int open_database(struct spex_store *store, int flags, struct spex_why *why) {
    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK)
        return spex_store_fail(store, "open the store", why);
    sqlite3_busy_timeout(store->db, 10000);
    return 0;
}

char *spex_store_text(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text ? strdup(text) : NULL;
}

/* Reads what the store is about; -EEXIST when it is no store at all. */
static int load(struct spex_store *store, struct spex_why *why) {
    int64_t application = 0, version = 0;
    sqlite3_stmt *statement = NULL;
    int err = integer_of(store, "PRAGMA application_id", &application, why);
    err = err ? err : integer_of(store, "PRAGMA user_version", &version, why);
    if (!err && application != APPLICATION_ID)
        err = spex_fail(why, -EEXIST, "%s is no store of spex", store->path);
    if (!err && version != SCHEMA_VERSION)
        err = spex_fail(why, -EEXIST, "%s was made by another version of spex (format %d, not %d)",
                        store->path, (int)version, SCHEMA_VERSION);
    err =
        err ? err
            : spex_store_prepare(store, "SELECT space, identity, policy, program FROM exploration",
                                 &statement, why);
    if (!err && sqlite3_step(statement) != SQLITE_ROW)
        err = spex_fail(why, -EEXIST, "%s is no complete store of spex", store->path);
    if (!err) {
        store->space = spex_store_text(statement, 0);
        store->identity = spex_store_text(statement, 1);
        store->policy = spex_store_text(statement, 2);
        store->program = spex_store_text(statement, 3);
        if (!store->space || !store->identity || !store->policy || !store->program)
            err = spex_fail(why, -ENOMEM, "out of memory");
    }
    sqlite3_finalize(statement);
    return err;
}

static int begin_exploration(struct spex_store *store, const char *xml, struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    char settings[96];
    snprintf(settings, sizeof(settings), "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d;",
             APPLICATION_ID, SCHEMA_VERSION);
    int err = spex_store_execute(store, settings, "write", why);
    err = err ? err : spex_store_execute(store, schema, "write", why);
    err = err ? err
              : spex_store_prepare(store,
                                   "INSERT INTO exploration VALUES (?, ?, ?, ?,"
                                   " datetime('now'), NULL)",
                                   &statement, why);
    if (!err) {
        store->space = strdup(xml);
        sqlite3_bind_text(statement, 1, xml, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, store->identity, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, store->policy, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 4, store->program, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            err = spex_store_fail(store, "write", why);
    }
    sqlite3_finalize(statement);
    err = err ? err : spex_store_execute(store, "COMMIT", "write", why);
    if (err)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return err ? err : store->space ? 0 : spex_fail(why, -ENOMEM, "out of memory");
}

/* The program and its arguments as one text that can be compared and read. */
static char *program_text(char *const *argv) {
    json_t *list = json_array();
    for (size_t i = 0; argv[i]; i++)
        if (json_array_append_new(list, json_string(argv[i])) < 0) /* not UTF-8 */
            json_array_append_new(list, json_string("?"));
    char *text = json_dumps(list, 0);
    json_decref(list);
    return text;
}

/* The first line in which two identities differ, as the store has it. */
static int fail_other_space(const struct spex_store *store, const char *identity,
                            struct spex_why *why) {
    const char *theirs = store->identity, *ours = identity;
    while (*theirs && *ours) {
        size_t a = strcspn(theirs, "\n"), b = strcspn(ours, "\n");
        if (a != b || memcmp(theirs, ours, a) != 0)
            break;
        theirs += a + (theirs[a] == '\n');
        ours += b + (ours[b] == '\n');
    }
    return spex_fail(
        why, -EEXIST, "the store %s belongs to another space: it has \"%.*s\", the space \"%.*s\"",
        store->path, (int)strcspn(theirs, "\n"), theirs, (int)strcspn(ours, "\n"), ours);
}

static int check_same(const struct spex_store *store, const char *identity, const char *policy,
                      const char *program, struct spex_why *why) {
    if (strcmp(store->identity, identity) != 0)
        return fail_other_space(store, identity, why);
    if (strcmp(store->policy, policy) != 0)
        return spex_fail(why, -EEXIST, "the store %s belongs to policy \"%s\", not \"%s\"",
                         store->path, store->policy, policy);
    if (strcmp(store->program, program) != 0)
        return spex_fail(why, -EEXIST, "the store %s belongs to another program: %s, not %s",
                         store->path, store->program, program);
    return 0;
}

/* A new file becomes this exploration's store, an old one has to be. */
static int adopt(struct spex_store *store, const struct spex_space_file *space, const char *policy,
                 char *const *argv, struct spex_why *why) {
    int64_t pages = 0;
    char *identity = spex_space_identity(space);
    char *program = program_text(argv);
    int err = identity && program ? 0 : spex_fail(why, -ENOMEM, "out of memory");
    /* Asked of SQLite, which first takes back what a killed process had half written. */
    err = err ? err : integer_of(store, "PRAGMA page_count", &pages, why);
    if (!err && pages == 0) {
        store->identity = strdup(identity);
        store->policy = strdup(policy);
        store->program = strdup(program);
        if (!store->identity || !store->policy || !store->program)
            err = spex_fail(why, -ENOMEM, "out of memory");
        err = err ? err : begin_exploration(store, space->xml, why);
    } else if (!err) {
        err = load(store, why);
        err = err ? err : check_same(store, identity, policy, program, why);
    }
    free(identity);
    free(program);
    return err;
}

static struct spex_store *store_new(const char *path) {
    struct spex_store *store = calloc(1, sizeof(*store));
    if (!store)
        return NULL;
    store->lock = -1;
    /* Else SQLite takes ":memory:" for something that is no file. */
    if (asprintf(&store->path, "%s%s", path[0] == ':' ? "./" : "", path) < 0) {
        free(store);
        return NULL;
    }
    return store;
}

/* A write-ahead log takes one synchronisation a trial instead of three, and no new file. Where there can be none the
 * store stays as it is. */
static void write_ahead(struct spex_store *store) {
    sqlite3_exec(store->db,
                 "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; SELECT 1 FROM exploration",
                 NULL, NULL, NULL);
    store->syncs = true;
}

/* Whether the file says that it has a log (SQLite, Database File Format, 1.3.3). Read by SQLite's own descriptor: to
 * close another would drop the locks of whoever has the file open in this process. */
static bool says_log(sqlite3 *db) {
    enum { WRITE_VERSION = 18, WITH_LOG = 2 };
    sqlite3_file *file = NULL;
    unsigned char version = 0;
    return sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK &&
           file && file->pMethods &&
           file->pMethods->xRead(file, &version, 1, WRITE_VERSION) == SQLITE_OK &&
           version == WITH_LOG;
}

/* What says it has a log and has none was copied without it, unless an explorer is just ending, which removes the log
 * first. To be asked before anything is read, since SQLite makes an empty one then. */
static int check_whole(const struct spex_store *store, struct spex_why *why) {
    const struct timespec pause = {.tv_nsec = 10000000};
    char *log = NULL;
    if (asprintf(&log, "%s-wal", store->path) < 0)
        return spex_fail(why, -ENOMEM, "out of memory");
    int tries = 0, err = 0;
    while (tries < LOG_TRIES && says_log(store->db) && access(log, F_OK) < 0) {
        nanosleep(&pause, NULL);
        tries++;
    }
    if (tries == LOG_TRIES)
        err = spex_fail(why, -EBADMSG, "%s is not complete: %s, which belongs to it, is missing",
                        store->path, log);
    free(log);
    return err;
}

/* So that a store can be moved, and read from where nothing can be written. Not while somebody reads: then it keeps its
 * log. */
static void become_one_file(struct spex_store *store) {
    sqlite3_busy_timeout(store->db, 0);
    sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
}

int spex_store_open(const char *path, const struct spex_space_file *space, const char *policy,
                    char *const *argv, struct spex_store **out, struct spex_why *why) {
    struct spex_store *store = store_new(path);
    int err = store ? lock(store, why) : spex_fail(why, -ENOMEM, "out of memory");
    err = err ? err : open_database(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, why);
    err = err ? err : adopt(store, space, policy, argv, why);
    if (err) {
        spex_store_close(store);
        store = NULL;
    } else {
        write_ahead(store);
    }
    *out = store;
    return err;
}

int spex_store_read(const char *path, struct spex_store **out, struct spex_why *why) {
    struct spex_store *store = store_new(path);
    int err = store ? 0 : spex_fail(why, -ENOMEM, "out of memory");
    err = err ? err : open_database(store, SQLITE_OPEN_READONLY, why);
    err = err ? err : check_whole(store, why);
    err = err ? err : load(store, why);
    if (err) {
        spex_store_close(store);
        store = NULL;
    }
    *out = store;
    return err;
}

void spex_store_close(struct spex_store *store) {
    if (!store)
        return;
    for (size_t k = 0; k < store->kept_count; k++)
        sqlite3_finalize(store->kept[k].statement);
    if (store->db && store->lock >= 0)
        become_one_file(store);
    sqlite3_close(store->db);
    if (store->lock >= 0)
        close(store->lock);
    free(store->path);
    free(store->space);
    free(store->identity);
    free(store->policy);
    free(store->program);
    free(store);
}

const char *spex_store_space(const struct spex_store *store) {
    return store->space;
}

const char *spex_store_policy(const struct spex_store *store) {
    return store->policy;
}

const char *spex_store_program(const struct spex_store *store) {
    return store->program;
}
