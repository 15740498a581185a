/* SPDX-License-Identifier: MIT */
/* Keeps all cells as text until the end, since the widths are not known before, and prints them row
 * by row. Out of memory, what there is is printed with a line that says so. */
#define _GNU_SOURCE
#include "profile/columns.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "site/provider.h"
#include "text/characters.h"
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
        char **cells = spex_realloc(columns->cells, room * sizeof(*cells));
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
    if (!cell || spex_vasprintf(cell, format, args) < 0) {
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

static size_t width_of(const char *cell) {
    return cell ? spex_characters(cell) : 0;
}

static uint32_t bit_of(unsigned column) {
    return column < SPEX_COLUMNS_MASKED ? 1u << column : 0;
}

static bool has(uint32_t mask, unsigned column) {
    return mask & bit_of(column);
}

/* Width of a column; 0: it is hidden, all cells below the heading are empty, or there was no memory
 * for it. */
size_t spex_columns_width_of(const struct spex_columns *columns, unsigned column) {
    if (column >= columns->count || has(columns->hidden, column))
        return 0;
    size_t heading = width_of(columns->cells[column]), width = 0;
    for (size_t i = column + columns->columns; i < columns->count; i += columns->columns)
        if (width_of(columns->cells[i]) > width)
            width = width_of(columns->cells[i]);
    /* Without rows all headings are shown. */
    bool rows = columns->count > columns->columns;
    width = (width || !rows) && width < heading ? heading : width;
    size_t most = column < SPEX_COLUMNS_MASKED ? columns->most[column] : 0;
    return most && width > most ? most : width;
}

void spex_columns_hide_plain(struct spex_columns *columns, unsigned column, const char *plain) {
    bool none = columns->count > columns->columns;
    for (size_t i = column + columns->columns; i < columns->count; i += columns->columns) {
        const char *cell = columns->cells[i];
        none &= !cell || !*cell || strcmp(cell, "-") == 0 || strcmp(cell, plain) == 0;
    }
    if (none)
        columns->hidden |= bit_of(column);
}

/* The least width of the first column, and the blanks between two columns. */
enum { FIRST_LEAST = 8, GAP = 2 };

/* A column and those beside it are a group. Returns the first column behind it. */
static unsigned group_end(const struct spex_columns *columns, unsigned column) {
    do
        column++;
    while (column < columns->columns && has(columns->beside, column));
    return column;
}

/* The width of a group, with the blanks in front of its columns. */
static size_t width_of_group(const struct spex_columns *columns, unsigned column, unsigned end) {
    size_t width = 0;
    for (; column < end; column++) {
        size_t own = spex_columns_width_of(columns, column);
        width += own ? own + (has(columns->beside, column) ? 1 : GAP) : 0;
    }
    return width;
}

/* Shows or hides a group. */
static void set_hidden(struct spex_columns *columns, unsigned column, bool hidden) {
    for (unsigned end = group_end(columns, column); column < end; column++)
        columns->hidden = (columns->hidden & ~bit_of(column)) | (hidden ? bit_of(column) : 0);
}

/* A column beside another leaves its group if the order names it: it is added where it is named. */
void spex_columns_fit(struct spex_columns *columns, unsigned width, const uint8_t *order,
                      unsigned count) {
    size_t names = spex_columns_width_of(columns, 0), least = width / 4;
    least = least < FIRST_LEAST ? FIRST_LEAST : least;
    size_t taken = names < least ? names : least, first = taken;
    for (unsigned c = 0; c < count; c++)
        if (has(columns->beside, order[c]))
            set_hidden(columns, order[c], true);
    for (unsigned c = 0; c < count; c++) {
        bool beside = has(columns->beside, order[c]);
        if (beside && has(columns->hidden, order[c] - 1u))
            continue;
        if (beside)
            set_hidden(columns, order[c], false);
        size_t group = width_of_group(columns, order[c], group_end(columns, order[c]));
        if (taken + group <= width) {
            taken += group;
        } else {
            set_hidden(columns, order[c], true);
            columns->crowded |= bit_of(order[c]);
        }
    }
    columns->most[0] = first + (width > taken ? width - taken : 0);
}

size_t spex_columns_width(const struct spex_columns *columns, uint32_t more) {
    struct spex_columns whole = *columns;
    size_t width = 0;
    whole.most[0] = 0;
    for (unsigned c = 0; c < columns->columns; c++)
        if (has(more, c))
            set_hidden(&whole, c, false);
    for (unsigned c = 0; c < columns->columns; c++) {
        size_t own = spex_columns_width_of(&whole, c);
        width += own ? own + (has(columns->beside, c) ? 1 : c > 0 ? GAP : 0) : 0;
    }
    return width;
}

/* Number of cells up to the last one that is shown and not empty. */
static unsigned row_length(const struct spex_columns *columns, size_t row, const size_t *widths) {
    unsigned length = columns->columns;
    while (length > 0 && (!widths[length - 1] || !width_of(columns->cells[row + length - 1])))
        length--;
    return length;
}

/* The end of a text, of so many columns at most. */
static const char *end_of(const char *text, size_t width) {
    size_t all = width_of(text), left = all > width ? all - width : 0;
    const char *end = text + spex_characters_bytes(text, left);
    /* A wide character may be on both sides. */
    return width_of(end) > width ? end + spex_characters_bytes(end, 2) : end;
}

/* Prints the cell, and returns its width. A cell that is too long loses its middle. */
static size_t print_cell(const char *cell, size_t width, FILE *file) {
    size_t all = width_of(cell);
    if (all <= width) {
        fputs(cell, file);
        return all;
    }
    size_t begin = spex_characters_bytes(cell, width - 1 - (width - 1) / 2);
    const char *end = end_of(cell, (width - 1) / 2);
    fprintf(file, "%.*s…%s", (int)begin, cell, end);
    return spex_characters(cell) - spex_characters(cell + begin) + 1 + spex_characters(end);
}

/* The bytes of a line that fit: up to its last blank, or all where a word is too long. Prefers a blank
 * that does not separate a number from its unit. */
static size_t line_end(const char *line, size_t length, size_t width) {
    size_t most = spex_characters_bytes(line, width), any = 0, end = most;
    if (most >= length)
        return length;
    for (; end > 0 && (line[end] != ' ' || isdigit((unsigned char)line[end - 1])); end--)
        any = any || line[end] != ' ' ? any : end;
    return end ? end : any ? any : most;
}

/* Prints the cell in lines that begin below each other. */
static void print_folded(const char *cell, size_t width, size_t indent, FILE *file) {
    size_t length = line_end(cell, strlen(cell), width);
    while (length && cell[length]) {
        fprintf(file, "%.*s\n%*s", (int)length, cell, (int)indent, "");
        cell += length + (cell[length] == ' ');
        length = line_end(cell, strlen(cell), width);
    }
    fputs(cell, file);
}

/* Prints one row. A cell at the left edge of its column is padded only if another cell follows. */
static void print_row(const struct spex_columns *columns, size_t row, const size_t *widths,
                      FILE *file) {
    unsigned length = row_length(columns, row, widths);
    const char *between = "";
    size_t taken = 0;
    for (unsigned c = 0; c < length; c++) {
        if (!widths[c])
            continue;
        const char *cell = columns->cells[row + c] ? columns->cells[row + c] : "";
        size_t width = width_of(cell);
        bool left = has(columns->left, c);
        between = c > 0 && has(columns->beside, c) ? " " : between;
        fputs(between, file);
        taken += strlen(between);
        fprintf(file, "%*s", left || width > widths[c] ? 0 : (int)(widths[c] - width), "");
        if (columns->folded && c + 1 == columns->columns)
            print_folded(cell, widths[c], taken, file);
        else
            width = print_cell(cell, widths[c], file);
        fprintf(file, "%*s", left && c + 1 < length ? (int)(widths[c] - width) : 0, "");
        taken += widths[c];
        between = "  ";
    }
    fputc('\n', file);
}

/* Completes the last row, so that every row has all its cells. */
void spex_columns_print_rows(struct spex_columns *columns, FILE *file) {
    size_t *widths = spex_calloc(columns->columns, sizeof(*widths));
    spex_columns_end_row(columns);
    for (unsigned c = 0; widths && c < columns->columns; c++)
        widths[c] = spex_columns_width_of(columns, c);
    for (size_t row = 0; widths && row + columns->columns <= columns->count;
         row += columns->columns)
        print_row(columns, row, widths, file);
    if (!widths || columns->error)
        fputs("out of memory: some of it is missing\n", file);
    spex_free(widths);
}

void spex_columns_free(struct spex_columns *columns) {
    for (size_t i = 0; i < columns->count; i++)
        spex_free(columns->cells[i]);
    spex_free(columns->cells);
    *columns = (struct spex_columns){0};
}

void spex_columns_print(struct spex_columns *columns, FILE *file) {
    spex_columns_print_rows(columns, file);
    spex_columns_free(columns);
}

void spex_print_wrapped(FILE *file, const char *text, unsigned width) {
    static const char indent[] = "  ";
    size_t taken = 0, length;
    for (; *text; text += length + (text[length] == ' ' || text[length] == '\n')) {
        length = line_end(text, strcspn(text, "\n"), width - taken);
        bool more = text[length] && text[length] != '\n';
        fprintf(file, "%.*s\n%s", (int)length, text, more ? indent : "");
        taken = more ? strlen(indent) : 0;
    }
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
