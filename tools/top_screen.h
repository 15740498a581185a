/* SPDX-License-Identifier: MIT */
/* The terminal of `spex top`: draws a view and reads keys. */
#ifndef SPEX_TOP_SCREEN_H
#define SPEX_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "top_view.h"

enum spex_top_key {
    SPEX_TOP_KEY_NONE, /* no more keys have come */
    SPEX_TOP_KEY_TEXT, /* a letter, in `text` */
    SPEX_TOP_KEY_UP,
    SPEX_TOP_KEY_DOWN,
    SPEX_TOP_KEY_PAGE_UP,
    SPEX_TOP_KEY_PAGE_DOWN,
    SPEX_TOP_KEY_HOME,
    SPEX_TOP_KEY_END,
    SPEX_TOP_KEY_LEFT,
    SPEX_TOP_KEY_RIGHT,
    SPEX_TOP_KEY_ENTER,
    SPEX_TOP_KEY_ESCAPE,
    SPEX_TOP_KEY_ERASE,
    SPEX_TOP_KEY_OTHER,
};

enum { SPEX_TOP_LETTER_BYTES = 17 };

/* What is on the screen beside the view's rows. */
struct spex_top_picture {
    bool help; /* instead of them */
    bool paused;
    bool alarming; /* the message */
    double delay;
    const char *message;
    const char *prompt; /* NULL: nothing is being typed */
    const char *typed;
};

/* False when the terminal is none that is known. */
bool spex_top_screen_open(void);

/* Leaves the terminal as it was. */
void spex_top_screen_close(void);

/* The terminal has another size. */
void spex_top_screen_resize(void);

void spex_top_screen_draw(const struct spex_top_view *view, const struct spex_top_picture *picture);

/* So many rows are a page. */
long spex_top_screen_page(void);

/* Does not wait. */
enum spex_top_key spex_top_screen_key(char text[SPEX_TOP_LETTER_BYTES]);

#endif
