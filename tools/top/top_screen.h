/* SPDX-License-Identifier: MIT */
/* The terminal of `spex top`: draws a view and reads keys. */
#ifndef SPEX_TOOLS_TOP_TOP_SCREEN_H
#define SPEX_TOOLS_TOP_TOP_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/top/top_view.h"

enum spex_top_key {
    /* No key is waiting. */
    SPEX_TOP_KEY_NONE,
    /* A character, in `text`. */
    SPEX_TOP_KEY_TEXT,
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

/* What is on the screen besides the rows of the view. */
struct spex_top_picture {
    /* The help is shown instead of the rows. */
    bool help;
    bool paused;
    /* The message is shown as an alarm. */
    bool alarming;
    double delay;
    const char *message;
    /* NULL: no text is being typed. */
    const char *prompt;
    const char *typed;
};

/* False when curses does not know the terminal. */
bool spex_top_screen_open(void);

/* Restores the terminal. */
void spex_top_screen_close(void);

/* Adapts to a new size of the terminal. */
void spex_top_screen_resize(void);

void spex_top_screen_draw(const struct spex_top_view *view, const struct spex_top_picture *picture);

/* How many rows fit on the screen. */
long spex_top_screen_page(void);

/* The next key; does not wait for one. */
enum spex_top_key spex_top_screen_key(char text[SPEX_TOP_LETTER_BYTES]);

#endif
