/* SPDX-License-Identifier: MIT */
/* Writes trials to the store and reads them. A trial is spread over several tables and written in
 * one transaction, so a store never has part of one. Numbers of trials begin with 1, without
 * gaps. */
#include "explore/store/store.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "explore/space/space_parameter.h"
#include "explore/store/store_file.h"
#include "explore/store/store_log.h"
#include "explore/store/store_usage.h"
#include "ring/probe_type.h"

/* Least time between two synchronisations to disk. */
#define SYNC_INTERVAL_NS UINT64_C(1000000000)

/* Deletes all rows of a trial that is replaced; none for a new one. */
static int delete_trial(struct spex_store *store, sqlite3_int64 number, struct spex_error *error) {
    static const char *const deletes[] = {
        "DELETE FROM trial_usage WHERE trial = ?",    "DELETE FROM trial_load WHERE trial = ?",
        "DELETE FROM trial_note WHERE trial = ?",     "DELETE FROM trial_metric WHERE trial = ?",
        "DELETE FROM trial_measured WHERE trial = ?", "DELETE FROM trial_value WHERE trial = ?",
        "DELETE FROM trial WHERE number = ?"};
    int err = 0;
    for (size_t d = 0; d < sizeof(deletes) / sizeof(deletes[0]) && !err; d++) {
        sqlite3_stmt *statement = NULL;
        err = spex_store_keep(store, deletes[d], &statement, error);
        if (!err) {
            sqlite3_bind_int64(statement, 1, number);
            err = spex_store_put_row(store, statement, error);
        }
    }
    return err;
}

/* The parameters are in the order of the table's columns (store.c); `finished` is the present. */
static int insert_trial(struct spex_store *store, sqlite3_int64 number,
                        const struct spex_trial *trial, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    /* A trial without a status has ended without memory for it. */
    if (!trial->status)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_store_keep(store,
                              "INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                              " datetime('now'), ?, ?, ?, ?)",
                              &statement, error);
    if (err)
        return err;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)trial->asked);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)trial->told);
    sqlite3_bind_int64(statement, 4, store->machine);
    sqlite3_bind_int(statement, 5, trial->refused);
    sqlite3_bind_int64(statement, 6, trial->retried);
    sqlite3_bind_text(statement, 7, trial->status, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 8, (sqlite3_int64)trial->records_used);
    sqlite3_bind_int64(statement, 9, (sqlite3_int64)trial->records_lost);
    sqlite3_bind_double(statement, 10, trial->seconds);
    sqlite3_bind_int(statement, 11, trial->steady);
    sqlite3_bind_int64(statement, 12, (sqlite3_int64)trial->block);
    sqlite3_bind_double(statement, 13, trial->passed);
    sqlite3_bind_double(statement, 14, trial->limit);
    sqlite3_bind_int(statement, 15, trial->reference);
    return spex_store_put_row(store, statement, error);
}

/* Values are stored as texts and not as levels: a query can read them, and comparing stores with
 * other lists of values works. */
static int insert_values(struct spex_store *store, sqlite3_int64 number,
                         const struct spex_space *space, const struct spex_trial *trial,
                         struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_keep(store, "INSERT INTO trial_value VALUES (?, ?, ?)", &statement, error);
    for (size_t p = 0; p < space->parameter_count && !err; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        sqlite3_bind_int64(statement, 1, number);
        sqlite3_bind_text(statement, 2, parameter->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(statement, 3, parameter->values[trial->levels[p]].text, -1,
                          SQLITE_STATIC);
        err = spex_store_put_row(store, statement, error);
    }
    return err;
}

/* NaN is stored as NULL, which an unbound parameter is. */
static void bind_number(sqlite3_stmt *statement, int column, double value) {
    if (!isnan(value))
        sqlite3_bind_double(statement, column, value);
}

/* A failed trial has no rows. */
static int insert_measured(struct spex_store *store, sqlite3_int64 number,
                           const struct spex_space *space, const struct spex_trial *trial,
                           struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    if (!trial->ok)
        return 0;
    int err =
        spex_store_keep(store, "INSERT INTO trial_measured VALUES (?, ?, ?, ?)", &statement, error);
    for (size_t c = 0; c < space->criterion_count && !err; c++) {
        sqlite3_bind_int64(statement, 1, number);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)c);
        bind_number(statement, 3, trial->measured[c].value);
        bind_number(statement, 4, trial->measured[c].error);
        err = spex_store_put_row(store, statement, error);
    }
    return err;
}

/* `numbers` are in the order of the table's last columns. */
static int insert_metric(struct spex_store *store, sqlite3_stmt *statement, sqlite3_int64 number,
                         const struct spex_trial_metric *metric, struct spex_error *error) {
    const double numbers[] = {metric->rate, metric->mean, metric->deviation, metric->min,
                              metric->p50,  metric->p90,  metric->p99,       metric->max};
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_int(statement, 2, metric->probe_id);
    sqlite3_bind_text(statement, 3, spex_probe_type_name(metric->probe_type), -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 4, (int)metric->field);
    if (metric->name)
        sqlite3_bind_text(statement, 5, metric->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 6, (sqlite3_int64)metric->records);
    sqlite3_bind_double(statement, 7, metric->count);
    for (int n = 0; n < 8; n++)
        bind_number(statement, 8 + n, numbers[n]);
    if (metric->provider)
        sqlite3_bind_text(statement, 16, metric->provider, -1, SQLITE_STATIC);
    if (metric->id >= 0)
        sqlite3_bind_int(statement, 17, (int)metric->id);
    return spex_store_put_row(store, statement, error);
}

static int insert_metrics(struct spex_store *store, sqlite3_int64 number,
                          const struct spex_trial *trial, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_keep(store,
                              "INSERT INTO trial_metric VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                              &statement, error);
    for (size_t m = 0; m < trial->metric_count && !err; m++)
        err = insert_metric(store, statement, number, &trial->metrics[m], error);
    return err;
}

/* Plans that are under way. Those that are in the table already keep their row; finished ones are
 * recognised by their trials. */
static int insert_plans(struct spex_store *store, const struct spex_unfinished *unfinished,
                        size_t count, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    if (count == 0)
        return 0;
    int err = spex_store_keep(store, "INSERT OR IGNORE INTO plan VALUES (?, ?)", &statement, error);
    for (size_t u = 0; u < count && !err; u++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)unfinished[u].asked);
        sqlite3_bind_int64(statement, 2, (sqlite3_int64)unfinished[u].told);
        err = spex_store_put_row(store, statement, error);
    }
    return err;
}

int spex_store_put_plan(struct spex_store *store, const struct spex_unfinished *plan,
                        struct spex_error *error) {
    return insert_plans(store, plan, 1, error);
}

/* Synchronises the trial to disk unless another one was within the last second: a power failure
 * then costs at most the work of a second, and the end of the explorer costs nothing. */
static void choose_durability(struct spex_store *store) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    bool sync = now_ns - store->synced_ns >= SYNC_INTERVAL_NS;
    if (sync)
        store->synced_ns = now_ns;
    if (sync != store->syncs &&
        sqlite3_exec(store->db, sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                     NULL, NULL, NULL) == SQLITE_OK)
        store->syncs = sync;
}

/* A repeated trial replaces the failed one, so what there is under its number is deleted first.
 * After an error the transaction is rolled back. */
int spex_store_put(struct spex_store *store, uint64_t number, const struct spex_space *space,
                   const struct spex_trial *trial, const struct spex_unfinished *unfinished,
                   size_t unfinished_count, struct spex_error *error) {
    sqlite3_int64 row = (sqlite3_int64)number;
    choose_durability(store);
    int err = spex_store_execute(store, "BEGIN IMMEDIATE", "write to the store", error);
    err = err ? err : delete_trial(store, row, error);
    err = err ? err : insert_trial(store, row, trial, error);
    err = err ? err : insert_values(store, row, space, trial, error);
    err = err ? err : insert_measured(store, row, space, trial, error);
    err = err ? err : insert_metrics(store, row, trial, error);
    err = err ? err : spex_store_put_usage(store, row, trial, error);
    err = err ? err : insert_plans(store, unfinished, unfinished_count, error);
    err = err ? err : spex_store_execute(store, "COMMIT", "write to the store", error);
    if (err)
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return spex_store_check_place(store, err, error);
}

/* The statements that read trials. */
struct reading {
    struct spex_store *store;
    const struct spex_space *space;
    sqlite3_stmt *rows;
    sqlite3_stmt *values;
    sqlite3_stmt *measured;
};

/* Reads a trial's levels by the text of its values. -EBADMSG when the space lacks one. */
static int reading_load_levels(const struct reading *reading, sqlite3_int64 number, size_t *levels,
                               struct spex_error *error) {
    const struct spex_space *space = reading->space;
    sqlite3_bind_int64(reading->values, 1, number);
    for (size_t p = 0; p < space->parameter_count; p++) {
        sqlite3_bind_text(reading->values, 2, space->parameters[p].name, -1, SQLITE_STATIC);
        int got = sqlite3_step(reading->values);
        if (got != SQLITE_ROW && got != SQLITE_DONE)
            return spex_store_fail(reading->store, "read", error);
        levels[p] =
            got == SQLITE_ROW
                ? spex_parameter_level(&space->parameters[p],
                                       (const char *)sqlite3_column_text(reading->values, 0))
                : space->parameters[p].count;
        sqlite3_reset(reading->values);
        if (levels[p] == space->parameters[p].count)
            return spex_fail(error, -EBADMSG, "%s: trial %lld has no value of parameter \"%s\"",
                             reading->store->path, (long long)number, space->parameters[p].name);
    }
    return 0;
}

/* Reads a trial's figures. -EBADMSG unless a successful trial has one for each criterion, and a
 * failed one none. */
static int reading_load_measured(const struct reading *reading, sqlite3_int64 number,
                                 struct spex_trial *trial, struct spex_error *error) {
    size_t found = 0;
    int got;
    sqlite3_bind_int64(reading->measured, 1, number);
    while ((got = sqlite3_step(reading->measured)) == SQLITE_ROW) {
        sqlite3_int64 c = sqlite3_column_int64(reading->measured, 0);
        if (c < 0 || c >= (sqlite3_int64)reading->space->criterion_count)
            break;
        trial->measured[c].value = sqlite3_column_double(reading->measured, 1);
        if (sqlite3_column_type(reading->measured, 2) == SQLITE_FLOAT)
            trial->measured[c].error = sqlite3_column_double(reading->measured, 2);
        found += sqlite3_column_type(reading->measured, 1) == SQLITE_FLOAT &&
                 isfinite(trial->measured[c].value);
    }
    sqlite3_reset(reading->measured);
    if (got != SQLITE_ROW && got != SQLITE_DONE)
        return spex_store_fail(reading->store, "read", error);
    if (found != (trial->ok ? reading->space->criterion_count : 0) || got == SQLITE_ROW)
        return spex_fail(error, -EBADMSG, "%s: trial %lld has %zu of %zu figures",
                         reading->store->path, (long long)number, found,
                         trial->ok ? reading->space->criterion_count : 0);
    return 0;
}

/* Fills in a trial from the current row and from the other tables. */
static int reading_load_trial(const struct reading *reading, struct spex_trial *trial,
                              struct spex_error *error) {
    sqlite3_int64 number = sqlite3_column_int64(reading->rows, 0);
    trial->asked = (uint64_t)sqlite3_column_int64(reading->rows, 1);
    trial->told = (uint64_t)sqlite3_column_int64(reading->rows, 2);
    trial->retried = (unsigned)sqlite3_column_int(reading->rows, 3);
    trial->status = spex_store_text(reading->rows, 4);
    if (!trial->status)
        return spex_fail(error, -ENOMEM, "out of memory");
    trial->ok = strcmp(trial->status, "ok") == 0;
    trial->records_used = (uint64_t)sqlite3_column_int64(reading->rows, 5);
    trial->records_lost = (uint64_t)sqlite3_column_int64(reading->rows, 6);
    trial->seconds = sqlite3_column_double(reading->rows, 7);
    trial->steady = sqlite3_column_int(reading->rows, 8) != 0;
    trial->refused = sqlite3_column_int(reading->rows, 9) != 0;
    trial->block = (uint64_t)sqlite3_column_int64(reading->rows, 10);
    trial->passed = sqlite3_column_double(reading->rows, 11);
    trial->limit = sqlite3_column_double(reading->rows, 12);
    trial->reference = sqlite3_column_int(reading->rows, 13) != 0;
    trial->finished = sqlite3_column_int64(reading->rows, 14);
    int err = reading_load_levels(reading, number, trial->levels, error);
    err = err ? err : reading_load_measured(reading, number, trial, error);
    return err ? err : spex_store_get_usage(reading->store, number, trial, error);
}

/* Reads the current row of `rows` and what belongs to it. `no_levels`: levels that the trial has
 * until its own are read. */
static int reading_take_row(const struct reading *reading, const size_t *no_levels,
                            struct spex_trials *trials, struct spex_error *error) {
    struct spex_trial trial;
    if (spex_trial_init(&trial, reading->space, no_levels))
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = reading_load_trial(reading, &trial, error);
    if (err)
        spex_trial_free(&trial);
    else if (spex_trials_add(trials, &trial))
        err = spex_fail(error, -ENOMEM, "out of memory");
    return err;
}

/* After an error the trials so far are in the list. */
static int reading_take_rows(const struct reading *reading, struct spex_trials *trials,
                             struct spex_error *error) {
    size_t *levels = calloc(reading->space->parameter_count, sizeof(*levels));
    int err = levels ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    int got = SQLITE_ROW;
    while (!err && (got = sqlite3_step(reading->rows)) == SQLITE_ROW)
        err = reading_take_row(reading, levels, trials, error);
    if (!err && got != SQLITE_DONE)
        err = spex_store_fail(reading->store, "read", error);
    free(levels);
    return err;
}

/* Reads all trials into memory, except their metrics (store_metrics.c). O(trials × parameters). */
int spex_store_trials(struct spex_store *store, const struct spex_space *space,
                      struct spex_trials *trials, struct spex_error *error) {
    struct reading reading = {.store = store, .space = space};
    *trials = (struct spex_trials){NULL, 0};
    /* One transaction, so that a trial that an exploration adds meanwhile is in all tables or in
     * none. */
    int err = spex_store_execute(store, "BEGIN", "read", error);
    err = err ? err
              : spex_store_prepare(store,
                                   "SELECT number, asked, told, retried, status, records_used,"
                                   " records_lost, seconds, steady, refused, block, passed, "
                                   "time_limit, reference,"
                                   " CAST(strftime('%s', finished) AS INTEGER)"
                                   " FROM trial ORDER BY number",
                                   &reading.rows, error);
    err = err ? err
              : spex_store_prepare(store,
                                   "SELECT value FROM trial_value WHERE trial = ? AND"
                                   " parameter = ?",
                                   &reading.values, error);
    err = err ? err
              : spex_store_prepare(store,
                                   "SELECT criterion, value, error FROM trial_measured"
                                   " WHERE trial = ?",
                                   &reading.measured, error);
    err = err ? err : reading_take_rows(&reading, trials, error);
    sqlite3_finalize(reading.rows);
    sqlite3_finalize(reading.values);
    sqlite3_finalize(reading.measured);
    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL);
    if (err)
        spex_trials_free(trials);
    return err;
}

/* The list may be filled in part after an error. */
static int take_unfinished(struct spex_store *store, sqlite3_stmt *rows,
                           struct spex_unfinished **unfinished, size_t *count,
                           struct spex_error *error) {
    int got;
    while ((got = sqlite3_step(rows)) == SQLITE_ROW) {
        struct spex_unfinished *all = realloc(*unfinished, (*count + 1) * sizeof(*all));
        if (!all)
            return spex_fail(error, -ENOMEM, "out of memory");
        *unfinished = all;
        all[(*count)++] = (struct spex_unfinished){.asked = (uint64_t)sqlite3_column_int64(rows, 0),
                                                   .told = (uint64_t)sqlite3_column_int64(rows, 1)};
    }
    return got == SQLITE_DONE ? 0 : spex_store_fail(store, "read", error);
}

int spex_store_unfinished(struct spex_store *store, struct spex_unfinished **unfinished,
                          size_t *count, struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    *unfinished = NULL;
    *count = 0;
    int err =
        spex_store_prepare(store, "SELECT asked, told FROM plan ORDER BY asked", &rows, error);
    err = err ? err : take_unfinished(store, rows, unfinished, count, error);
    sqlite3_finalize(rows);
    if (err) {
        free(*unfinished);
        *unfinished = NULL;
        *count = 0;
    }
    return err;
}
