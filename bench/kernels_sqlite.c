/* SPDX-License-Identifier: MIT */
/* A small application on SQLite. All its functions, and those of SQLite, are kernels by
 * -finstrument-functions: samples.py trains and samples them.
 *
 *     kernels_sqlite ROWS [ROUNDS] */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "sqlite3.h"

#include <spex/functions.h>
#include <spex/spex.h>

static sqlite3 *database;
static uint64_t random_state = 88172645463325252u;

static unsigned random_below(unsigned below) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static void run_sql(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(database));
        exit(1);
    }
}

static void insert_trip(sqlite3_stmt *insert, int64_t id) {
    char note[64];
    snprintf(note, sizeof(note), "trip %u of %u", random_below(1000), random_below(1u << 31));
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_int(insert, 2, (int)random_below(260));
    sqlite3_bind_int(insert, 3, (int)random_below(5000));
    sqlite3_bind_double(insert, 4, random_below(10000) / 100.0);
    sqlite3_bind_text(insert, 5, note, -1, SQLITE_TRANSIENT);
    sqlite3_step(insert);
    sqlite3_reset(insert);
}

static void load_trips(int64_t rows) {
    sqlite3_stmt *insert;
    run_sql("BEGIN");
    sqlite3_prepare_v2(database, "INSERT INTO trips VALUES(?,?,?,?,?)", -1, &insert, NULL);
    for (int64_t row = 0; row < rows; row++)
        insert_trip(insert, row);
    sqlite3_finalize(insert);
    run_sql("COMMIT");
}

static void make_table(void) {
    run_sql(
        "CREATE TABLE trips(id INTEGER PRIMARY KEY, zone INT, driver INT, fare REAL, note TEXT)");
}

static void index_zones(void) {
    run_sql("CREATE INDEX by_zone ON trips(zone)");
}

static void fares_by_zone(void) {
    run_sql("SELECT zone, count(*), avg(fare) FROM trips GROUP BY zone");
}

static void best_drivers(void) {
    run_sql("SELECT driver, sum(fare) s FROM trips GROUP BY driver ORDER BY s DESC LIMIT 10");
}

static void search_notes(void) {
    run_sql("SELECT count(*) FROM trips WHERE note LIKE '%7 of 3%'");
}

static void join_zones(void) {
    run_sql("SELECT a.id FROM trips a JOIN trips b ON a.id = b.zone WHERE b.fare > 90");
}

static void raise_fares(void) {
    run_sql("UPDATE trips SET fare = fare * 1.1 WHERE zone < 130");
}

static void sort_notes(void) {
    run_sql("SELECT note FROM trips ORDER BY note LIMIT 5");
}

static void forget_zones(void) {
    run_sql("DELETE FROM trips WHERE zone % 3 = 0");
}

static void tidy_up(void) {
    run_sql("VACUUM");
}

static void run_round(int64_t rows) {
    if (sqlite3_open(":memory:", &database) != SQLITE_OK)
        exit(1);
    make_table();
    load_trips(rows);
    index_zones();
    fares_by_zone();
    best_drivers();
    search_notes();
    join_zones();
    raise_fares();
    sort_notes();
    forget_zones();
    tidy_up();
    sqlite3_close(database);
}

int main(int argc, char **argv) {
    int64_t rows = argc > 1 ? strtoll(argv[1], NULL, 10) : 1000;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 3;
    if (rows < 1 || rounds < 1) {
        fprintf(stderr, "usage: kernels_sqlite ROWS [ROUNDS]\n");
        return 2;
    }
    if (spex_start(NULL) != 0)
        return 1;
    spex_parameter("rows", rows);
    for (long round = 0; round < rounds; round++)
        run_round(rows);
    return spex_stop() != 0;
}
