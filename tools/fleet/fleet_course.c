/* SPDX-License-Identifier: MIT */
#include "tools/fleet/fleet_course.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/lead/lead_status.h"
#include "tools/fleet/fleet_store_file.h"

/* Seconds between two lines, if nothing is decided; lines of a course that are read, decisions that are read and that are kept, and for how long
 * lines are kept. */
enum {
    BETWEEN_SECONDS = 10,
    LINES_MOST = 720,
    DECISIONS_READ = 200,
    DECISIONS_KEPT = 10000,
    KEPT_SECONDS = 86400
};

/* The columns of the course behind "time", and where a status has them. */
static const struct {
    const char *name, *object, *member;
} columns[] = {{"hosts", NULL, "hosts"},
               {"none", "modes", "none"},
               {"partial", "modes", "partial"},
               {"full", "modes", "full"},
               {"covered", NULL, "covered"},
               {"recorded", NULL, "recorded"},
               {"map", NULL, "map"},
               {"capacity", "now", "capacity"},
               {"load", "now", "p_t"},
               {"response", "now", "response"},
               {"cost", "now", "cost"},
               {"overlap", "overlap", "share"}};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), NAMES_BYTES = 256 };

/* ", " and the name of each column. */
static const char *names_of_columns(char *names) {
    for (size_t c = 0, length = 0; c < COLUMNS; c++)
        length += (size_t)snprintf(names + length, NAMES_BYTES - length, ", %s", columns[c].name);
    return names;
}

static int out_of_memory(struct spex_error *error) {
    return spex_fail(error, -ENOMEM, "out of memory");
}

/* NULL with the reason. */
static sqlite3_stmt *prepare(struct spex_fleet_store *store, const char *sql,
                             struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        spex_fleet_store_failed(store, error);
    return statement;
}

static int run(struct spex_fleet_store *store, sqlite3_stmt *statement, struct spex_error *error) {
    int err = sqlite3_step(statement) == SQLITE_DONE ? 0 : spex_fleet_store_failed(store, error);
    sqlite3_finalize(statement);
    return err;
}

/* What is not known is null. */
static int write_line(struct spex_fleet_store *store, double time, const json_t *status,
                      struct spex_error *error) {
    char sql[512], names[NAMES_BYTES], values[2 * COLUMNS + 1];
    for (int c = 0; c < COLUMNS; c++)
        memcpy(values + 2 * (size_t)c, ",?", sizeof(",?"));
    snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO course(time, run%s) VALUES(?,?%s)",
             names_of_columns(names), values);
    sqlite3_stmt *statement = prepare(store, sql, error);
    if (!statement)
        return -EINVAL;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, store->run);
    for (int c = 0; c < COLUMNS; c++) {
        const json_t *of = columns[c].object ? json_object_get(status, columns[c].object) : status;
        const json_t *value = json_object_get(of, columns[c].member);
        if (json_is_integer(value))
            sqlite3_bind_int64(statement, 3 + c, json_integer_value(value));
        else if (json_is_real(value))
            sqlite3_bind_double(statement, 3 + c, json_real_value(value));
    }
    return run(store, statement, error);
}

static int write_decision(struct spex_fleet_store *store, double time, const json_t *decision,
                          struct spex_error *error) {
    const char *action = json_string_value(json_object_get(decision, "action"));
    const char *text = json_string_value(json_object_get(decision, "text"));
    sqlite3_stmt *statement =
        prepare(store, "INSERT OR REPLACE INTO decision VALUES(?,?,?,?)", error);
    if (!statement)
        return -EINVAL;
    sqlite3_bind_double(statement, 1, time);
    sqlite3_bind_int64(statement, 2, store->run);
    sqlite3_bind_text(statement, 3, action ? action : "", -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 4, text ? text : "", -1, SQLITE_TRANSIENT);
    return run(store, statement, error);
}

static int write_status(struct spex_fleet_store *store, double time, const json_t *status,
                        struct spex_error *error) {
    char *text = json_dumps(status, JSON_COMPACT | JSON_REAL_PRECISION(6));
    sqlite3_stmt *statement = NULL;
    if (!text)
        return out_of_memory(error);
    statement = prepare(store, "INSERT OR REPLACE INTO status VALUES(?,?,?)", error);
    if (statement) {
        sqlite3_bind_text(statement, 1, store->fleet, -1, SQLITE_TRANSIENT);
        sqlite3_bind_double(statement, 2, time);
        sqlite3_bind_text(statement, 3, text, -1, SQLITE_TRANSIENT);
    }
    int err = statement ? run(store, statement, error) : -EINVAL;
    free(text);
    return err;
}

static int forget_old(struct spex_fleet_store *store, double time, struct spex_error *error) {
    char sql[256];
    snprintf(sql, sizeof(sql),
             "DELETE FROM course WHERE time < %.17g; DELETE FROM decision WHERE time <= "
             "(SELECT time FROM decision ORDER BY time DESC LIMIT 1 OFFSET %d)",
             time - KEPT_SECONDS, DECISIONS_KEPT);
    return spex_fleet_store_execute(store, sql, error);
}

static int write_all(struct spex_fleet_store *store, double time, const json_t *status,
                     bool decided, struct spex_error *error) {
    int err = spex_fleet_store_execute(store, "BEGIN IMMEDIATE", error);
    if (err)
        return err;
    err = write_line(store, time, status, error);
    if (!err && decided)
        err = write_decision(store, time, json_object_get(status, "last"), error);
    err = err ? err : write_status(store, time, status, error);
    err = err ? err : forget_old(store, time, error);
    err = err ? err : spex_fleet_store_execute(store, "COMMIT", error);
    if (err)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return err;
}

int spex_fleet_course_step(struct spex_fleet_course *course, struct spex_fleet_store *store,
                           struct spex_lead *lead, double now, struct spex_error *error) {
    bool decided = lead->decisions != course->decisions;
    if (!store || (!decided && now < course->due))
        return 0;
    json_t *status = spex_lead_status(lead, 0);
    if (!status)
        return out_of_memory(error);
    int err = write_all(store, spex_clock_seconds(CLOCK_REALTIME), status, decided, error);
    json_decref(status);
    if (err)
        return err;
    course->due = now + BETWEEN_SECONDS;
    course->decisions = lead->decisions;
    return 0;
}

/* Nothing of the file is trusted: a text in place of a number is null. */
static json_t *value_json(sqlite3_stmt *statement, int column) {
    int type = sqlite3_column_type(statement, column);
    double real = type == SQLITE_FLOAT ? sqlite3_column_double(statement, column) : NAN;
    if (type == SQLITE_INTEGER)
        return json_integer(sqlite3_column_int64(statement, column));
    return isfinite(real) ? json_real(real) : json_null();
}

static int take_line(sqlite3_stmt *statement, json_t *course) {
    int err = json_array_append_new(json_object_get(course, "time"), value_json(statement, 0));
    for (int c = 0; c < COLUMNS && !err; c++)
        err = json_array_append_new(json_object_get(course, columns[c].name),
                                    value_json(statement, 1 + c));
    return err ? -ENOMEM : 0;
}

/* JSON has no text but UTF-8. */
static json_t *text_json(sqlite3_stmt *statement, int column) {
    const char *text = (const char *)sqlite3_column_text(statement, column);
    json_t *json = json_string(text ? text : "");
    return json ? json : json_string("?");
}

static int take_decision(sqlite3_stmt *statement, json_t *decisions) {
    return json_array_append_new(
               decisions, json_pack("{s:o, s:o, s:o}", "time", value_json(statement, 0), "action",
                                    text_json(statement, 1), "text", text_json(statement, 2)))
               ? -ENOMEM
               : 0;
}

/* Calls `take` for each row of what lies between the times. */
static int read_rows(struct spex_fleet_store *store, const char *sql, const double times[2],
                     int (*take)(sqlite3_stmt *, json_t *), json_t *into,
                     struct spex_error *error) {
    sqlite3_stmt *statement = prepare(store, sql, error);
    int status = SQLITE_DONE, err = 0;
    if (!statement)
        return -EINVAL;
    sqlite3_bind_double(statement, 1, times[0]);
    sqlite3_bind_double(statement, 2, times[1]);
    while (!err && (status = sqlite3_step(statement)) == SQLITE_ROW)
        if (take(statement, into) != 0)
            err = out_of_memory(error);
    if (!err && status != SQLITE_DONE)
        err = spex_fleet_store_failed(store, error);
    sqlite3_finalize(statement);
    return err;
}

/* Of each part of the time the last line: what stands beside max() is of its row. */
static int read_course(struct spex_fleet_store *store, const double times[2], json_t *course,
                       struct spex_error *error) {
    char sql[768], names[NAMES_BYTES];
    snprintf(sql, sizeof(sql),
             "WITH shown AS (SELECT * FROM course WHERE time > ?1 AND time <= ?2), "
             "bounds AS (SELECT min(time) AS low, max(max(time) - min(time), 1) AS width FROM "
             "shown) SELECT max(time)%s FROM shown, bounds "
             "GROUP BY CAST((time - low) / width * %d AS INTEGER) ORDER BY 1",
             names_of_columns(names), LINES_MOST - 1);
    return read_rows(store, sql, times, take_line, course, error);
}

static json_t *empty_course(void) {
    json_t *course = json_pack("{s:[]}", "time");
    int err = !course;
    for (int c = 0; c < COLUMNS && !err; c++)
        err = json_object_set_new(course, columns[c].name, json_array());
    if (!err)
        return course;
    json_decref(course);
    return NULL;
}

/* The newest one, of whichever fleet, replaces what is in `json`. */
static int take_status(sqlite3_stmt *statement, json_t *json) {
    const char *text = (const char *)sqlite3_column_text(statement, 0);
    json_t *status = json_loads(text ? text : "", 0, NULL);
    if (json_is_object(status))
        json_object_set_new(status, "written", value_json(statement, 1));
    int err = json_object_set(json, "status", json_is_object(status) ? status : json_null());
    json_decref(status);
    return err;
}

int spex_fleet_course_read(struct spex_fleet_store *store, double from, double to, json_t *json,
                           struct spex_error *error) {
    static const char status_sql[] =
        "SELECT json, time FROM status WHERE time > ?1 AND time <= ?2 ORDER BY time DESC LIMIT 1";
    char decisions_sql[256];
    const double times[2] = {from, to};
    json_t *course = empty_course(), *decisions = json_array();
    int full = !course || !decisions || json_object_set(json, "course", course) ||
               json_object_set(json, "decisions", decisions) ||
               json_object_set_new(json, "status", json_null());
    snprintf(decisions_sql, sizeof(decisions_sql),
             "SELECT time, action, text FROM (SELECT * FROM decision WHERE time > ?1 AND "
             "time <= ?2 ORDER BY time DESC LIMIT %d) ORDER BY time",
             DECISIONS_READ);
    int err = full ? out_of_memory(error) : read_course(store, times, course, error);
    err = err ? err : read_rows(store, decisions_sql, times, take_decision, decisions, error);
    err = err ? err : read_rows(store, status_sql, times, take_status, json, error);
    json_decref(course);
    json_decref(decisions);
    return err;
}
