/* SPDX-License-Identifier: MIT */
/* Cuts the text into cells in place, so that a table takes little more memory than its file. */
#include "explore/space/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/whole_file.h"
#include "text/printable.h"

/* Where the reading is. */
struct cutter {
    struct spex_table *table;
    struct spex_error *error;
    char *at;
    size_t line;
    size_t count, room;           /* cells */
    size_t line_count, line_room; /* rows, the names included */
    bool row_over;
};

__attribute__((format(printf, 2, 3))) static int cutter_fail(const struct cutter *cutter,
                                                             const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return spex_fail(cutter->error, -EINVAL, "%s:%zu: %s", cutter->table->path, cutter->line, text);
}

static char *skip_blanks(char *at) {
    return at + strspn(at, " \t");
}

/* Ends a cell at `end` and moves behind the comma or the end of the line. */
static void cut_at(struct cutter *cutter, char *end, char *behind) {
    cutter->row_over = *behind != ',';
    size_t length = strncmp(behind, "\r\n", 2) == 0 ? 2 : *behind != '\0';
    cutter->at = behind + length;
    *end = '\0';
}

/* A value in quotes, in which two stand for one. */
static int cut_quoted(struct cutter *cutter, char **cell) {
    char *to = cutter->at + 1, *from = to;
    *cell = to;
    for (; *from && *from != '\n' && (*from != '"' || from[1] == '"'); from++) {
        from += *from == '"';
        *to++ = *from;
    }
    if (*from != '"')
        return cutter_fail(cutter, "a closing quote was expected");
    char *behind = skip_blanks(from + 1);
    if (*behind && !strchr(",\n", *behind) && strncmp(behind, "\r\n", 2) != 0)
        return cutter_fail(cutter, "a comma or the end of the line was expected after a quote");
    cut_at(cutter, to, behind);
    return 0;
}

static int cut_cell(struct cutter *cutter, char **cell) {
    cutter->at = skip_blanks(cutter->at);
    if (*cutter->at == '"')
        return cut_quoted(cutter, cell);
    *cell = cutter->at;
    char *behind = cutter->at + strcspn(cutter->at, ",\n");
    if (*behind != ',' && behind > *cell && behind[-1] == '\r')
        behind--;
    char *end = behind;
    while (end > *cell && strchr(" \t", end[-1]))
        end--;
    cut_at(cutter, end, behind);
    return 0;
}

/* Makes room for one more; doubles. */
static void *grown(void *items, size_t count, size_t *room, size_t bytes) {
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 256;
    return realloc(items, *room * bytes);
}

static int add_cell(struct cutter *cutter, const char *cell) {
    struct spex_table *table = cutter->table;
    if (!spex_is_printable(cell))
        return cutter_fail(cutter, "UTF-8 without control characters was expected");
    void *cells = grown(table->cells, cutter->count, &cutter->room, sizeof(*table->cells));
    if (!cells)
        return spex_fail(cutter->error, -ENOMEM, "out of memory");
    table->cells = cells;
    table->cells[cutter->count++] = cell;
    return 0;
}

static int add_line(struct cutter *cutter) {
    struct spex_table *table = cutter->table;
    void *lines = grown(table->lines, cutter->line_count, &cutter->line_room, sizeof(size_t));
    if (!lines)
        return spex_fail(cutter->error, -ENOMEM, "out of memory");
    table->lines = lines;
    table->lines[cutter->line_count++] = cutter->line;
    return 0;
}

/* Reads a line that is not blank. */
static int cut_row(struct cutter *cutter) {
    struct spex_table *table = cutter->table;
    size_t before = cutter->count;
    char *cell = NULL;
    int err = add_line(cutter);
    cutter->row_over = false;
    while (!err && !cutter->row_over) {
        err = cut_cell(cutter, &cell);
        err = err ? err : add_cell(cutter, cell);
    }
    if (err)
        return err;
    size_t found = cutter->count - before;
    if (!table->columns)
        table->columns = found;
    if (found != table->columns)
        return cutter_fail(cutter, "%zu value%s expected, as there are names, not %zu",
                           table->columns, table->columns == 1 ? " was" : "s were", found);
    return 0;
}

static bool skip_blank_line(struct cutter *cutter) {
    char *end = skip_blanks(cutter->at);
    size_t length = strncmp(end, "\r\n", 2) == 0 ? 2 : *end == '\n';
    if (length)
        cutter->at = end + length;
    else if (!*end)
        cutter->at = end;
    return length || !*end;
}

/* The text is the table's own. */
static int table_cut(struct spex_table *table, size_t line, struct spex_error *error) {
    struct cutter cutter = {.table = table, .error = error, .at = table->text, .line = line};
    int err = 0;
    if (strncmp(cutter.at, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
        cutter.at += 3;
    for (; !err && *cutter.at; cutter.line++)
        if (!skip_blank_line(&cutter))
            err = cut_row(&cutter);
    if (err)
        return err;
    if (cutter.line_count < 2)
        return cutter_fail(&cutter, "a line of names and one of values at least were expected");
    table->rows = cutter.line_count - 1;
    return 0;
}

int spex_table_read(struct spex_table *table, const char *path, char **whole,
                    struct spex_error *error) {
    size_t length;
    *table = (struct spex_table){.path = path};
    int err = spex_whole_file_read(path, SPEX_FILE_ANY, SPEX_TABLE_BYTES_MAX, &table->text, &length,
                                   error);
    if (err)
        return err;
    size_t line = 1, end = strlen(table->text);
    if (whole && !(*whole = strdup(table->text)))
        return spex_fail(error, -ENOMEM, "out of memory");
    if (end == length)
        return table_cut(table, 1, error);
    for (size_t i = 0; i < end; i++)
        line += table->text[i] == '\n';
    return spex_fail(error, -EINVAL, "%s:%zu: a zero byte is not expected", path, line);
}

int spex_table_parse(struct spex_table *table, const char *path, size_t line, const char *text,
                     struct spex_error *error) {
    *table = (struct spex_table){.path = path, .text = strdup(text)};
    return table->text ? table_cut(table, line, error) : spex_fail(error, -ENOMEM, "out of memory");
}

void spex_table_free(struct spex_table *table) {
    free(table->cells);
    free(table->lines);
    free(table->text);
    *table = (struct spex_table){.path = table->path};
}

int spex_table_fail(const struct spex_table *table, size_t row, size_t column,
                    struct spex_error *error, const char *format, ...) {
    char text[320];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return spex_fail(error, -EINVAL, "%s:%zu: column %zu (%.64s): %s", table->path,
                     table->lines[row + 1], column + 1, spex_table_name(table, column), text);
}
