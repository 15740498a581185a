/* SPDX-License-Identifier: MIT */
#include "store.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include <spex/kernel.h>
#include <spex/probe.h>

enum { VERSION = 1, BUSY_MS = 2000 };

static const char schema[] =
    "CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT, items INTEGER);"
    "CREATE TABLE user (id INTEGER PRIMARY KEY, name TEXT, rating INTEGER, since INTEGER);"
    "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, text TEXT, category INTEGER,"
    " seller INTEGER, cents INTEGER, bids INTEGER, stock INTEGER);"
    "CREATE TABLE bid (item INTEGER, cents INTEGER, user INTEGER, time INTEGER);"
    "CREATE TABLE comment (user INTEGER, author INTEGER, rating INTEGER, text TEXT);"
    "CREATE TABLE purchase (item INTEGER, user INTEGER, cents INTEGER);";

/* ?1: the number of items. A user for ten of them, two bids and half a comment for each. */
static const char *const fill[] = {
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20)"
    "INSERT INTO category SELECT i, 'Category <' || char(64 + i) || '> & more', ?1 / 20 FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 / 10)"
    "INSERT INTO user SELECT i, 'user' || i, i * 7919 % 100, 1700000000 + i * 60 FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)"
    "INSERT INTO item SELECT i, rtrim(substr('lamp chairtablevase clockradioglassbrush', i * 7919 "
    "% 8 * 5"
    " + 1, 5)) || ' no. ' || i, 'As good as new, \"' || hex(i * 104729) || '\", 2 < 3 pieces.',"
    " i % 20 + 1, i * 7919 % (?1 / 10) + 1, i * 104729 % 100000 + 100, 2, 1000000000 FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2 * ?1)"
    "INSERT INTO bid SELECT i % ?1 + 1, i * 31 % 100000, i * 104729 % (?1 / 10) + 1,"
    " 1700000000 + i FROM n",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 / 2)"
    "INSERT INTO comment SELECT i * 7919 % (?1 / 10) + 1, i * 31 % (?1 / 10) + 1, i % 5 + 1,"
    " 'Quick & friendly, again <any time>.' FROM n"};

static const char indexes[] = "CREATE INDEX item_category ON item (category, id);"
                              "CREATE INDEX item_name ON item (name);"
                              "CREATE INDEX item_seller ON item (seller);"
                              "CREATE INDEX bid_item ON bid (item, cents);"
                              "CREATE INDEX comment_user ON comment (user);";

enum query {
    CATEGORIES,
    ITEMS,
    SEARCH,
    ITEM,
    DESCRIPTION,
    BIDS,
    USER,
    COMMENTS,
    OFFERS,
    SELL,
    NOTE,
    QUERIES
};

/* Numbers first, then the text. ?1 and ?2 are numbers; of SEARCH, texts. */
static const char *const queries[QUERIES] = {
    [CATEGORIES] = "SELECT id, items, name FROM category ORDER BY id",
    [ITEMS] = "SELECT id, cents, bids, name FROM item WHERE category = ?1 ORDER BY id"
              " LIMIT 20 OFFSET ?2",
    [SEARCH] = "SELECT id, cents, bids, name FROM item WHERE name >= ?1 AND name < ?2"
               " ORDER BY name LIMIT 20",
    [ITEM] = "SELECT id, cents, bids, seller, name FROM item WHERE id = ?1",
    [DESCRIPTION] = "SELECT stock, text FROM item WHERE id = ?1",
    [BIDS] = "SELECT bid.user, bid.cents, bid.time, user.name FROM bid JOIN user ON user.id ="
             " bid.user WHERE item = ?1 ORDER BY cents DESC LIMIT 20",
    [USER] = "SELECT id, rating, since, name FROM user WHERE id = ?1",
    [COMMENTS] = "SELECT author, rating, text FROM comment WHERE user = ?1 LIMIT 20",
    [OFFERS] = "SELECT id, cents, bids, name FROM item WHERE seller = ?1 LIMIT 20",
    [SELL] = "UPDATE item SET stock = stock - 1 WHERE id = ?1 AND stock > 0 RETURNING cents, ''",
    [NOTE] = "INSERT INTO purchase SELECT id, ?2, cents FROM item WHERE id = ?1"};

struct store {
    sqlite3 *db;
    sqlite3_stmt *statements[QUERIES];
};

static bool run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

static bool run_with(sqlite3 *db, const char *sql, int64_t number) {
    sqlite3_stmt *statement = NULL;
    sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    sqlite3_bind_int64(statement, 1, number);
    sqlite3_step(statement);
    return sqlite3_finalize(statement) == SQLITE_OK;
}

static bool make(sqlite3 *db, int64_t items) {
    bool ok = run(db, "BEGIN") && run(db, schema);
    for (size_t f = 0; f < sizeof(fill) / sizeof(*fill); f++)
        ok = ok && run_with(db, fill[f], items);
    char version[64];
    snprintf(version, sizeof(version), "PRAGMA user_version = %d; COMMIT", VERSION);
    return ok && run(db, indexes) && run(db, version) && run(db, "PRAGMA journal_mode = WAL");
}

bool store_make(const char *path, int64_t items) {
    char partial[4096];
    sqlite3 *db = NULL;
    if (access(path, F_OK) == 0)
        return true;
    snprintf(partial, sizeof(partial), "%s.%ld", path, (long)getpid());
    bool ok = sqlite3_open(partial, &db) == SQLITE_OK && make(db, items);
    if (!ok)
        warnx("cannot make %s: %s", path, sqlite3_errmsg(db));
    ok &= sqlite3_close(db) == SQLITE_OK;
    if (ok && rename(partial, path) != 0) {
        warn("cannot rename %s", partial);
        ok = false;
    }
    if (!ok)
        unlink(partial);
    return ok;
}

/* A database of another version, or of something else, has other tables. */
struct store *store_open(const char *path) {
    struct store *store = calloc(1, sizeof(*store));
    if (!store)
        err(1, "a connection");
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    bool ok = sqlite3_open_v2(path, &store->db, flags, NULL) == SQLITE_OK &&
              sqlite3_busy_timeout(store->db, BUSY_MS) == SQLITE_OK &&
              run(store->db, "PRAGMA synchronous = NORMAL; PRAGMA mmap_size = 268435456");
    for (int q = 0; ok && q < QUERIES; q++)
        ok = sqlite3_prepare_v3(store->db, queries[q], -1, SQLITE_PREPARE_PERSISTENT,
                                &store->statements[q], NULL) == SQLITE_OK;
    if (ok)
        return store;
    warnx("cannot use %s: %s; --make makes it", path, sqlite3_errmsg(store->db));
    store_close(store);
    return NULL;
}

void store_close(struct store *store) {
    for (int q = 0; q < QUERIES; q++)
        sqlite3_finalize(store->statements[q]);
    sqlite3_close(store->db);
    free(store);
}

static void take_row(sqlite3_stmt *statement, struct store_row *row) {
    SPEX_LAT_SCOPE("take_row");
    SPEX_CTXSW_SCOPE("take_row");
    int texts = sqlite3_column_count(statement) - 1;
    for (int n = 0; n < STORE_NUMBERS; n++)
        row->numbers[n] = n < texts ? sqlite3_column_int64(statement, n) : 0;
    const unsigned char *words = sqlite3_column_text(statement, texts);
    snprintf(row->words, sizeof(row->words), "%s", words ? (const char *)words : "");
}

/* Its rows, with ?1 and ?2 bound before. */
static bool fetch(sqlite3_stmt *statement, struct store_rows *rows) {
    int result = SQLITE_DONE;
    rows->count = 0;
    while (rows->count < STORE_ROWS_MOST && (result = sqlite3_step(statement)) == SQLITE_ROW)
        take_row(statement, &rows->items[rows->count++]);
    sqlite3_reset(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE;
}

static bool ask(struct store *store, enum query query, int64_t one, int64_t two,
                struct store_rows *rows) {
    sqlite3_stmt *statement = store->statements[query];
    sqlite3_bind_int64(statement, 1, one);
    sqlite3_bind_int64(statement, 2, two);
    return fetch(statement, rows);
}

void store_categories(struct store *store, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_categories");
    ask(store, CATEGORIES, 0, 0, rows);
}

/* SQLite walks over what is before the offset. */
void store_items(struct store *store, int64_t category, int64_t offset, struct store_rows *rows) {
    SPEX_KERNEL_SCOPE("query_items", 1, offset);
    SPEX_LAT_SCOPE("query_items");
    ask(store, ITEMS, category, offset, rows);
}

void store_search(struct store *store, const char *word, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_search");
    char after[STORE_WORDS];
    snprintf(after, sizeof(after), "%.100s~", word);
    sqlite3_stmt *statement = store->statements[SEARCH];
    sqlite3_bind_text(statement, 1, word, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(statement, 2, after, -1, SQLITE_TRANSIENT);
    fetch(statement, rows);
}

void store_item(struct store *store, int64_t id, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_item");
    ask(store, ITEM, id, 0, rows);
}

void store_description(struct store *store, int64_t id, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_description");
    ask(store, DESCRIPTION, id, 0, rows);
}

void store_bids(struct store *store, int64_t item, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_bids");
    ask(store, BIDS, item, 0, rows);
}

void store_user(struct store *store, int64_t id, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_user");
    ask(store, USER, id, 0, rows);
}

void store_comments(struct store *store, int64_t user, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_comments");
    ask(store, COMMENTS, user, 0, rows);
}

void store_offers(struct store *store, int64_t user, struct store_rows *rows) {
    SPEX_LAT_SCOPE("query_offers");
    ask(store, OFFERS, user, 0, rows);
}

bool store_buy(struct store *store, int64_t item, int64_t user) {
    SPEX_LAT_SCOPE("query_buy");
    struct store_rows rows;
    if (!run(store->db, "BEGIN IMMEDIATE"))
        return false;
    bool sold =
        ask(store, SELL, item, 0, &rows) && rows.count && ask(store, NOTE, item, user, &rows);
    if (run(store->db, sold ? "COMMIT" : "ROLLBACK"))
        return sold;
    run(store->db, "ROLLBACK");
    return false;
}
