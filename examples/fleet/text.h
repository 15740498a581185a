/* SPDX-License-Identifier: MIT */
/* HTML that grows as it is written. Without memory the text says so at the end (`failed`). */
#ifndef EXAMPLES_FLEET_TEXT_H
#define EXAMPLES_FLEET_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data;
    size_t length, room;
    bool failed;
};

void text_add(struct text *text, const char *more);

/* As text of a page: what is markup in HTML is escaped. */
void text_escape(struct text *text, const char *more);

void text_number(struct text *text, int64_t number);

/* As "12.34". */
void text_price(struct text *text, int64_t cents);

/* <a href="/PAGE?id=ID">WORDS</a> */
void text_link(struct text *text, const char *page, int64_t id, const char *words);

#endif
