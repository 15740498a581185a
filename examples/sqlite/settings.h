/* SPDX-License-Identifier: MIT */
/* What the program is to do: from its options, and while it is explored from the configuration that
 * `spex explore` sends, which has the last word on the parameters. */
#ifndef TAXI_SETTINGS_H
#define TAXI_SETTINGS_H

#include <stdint.h>

#include "query.h"

struct settings {
    struct database database;
    struct tuning tuning;
    int64_t threads;
    const char *make; /* page sizes of the databases to make, or NULL to query */
    double seconds;   /* to run; 0: until SIGTERM or SIGINT */
    double warmup_seconds;
};

/* Ends the program with one line on standard error for anything it does not understand, and after
 * --help. */
void settings_read(struct settings *settings, int argc, char **argv);

/* The first of the page sizes at *list, which it moves on to the next; 0 at the list's end. */
int64_t settings_next_page_size(const char **list);

#endif
