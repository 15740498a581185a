/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/probe.h>

static bool grow(struct text *text, size_t more) {
    size_t room = text->room ? text->room : 8192;
    while (room < text->length + more)
        room *= 2;
    if (room == text->room)
        return true;
    char *grown = realloc(text->data, room);
    text->failed |= !grown;
    if (!grown)
        return false;
    text->data = grown;
    text->room = room;
    return true;
}

static void add(struct text *text, const char *more, size_t length) {
    SPEX_LAT_SCOPE("add");
    SPEX_CTXSW_SCOPE("add");
    if (text->failed || !grow(text, length))
        return;
    memcpy(text->data + text->length, more, length);
    text->length += length;
}

void text_add(struct text *text, const char *more) {
    add(text, more, strlen(more));
}

static const char *escaped(char c) {
    return c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '"' ? "&quot;" : NULL;
}

void text_escape(struct text *text, const char *more) {
    SPEX_LAT_SCOPE("escape");
    SPEX_CTXSW_SCOPE("escape");
    while (*more) {
        size_t plain = strcspn(more, "&<>\"");
        add(text, more, plain);
        more += plain;
        if (*more)
            text_add(text, escaped(*more++));
    }
}

void text_number(struct text *text, int64_t number) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRId64, number);
    text_add(text, digits);
}

void text_price(struct text *text, int64_t cents) {
    SPEX_LAT_SCOPE("price");
    SPEX_CTXSW_SCOPE("price");
    char price[32];
    snprintf(price, sizeof(price), "%" PRId64 ".%02d", cents / 100, (int)(cents % 100));
    text_add(text, price);
}

void text_link(struct text *text, const char *page, int64_t id, const char *words) {
    SPEX_LAT_SCOPE("link");
    SPEX_CTXSW_SCOPE("link");
    text_add(text, "<a href=\"/");
    text_add(text, page);
    text_add(text, "?id=");
    text_number(text, id);
    text_add(text, "\">");
    text_escape(text, words);
    text_add(text, "</a>");
}
