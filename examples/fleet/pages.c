/* SPDX-License-Identifier: MIT */
#include "pages.h"

#include <string.h>

#include <spex/probe.h>

enum { FOUND = 200, NOT_FOUND = 404, NOT_SOLD = 409 };

struct page {
    struct store *store;
    const struct page_request *asked;
    struct text *text;
};

static void write_head(struct text *text, const char *title) {
    SPEX_LAT_SCOPE("head");
    text_add(text, "<!DOCTYPE html><html><head><title>");
    text_escape(text, title);
    text_add(text, "</title></head><body><p>");
    static const char *const names[] = {"lamp", "chair", "table", "vase", "clock"};
    for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++)
        text_link(text, "category", (int64_t)n + 1, names[n]);
    text_add(text, "</p><h1>");
    text_escape(text, title);
    text_add(text, "</h1><table>");
}

static void write_foot(struct text *text) {
    SPEX_LAT_SCOPE("foot");
    text_add(text, "</table><p>A shop of no goods</p></body></html>\n");
}

/* A link, two numbers and a price. */
static void write_row(struct text *text, const char *page, const struct store_row *row) {
    SPEX_LAT_SCOPE("row");
    SPEX_CTXSW_SCOPE("row");
    text_add(text, "<tr><td>");
    text_link(text, page, row->numbers[0], row->words);
    text_add(text, "</td><td>");
    text_price(text, row->numbers[1]);
    text_add(text, "</td><td>");
    text_number(text, row->numbers[2]);
    text_add(text, "</td></tr>");
}

static void write_rows(struct text *text, const char *page, const struct store_rows *rows) {
    SPEX_LAT_SCOPE("table");
    for (size_t r = 0; r < rows->count; r++)
        write_row(text, page, &rows->items[r]);
}

static unsigned write_table(const struct page *page, const char *title, const char *link,
                            const struct store_rows *rows) {
    write_head(page->text, title);
    write_rows(page->text, link, rows);
    write_foot(page->text);
    return rows->count ? FOUND : NOT_FOUND;
}

static unsigned categories(const struct page *page) {
    SPEX_LAT_SCOPE("page_categories");
    struct store_rows rows;
    store_categories(page->store, &rows);
    return write_table(page, "Categories", "category", &rows);
}

static unsigned category(const struct page *page) {
    SPEX_LAT_SCOPE("page_category");
    struct store_rows rows;
    store_items(page->store, page->asked->id, page->asked->page * STORE_ROWS_MOST, &rows);
    return write_table(page, "Items of a category", "item", &rows);
}

static unsigned search(const struct page *page) {
    SPEX_LAT_SCOPE("page_search");
    struct store_rows rows;
    store_search(page->store, page->asked->word, &rows);
    write_table(page, page->asked->word, "item", &rows);
    return FOUND;
}

static unsigned item(const struct page *page) {
    SPEX_LAT_SCOPE("page_item");
    struct store_rows about, description, offers;
    store_item(page->store, page->asked->id, &about);
    if (!about.count)
        return NOT_FOUND;
    store_description(page->store, page->asked->id, &description);
    store_offers(page->store, about.items[0].numbers[3], &offers);
    write_head(page->text, about.items[0].words);
    write_row(page->text, "item", &about.items[0]);
    for (size_t r = 0; r < description.count; r++)
        text_escape(page->text, description.items[r].words);
    write_rows(page->text, "item", &offers);
    write_foot(page->text);
    return FOUND;
}

static unsigned bids(const struct page *page) {
    SPEX_LAT_SCOPE("page_bids");
    struct store_rows rows;
    store_bids(page->store, page->asked->id, &rows);
    return write_table(page, "Bids", "user", &rows);
}

static unsigned user(const struct page *page) {
    SPEX_LAT_SCOPE("page_user");
    struct store_rows about, comments, offers;
    store_user(page->store, page->asked->id, &about);
    if (!about.count)
        return NOT_FOUND;
    store_comments(page->store, page->asked->id, &comments);
    store_offers(page->store, page->asked->id, &offers);
    write_head(page->text, about.items[0].words);
    write_rows(page->text, "user", &comments);
    write_rows(page->text, "item", &offers);
    write_foot(page->text);
    return FOUND;
}

static unsigned buy(const struct page *page) {
    SPEX_LAT_SCOPE("page_buy");
    bool sold = store_buy(page->store, page->asked->id, page->asked->user);
    write_head(page->text, sold ? "Thank you" : "Sold out");
    write_foot(page->text);
    return sold ? FOUND : NOT_SOLD;
}

static unsigned health(const struct page *page) {
    text_add(page->text, "well\n");
    return FOUND;
}

static const struct {
    const char *name;
    unsigned (*write)(const struct page *page);
} pages[] = {{"categories", categories},
             {"category", category},
             {"search", search},
             {"item", item},
             {"bids", bids},
             {"user", user},
             {"buy", buy},
             {"health", health}};

unsigned page_write(struct store *store, const struct page_request *request, struct text *text) {
    SPEX_LAT_SCOPE("page");
    const struct page page = {store, request, text};
    for (size_t p = 0; p < sizeof(pages) / sizeof(*pages); p++)
        if (strcmp(pages[p].name, request->name) == 0)
            return pages[p].write(&page);
    text_add(text, "There is no such page\n");
    return NOT_FOUND;
}
