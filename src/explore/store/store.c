/* SPDX-License-Identifier: MIT */
/* Opens stores: makes the schema of a new one, and checks that an existing one belongs to the same
 * exploration. A writer holds the store's lock (store_log.c) until it closes the store; readers
 * need none. A store belongs to one thread. */
#define _GNU_SOURCE
#include "explore/store/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sqlite3.h>

#include "explore/store/store_file.h"
#include "explore/store/store_log.h"
#include "explore/store/store_usage.h"
#include "text/hexadecimal.h"

/* Marks the file as a store: "SPEX" in ASCII, at the place that SQLite's format has for it. */
#define APPLICATION_ID 0x53504558
#define SCHEMA_VERSION 6

/* Format SCHEMA_VERSION, documented for users' own queries: a change needs a new version. NULL
 * stands for a number that is not known. */
static const char schema[] =
    "CREATE TABLE exploration (space TEXT NOT NULL, identity TEXT NOT NULL, policy TEXT NOT NULL,"
    " program TEXT NOT NULL, begun TEXT NOT NULL, directory TEXT);"
    "CREATE TABLE machine (id INTEGER PRIMARY KEY, host TEXT NOT NULL, kernel TEXT NOT NULL,"
    " cpu TEXT NOT NULL, cpus TEXT NOT NULL, memory TEXT NOT NULL, build TEXT NOT NULL,"
    " spex TEXT NOT NULL);"
    "CREATE TABLE fleet (exploration TEXT NOT NULL, class TEXT NOT NULL);"
    "CREATE TABLE plan (asked INTEGER PRIMARY KEY, told INTEGER NOT NULL);"
    "CREATE TABLE trial (number INTEGER PRIMARY KEY, asked INTEGER NOT NULL, told INTEGER NOT NULL,"
    " machine INTEGER NOT NULL REFERENCES machine, refused INTEGER NOT NULL, retried INTEGER NOT "
    "NULL, status TEXT NOT NULL, "
    "records_used INTEGER NOT NULL, records_lost "
    "INTEGER NOT NULL,"
    " seconds REAL NOT NULL, steady INTEGER NOT NULL, finished TEXT NOT NULL, block INTEGER NOT "
    "NULL, passed REAL NOT NULL, time_limit REAL NOT NULL, reference INTEGER NOT NULL);"
    "CREATE TABLE trial_value (trial INTEGER NOT NULL REFERENCES trial, parameter TEXT NOT NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (trial, parameter)) WITHOUT ROWID;"
    "CREATE TABLE trial_measured (trial INTEGER NOT NULL REFERENCES trial, criterion INTEGER NOT "
    "NULL,"
    " value REAL NOT NULL, error REAL, PRIMARY KEY (trial, criterion)) WITHOUT ROWID;"
    "CREATE TABLE trial_metric (trial INTEGER NOT NULL REFERENCES trial, probe INTEGER NOT NULL,"
    " type TEXT NOT NULL, field INTEGER NOT NULL, name TEXT, records INTEGER NOT NULL,"
    " count REAL NOT NULL, rate REAL, mean REAL, deviation REAL, min REAL, p50 REAL, p90 REAL,"
    " p99 REAL, max REAL, provider TEXT, id INTEGER, PRIMARY KEY (trial, probe, type, field)) "
    "WITHOUT "
    "ROWID;" SPEX_STORE_USAGE_SCHEMA;

/* Reads the exploration's row. -EEXIST when the file is no store of this format. */
static int store_load(struct spex_store *store, struct spex_error *error) {
    int64_t application = 0, version = 0;
    sqlite3_stmt *statement = NULL;
    int err = spex_store_integer(store, "PRAGMA application_id", &application, error);
    err = err ? err : spex_store_integer(store, "PRAGMA user_version", &version, error);
    if (!err && application != APPLICATION_ID)
        err = spex_fail(error, -EEXIST, "%s is no store of spex", store->path);
    if (!err && version != SCHEMA_VERSION)
        err =
            spex_fail(error, -EEXIST, "%s was made by another version of spex (format %d, not %d)",
                      store->path, (int)version, SCHEMA_VERSION);
    err =
        err ? err
            : spex_store_prepare(store, "SELECT space, identity, policy, program FROM exploration",
                                 &statement, error);
    int got = err ? SQLITE_ROW : sqlite3_step(statement);
    if (got == SQLITE_DONE)
        err = spex_fail(error, -EEXIST, "%s is no complete store of spex", store->path);
    else if (got != SQLITE_ROW)
        err = spex_store_fail(store, "read", error);
    if (!err) {
        store->space = spex_store_bytes(statement, 0);
        store->identity = spex_store_bytes(statement, 1);
        store->policy = spex_store_text(statement, 2);
        store->program = spex_store_bytes(statement, 3);
        if (!store->space || !store->identity || !store->policy || !store->program)
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    sqlite3_finalize(statement);
    return err;
}

/* One transaction: an explorer that is killed meanwhile leaves an empty file, which the next one
 * takes for a new store. */
static int store_create(struct spex_store *store, const char *xml, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    char settings[96];
    snprintf(settings, sizeof(settings), "BEGIN; PRAGMA application_id=%d; PRAGMA user_version=%d;",
             APPLICATION_ID, SCHEMA_VERSION);
    int err = spex_store_execute(store, settings, "write", error);
    err = err ? err : spex_store_execute(store, schema, "write", error);
    err = err ? err
              : spex_store_prepare(store,
                                   "INSERT INTO exploration VALUES (?, ?, ?, ?,"
                                   " datetime('now'), NULL)",
                                   &statement, error);
    if (!err) {
        store->space = strdup(xml);
        sqlite3_bind_text(statement, 1, xml, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, store->identity, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, store->policy, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 4, store->program, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            err = spex_store_fail(store, "write", error);
    }
    sqlite3_finalize(statement);
    err = err ? err : spex_store_execute(store, "COMMIT", "write", error);
    if (err)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return err ? err : store->space ? 0 : spex_fail(error, -ENOMEM, "out of memory");
}

/* An argument that is not UTF-8: {"bytes": "ff2d"}. */
static json_t *argument_bytes(const char *argument) {
    char *digits = spex_hexadecimal(argument, strlen(argument));
    json_t *json = digits ? json_pack("{s:s}", "bytes", digits) : NULL;
    free(digits);
    return json;
}

/* The program and its arguments as JSON, to be compared and shown. */
static char *program_text(char *const *argv) {
    json_t *list = json_array();
    for (size_t i = 0; argv[i]; i++)
        if (json_array_append_new(list, json_string(argv[i])) < 0) /* NULL: not UTF-8 */
            json_array_append_new(list, argument_bytes(argv[i]));
    char *text = json_dumps(list, 0);
    json_decref(list);
    return text;
}

/* Fails with the first line in which the identities differ. */
static int fail_other_space(const struct spex_store *store, const char *identity,
                            struct spex_error *error) {
    const char *theirs = store->identity, *ours = identity;
    spex_identity_skip_equal(&theirs, &ours);
    return spex_fail(error, -EEXIST,
                     "the store %s belongs to another space: it has \"%.*s\", the space \"%.*s\"",
                     store->path, (int)strcspn(theirs, "\n"), theirs, (int)strcspn(ours, "\n"),
                     ours);
}

/* Fails unless space, policy and program are those of the store. */
static int store_check_exploration(const struct spex_store *store, const char *identity,
                                   const char *policy, const char *program,
                                   struct spex_error *error) {
    if (strcmp(store->identity, identity) != 0)
        return fail_other_space(store, identity, error);
    if (strcmp(store->policy, policy) != 0)
        return spex_fail(error, -EEXIST, "the store %s belongs to policy \"%s\", not \"%s\"",
                         store->path, store->policy, policy);
    if (strcmp(store->program, program) != 0)
        return spex_fail(error, -EEXIST, "the store %s belongs to another program: %s, not %s",
                         store->path, store->program, program);
    return 0;
}

/* Makes a new file this exploration's store; checks an existing one. */
static int store_adopt(struct spex_store *store, const struct spex_space_file *space,
                       const char *policy, char *const *argv, struct spex_error *error) {
    int64_t pages = 0;
    char *identity = spex_space_identity(space);
    char *program = program_text(argv);
    int err = identity && program ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    /* SQLite is asked, not the file's size: it first rolls back what a killed process wrote in
     * part. */
    err = err ? err : spex_store_integer(store, "PRAGMA page_count", &pages, error);
    if (!err && pages == 0) {
        store->identity = strdup(identity);
        store->policy = strdup(policy);
        store->program = strdup(program);
        if (!store->identity || !store->policy || !store->program)
            err = spex_fail(error, -ENOMEM, "out of memory");
        err = err ? err : store_create(store, space->xml, error);
    } else if (!err) {
        err = store_load(store, error);
        err = err ? err : store_check_exploration(store, identity, policy, program, error);
    }
    free(identity);
    free(program);
    return err;
}

/* NULL: out of memory. Descriptor -1: nothing is locked. */
static struct spex_store *store_new(const char *path) {
    struct spex_store *store = calloc(1, sizeof(*store));
    if (!store)
        return NULL;
    store->lock = -1;
    /* SQLite takes names that begin with a colon, as ":memory:", for special ones. */
    if (asprintf(&store->path, "%s%s", path[0] == ':' ? "./" : "", path) < 0) {
        free(store);
        return NULL;
    }
    return store;
}

/* The lock comes first: two explorations must not both find the file empty. */
int spex_store_open(const char *path, const struct spex_space_file *space, const char *policy,
                    char *const *argv, struct spex_store **out, struct spex_error *error) {
    struct spex_store *store = store_new(path);
    int err = store ? spex_store_lock(store, error) : spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err
              : spex_store_open_database(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error);
    err = err ? err : store_adopt(store, space, policy, argv, error);
    if (err) {
        spex_store_close(store);
        store = NULL;
    } else {
        spex_store_write_ahead(store);
    }
    *out = store;
    return err;
}

/* Without the lock: a store can be read while an exploration writes to it. */
int spex_store_read(const char *path, struct spex_store **out, struct spex_error *error) {
    struct spex_store *store = store_new(path);
    int err = store ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : spex_store_open_database(store, SQLITE_OPEN_READONLY, error);
    err = err ? err : spex_store_check_whole(store, error);
    err = err ? err : store_load(store, error);
    if (err) {
        spex_store_close(store);
        store = NULL;
    }
    *out = store;
    return err;
}

/* Kept statements must be finalised before the database is closed. Only a writer merges the log. */
void spex_store_close(struct spex_store *store) {
    if (!store)
        return;
    for (size_t k = 0; k < store->kept_count; k++)
        sqlite3_finalize(store->kept[k].statement);
    if (store->db && store->lock >= 0)
        spex_store_become_one_file(store);
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

const char *spex_store_path(const struct spex_store *store) {
    return store->path;
}

const char *spex_store_policy(const struct spex_store *store) {
    return store->policy;
}

const char *spex_store_program(const struct spex_store *store) {
    return store->program;
}
