/* SPDX-License-Identifier: MIT */
#include "database.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trips.h"

#define LAYOUT_VERSION 2 /* kept as user_version; goes up when the tables or the trips change */

static const char create_tables[] =
    "CREATE TABLE trips (trip_id INTEGER PRIMARY KEY, pickup_time INTEGER, seconds INTEGER,"
    " metres INTEGER, fare_cents INTEGER, passenger_count INTEGER, pickup_longitude REAL,"
    " pickup_latitude REAL, dropoff_longitude REAL, dropoff_latitude REAL);"
    "CREATE TABLE areas (area_id INTEGER PRIMARY KEY, west REAL, east REAL, south REAL, north "
    "REAL);";

static const char create_index[] =
    "CREATE INDEX trips_pickup ON trips (pickup_longitude, pickup_latitude)";

/* The rectangle around where trip ?1 began that has ?2 trips in its range of longitudes, which a
 * query finds in the index, and ?3 of them in its range of latitudes, too, which it looks up. */
static const char insert_area[] =
    "WITH centre (x, y) AS MATERIALIZED"
    " (SELECT pickup_longitude, pickup_latitude FROM trips WHERE trip_id = ?1),"
    "near (x, y) AS ("
    " SELECT * FROM (SELECT pickup_longitude, pickup_latitude FROM trips"
    "  WHERE pickup_longitude >= (SELECT x FROM centre) ORDER BY pickup_longitude LIMIT ?2)"
    " UNION ALL"
    " SELECT * FROM (SELECT pickup_longitude, pickup_latitude FROM trips"
    "  WHERE pickup_longitude < (SELECT x FROM centre) ORDER BY pickup_longitude DESC LIMIT ?2)),"
    "band (x, y) AS MATERIALIZED"
    " (SELECT x, y FROM near ORDER BY abs(x - (SELECT x FROM centre)) LIMIT ?2),"
    "area (y) AS MATERIALIZED"
    " (SELECT y FROM band ORDER BY abs(y - (SELECT y FROM centre)) LIMIT ?3)"
    "INSERT INTO areas (west, east, south, north)"
    " SELECT * FROM (SELECT min(x), max(x) FROM band), (SELECT min(y), max(y) FROM area)";

static char partial_path[4096]; /* the file being made, for end_making() */

static void end_making(int signal_number) {
    unlink(partial_path);
    _exit(128 + signal_number);
}

static bool run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool database_integer(sqlite3 *db, const char *sql, int64_t *value) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        return false;
    bool ok = sqlite3_step(statement) == SQLITE_ROW;
    if (ok)
        *value = sqlite3_column_int64(statement, 0);
    return sqlite3_finalize(statement) == SQLITE_OK && ok;
}

bool database_path(const struct database *database, char *path, size_t size) {
    int length = snprintf(path, size, "%s/taxi-%" PRId64 "-%" PRId64 ".db", database->dir,
                          database->page_size, database->rows);
    if (length > 0 && (size_t)length < size)
        return true;
    warnx("--db-dir: the path is too long");
    return false;
}

static bool insert_trip(sqlite3_stmt *statement, const struct trip *trip) {
    const int64_t integers[] = {trip->id,     trip->pickup_time, trip->seconds,
                                trip->metres, trip->fare_cents,  trip->passengers};
    const int32_t degrees[] = {trip->pickup.longitude, trip->pickup.latitude,
                               trip->dropoff.longitude, trip->dropoff.latitude};
    for (int i = 0; i < 6; i++)
        sqlite3_bind_int64(statement, 1 + i, integers[i]);
    for (int i = 0; i < 4; i++)
        sqlite3_bind_double(statement, 7 + i, degrees[i] / 1e6);
    return sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK;
}

static bool insert_trips(sqlite3 *db, int64_t rows) {
    sqlite3_stmt *statement = NULL;
    struct trips trips;
    bool ok = sqlite3_prepare_v2(db, "INSERT INTO trips VALUES (?,?,?,?,?,?,?,?,?,?)", -1,
                                 &statement, NULL) == SQLITE_OK;
    trips_begin(&trips);
    for (int64_t row = 0; ok && row < rows; row++)
        ok = insert_trip(statement, trips_next(&trips));
    return sqlite3_finalize(statement) == SQLITE_OK && ok;
}

/* 3 % of all trips in the range of longitudes, and a thirtieth of these in the area. */
static bool insert_areas(sqlite3 *db, int64_t rows) {
    sqlite3_stmt *statement = NULL;
    bool ok = sqlite3_prepare_v2(db, insert_area, -1, &statement, NULL) == SQLITE_OK;
    for (int64_t area = 0; ok && area < AREA_COUNT; area++) {
        sqlite3_bind_int64(statement, 1, 1 + area * rows / AREA_COUNT);
        sqlite3_bind_int64(statement, 2, rows * 3 / 100);
        sqlite3_bind_int64(statement, 3, rows / 1000);
        ok = sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK;
    }
    return sqlite3_finalize(statement) == SQLITE_OK && ok;
}

/* Without a journal, since a file that was not finished is thrown away. */
static bool fill(sqlite3 *db, const struct database *database) {
    char pragmas[256];
    snprintf(pragmas, sizeof(pragmas),
             "PRAGMA page_size = %" PRId64
             "; PRAGMA journal_mode = OFF; PRAGMA temp_store = MEMORY;"
             "PRAGMA cache_size = -131072; PRAGMA user_version = %d; BEGIN",
             database->page_size, LAYOUT_VERSION);
    return run(db, pragmas) && run(db, create_tables) && insert_trips(db, database->rows) &&
           run(db, create_index) && insert_areas(db, database->rows) && run(db, "COMMIT");
}

static bool make_partial(const struct database *database) {
    sqlite3 *db = NULL;
    bool ok = sqlite3_open(partial_path, &db) == SQLITE_OK && fill(db, database);
    if (!ok && sqlite3_errcode(db) == SQLITE_FULL)
        warnx("cannot make %s: the disk is full (1,000,000 rows take about 90 MB)", partial_path);
    else if (!ok)
        warnx("cannot make %s: %s", partial_path, sqlite3_errmsg(db));
    if (sqlite3_close(db) == SQLITE_OK)
        return ok;
    warnx("cannot close %s", partial_path);
    return false;
}

bool database_check(const struct database *database, sqlite3 *db, const char *path) {
    int64_t version = 0, page_size = 0, rows = 0, areas = 0;
    if (!database_integer(db, "PRAGMA user_version", &version) ||
        !database_integer(db, "PRAGMA page_size", &page_size) ||
        !database_integer(db, "SELECT max(trip_id) FROM trips", &rows) ||
        !database_integer(db, "SELECT count(*) FROM areas", &areas)) {
        warnx("%s: %s", path, sqlite3_errmsg(db));
        return false;
    }
    if (version == LAYOUT_VERSION && page_size == database->page_size && rows == database->rows &&
        areas == AREA_COUNT)
        return true;
    warnx("%s: has version %" PRId64 ", page size %" PRId64 ", %" PRId64 " rows, %" PRId64
          " areas; want %d, %" PRId64 ", %" PRId64 ", %d; make it again",
          path, version, page_size, rows, areas, LAYOUT_VERSION, database->page_size,
          database->rows, AREA_COUNT);
    return false;
}

static bool is_whole(const struct database *database, const char *path) {
    sqlite3 *db = NULL;
    bool whole = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                 database_check(database, db, path);
    sqlite3_close(db);
    return whole;
}

bool database_make(const struct database *database) {
    char path[sizeof(partial_path) - 32];
    if (!database_path(database, path, sizeof(path)))
        return false;
    if (access(path, F_OK) == 0 && is_whole(database, path))
        return true;
    snprintf(partial_path, sizeof(partial_path), "%s.%ld.partial", path, (long)getpid());
    unlink(partial_path);
    /* SQLite would follow a link that somebody has put into a directory such as /var/tmp. */
    int partial = open(partial_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (partial < 0) {
        warn("cannot make %s", partial_path);
        return false;
    }
    close(partial);
    signal(SIGINT, end_making);
    signal(SIGTERM, end_making);
    bool ok = make_partial(database);
    if (ok && rename(partial_path, path) != 0) {
        warn("cannot rename %s", partial_path);
        ok = false;
    }
    if (ok)
        printf("made %s\n", path);
    else
        unlink(partial_path);
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    return ok;
}
