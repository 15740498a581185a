/* SPDX-License-Identifier: MIT */
/* Writes and reads the tables of resources. The columns of a usage are the same in trial_usage and
 * trial_load, after the keys: CPU seconds, then the counts in the order of spex_usage_names. A
 * trial without usage, load or note has no row. */
#include "explore/store/store_usage.h"

#include <errno.h>
#include <stdlib.h>

/* Binds a usage to the parameters from `first` on; unknown numbers stay NULL. */
static void bind_usage(sqlite3_stmt *statement, int first, const struct spex_usage *usage) {
    if (!usage->known)
        return;
    sqlite3_bind_double(statement, first, usage->user_seconds);
    sqlite3_bind_double(statement, first + 1, usage->system_seconds);
    for (int c = 0; c < SPEX_USAGE_COUNTS; c++)
        if (spex_usage_count_known(usage, (unsigned)c))
            sqlite3_bind_int64(statement, first + 2 + c, (sqlite3_int64)usage->counts[c]);
}

/* Reads the columns from `first` on. NULL in the first of them: the usage is not known; in the
 * first of I/O: those counts are not known. */
static void read_usage(sqlite3_stmt *row, int first, struct spex_usage *usage) {
    usage->known = sqlite3_column_type(row, first) != SQLITE_NULL;
    usage->io_known = sqlite3_column_type(row, first + 2 + SPEX_USAGE_IO) != SQLITE_NULL;
    usage->user_seconds = sqlite3_column_double(row, first);
    usage->system_seconds = sqlite3_column_double(row, first + 1);
    for (int c = 0; c < SPEX_USAGE_COUNTS; c++)
        usage->counts[c] = (uint64_t)sqlite3_column_int64(row, first + 2 + c);
}

/* One row: the program of the trial. */
static int put_program(struct spex_store *store, sqlite3_int64 number,
                       const struct spex_usage *usage, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_keep(store, "INSERT INTO trial_usage VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
                              &statement, error);
    if (err)
        return err;
    sqlite3_bind_int64(statement, 1, number);
    bind_usage(statement, 2, usage);
    return spex_store_put_row(store, statement, error);
}

/* `load`: its place among the trial's loads. */
static int put_load(struct spex_store *store, sqlite3_int64 number, size_t load,
                    const struct spex_trial_load *what, struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_keep(
        store, "INSERT INTO trial_load VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", &statement, error);
    if (err)
        return err;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)load);
    sqlite3_bind_text(statement, 3, what->stressor, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 4, what->workers);
    bind_usage(statement, 5, &what->usage);
    return spex_store_put_row(store, statement, error);
}

static int put_note(struct spex_store *store, sqlite3_int64 number, const char *note,
                    struct spex_error *error) {
    sqlite3_stmt *statement = NULL;
    int err = spex_store_keep(store, "INSERT INTO trial_note VALUES (?, ?)", &statement, error);
    if (err)
        return err;
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_bind_text(statement, 2, note, -1, SQLITE_STATIC);
    return spex_store_put_row(store, statement, error);
}

int spex_store_put_usage(struct spex_store *store, sqlite3_int64 number,
                         const struct spex_trial *trial, struct spex_error *error) {
    int err = trial->usage.known ? put_program(store, number, &trial->usage, error) : 0;
    for (size_t l = 0; l < trial->load_count && !err; l++)
        err = put_load(store, number, l, &trial->loads[l], error);
    return err || !trial->note ? err : put_note(store, number, trial->note, error);
}

/* A kept statement for the rows of one trial; NULL after an error. */
static sqlite3_stmt *trial_rows(struct spex_store *store, const char *sql, sqlite3_int64 number,
                                int *err, struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    *err = spex_store_keep(store, sql, &rows, error);
    if (!*err)
        sqlite3_bind_int64(rows, 1, number);
    return rows;
}

/* Makes the statement free for the next trial. `got`: the result of the last step. */
static int trial_rows_end(struct spex_store *store, sqlite3_stmt *rows, int got, int err,
                          struct spex_error *error) {
    if (!err && got != SQLITE_DONE && got != SQLITE_ROW)
        err = spex_store_fail(store, "read", error);
    sqlite3_reset(rows);
    return err;
}

static int get_program(struct spex_store *store, sqlite3_int64 number, struct spex_trial *trial,
                       struct spex_error *error) {
    int err, got = SQLITE_DONE;
    sqlite3_stmt *rows =
        trial_rows(store, "SELECT * FROM trial_usage WHERE trial = ?", number, &err, error);
    if (!err && (got = sqlite3_step(rows)) == SQLITE_ROW)
        read_usage(rows, 1, &trial->usage);
    return trial_rows_end(store, rows, got, err, error);
}

/* The columns: trial, load, stressor, workers, usage. */
static int take_load(sqlite3_stmt *row, struct spex_trial *trial, struct spex_error *error) {
    struct spex_usage usage = {.known = false};
    char *stressor = spex_store_text(row, 2);
    read_usage(row, 4, &usage);
    int err = stressor ? spex_trial_add_load(trial, stressor,
                                             (unsigned)sqlite3_column_int64(row, 3), &usage)
                       : -ENOMEM;
    free(stressor);
    return err ? spex_fail(error, -ENOMEM, "out of memory") : 0;
}

static int get_loads(struct spex_store *store, sqlite3_int64 number, struct spex_trial *trial,
                     struct spex_error *error) {
    int err, got = SQLITE_DONE;
    sqlite3_stmt *rows = trial_rows(store, "SELECT * FROM trial_load WHERE trial = ? ORDER BY load",
                                    number, &err, error);
    while (!err && (got = sqlite3_step(rows)) == SQLITE_ROW)
        err = take_load(rows, trial, error);
    return trial_rows_end(store, rows, got, err, error);
}

static int get_note(struct spex_store *store, sqlite3_int64 number, struct spex_trial *trial,
                    struct spex_error *error) {
    int err, got = SQLITE_DONE;
    sqlite3_stmt *rows =
        trial_rows(store, "SELECT note FROM trial_note WHERE trial = ?", number, &err, error);
    if (!err && (got = sqlite3_step(rows)) == SQLITE_ROW &&
        !(trial->note = spex_store_text(rows, 0)))
        err = spex_fail(error, -ENOMEM, "out of memory");
    return trial_rows_end(store, rows, got, err, error);
}

int spex_store_get_usage(struct spex_store *store, sqlite3_int64 number, struct spex_trial *trial,
                         struct spex_error *error) {
    int err = get_program(store, number, trial, error);
    err = err ? err : get_loads(store, number, trial, error);
    return err ? err : get_note(store, number, trial, error);
}
