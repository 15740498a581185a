/* SPDX-License-Identifier: MIT */
/* SQLite and JSON. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>
#include <sqlite3.h>

#include "beyond_kernels.h"

static void run_sql(struct beyond_work *work, const char *sql) {
    if (sqlite3_exec(work->object, sql, NULL, NULL, NULL) != SQLITE_OK)
        errx(1, "%s: %s", sql, sqlite3_errmsg(work->object));
}

static void open_database(struct beyond_work *work) {
    sqlite3 *database;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        errx(1, "SQLite has no memory");
    work->object = database;
    run_sql(work, "CREATE TABLE trips(id INTEGER PRIMARY KEY, zone INT, fare INT)");
}

static void release_database(struct beyond_work *work) {
    sqlite3_close(work->object);
}

static uint64_t run_insert(struct beyond_work *work) {
    sqlite3_stmt *insert;
    run_sql(work, "BEGIN");
    sqlite3_prepare_v2(work->object, "INSERT INTO trips VALUES(?,?,?)", -1, &insert, NULL);
    for (size_t row = 0; row < work->size; row++) {
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)row);
        sqlite3_bind_int64(insert, 2, beyond_random() % 260);
        sqlite3_bind_int64(insert, 3, beyond_random() % 100000);
        sqlite3_step(insert);
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    run_sql(work, "COMMIT");
    return work->size;
}

static void prepare_database(struct beyond_work *work) {
    open_database(work);
    run_insert(work);
}

static uint64_t run_scan(struct beyond_work *work) {
    run_sql(work, "SELECT zone, sum(fare) FROM trips GROUP BY zone % 7");
    return work->size;
}

static uint64_t run_order(struct beyond_work *work) {
    run_sql(work, "SELECT id FROM trips ORDER BY fare");
    return work->size;
}

static uint64_t run_join(struct beyond_work *work) {
    run_sql(work, "SELECT sum(b.fare) FROM trips a JOIN trips b ON b.id = a.fare * 7 % "
                  "(SELECT count(*) FROM trips)");
    return work->size;
}

/* An array of objects, as text in array 0. */
static void prepare_json(struct beyond_work *work) {
    char *text = (char *)work->arrays[0];
    size_t at = (size_t)sprintf(text, "[");
    for (size_t i = 0; i < work->size; i++)
        at += (size_t)sprintf(text + at, "%s{\"id\":%zu,\"fare\":%u.5,\"zone\":\"z%u\"}",
                              i ? "," : "", i, beyond_random() % 1000, beyond_random() % 100);
    sprintf(text + at, "]");
}

static uint64_t run_parse(struct beyond_work *work) {
    work->object = json_loads((const char *)work->arrays[0], 0, NULL);
    return json_array_size(work->object);
}

static void release_json(struct beyond_work *work) {
    json_decref(work->object);
}

static void prepare_dump(struct beyond_work *work) {
    prepare_json(work);
    run_parse(work);
}

static uint64_t run_dump(struct beyond_work *work) {
    return json_dumpb(work->object, (char *)work->arrays[1], 4ul * BEYOND_WORDS, JSON_COMPACT);
}

const struct beyond_kernel beyond_in_libraries[] = {
    {"SQL insert", 12, 0, 100, 7, open_database, run_insert, release_database},
    {"SQL scan", 12, 0, 100, 8, prepare_database, run_scan, release_database},
    {"SQL order", 12, 1, 100, 8, prepare_database, run_order, release_database},
    {"SQL join", 12, 1, 100, 8, prepare_database, run_join, release_database},
    {"JSON parse", 12, 0, 25, 8, prepare_json, run_parse, release_json},
    {"JSON dump", 12, 0, 25, 8, prepare_dump, run_dump, release_json},
    {.name = NULL},
};
