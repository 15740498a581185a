/* SPDX-License-Identifier: MIT */
#include "tools/fleet/fleet_store_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "observe/profile_reader.h"
#include "observe/profile_sum.h"
#include "profile/figures.h"
#include "ring/probe_type.h"
#include "site/provider.h"

/* The version of the tables, and "spxf" as the file's application. */
enum { FORMAT = 2, APPLICATION = 0x73707866, BUSY_MS = 5000 };

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS run(id INTEGER PRIMARY KEY, fleet TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS snapshot(id INTEGER PRIMARY KEY, run INTEGER NOT NULL,"
    " time REAL NOT NULL, instances INTEGER NOT NULL, gone INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS told(run INTEGER NOT NULL, probe TEXT NOT NULL,"
    " time REAL NOT NULL, instances INTEGER NOT NULL, count REAL NOT NULL,"
    " records INTEGER NOT NULL, lost REAL NOT NULL, seconds REAL NOT NULL, p50 REAL, p90 REAL,"
    " p99 REAL, profile BLOB NOT NULL, PRIMARY KEY(run, probe, time)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS kernel(fleet TEXT NOT NULL, class TEXT NOT NULL,"
    " path TEXT NOT NULL, time REAL NOT NULL, sample TEXT NOT NULL,"
    " PRIMARY KEY(fleet, class, path));"
    "CREATE TABLE IF NOT EXISTS course(time REAL NOT NULL, run INTEGER NOT NULL, hosts INTEGER,"
    " none INTEGER, partial INTEGER, full INTEGER, covered INTEGER, recorded INTEGER, map INTEGER,"
    " capacity REAL, load REAL, response REAL, cost REAL, overlap REAL, PRIMARY KEY(time, run))"
    " WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS decision(time REAL NOT NULL, run INTEGER NOT NULL,"
    " action TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY(time, run)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS status(fleet TEXT PRIMARY KEY, time REAL NOT NULL,"
    " json TEXT NOT NULL) WITHOUT ROWID;";

int spex_fleet_store_failed(const struct spex_fleet_store *store, struct spex_error *error) {
    return spex_fail(error, -EINVAL, "%s: %s", store->path, sqlite3_errmsg(store->db));
}

int spex_fleet_store_execute(struct spex_fleet_store *store, const char *sql,
                             struct spex_error *error) {
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : spex_fleet_store_failed(store, error);
}

/* A number of the file's own. -EINVAL with the reason. */
static int pragma(struct spex_fleet_store *store, const char *sql, int *number,
                  struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    status = status == SQLITE_OK ? sqlite3_step(statement) : status;
    if (status == SQLITE_ROW)
        *number = sqlite3_column_int(statement, 0);
    int err = status == SQLITE_ROW ? 0 : spex_fleet_store_failed(store, error);
    sqlite3_finalize(statement);
    return err;
}

/* A file of another kind is left as it is. */
static int check(struct spex_fleet_store *store, bool writes, struct spex_error *error) {
    int application = 0, format = 0, tables = 0;
    int err = pragma(store, "PRAGMA application_id", &application, error);
    err = err ? err : pragma(store, "PRAGMA user_version", &format, error);
    err = err ? err : pragma(store, "SELECT count(*) FROM sqlite_master", &tables, error);
    if (err || (writes && !tables && !application))
        return err;
    /* A master adds the tables that an older format lacks. */
    return application == APPLICATION && (format == FORMAT || (writes && format < FORMAT))
               ? 0
               : spex_fail(error, -EINVAL, "%s: the history of a fleet was expected, of format %d",
                           store->path, FORMAT);
}

static int begin_run(struct spex_fleet_store *store, const char *fleet, struct spex_error *error) {
    char *sql = sqlite3_mprintf("PRAGMA journal_mode=WAL; PRAGMA application_id=%d;"
                                "PRAGMA user_version=%d; %s INSERT INTO run(fleet) VALUES(%Q);",
                                (int)APPLICATION, (int)FORMAT, schema, fleet);
    int err = sql ? spex_fleet_store_execute(store, sql, error)
                  : spex_fail(error, -ENOMEM, "out of memory");
    sqlite3_free(sql);
    store->run = sqlite3_last_insert_rowid(store->db);
    return err;
}

int spex_fleet_store_open(const char *path, const char *fleet, struct spex_fleet_store **store,
                          struct spex_error *error) {
    struct spex_fleet_store *opened = calloc(1, sizeof(*opened));
    int flags = fleet ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    *store = NULL;
    if (!opened || !(opened->path = strdup(path)) ||
        !(opened->fleet = strdup(fleet ? fleet : ""))) {
        free(opened ? opened->path : NULL);
        free(opened);
        return spex_fail(error, -ENOMEM, "out of memory");
    }
    int err = sqlite3_open_v2(path, &opened->db, flags, NULL) == SQLITE_OK
                  ? 0
                  : spex_fleet_store_failed(opened, error);
    sqlite3_busy_timeout(opened->db, BUSY_MS);
    err = err ? err : check(opened, fleet != NULL, error);
    if (!err && fleet)
        err = begin_run(opened, fleet, error);
    if (err)
        spex_fleet_store_close(opened);
    else
        *store = opened;
    return err;
}

void spex_fleet_store_close(struct spex_fleet_store *store) {
    if (!store)
        return;
    sqlite3_close(store->db);
    free(store->path);
    free(store->fleet);
    free(store);
}

/* A message as one piece of bytes. */
struct bytes {
    char *data;
    size_t size;
};

static int keep(void *user, const char *data, size_t size) {
    struct bytes *bytes = user;
    bytes->data = malloc(size);
    if (!bytes->data)
        return -ENOMEM;
    memcpy(bytes->data, data, size);
    bytes->size = size;
    return 0;
}

static bool all(void *user, const struct spex_profile_probe *probe) {
    (void)user, (void)probe;
    return true;
}

static void bind_quantiles(sqlite3_stmt *statement, int at, const struct spex_profile *profile) {
    const struct spex_profile_row *row = &profile->rows[0];
    double scale =
        spex_probe_type_ticks(row->probe.probe_type) ? 1 / profile->process.ticks_per_second : 1;
    struct spex_figures figures = {.any = false};
    if (row->probe.series)
        spex_figures_of(profile, row, 0, &figures);
    for (int q = 0; figures.any && q < SPEX_FIGURES_P999; q++)
        sqlite3_bind_double(statement, at + q, figures.quantiles[q].value * scale);
}

static void probe_text(const struct spex_profile_probe *probe, char *text, size_t size) {
    char name[SPEX_PROBE_TEXT_BYTES];
    spex_probe_selector(probe->provider[0] ? probe->provider : NULL, probe->name,
                        spex_profile_id(probe->probe_id, probe->declared), name, sizeof(name));
    snprintf(text, size, "%s:%s", name, spex_probe_type_name(probe->probe_type));
}

static int insert_told(struct spex_fleet_store *store, sqlite3_stmt *statement, double time,
                       const struct spex_fleet_sum *sum, struct spex_error *error) {
    const struct spex_profile_probe *probe = &sum->profile.rows[0].probe;
    struct bytes bytes = {.data = NULL};
    struct spex_fleet_profile_writer writer = {
        .by = {.process = 1}, .wanted = all, .send = keep, .user = &bytes};
    char text[SPEX_FLEET_PROBE_BYTES];
    if (spex_fleet_profile_write(&writer, &sum->profile) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    probe_text(probe, text, sizeof(text));
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    sqlite3_bind_int64(statement, 1, store->run);
    sqlite3_bind_text(statement, 2, text, -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(statement, 3, time);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)sum->instances);
    sqlite3_bind_double(statement, 5, spex_profile_executions(probe));
    sqlite3_bind_int64(statement, 6, (sqlite3_int64)probe->records);
    sqlite3_bind_double(statement, 7, probe->lost);
    sqlite3_bind_double(statement, 8, probe->on_seconds);
    bind_quantiles(statement, 9, &sum->profile);
    sqlite3_bind_blob(statement, 12, bytes.data ? bytes.data : "", (int)bytes.size,
                      SQLITE_TRANSIENT);
    free(bytes.data);
    return sqlite3_step(statement) == SQLITE_DONE ? 0 : spex_fleet_store_failed(store, error);
}

/* Writes the probe where it has changed. A probe too large for a message is in status alone. */
static int write_probe(struct spex_fleet_store *store, sqlite3_stmt *statement, double time,
                       const struct spex_fleet_sums *sums, size_t number,
                       struct spex_error *error) {
    struct spex_fleet_sum sum;
    if (spex_fleet_sums_of(sums, number, NULL, &sum) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    const struct spex_profile_probe *probe = &sum.profile.rows[0].probe;
    double count = spex_profile_executions(probe);
    bool same = store->last[number].records == probe->records &&
                !(store->last[number].count < count) && !(store->last[number].count > count);
    int err = 0;
    if (sum.instances && !same)
        err = insert_told(store, statement, time, &sum, error);
    if (!err) {
        store->last[number].records = probe->records;
        store->last[number].count = count;
    }
    spex_profile_free(&sum.profile);
    return err;
}

static int write_all(struct spex_fleet_store *store, double time,
                     const struct spex_fleet_sums *sums, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("INSERT INTO snapshot(run, time, instances, gone) "
                                "VALUES(%lld, %.17g, %lld, %lld)",
                                (long long)store->run, time, (long long)sums->count,
                                (long long)sums->gone_count);
    int err = sql ? spex_fleet_store_execute(store, sql, error)
                  : spex_fail(error, -ENOMEM, "out of memory");
    sqlite3_free(sql);
    if (!err && sqlite3_prepare_v2(store->db,
                                   "INSERT OR REPLACE INTO told(run, probe, time, instances, "
                                   "count, records, lost, seconds, p50, p90, p99, profile) "
                                   "VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
                                   -1, &statement, NULL) != SQLITE_OK)
        err = spex_fleet_store_failed(store, error);
    for (size_t p = 0; p < sums->probe_count && !err; p++)
        err = write_probe(store, statement, time, sums, p, error);
    sqlite3_finalize(statement);
    return err;
}

static int write_kernel(struct spex_fleet_store *store, sqlite3_stmt *statement, double time,
                        const struct spex_fleet_class *class, const json_t *json,
                        struct spex_error *error) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return spex_fail(error, -ENOMEM, "out of memory");
    sqlite3_reset(statement);
    sqlite3_bind_text(statement, 1, store->fleet, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 2, class->name, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 3, spex_kernel_message_path(json), -1, SQLITE_TRANSIENT);
    sqlite3_bind_double(statement, 4, time);
    sqlite3_bind_text(statement, 5, text, -1, SQLITE_TRANSIENT);
    free(text);
    return sqlite3_step(statement) == SQLITE_DONE ? 0 : spex_fleet_store_failed(store, error);
}

/* One kernel after the other. */
static int write_class(struct spex_fleet_store *store, sqlite3_stmt *statement, double time,
                       const struct spex_fleet_class *class, struct spex_error *error) {
    json_t *json = spex_fleet_class_kernel_json(class, NULL);
    int err = json ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    while (!err && !json_is_null(json)) {
        err = write_kernel(store, statement, time, class, json, error);
        json_t *next = spex_fleet_class_kernel_json(class, spex_kernel_message_path(json));
        json_decref(json);
        json = next;
        if (!err && !json)
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    json_decref(json);
    return err;
}

static int write_kernels(struct spex_fleet_store *store, double time,
                         struct spex_fleet_kernels *kernels, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = sqlite3_prepare_v2(store->db,
                                 "INSERT OR REPLACE INTO kernel(fleet, class, path, time, sample) "
                                 "VALUES(?,?,?,?,?)",
                                 -1, &statement, NULL) == SQLITE_OK
                  ? 0
                  : spex_fleet_store_failed(store, error);
    for (size_t c = 0; c < kernels->class_count && !err; c++) {
        if (kernels->classes[c].changed)
            err = write_class(store, statement, time, &kernels->classes[c], error);
        kernels->classes[c].changed &= err != 0;
    }
    sqlite3_finalize(statement);
    return err;
}

int spex_fleet_store_write(struct spex_fleet_store *store, double time,
                           const struct spex_fleet_sums *sums, struct spex_fleet_kernels *kernels,
                           struct spex_error *error) {
    int err = spex_fleet_store_execute(store, "BEGIN IMMEDIATE", error);
    if (err)
        return err;
    err = write_all(store, time, sums, error);
    err = err ? err : write_kernels(store, time, kernels, error);
    err = err ? err : spex_fleet_store_execute(store, "COMMIT", error);
    if (err) {
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
        /* The next snapshot has what this one should have had. */
        memset(store->last, 0, sizeof(store->last));
    }
    return err;
}

/* A column with a profile, of which nothing is trusted. NULL is an empty one. */
static int read_profile(sqlite3_stmt *statement, int column, struct spex_profile *profile,
                        struct spex_error *error) {
    struct spex_fleet_reports_by by;
    *profile = (struct spex_profile){.rows = NULL};
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return 0;
    const char *data = sqlite3_column_blob(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    return spex_fleet_profile_read(data ? data : "", size, &by, profile, error);
}

/* What has been added between the two profiles of a line. */
static int take_line(sqlite3_stmt *statement, struct spex_fleet_sums *sums,
                     struct spex_error *error) {
    struct spex_profile now, before = {.rows = NULL}, between = {.rows = NULL};
    struct spex_fleet_reports_by by = {.process = (int32_t)sums->count + 1};
    int err = read_profile(statement, 0, &now, error);
    err = err ? err : read_profile(statement, 1, &before, error);
    if (!err && spex_profile_since(&now, &before, &between) != 0)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err && spex_fleet_sums_take(sums, "history", &by, &between, 0) < 0)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (!err && sums->count && sums->instances[sums->count - 1].count)
        sums->instances[sums->count - 1].rows[0].instances =
            (size_t)sqlite3_column_int64(statement, 2);
    spex_profile_free(&now);
    spex_profile_free(&before);
    spex_profile_free(&between);
    return err;
}

/* Of each run and probe the last profile up to ?2, and the one that it is to be compared with: the
 * last up to ?1, or the run's first snapshot, where that is later. */
static const char lines[] =
    "SELECT told.profile, (SELECT before.profile FROM told AS before WHERE before.run = told.run "
    "AND before.probe = told.probe AND before.time <= max(?1, first.time) "
    "ORDER BY before.time DESC LIMIT 1), told.instances FROM (SELECT run, probe, max(time) AS time "
    "FROM told WHERE time <= ?2 AND time > ?1 GROUP BY run, probe) AS last "
    "JOIN told USING(run, probe, time) JOIN (SELECT run, min(time) AS time FROM snapshot GROUP BY "
    "run) AS first ON first.run = told.run WHERE told.time > first.time ORDER BY told.run, "
    "told.probe";

int spex_fleet_store_read(struct spex_fleet_store *store, double from, double to,
                          struct spex_fleet_sums *sums, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(store->db, lines, -1, &statement, NULL), err = 0;
    if (status != SQLITE_OK)
        return spex_fleet_store_failed(store, error);
    sqlite3_bind_double(statement, 1, from);
    sqlite3_bind_double(statement, 2, to);
    while (!err && (status = sqlite3_step(statement)) == SQLITE_ROW)
        err = take_line(statement, sums, error);
    if (!err && status != SQLITE_DONE)
        err = spex_fleet_store_failed(store, error);
    sqlite3_finalize(statement);
    return err;
}

/* Of a column, of which nothing is trusted. */
static int take_kernel(sqlite3_stmt *statement, struct spex_fleet_kernels *kernels,
                       struct spex_error *error) {
    struct spex_kernel_message message;
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    size_t size = (size_t)sqlite3_column_bytes(statement, 0);
    int err = spex_kernel_message_read(text ? text : "", size, &message, error);
    if (!err && spex_fleet_kernels_take(kernels, &message, true, 0) != 0)
        err = spex_fail(error, -ENOMEM, "out of memory");
    spex_kernel_message_free(&message);
    return err;
}

int spex_fleet_store_read_kernels(struct spex_fleet_store *store, const char *fleet,
                                  struct spex_fleet_kernels *kernels, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(store->db,
                                    "SELECT sample FROM kernel WHERE fleet = ?1 ORDER BY time DESC "
                                    "LIMIT ?2",
                                    -1, &statement, NULL);
    int err = 0;
    if (status != SQLITE_OK)
        return spex_fleet_store_failed(store, error);
    sqlite3_bind_text(statement, 1, fleet, -1, SQLITE_TRANSIENT);
    sqlite3_bind_int(statement, 2, SPEX_FLEET_KERNELS_MAX);
    while (!err && (status = sqlite3_step(statement)) == SQLITE_ROW)
        err = take_kernel(statement, kernels, error);
    if (!err && status != SQLITE_DONE)
        err = spex_fleet_store_failed(store, error);
    sqlite3_finalize(statement);
    return err;
}
