/* SPDX-License-Identifier: MIT */
/* A database of the trace. docs/traces.md describes its tables. It is made in a new file beside the
 * one that was named and takes its place at the end; a database that was broken off is complete up
 * to there. There is nothing to roll back, so no journal is written. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/files/whole_file.h"
#include "tools/export/exporter.h"
#include "tools/export/paths.h"
#include "tools/export/record_rows.h"
#include "tools/export/samples.h"

struct database {
    const struct spex_export *of;
    struct spex_sample *samples;
    struct spex_paths paths;
    /* The file that is replaced at the end, and the one in which the database is made. */
    char *target;
    char *path;
    sqlite3 *db;
    /* Inserts the rows that wait. */
    sqlite3_stmt *insert;
    struct spex_record_rows waiting;
    /* CREATE TABLE of `record`. */
    char declaration[512];
};

static const char tables[] =
    "CREATE TABLE trace (key TEXT PRIMARY KEY, value);"
    "CREATE TABLE process (id INTEGER PRIMARY KEY, pid INTEGER, program TEXT, lost INTEGER);"
    "CREATE TABLE probe (id INTEGER PRIMARY KEY, process INTEGER REFERENCES process, name TEXT,"
    " type TEXT, number INTEGER, provider TEXT, file TEXT, line INTEGER, parameters TEXT,"
    " records INTEGER, executions INTEGER);"
    "CREATE TABLE context (process INTEGER, id INTEGER, parent INTEGER, path TEXT,"
    " PRIMARY KEY (process, id)) WITHOUT ROWID;"
    "CREATE TABLE mark (time_ns INTEGER, process INTEGER, text TEXT);";

/* Sets the reason from the database's, and returns -EIO. */
static int fail_db(const struct database *database, struct spex_error *error) {
    return spex_fail(error, -EIO, "%s: %s", database->of->path, sqlite3_errmsg(database->db));
}

static int run(struct database *database, const char *statements, struct spex_error *error) {
    return sqlite3_exec(database->db, statements, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : fail_db(database, error);
}

/* Executes a statement that gives no rows, and makes it ready for the next one. */
static int step(struct database *database, sqlite3_stmt *statement, struct spex_error *error) {
    int result = sqlite3_step(statement);
    sqlite3_reset(statement);
    return result == SQLITE_DONE ? 0 : fail_db(database, error);
}

static int prepare(struct database *database, const char *text, sqlite3_stmt **statement,
                   struct spex_error *error) {
    return sqlite3_prepare_v2(database->db, text, -1, statement, NULL) == SQLITE_OK
               ? 0
               : fail_db(database, error);
}

/* The table of records, with a column for each value that a record can have, whose type is that of
 * the value: an integer or a real; and the statement that
 * moves the waiting rows there. */
static int record_prepare(struct database *database, struct spex_error *error) {
    char *text = database->declaration;
    size_t size = sizeof(database->declaration);
    size_t length = (size_t)snprintf(
        text, size,
        "CREATE TABLE record (time_ns INTEGER, probe INTEGER, thread INTEGER, cpu INTEGER,"
        " weight INTEGER, lost INTEGER, duration_ns INTEGER, context INTEGER");
    for (unsigned v = 0; v < SPEX_MAX_FIELDS; v++)
        length += (size_t)snprintf(text + length, size - length, ", v%u", v);
    snprintf(text + length, size - length, ")");
    int err = run(database, text, error);
    if (!err && spex_record_rows_attach(&database->waiting, database->db, text) != SQLITE_OK)
        err = fail_db(database, error);
    return err ? err
               : prepare(database, "INSERT INTO record SELECT * FROM rows", &database->insert,
                         error);
}

/* Inserts the rows that wait. */
static int waiting_insert(struct database *database, struct spex_error *error) {
    int err = step(database, database->insert, error);
    database->waiting.count = 0;
    return err;
}

static int database_open(struct database *database, struct spex_error *error) {
    int err = spex_whole_file_target(database->of->path, &database->target);
    if (err == -EINVAL)
        return spex_fail(error, err, "%s: a regular file was expected", database->of->path);
    if (err)
        return spex_fail(error, err, "%s: %s", database->of->path, strerror(-err));
    int fd = spex_whole_file_open_beside(database->target, &database->path);
    if (fd < 0)
        return spex_fail(error, fd, "%s: %s", database->target, strerror(-fd));
    close(fd);
    /* One thread uses it. */
    if (sqlite3_open_v2(database->path, &database->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        return fail_db(database, error);
    return run(database,
               "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
               "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -65536; BEGIN;",
               error);
}

static int sqlite_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct database *database = calloc(1, sizeof(*database));
    *state = database;
    if (!database)
        return spex_fail(error, -ENOMEM, "out of memory");
    database->of = of;
    database->samples = spex_samples_make(of->labels);
    if (!database->samples || spex_paths_make(&database->paths, of->trace) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = database_open(database, error);
    if (!err)
        err = run(database, tables, error);
    return err ? err : record_prepare(database, error);
}

/* SQLite's integers are signed: a value of 2^63 and more is a real. */
static void bind_number(sqlite3_stmt *statement, int column, uint64_t number) {
    if (number <= INT64_MAX)
        sqlite3_bind_int64(statement, column, (sqlite3_int64)number);
    else
        sqlite3_bind_double(statement, column, (double)number);
}

static void bind_text(sqlite3_stmt *statement, int column, const char *text) {
    sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

static void values_set(struct spex_record_row *row, const struct spex_label *label,
                       const struct spex_record *record) {
    row->kinds = record->kinds >> 2 * label->first;
    for (unsigned v = 0; label->first + v < record->field_count; v++)
        spex_record_row_set(row, SPEX_ROW_VALUES + v, record->fields[label->first + v]);
}

static int sqlite_event(void *state, const struct spex_recording_event *event,
                        struct spex_error *error) {
    struct database *database = state;
    const struct spex_recording *trace = database->of->trace;
    const struct spex_label *label = spex_label_of(database->of->labels, event);
    const struct spex_record *record = &event->record;
    struct spex_record_row *row = &database->waiting.rows[database->waiting.count++];
    spex_samples_add(database->samples, label, record);
    row->known = 0;
    spex_record_row_set(row, SPEX_ROW_TIME, (uint64_t)spex_recording_ns(trace, record->timestamp));
    spex_record_row_set(row, SPEX_ROW_PROBE, label->number);
    spex_record_row_set(row, SPEX_ROW_THREAD, record->thread_id);
    spex_record_row_set(row, SPEX_ROW_CPU, record->cpu_id);
    spex_record_row_set(row, SPEX_ROW_WEIGHT, record->weight);
    spex_record_row_set(row, SPEX_ROW_LOST, record->lost);
    if (label->time >= 0 && label->time < record->field_count)
        spex_record_row_set(row, SPEX_ROW_DURATION,
                            spex_recording_duration_ns(trace, record->fields[label->time]));
    if (record->probe_type == SPEX_KERNEL && record->field_count >= SPEX_KERNEL_VALUES)
        spex_record_row_set(row, SPEX_ROW_CONTEXT, record->fields[1]);
    values_set(row, label, record);
    return database->waiting.count < SPEX_ROWS_MAX ? 0 : waiting_insert(database, error);
}

/* The trace's own facts. */
static int trace_put(struct database *database, struct spex_error *error) {
    const struct spex_recording *trace = database->of->trace;
    const struct {
        const char *key;
        int64_t value;
    } facts[] = {
        {"begin_unix_ns", (int64_t)trace->begin_realtime_ns},
        {"from_ns", spex_recording_ns(trace, database->of->from)},
        {"to_ns", spex_recording_ns(trace, database->of->to)},
        {"problems", (int64_t)trace->problems.count},
    };
    sqlite3_stmt *statement;
    int err = prepare(database, "INSERT INTO trace VALUES (?, ?)", &statement, error);
    for (size_t f = 0; !err && f < sizeof(facts) / sizeof(facts[0]); f++) {
        bind_text(statement, 1, facts[f].key);
        sqlite3_bind_int64(statement, 2, facts[f].value);
        err = step(database, statement, error);
    }
    sqlite3_finalize(statement);
    return err;
}

static int processes_put(struct database *database, struct spex_error *error) {
    const struct spex_recording *trace = database->of->trace;
    sqlite3_stmt *statement;
    int err = prepare(database, "INSERT INTO process VALUES (?, ?, ?, ?)", &statement, error);
    for (size_t p = 0; !err && p < trace->process_count; p++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)p);
        sqlite3_bind_int64(statement, 2, trace->processes[p].process_id);
        bind_text(statement, 3, trace->processes[p].program);
        bind_number(statement, 4, spex_recording_process_lost(&trace->processes[p]));
        err = step(database, statement, error);
    }
    sqlite3_finalize(statement);
    return err;
}

static int probe_put(struct database *database, sqlite3_stmt *statement, size_t p, size_t c,
                     struct spex_error *error) {
    const struct spex_recording_class *class =
        &database->of->trace->processes[p].journal.classes[c];
    const struct spex_label *label = &database->of->labels->of[p][c];
    const struct spex_sample *sample = &database->samples[label->number];
    static const struct spex_stream_site none;
    const struct spex_stream_site *site = class->site ? class->site : &none;
    if (!class->known || !sample->records)
        return 0;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)label->number);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)p);
    bind_text(statement, 3, label->name);
    bind_text(statement, 4, label->type);
    sqlite3_bind_int64(statement, 5, class->probe_id);
    bind_text(statement, 6, site->provider);
    bind_text(statement, 7, site->file);
    sqlite3_bind_int64(statement, 8, site->line);
    bind_text(statement, 9, site->parameters);
    bind_number(statement, 10, sample->records);
    bind_number(statement, 11, sample->weight);
    return step(database, statement, error);
}

static int probes_put(struct database *database, struct spex_error *error) {
    const struct spex_recording *trace = database->of->trace;
    sqlite3_stmt *statement;
    int err = prepare(database, "INSERT INTO probe VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      &statement, error);
    for (size_t p = 0; !err && p < trace->process_count; p++)
        for (size_t c = 0; !err && c < trace->processes[p].journal.class_count; c++)
            err = probe_put(database, statement, p, c, error);
    sqlite3_finalize(statement);
    return err;
}

static int contexts_put(struct database *database, struct spex_error *error) {
    const struct spex_recording *trace = database->of->trace;
    sqlite3_stmt *statement;
    int err = prepare(database, "INSERT INTO context VALUES (?, ?, ?, ?)", &statement, error);
    for (size_t p = 0; !err && p < trace->process_count; p++) {
        const struct spex_stream_context *contexts = trace->processes[p].journal.contexts;
        for (uint32_t c = 0; !err && contexts && c <= SPEX_CONTEXTS_MAX; c++) {
            if (!contexts[c].parent)
                continue;
            const char *path = spex_path_of(&database->paths, p, c, (uint16_t)contexts[c].kernel);
            if (!path)
                err = spex_fail(error, -ENOMEM, "out of memory");
            sqlite3_bind_int64(statement, 1, (sqlite3_int64)p);
            sqlite3_bind_int64(statement, 2, c);
            sqlite3_bind_int64(statement, 3, contexts[c].parent);
            bind_text(statement, 4, path);
            if (!err)
                err = step(database, statement, error);
        }
    }
    sqlite3_finalize(statement);
    return err;
}

static int marks_put(struct database *database, struct spex_error *error) {
    const struct spex_recording *trace = database->of->trace;
    sqlite3_stmt *statement;
    int err = prepare(database, "INSERT INTO mark VALUES (?, ?, ?)", &statement, error);
    for (size_t p = 0; !err && p < trace->process_count; p++)
        for (size_t m = 0; !err && m < trace->processes[p].journal.mark_count; m++) {
            const struct spex_recording_mark *mark = &trace->processes[p].journal.marks[m];
            sqlite3_bind_int64(statement, 1, spex_recording_ns(trace, mark->ticks));
            sqlite3_bind_int64(statement, 2, (sqlite3_int64)p);
            bind_text(statement, 3, mark->text);
            err = step(database, statement, error);
        }
    sqlite3_finalize(statement);
    return err;
}

/* The file takes the place of the one that was named. */
static int sqlite_end(void *state, struct spex_error *error) {
    struct database *database = state;
    int (*const parts[])(struct database *, struct spex_error *) = {
        trace_put, processes_put, probes_put, contexts_put, marks_put};
    int err = waiting_insert(database, error);
    for (size_t p = 0; !err && p < sizeof(parts) / sizeof(parts[0]); p++)
        err = parts[p](database, error);
    if (!err)
        err = run(database, "COMMIT;", error);
    sqlite3_finalize(database->insert);
    database->insert = NULL;
    if (sqlite3_close(database->db) == SQLITE_OK)
        database->db = NULL;
    if (!err && rename(database->path, database->target) != 0)
        return spex_fail(error, -errno, "%s: %s", database->of->path, strerror(errno));
    if (!err) {
        free(database->path);
        database->path = NULL;
    }
    return err;
}

static void sqlite_free(void *state) {
    struct database *database = state;
    if (!database)
        return;
    sqlite3_finalize(database->insert);
    sqlite3_close(database->db);
    if (database->path)
        unlink(database->path);
    free(database->path);
    free(database->target);
    free(database->samples);
    spex_paths_free(&database->paths);
    free(database);
}

const struct spex_exporter spex_export_sqlite = {.name = "sqlite",
                                                 .needs_path = true,
                                                 .begin = sqlite_begin,
                                                 .event = sqlite_event,
                                                 .end = sqlite_end,
                                                 .free = sqlite_free};
