/* SPDX-License-Identifier: MIT */
/* Columns of text, each as wide as its widest cell, and the texts of durations and probes that
 * stand in them. */
#ifndef SPEX_PROFILE_COLUMNS_H
#define SPEX_PROFILE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/profile.h"

/* Masks have so many columns. */
enum { SPEX_COLUMNS_MASKED = 32 };

struct spex_columns {
    char **cells; /* row by row; NULL: empty */
    size_t count;
    size_t room;
    unsigned columns;
    /* A mask of columns that begin at their left edge; the others end at their right edge. */
    uint32_t left;
    /* A mask of columns that belong to the column before them. One blank separates them. */
    uint32_t beside;
    uint32_t hidden;  /* a mask of columns that are not printed */
    uint32_t crowded; /* of these, those for which there is no room */
    /* The greatest width of each column; 0: no limit. */
    size_t most[SPEX_COLUMNS_MASKED];
    bool folded; /* a text that is too long for the last column continues below itself */
    int error;   /* -ENOMEM: cells are missing */
};

/* The headings are the first row. */
void spex_columns_init(struct spex_columns *columns, const char *const *headings, unsigned count,
                       uint32_t left);

/* Fills the next cell. Without memory, sets `error`. */
__attribute__((format(printf, 2, 3))) void spex_columns_add(struct spex_columns *columns,
                                                            const char *format, ...);

/* Leaves the remaining cells of the row empty. */
void spex_columns_end_row(struct spex_columns *columns);

/* Hides a column whose cells are all empty, "-" or `plain`, unless there are no rows. */
void spex_columns_hide_plain(struct spex_columns *columns, unsigned column, const char *plain);

/* Hides columns until a row has at most `width` characters. `order` names columns, the most important
 * one first; the first column is always shown. A column beside another comes with it, or where
 * `order` names it. The first column may shrink to a quarter of the width. */
void spex_columns_fit(struct spex_columns *columns, unsigned width, const uint8_t *order,
                      unsigned count);

/* How wide a row is with columns that are shown, and `more`, a mask. */
size_t spex_columns_width(const struct spex_columns *columns, uint32_t more);

/* How wide a column is; 0: it is not shown. */
size_t spex_columns_width_of(const struct spex_columns *columns, unsigned column);

/* Prints all rows. Rows have no blanks at their ends. A column whose cells are all empty is left out
 * with its heading. A text that is too long for its column has `…` in place of its middle. */
void spex_columns_print_rows(struct spex_columns *columns, FILE *file);
void spex_columns_free(struct spex_columns *columns);

/* Both, one after the other. */
void spex_columns_print(struct spex_columns *columns, FILE *file);

/* How a table gives way where it is wider than its terminal. */
struct spex_columns_room {
    size_t width;         /* of the longest line; 0: of the stream's terminal, or of a text */
    bool all;             /* nothing gives way */
    uint32_t texts;       /* a mask of columns whose texts may lose their middle */
    const uint8_t *order; /* these are left out first, in this order; then those at the right */
    unsigned count;
};

/* Prints all rows within a width and frees them. Texts give way, the longest first; then columns are
 * left out, and a line says which. The first column stays, and one that is folded as long as
 * another can go. Figures are whole. */
void spex_columns_print_within(struct spex_columns *columns, FILE *file,
                               const struct spex_columns_room *room);

/* Prints lines. A line that is longer than `width` characters continues below, indented. */
void spex_print_wrapped(FILE *file, const char *text, unsigned width);

/* Writes a duration (text/quantity.h); returns `text`. */
const char *spex_duration_text(double seconds, char *text, size_t size);

/* A probe's name, or its id, without control characters, and its provider in front if it is shown
 * with those of other providers (`mixed`); returns `text`. */
const char *spex_probe_text(const struct spex_profile_probe *probe, bool mixed, char *text,
                            size_t size);

#endif
