/* SPDX-License-Identifier: MIT */
/* A parser of CSV in two passes over one buffer. The first pass checks the whole text and notes
 * where each cell begins; the text is unchanged, so that messages can count columns in it. The
 * second pass removes the quotes and terminates the cells in place. A cell needs no memory of
 * its own. */
#include "tools/common/csv.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/whole_file.h"

enum { TABLE_BYTES_MAX = 128 << 20 };

/* The position of the reader. The text is changed only after all of it has been checked. */
struct cursor {
    struct spex_csv *csv;
    char *at, *end;
    /* `column` is that of `counted`, a position in the current line. */
    unsigned line, column;
    const char *counted;
    /* Cells for which there is memory. */
    size_t room;
    struct spex_error *error;
};

/* The column of `at`. `at` is in the current line, and not before the position of the call
 * before, so that a line costs one pass in all. Bytes that continue a UTF-8 character do not
 * count. */
static unsigned column_of(struct cursor *cursor, const char *at) {
    for (; cursor->counted < at; cursor->counted++)
        cursor->column += ((unsigned char)cursor->counted[1] & 0xc0) != 0x80;
    return cursor->column;
}

static int cursor_complain(const struct cursor *cursor, unsigned column, const char *what) {
    return spex_fail(cursor->error, -EINVAL, "%s:%u:%u: %s", cursor->csv->name, cursor->line,
                     column, what);
}

/* The cell begins at the cursor. Memory doubles, so that adding is O(1) on average. */
static int cursor_add_cell(struct cursor *cursor) {
    struct spex_csv *csv = cursor->csv;
    if (csv->count == cursor->room) {
        size_t room = cursor->room ? 2 * cursor->room : 64;
        struct spex_csv_cell *cells = reallocarray(csv->cells, room, sizeof(*cells));
        if (!cells)
            return spex_fail(cursor->error, -ENOMEM, "out of memory");
        csv->cells = cells;
        cursor->room = room;
    }
    csv->cells[csv->count++] = (struct spex_csv_cell){
        .text = cursor->at, .line = cursor->line, .column = column_of(cursor, cursor->at)};
    return 0;
}

static char *skip_blanks(char *at) {
    return at + strspn(at, " \t");
}

/* Moves from the opening quote to what follows the closing one and blanks. Two quotes within
 * the cell are one quote of its text. */
static int cursor_pass_quoted(struct cursor *cursor) {
    unsigned column = column_of(cursor, cursor->at);
    for (cursor->at++;; cursor->at++) {
        if (cursor->at == cursor->end || *cursor->at == '\n')
            return cursor_complain(cursor, column,
                                   "this quoted cell was expected to end in its line");
        if (*cursor->at == '"' && *++cursor->at != '"')
            break;
    }
    cursor->at = skip_blanks(cursor->at);
    return 0;
}

/* The cell ends at a comma or at the end of the line. RFC 4180 allows no quote in it. */
static int cursor_pass_plain(struct cursor *cursor) {
    cursor->at += strcspn(cursor->at, ",\r\n\"");
    if (*cursor->at == '"')
        return cursor_complain(cursor, column_of(cursor, cursor->at),
                               "a quote was expected at the beginning of a cell only");
    return 0;
}

/* Moves over the comma or line end after a cell. *row: the row ends here. The last line needs
 * no line end. */
static int cursor_pass_end(struct cursor *cursor, bool *row) {
    *row = *cursor->at != ',';
    if (cursor->at == cursor->end)
        return 0;
    if (cursor->at[0] == '\r' && cursor->at[1] == '\n')
        cursor->at++;
    else if (*row && *cursor->at != '\n')
        return cursor_complain(cursor, column_of(cursor, cursor->at),
                               "a comma or the end of the line was expected");
    cursor->at++;
    return 0;
}

/* The last cell is marked, since rows may have different lengths. */
static int cursor_read_row(struct cursor *cursor) {
    bool row = false;
    while (!row) {
        cursor->at = skip_blanks(cursor->at);
        int err = cursor_add_cell(cursor);
        if (!err)
            err = *cursor->at == '"' ? cursor_pass_quoted(cursor) : cursor_pass_plain(cursor);
        if (!err)
            err = cursor_pass_end(cursor, &row);
        if (err)
            return err;
    }
    cursor->csv->cells[cursor->csv->count - 1].ends_row = true;
    return 0;
}

/* Moves over the line and returns true if it has nothing but blanks. */
static bool cursor_skip_empty_line(struct cursor *cursor) {
    char *at = skip_blanks(cursor->at);
    at += at[0] == '\r' && at[1] == '\n';
    if (*at != '\n' && at != cursor->end)
        return false;
    cursor->at = at + (*at == '\n');
    return true;
}

/* Counts lines and columns for messages. Empty lines are no rows. */
static int cursor_read_rows(struct cursor *cursor) {
    for (; cursor->at < cursor->end; cursor->line++) {
        cursor->counted = cursor->at;
        cursor->column = 1;
        int err = cursor_skip_empty_line(cursor) ? 0 : cursor_read_row(cursor);
        if (err)
            return err;
    }
    return 0;
}

/* Removes the quotes, makes one of each pair within, and terminates the text. */
static void cell_finish_quoted(struct spex_csv_cell *cell) {
    const char *from = cell->text + 1;
    char *to = cell->text;
    for (; *from != '"' || *++from == '"'; from++)
        *to++ = *from;
    *to = '\0';
}

/* Terminates the text before the blanks at its end. */
static void cell_finish_plain(struct spex_csv_cell *cell) {
    char *end = cell->text + strcspn(cell->text, ",\r\n");
    while (end > cell->text && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = '\0';
}

/* A zero byte would end the text early, and is refused. */
int spex_csv_parse(struct spex_csv *csv, const char *name, char *text, size_t length,
                   struct spex_error *error) {
    *csv = (struct spex_csv){.name = name, .text = text};
    struct cursor cursor = {
        .csv = csv, .at = text, .end = text + length, .line = 1, .error = error};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) /* a byte order mark, from spreadsheets */
        cursor.at += 3;
    int err = 0;
    if (strlen(text) != length)
        err = spex_fail(error, -EINVAL, "%s: text was expected; there is a zero byte in it", name);
    else
        err = cursor_read_rows(&cursor);
    if (err) {
        spex_csv_free(csv);
        return err;
    }
    for (size_t c = 0; c < csv->count; c++)
        (csv->cells[c].text[0] == '"' ? cell_finish_quoted : cell_finish_plain)(&csv->cells[c]);
    return 0;
}

/* Reads the whole file, and terminates it with a zero byte. Free `*text`, also after a failure. */
int spex_csv_read(struct spex_csv *csv, const char *path, struct spex_error *error) {
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "standard input" : path;
    char *text;
    size_t length;
    *csv = (struct spex_csv){.name = name};
    int err = spex_whole_file_read(standard ? NULL : path, SPEX_FILE_ANY, TABLE_BYTES_MAX, &text,
                                   &length, error);
    return err ? err : spex_csv_parse(csv, name, text, length, error);
}

void spex_csv_free(struct spex_csv *csv) {
    free(csv->cells);
    free(csv->text);
    *csv = (struct spex_csv){.name = csv->name};
}

/* The message is preceded by the place of the cell in the table. */
int spex_csv_complain(const struct spex_csv *csv, const struct spex_csv_cell *cell,
                      struct spex_error *error, const char *format, ...) {
    struct spex_error what;
    va_list args;
    va_start(args, format);
    vsnprintf(what.text, sizeof(what.text), format, args);
    va_end(args);
    return spex_fail(error, -EINVAL, "%s:%u:%u: %.300s", csv->name, cell->line, cell->column,
                     what.text);
}

/* Returns how many digits there were. */
static size_t skip_digits(const char **at) {
    size_t count = strspn(*at, "0123456789");
    *at += count;
    return count;
}

/* strtod alone would accept signs, "nan", "inf" and hexadecimal numbers. */
bool spex_csv_number(const char *text, double *value) {
    const char *at = text;
    size_t digits = skip_digits(&at);
    if (*at == '.') {
        at++;
        digits += skip_digits(&at);
    }
    if (digits && (*at == 'e' || *at == 'E')) {
        at++;
        at += *at == '+' || *at == '-';
        digits = skip_digits(&at);
    }
    if (digits == 0 || *at != '\0')
        return false;
    *value = strtod(text, NULL);
    return isfinite(*value);
}
