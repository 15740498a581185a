/* SPDX-License-Identifier: MIT */
/* Keeps all cells as text until the end, since the widths are not known before, and prints them row
 * by row. Out of memory, what there is is printed with a line that says so. */
#define _GNU_SOURCE
#include "profile/columns.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "site/provider.h"
#include "text/plain_numbers.h"
#include "text/printable.h"
#include "text/quantity.h"

/* The headings are cells like any other, so their widths count, too. */
void spex_columns_init(struct spex_columns *columns, const char *const *headings, unsigned count,
                       uint32_t left) {
    *columns = (struct spex_columns){.columns = count, .left = left};
    for (unsigned c = 0; c < count; c++)
        spex_columns_add(columns, "%s", headings[c]);
}

/* Appends an empty cell. NULL: no memory. */
static char **next_cell(struct spex_columns *columns) {
    if (columns->count == columns->room) {
        size_t room = columns->room ? columns->room * 2 : 64;
        char **cells = realloc(columns->cells, room * sizeof(*cells));
        if (!cells)
            return NULL;
        columns->cells = cells;
        columns->room = room;
    }
    columns->cells[columns->count] = NULL;
    return &columns->cells[columns->count++];
}

/* Without memory the cell stays empty, so that later cells keep their columns. */
void spex_columns_add(struct spex_columns *columns, const char *format, ...) {
    SPEX_PLAIN_NUMBERS;
    char **cell = next_cell(columns);
    va_list args;
    va_start(args, format);
    if (!cell || vasprintf(cell, format, args) < 0) {
        if (cell)
            *cell = NULL;
        columns->error = -ENOMEM;
    }
    va_end(args);
}

/* Does nothing where the row is complete. */
void spex_columns_end_row(struct spex_columns *columns) {
    while (columns->count % columns->columns && next_cell(columns))
        continue;
}

/* Width in characters: counts the bytes that do not continue a UTF-8 sequence. */
static size_t width_of(const char *cell) {
    size_t width = 0;
    for (; cell && *cell; cell++)
        width += ((unsigned char)*cell & 0xc0) != 0x80;
    return width;
}

/* Width of a column; 0: all cells below the heading are empty. */
static size_t width_of_column(const struct spex_columns *columns, unsigned column) {
    size_t heading = width_of(columns->cells[column]), width = 0;
    for (size_t i = column + columns->columns; i < columns->count; i += columns->columns)
        if (width_of(columns->cells[i]) > width)
            width = width_of(columns->cells[i]);
    /* Without rows all headings are shown. */
    bool rows = columns->count > columns->columns;
    return (width || !rows) && width < heading ? heading : width;
}

/* Number of cells up to the last one that is shown and not empty. */
static unsigned row_length(const struct spex_columns *columns, size_t row, const size_t *widths) {
    unsigned length = columns->columns;
    while (length > 0 && (!widths[length - 1] || !width_of(columns->cells[row + length - 1])))
        length--;
    return length;
}

/* Prints one row. A cell at the left edge of its column is padded only if another cell follows. */
static void print_row(const struct spex_columns *columns, size_t row, const size_t *widths,
                      FILE *file) {
    unsigned length = row_length(columns, row, widths);
    const char *between = "";
    for (unsigned c = 0; c < length; c++) {
        if (!widths[c])
            continue;
        const char *cell = columns->cells[row + c] ? columns->cells[row + c] : "";
        int pad = (int)(widths[c] - width_of(cell));
        fputs(between, file);
        if (c < 32 && columns->left & 1u << c)
            fprintf(file, "%s%*s", cell, c + 1 < length ? pad : 0, "");
        else
            fprintf(file, "%*s%s", pad, "", cell);
        between = "  ";
    }
    fputc('\n', file);
}

/* Completes the last row, so that every row has all its cells. */
void spex_columns_print(struct spex_columns *columns, FILE *file) {
    size_t *widths = calloc(columns->columns, sizeof(*widths));
    spex_columns_end_row(columns);
    for (unsigned c = 0; widths && c < columns->columns; c++)
        widths[c] = width_of_column(columns, c);
    for (size_t row = 0; widths && row + columns->columns <= columns->count;
         row += columns->columns)
        print_row(columns, row, widths, file);
    if (!widths || columns->error)
        fputs("out of memory: some of it is missing\n", file);
    for (size_t i = 0; i < columns->count; i++)
        free(columns->cells[i]);
    free(columns->cells);
    free(widths);
    *columns = (struct spex_columns){0};
}

/* The greatest unit that gives at least 1; ns for all that is shorter. */
const char *spex_duration_text(double seconds, char *text, size_t size) {
    return spex_quantity_text(seconds, NAN, "s", text, size);
}

const char *spex_probe_text(const struct spex_profile_probe *probe, bool mixed, char *text,
                            size_t size) {
    spex_probe_called(mixed ? probe->provider : NULL, probe->name,
                      spex_profile_id(probe->probe_id, probe->declared), text, size);
    spex_make_printable(text);
    return text;
}
