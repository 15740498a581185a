/* SPDX-License-Identifier: MIT */
/* Command-line options from a table. Functions end the program with one line on standard error and
 * status 2 for anything they do not understand. */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_INTEGER = 1, /* int64_t, of low to high */
    OPTION_BOOLEAN,     /* bool: yes or no, true or false, on or off, 1 or 0 */
    OPTION_CHOICE,      /* unsigned: index of one of the choices, which NULL ends */
    OPTION_SECONDS,     /* double, of 0 to 86400 */
    OPTION_TEXT,        /* const char *: any */
};

/* `value` holds the default before. */
struct option_row {
    const char *name;
    enum option_kind kind;
    void *value;
    const char *help; /* what it says, with its unit */
    int64_t low, high;
    const char *const *choices;
};

/* Prints `summary` and the rows, and ends the program, for --help. */
void options_read(const char *summary, const struct option_row *rows, size_t count, int argc,
                  char **argv);

#endif
