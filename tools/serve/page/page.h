/* SPDX-License-Identifier: MIT */
/* The files of the page, which are parts of the command. */
#ifndef SPEX_TOOLS_SERVE_PAGE_PAGE_H
#define SPEX_TOOLS_SERVE_PAGE_PAGE_H

#include <stdbool.h>

struct spex_page_file {
    /* Where the browser asks for it. */
    const char *path;
    const char *type;
    const char *begin, *end;
    /* The bytes are those of gzip. */
    bool compressed;
};

/* NULL: there is no such file. */
const struct spex_page_file *spex_page_find(const char *path);

#endif
