/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "base/terminal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* WIDTH_MOST limits what the environment may ask for. */
enum { WIDTH_DEFAULT = 80, WIDTH_MOST = 10000 };

unsigned spex_text_width(void) {
    const char *text = secure_getenv("COLUMNS");
    unsigned long width = text && *text >= '0' && *text <= '9' ? strtoul(text, NULL, 10) : 0;
    return width >= SPEX_WIDTH_LEAST && width <= WIDTH_MOST ? (unsigned)width : WIDTH_DEFAULT;
}

unsigned spex_terminal_width(FILE *file, unsigned otherwise) {
    struct winsize window;
    bool known = ioctl(fileno(file), TIOCGWINSZ, &window) == 0 && window.ws_col >= SPEX_WIDTH_LEAST;
    return known ? window.ws_col : otherwise;
}
