/* SPDX-License-Identifier: MIT */
/* What the shop answers: HTML from the store. */
#ifndef EXAMPLES_FLEET_PAGES_H
#define EXAMPLES_FLEET_PAGES_H

#include <stdint.h>

#include "store.h"
#include "text.h"

/* What was asked for: /NAME?id=ID&page=PAGE&user=USER&word=WORD */
struct page_request {
    char name[16], word[32];
    int64_t id, page, user;
};

/* Writes the page. The status of HTTP: 200, 404, or 409 where nothing could be sold. */
unsigned page_write(struct store *store, const struct page_request *request, struct text *text);

#endif
