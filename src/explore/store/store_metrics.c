/* SPDX-License-Identifier: MIT */
/* Reads the recorded quantities of all trials as named numbers, in the order in which the tables
 * have them. Names are those that `spex explain` prints. */
#include "explore/store/store_metrics.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "explore/store/store_file.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/printable.h"

/* The caller's function, and its argument. */
struct taking {
    spex_metric_taker *take;
    void *user;
    /* The probes have several providers, which are shown. */
    bool mixed;
};

/* Columns of trial_metric; unit NULL: the unit of the probe's values. */
static const struct {
    const char *name;
    const char *unit;
} columns[] = {{"throughput", "/s"}, {"mean", NULL}, {"deviation", NULL}, {"min", NULL},
               {"p50", NULL},        {"p90", NULL},  {"p99", NULL},       {"max", NULL}};

/* The query; `identity` is the columns ID and PROVIDER. */
static const char select_metrics[] =
    "SELECT trial - 1, type, field, name, coalesce(id, probe), provider, rate, mean, deviation, "
    "min, p50, p90, p99, max FROM trial_metric";

/* Columns of the query: these, then those above. */
enum { TRIAL, TYPE, FIELD, NAME, ID, PROVIDER, FIRST };

/* "query:lat", "17:lat" for a probe without a name, "query:snapshot[2]" for a value beyond the
 * first. */
static void probe_text(sqlite3_stmt *row, bool mixed, char *text, size_t size) {
    const char *name = (const char *)sqlite3_column_text(row, NAME);
    const char *provider = mixed ? (const char *)sqlite3_column_text(row, PROVIDER) : NULL;
    const char *type = (const char *)sqlite3_column_text(row, TYPE);
    int field = sqlite3_column_int(row, FIELD);
    char probe[SPEX_PROBE_TEXT_BYTES], index[16] = "";
    spex_probe_called(provider, name, sqlite3_column_int(row, ID), probe, sizeof(probe));
    if (field)
        snprintf(index, sizeof(index), "[%d]", field);
    snprintf(text, size, "%s:%s%s", probe, type ? type : "?", index);
    spex_make_printable(text);
}

/* The first value of a timed probe is its time; others are plain numbers. */
static const char *unit_of(sqlite3_stmt *row) {
    const char *type = (const char *)sqlite3_column_text(row, TYPE);
    uint32_t known = type ? spex_probe_type_named(type, strlen(type)) : 0;
    return spex_probe_type_ticks(known) && sqlite3_column_int(row, FIELD) == 0 ? "s" : "";
}

/* The throughput of a probe with several values is reported with the first. */
static int take_probe_row(const struct taking *taking, sqlite3_stmt *row) {
    char probe[SPEX_PROBE_TEXT_BYTES + 32], name[SPEX_PROBE_TEXT_BYTES + 64];
    int err = 0;
    probe_text(row, taking->mixed, probe, sizeof(probe));
    for (int c = 0; c < (int)(sizeof(columns) / sizeof(columns[0])) && !err; c++) {
        if (sqlite3_column_type(row, FIRST + c) == SQLITE_NULL ||
            (c == 0 && sqlite3_column_int(row, FIELD) > 0))
            continue;
        snprintf(name, sizeof(name), "%s %s", probe, columns[c].name);
        err = taking->take(taking->user, (size_t)sqlite3_column_int64(row, TRIAL), name,
                           columns[c].unit ? columns[c].unit : unit_of(row),
                           sqlite3_column_double(row, FIRST + c));
    }
    return err;
}

static const char *usage_unit(const char *column) {
    const char *last = strrchr(column, '_');
    return !last                           ? ""
           : strcmp(last, "_bytes") == 0   ? "B"
           : strcmp(last, "_seconds") == 0 ? "s"
                                           : "";
}

/* Reports every numeric column. */
static int take_usage_row(const struct taking *taking, sqlite3_stmt *row) {
    int count = sqlite3_column_count(row), err = 0;
    for (int c = 1; c < count && !err; c++) {
        char name[192];
        int type = sqlite3_column_type(row, c);
        const char *column = sqlite3_column_name(row, c);
        if (!column)
            return -ENOMEM;
        if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || strcmp(column, "trial") == 0)
            continue;
        snprintf(name, sizeof(name), "usage %s", column);
        spex_make_printable(name);
        err = taking->take(taking->user, (size_t)sqlite3_column_int64(row, 0), name,
                           usage_unit(column), sqlite3_column_double(row, c));
    }
    return err;
}

/* Calls `take` for each row of the query `sql`, until it fails. Its only error is -ENOMEM. */
static int each_row(struct spex_store *store, const char *sql, const struct taking *taking,
                    int (*take)(const struct taking *, sqlite3_stmt *), struct spex_error *error) {
    sqlite3_stmt *rows = NULL;
    int got = SQLITE_ROW, err = spex_store_prepare(store, sql, &rows, error);
    while (!err && (got = sqlite3_step(rows)) == SQLITE_ROW)
        if ((err = take(taking, rows)))
            err = spex_fail(error, err, "out of memory");
    if (!err && got != SQLITE_DONE)
        err = spex_store_fail(store, "read", error);
    sqlite3_finalize(rows);
    return err;
}

/* Trials count from 1 in the tables and from 0 for the caller. */
int spex_store_metrics(struct spex_store *store, spex_metric_taker *take, void *user,
                       struct spex_error *error) {
    int64_t providers = 0;
    int err = spex_store_integer(store, "SELECT count(DISTINCT provider) FROM trial_metric",
                                 &providers, error);
    struct taking taking = {take, user, providers > 1};
    err = err ? err : each_row(store, select_metrics, &taking, take_probe_row, error);
    return err ? err
               : each_row(store, "SELECT trial - 1, * FROM trial_usage", &taking, take_usage_row,
                          error);
}
