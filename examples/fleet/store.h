/* SPDX-License-Identifier: MIT */
/* The shop's goods, users, bids and purchases, in SQLite. Several instances may use one file. */
#ifndef EXAMPLES_FLEET_STORE_H
#define EXAMPLES_FLEET_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STORE_CATEGORIES = 20, STORE_ROWS_MOST = 20, STORE_NUMBERS = 4, STORE_WORDS = 160 };

/* Numbers and a text, in the order of the query. */
struct store_row {
    int64_t numbers[STORE_NUMBERS];
    char words[STORE_WORDS];
};

struct store_rows {
    struct store_row items[STORE_ROWS_MOST];
    size_t count;
};

struct store;

/* Makes a database of that many items, unless it is there. */
bool store_make(const char *path, int64_t items);

/* A connection for one thread. NULL, after one line on standard error. */
struct store *store_open(const char *path);
void store_close(struct store *store);

/* Rows; none where there is nothing, or the query failed. */
void store_categories(struct store *store, struct store_rows *rows); /* id, items; name */
void store_items(struct store *store, int64_t category, int64_t offset,
                 struct store_rows *rows); /* id, cents, bids; name */
void store_search(struct store *store, const char *word, struct store_rows *rows); /* as items */
void store_item(struct store *store, int64_t id,
                struct store_rows *rows); /* id, cents, bids, seller; name */
void store_description(struct store *store, int64_t id, struct store_rows *rows); /* stock; text */
void store_bids(struct store *store, int64_t item,
                struct store_rows *rows); /* user, cents, time; user's name */
void store_user(struct store *store, int64_t id,
                struct store_rows *rows); /* id, rating, since; name */
void store_comments(struct store *store, int64_t user,
                    struct store_rows *rows); /* author, rating; text */
void store_offers(struct store *store, int64_t user, struct store_rows *rows); /* as items */

/* Sells one of the item; false: there is none, or another instance holds the database. */
bool store_buy(struct store *store, int64_t item, int64_t user);

#endif
