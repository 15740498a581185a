/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <jansson.h>
#include <sqlite3.h>

#include <spex/spex.h>

#include "../probe_type.h"

#define APPLICATION_ID 0x53504558 /* "SPEX" */
#define SCHEMA_VERSION 1

static const char schema[] =
    "CREATE TABLE exploration (space TEXT NOT NULL, identity TEXT NOT NULL, policy TEXT NOT NULL,"
    " program TEXT NOT NULL, spex TEXT NOT NULL, begun TEXT NOT NULL);"
    "CREATE TABLE trial (number INTEGER PRIMARY KEY, status TEXT NOT NULL, objective REAL,"
    " records_used INTEGER NOT NULL, records_lost INTEGER NOT NULL, seconds REAL NOT NULL,"
    " finished TEXT NOT NULL);"
    "CREATE TABLE trial_value (trial INTEGER NOT NULL REFERENCES trial, parameter TEXT NOT NULL,"
    " value TEXT NOT NULL, PRIMARY KEY (trial, parameter)) WITHOUT ROWID;"
    "CREATE TABLE trial_metric (trial INTEGER NOT NULL REFERENCES trial, probe INTEGER NOT NULL,"
    " type TEXT NOT NULL, field INTEGER NOT NULL, records INTEGER NOT NULL, count REAL NOT NULL,"
    " rate REAL, mean REAL, deviation REAL, min REAL, p50 REAL, p90 REAL, p99 REAL, max REAL,"
    " PRIMARY KEY (trial, probe, type, field)) WITHOUT ROWID;";

struct spex_store {
    char *path;
    int lock; /* descriptor that holds the writer's lock; must outlive `db`, whose own locks on the
                 same file any close of ours would drop */
    sqlite3 *db;
    char *space;
    char *identity;
    char *policy;
    char *program;
};

static int fail_sqlite(const struct spex_store *store, const char *what, struct spex_why *why) {
    int code = sqlite3_errcode(store->db) & 0xff;
    int err = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_FULL ? -ENOSPC : -EIO;
    int system = sqlite3_system_errno(store->db);
    if (code == SQLITE_NOTADB)
        return spex_fail(why, -EEXIST, "%s is no store of spex", store->path);
    if ((code == SQLITE_CANTOPEN || code == SQLITE_IOERR) && system)
        return spex_fail(why, -system, "cannot %s %s: %s", what, store->path, strerror(system));
    return spex_fail(why, err, "cannot %s %s: %s", what, store->path, sqlite3_errmsg(store->db));
}

static int execute(struct spex_store *store, const char *sql, const char *what,
                   struct spex_why *why) {
    if (sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    return fail_sqlite(store, what, why);
}

static int prepare(struct spex_store *store, const char *sql, sqlite3_stmt **statement,
                   struct spex_why *why) {
    if (sqlite3_prepare_v2(store->db, sql, -1, statement, NULL) == SQLITE_OK)
        return 0;
    return fail_sqlite(store, "use", why);
}

static int integer_of(struct spex_store *store, const char *sql, int64_t *value,
                      struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    int err = prepare(store, sql, &statement, why);
    if (!err && sqlite3_step(statement) != SQLITE_ROW)
        err = fail_sqlite(store, "read", why);
    if (!err)
        *value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return err;
}

static int lock(struct spex_store *store, struct spex_why *why) {
    store->lock = open(store->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (store->lock < 0)
        return spex_fail(why, -errno, "cannot open the store %s: %s", store->path, strerror(errno));
    if (flock(store->lock, LOCK_EX | LOCK_NB) == 0)
        return 0;
    if (errno == EWOULDBLOCK)
        return spex_fail(why, -EBUSY, "the store %s is in use by another exploration", store->path);
    return spex_fail(why, -errno, "cannot lock the store %s: %s", store->path, strerror(errno));
}

static int open_database(struct spex_store *store, int flags, struct spex_why *why) {
    if (sqlite3_open_v2(store->path, &store->db, flags, NULL) != SQLITE_OK)
        return fail_sqlite(store, "open the store", why);
    sqlite3_busy_timeout(store->db, 10000);
    return 0;
}

static char *column_text(sqlite3_stmt *statement, int column) {
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
    err = err ? err
              : prepare(store, "SELECT space, identity, policy, program FROM exploration",
                        &statement, why);
    if (!err && sqlite3_step(statement) != SQLITE_ROW)
        err = spex_fail(why, -EEXIST, "%s is no complete store of spex", store->path);
    if (!err) {
        store->space = column_text(statement, 0);
        store->identity = column_text(statement, 1);
        store->policy = column_text(statement, 2);
        store->program = column_text(statement, 3);
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
    int err = execute(store, settings, "write", why);
    err = err ? err : execute(store, schema, "write", why);
    err = err ? err
              : prepare(store,
                        "INSERT INTO exploration VALUES (?, ?, ?, ?, '" SPEX_VERSION
                        "', datetime('now'))",
                        &statement, why);
    if (!err) {
        store->space = strdup(xml);
        sqlite3_bind_text(statement, 1, xml, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 2, store->identity, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, store->policy, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 4, store->program, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            err = fail_sqlite(store, "write", why);
    }
    sqlite3_finalize(statement);
    err = err ? err : execute(store, "COMMIT", "write", why);
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
    char *identity = spex_space_identity(&space->space);
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

int spex_store_open(const char *path, const struct spex_space_file *space, const char *policy,
                    char *const *argv, struct spex_store **out, struct spex_why *why) {
    struct spex_store *store = store_new(path);
    int err = store ? lock(store, why) : spex_fail(why, -ENOMEM, "out of memory");
    err = err ? err : open_database(store, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, why);
    err = err ? err : adopt(store, space, policy, argv, why);
    if (err) {
        spex_store_close(store);
        store = NULL;
    }
    *out = store;
    return err;
}

int spex_store_read(const char *path, struct spex_store **out, struct spex_why *why) {
    struct spex_store *store = store_new(path);
    int err = store ? 0 : spex_fail(why, -ENOMEM, "out of memory");
    err = err ? err : open_database(store, SQLITE_OPEN_READONLY, why);
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

static int delete_trial(struct spex_store *store, sqlite3_int64 number, struct spex_why *why) {
    static const char *const tables[] = {"trial_metric WHERE trial", "trial_value WHERE trial",
                                         "trial WHERE number"};
    char sql[96];
    int err = 0;
    for (int t = 0; t < 3 && !err; t++) {
        snprintf(sql, sizeof(sql), "DELETE FROM %s = %lld", tables[t], (long long)number);
        err = execute(store, sql, "write to the store", why);
    }
    return err;
}

static int insert_trial(struct spex_store *store, sqlite3_int64 number,
                        const struct spex_trial *trial, struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    int err = prepare(store,
                      "INSERT INTO trial (status, objective, records_used, records_lost, seconds,"
                      " number, finished) VALUES (?, ?, ?, ?, ?, ?, datetime('now'))",
                      &statement, why);
    if (err)
        return err;
    sqlite3_bind_text(statement, 1, trial->status, -1, SQLITE_STATIC);
    if (trial->ok)
        sqlite3_bind_double(statement, 2, trial->objective);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)trial->records_used);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)trial->records_lost);
    sqlite3_bind_double(statement, 5, trial->seconds);
    sqlite3_bind_int64(statement, 6, number);
    if (sqlite3_step(statement) != SQLITE_DONE)
        err = fail_sqlite(store, "write to the store", why);
    sqlite3_finalize(statement);
    return err;
}

static int insert_values(struct spex_store *store, sqlite3_int64 number,
                         const struct spex_space *space, const size_t *levels,
                         struct spex_why *why) {
    sqlite3_stmt *statement = NULL;
    int err = prepare(store, "INSERT INTO trial_value VALUES (?, ?, ?)", &statement, why);
    for (size_t p = 0; p < space->parameter_count && !err; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        sqlite3_bind_int64(statement, 1, number);
        sqlite3_bind_text(statement, 2, parameter->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, parameter->values[levels[p]].text, -1, SQLITE_STATIC);
        if (sqlite3_step(statement) != SQLITE_DONE)
            err = fail_sqlite(store, "write to the store", why);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return err;
}

/* One row: one probe's one value; a probe without values has a row too. */
static int insert_metric(struct spex_store *store, sqlite3_stmt *statement, sqlite3_int64 number,
                         struct spex_tracer *tracer, size_t probe, unsigned field,
                         double ticks_per_second, double seconds, struct spex_why *why) {
    static const double quantiles[] = {0.5, 0.9, 0.99};
    struct spex_metrics metrics;
    spex_tracer_metrics(tracer, probe, &metrics);
    double scale = spex_probe_type_ticks(metrics.probe_type) ? 1 / ticks_per_second : 1;
    sqlite3_clear_bindings(statement);
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_int(statement, 2, metrics.probe_id);
    sqlite3_bind_text(statement, 3, spex_probe_type_name(metrics.probe_type), -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 4, (int)field);
    sqlite3_bind_int64(statement, 5, (sqlite3_int64)metrics.records);
    sqlite3_bind_double(statement, 6, metrics.count);
    if (seconds > 0)
        sqlite3_bind_double(statement, 7, metrics.count / seconds);
    if (field < metrics.series) {
        struct spex_series series;
        spex_tracer_series(tracer, probe, field, &series);
        sqlite3_bind_double(statement, 8, series.mean * scale);
        sqlite3_bind_double(statement, 9, series.deviation * scale);
        sqlite3_bind_double(statement, 10, series.min * scale);
        for (int q = 0; q < 3; q++)
            sqlite3_bind_double(statement, 11 + q,
                                spex_tracer_quantile(tracer, probe, field, quantiles[q]) * scale);
        sqlite3_bind_double(statement, 14, series.max * scale);
    }
    int err =
        sqlite3_step(statement) == SQLITE_DONE ? 0 : fail_sqlite(store, "write to the store", why);
    sqlite3_reset(statement);
    return err;
}

static int insert_metrics(struct spex_store *store, sqlite3_int64 number,
                          const struct spex_trial *trial, double ticks_per_second,
                          struct spex_why *why) {
    struct spex_tracer *tracer = spex_measure_tracer(trial->measure);
    sqlite3_stmt *statement = NULL;
    int err = prepare(store, "INSERT INTO trial_metric VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                      &statement, why);
    for (size_t p = 0; p < spex_tracer_probes(tracer) && !err; p++) {
        struct spex_metrics metrics;
        spex_tracer_metrics(tracer, p, &metrics);
        unsigned fields = metrics.series ? metrics.series : 1;
        for (unsigned f = 0; f < fields && !err; f++)
            err = insert_metric(store, statement, number, tracer, p, f, ticks_per_second,
                                trial->seconds, why);
    }
    sqlite3_finalize(statement);
    return err;
}

int spex_store_put(struct spex_store *store, uint64_t number, const struct spex_space *space,
                   const size_t *levels, const struct spex_trial *trial, double ticks_per_second,
                   struct spex_why *why) {
    sqlite3_int64 row = (sqlite3_int64)number;
    int err = execute(store, "BEGIN IMMEDIATE", "write to the store", why);
    err = err ? err : delete_trial(store, row, why);
    err = err ? err : insert_trial(store, row, trial, why);
    err = err ? err : insert_values(store, row, space, levels, why);
    err = err ? err : insert_metrics(store, row, trial, ticks_per_second, why);
    err = err ? err : execute(store, "COMMIT", "write to the store", why);
    if (err)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

static int load_levels(struct spex_store *store, sqlite3_stmt *values, sqlite3_int64 number,
                       const struct spex_space *space, size_t *levels, struct spex_why *why) {
    sqlite3_bind_int64(values, 1, number);
    for (size_t p = 0; p < space->parameter_count; p++) {
        sqlite3_bind_text(values, 2, space->parameters[p].name, -1, SQLITE_STATIC);
        int got = sqlite3_step(values);
        if (got != SQLITE_ROW && got != SQLITE_DONE)
            return fail_sqlite(store, "read", why);
        levels[p] = got == SQLITE_ROW
                        ? spex_parameter_level(&space->parameters[p],
                                               (const char *)sqlite3_column_text(values, 0))
                        : space->parameters[p].count;
        sqlite3_reset(values);
        if (levels[p] == space->parameters[p].count)
            return spex_fail(why, -EBADMSG, "%s: trial %lld has no value of parameter \"%s\"",
                             store->path, (long long)number, space->parameters[p].name);
    }
    return 0;
}

static struct spex_stored_trial *trial_append(struct spex_stored_trials *trials,
                                              size_t parameters) {
    if ((trials->count & (trials->count - 1)) == 0) {
        size_t room = trials->count ? trials->count * 2 : 1;
        struct spex_stored_trial *items = realloc(trials->items, room * sizeof(*items));
        if (!items)
            return NULL;
        trials->items = items;
    }
    struct spex_stored_trial *trial = &trials->items[trials->count];
    *trial = (struct spex_stored_trial){.levels = calloc(parameters, sizeof(size_t))};
    if (trial->levels)
        trials->count++;
    return trial->levels ? trial : NULL;
}

static int load_trial(struct spex_store *store, sqlite3_stmt *row, sqlite3_stmt *values,
                      const struct spex_space *space, struct spex_stored_trials *trials,
                      struct spex_why *why) {
    struct spex_stored_trial *trial = trial_append(trials, space->parameter_count);
    if (!trial || !(trial->status = column_text(row, 1)))
        return spex_fail(why, -ENOMEM, "out of memory");
    trial->ok = strcmp(trial->status, "ok") == 0;
    trial->objective = sqlite3_column_double(row, 2);
    trial->records_used = (uint64_t)sqlite3_column_int64(row, 3);
    trial->records_lost = (uint64_t)sqlite3_column_int64(row, 4);
    trial->seconds = sqlite3_column_double(row, 5);
    sqlite3_int64 number = sqlite3_column_int64(row, 0);
    if (trial->ok && (sqlite3_column_type(row, 2) != SQLITE_FLOAT || !isfinite(trial->objective)))
        return spex_fail(why, -EBADMSG, "%s: trial %lld has no objective", store->path,
                         (long long)number);
    return load_levels(store, values, number, space, trial->levels, why);
}

int spex_store_trials(struct spex_store *store, const struct spex_space *space,
                      struct spex_stored_trials *trials, struct spex_why *why) {
    sqlite3_stmt *rows = NULL, *values = NULL;
    *trials = (struct spex_stored_trials){NULL, 0};
    /* One transaction: a trial that an exploration adds meanwhile is in both tables or in neither.
     */
    int err = execute(store, "BEGIN", "read", why);
    err = err ? err
              : prepare(store,
                        "SELECT number, status, objective, records_used, records_lost, seconds"
                        " FROM trial ORDER BY number",
                        &rows, why);
    err = err ? err
              : prepare(store, "SELECT value FROM trial_value WHERE trial = ? AND parameter = ?",
                        &values, why);
    int got = SQLITE_ROW;
    while (!err && (got = sqlite3_step(rows)) == SQLITE_ROW)
        err = load_trial(store, rows, values, space, trials, why);
    if (!err && got != SQLITE_DONE)
        err = fail_sqlite(store, "read", why);
    sqlite3_finalize(rows);
    sqlite3_finalize(values);
    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (err)
        spex_stored_trials_free(trials);
    return err;
}

void spex_stored_trials_free(struct spex_stored_trials *trials) {
    for (size_t t = 0; t < trials->count; t++) {
        free(trials->items[t].levels);
        free(trials->items[t].status);
    }
    free(trials->items);
    *trials = (struct spex_stored_trials){NULL, 0};
}
