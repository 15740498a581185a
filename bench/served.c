/* SPDX-License-Identifier: MIT */
/* Serves requests to an SQLite database that does not fit into its cache, so that each request
 * reads from the file; for anomalies.py.
 *
 *     served DATABASE REQUESTS [ROWS]    REQUESTS of ROWS rows, else of 100 to 1600 in turn;
 *                                        0: until the input ends
 *
 *     request(rows) ──┬── query(rows)
 *                     └── format(bytes) a row
 *
 * A database that does not exist is made. The end is a summary as JSON. */
#include <err.h>
#include <inttypes.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/spex.h>

enum { REQUEST = 1, QUERY, FORMAT, ROWS = 200000, SIZES = 5, ROWS_LEAST = 100, ROWS_MOST = 1600 };

SPEX_PROBE_NAME(REQUEST, "request");
SPEX_PROBE_NAME(QUERY, "query");
SPEX_PROBE_NAME(FORMAT, "format");

static sqlite3 *db;
static sqlite3_stmt *select_rows;
static uint64_t formatted;
static unsigned char row_text[400];
static volatile unsigned result_sink;

static void check_sqlite(int result) {
    if (result != SQLITE_OK)
        errx(1, "%s", sqlite3_errmsg(db));
}

static void make_database(void) {
    check_sqlite(sqlite3_exec(
        db,
        "BEGIN; CREATE TABLE trip(id INTEGER PRIMARY KEY, zone INT, fare REAL, note TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 199999)"
        "INSERT INTO trip SELECT i, i % 260, i % 9973 / 100.0, hex(randomblob(20)) FROM n;"
        "COMMIT",
        NULL, NULL, NULL));
}

static void open_database(const char *path) {
    int there = access(path, F_OK) == 0;
    check_sqlite(sqlite3_open(path, &db));
    if (!there)
        make_database();
    check_sqlite(sqlite3_exec(db, "PRAGMA cache_size = 10", NULL, NULL, NULL));
    check_sqlite(
        sqlite3_prepare_v2(db, "SELECT fare, note FROM trip WHERE id BETWEEN ?1 AND ?1 + ?2 - 1",
                           -1, &select_rows, NULL));
}

static void format_row(unsigned row, const unsigned char *from, unsigned bytes) {
    KERNEL_PROBE_BEGIN(FORMAT, 1, bytes);
    unsigned sum = row;
    for (unsigned b = 0; b < bytes; b++)
        sum = sum * 31 + from[b];
    result_sink = sum;
    KERNEL_PROBE_END(FORMAT);
}

static void query_rows(uint64_t from, unsigned rows) {
    KERNEL_PROBE_BEGIN(QUERY, 1, rows);
    sqlite3_bind_int64(select_rows, 1, (sqlite3_int64)from);
    sqlite3_bind_int64(select_rows, 2, rows);
    while (sqlite3_step(select_rows) == SQLITE_ROW)
        result_sink = result_sink + (unsigned)sqlite3_column_int(select_rows, 0);
    check_sqlite(sqlite3_reset(select_rows));
    KERNEL_PROBE_END(QUERY);
}

static void serve_request(uint64_t from, unsigned rows) {
    KERNEL_PROBE_BEGIN(REQUEST, 1, rows);
    query_rows(from, rows);
    for (unsigned r = 0; r < rows; r++)
        format_row(r, row_text, sizeof(row_text));
    formatted += rows;
    KERNEL_PROBE_END(REQUEST);
}

static int input_ended(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&input, 1, 0) == 1;
}

int main(int argc, char **argv) {
    struct timespec begin, end;
    uint64_t random = 1, done = 0;
    if (argc < 3)
        errx(2, "DATABASE and REQUESTS were expected");
    uint64_t requests = strtoull(argv[2], NULL, 10);
    unsigned fixed = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 0;
    if (fixed > ROWS_MOST)
        errx(2, "at most %d rows were expected", ROWS_MOST);
    open_database(argv[1]);
    spex_start(NULL);
    puts("ready");
    fflush(stdout);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (; requests ? done < requests : !input_ended(); done++) {
        unsigned rows = fixed ? fixed : (unsigned)ROWS_LEAST << done % SIZES;
        random = random * 6364136223846793005u + 1442695040888963407u;
        serve_request((random >> 33) % (ROWS - ROWS_MOST), rows);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    spex_stop();
    printf("{\"requests\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"seconds\": %.3f}\n", done,
           formatted,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    sqlite3_finalize(select_rows);
    sqlite3_close(db);
    return 0;
}
