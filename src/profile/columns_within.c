/* SPDX-License-Identifier: MIT */
/* Tables that give way to the width of their terminal. It is no part of columns.c, which is in every
 * program with probes. */
#include <string.h>

#include "base/memory/memory.h"
#include "base/terminal.h"
#include "profile/columns.h"

/* The least widths of texts: the first column, one that is folded, and others. */
enum { FIRST_LEAST = 8, FOLDED_LEAST = 24, TEXT_LEAST = 12 };

static unsigned masked(const struct spex_columns *columns) {
    return columns->columns < SPEX_COLUMNS_MASKED ? columns->columns : SPEX_COLUMNS_MASKED;
}

static bool is_folded(const struct spex_columns *columns, unsigned column) {
    return columns->folded && column + 1 == columns->columns;
}

static size_t least_width(const struct spex_columns *columns, unsigned column) {
    return column == 0 ? FIRST_LEAST : is_folded(columns, column) ? FOLDED_LEAST : TEXT_LEAST;
}

/* The column that gives way: one that is folded before those that lose something, of these the
 * widest; `columns->columns`: none can. */
static unsigned widest_of(const struct spex_columns *columns, const size_t *widths,
                          uint32_t texts) {
    unsigned widest = columns->columns;
    for (unsigned c = 0; c < masked(columns); c++) {
        if (widths[c] <= least_width(columns, c))
            continue;
        if (is_folded(columns, c))
            return c;
        if (texts & 1u << c && (widest == columns->columns || widths[c] > widths[widest]))
            widest = c;
    }
    return widest;
}

/* Limits texts until a row has at most `width` characters. False: it has more. */
static bool narrow(struct spex_columns *columns, size_t width, uint32_t texts) {
    size_t widths[SPEX_COLUMNS_MASKED] = {0};
    memset(columns->most, 0, sizeof(columns->most));
    size_t taken = spex_columns_width(columns, 0);
    for (unsigned c = 0; c < masked(columns); c++)
        widths[c] = spex_columns_width_of(columns, c);
    for (; taken > width; taken--) {
        unsigned widest = widest_of(columns, widths, texts);
        if (widest == columns->columns)
            return false;
        columns->most[widest] = --widths[widest];
    }
    return true;
}

/* The column that goes next; 0: none is left. `turn` counts the calls. */
static unsigned next_to_go(const struct spex_columns *columns, const struct spex_columns_room *room,
                           unsigned *turn) {
    unsigned others = masked(columns);
    for (; *turn < room->count + 2 * others; ++*turn) {
        unsigned t = *turn - room->count;
        unsigned column = *turn < room->count ? room->order[*turn] : others - 1 - t % others;
        /* A column that is folded goes in the second round. */
        bool spared = *turn >= room->count && t < others && is_folded(columns, column);
        if (column && !spared && spex_columns_width_of(columns, column))
            return column;
    }
    return 0;
}

/* Prints which columns there was no room for. */
static void print_left_out(const struct spex_columns *columns, size_t whole, size_t width,
                           FILE *file) {
    const char *between = "no room for ", *last = "";
    char *text = NULL;
    size_t size;
    FILE *memory = columns->crowded ? open_memstream(&text, &size) : NULL;
    for (unsigned c = 0; memory && c < masked(columns); c++)
        if (columns->crowded & 1u << c && columns->cells[c] &&
            strcmp(columns->cells[c], last) != 0) {
            last = columns->cells[c];
            fprintf(memory, "%s%s", between, last);
            between = ", ";
        }
    if (!memory)
        return;
    fprintf(memory, ": a width of %zu is needed\n", whole);
    if (fclose(memory) == 0)
        spex_print_wrapped(file, text, (unsigned)width);
    spex_free(text);
}

void spex_columns_print_within(struct spex_columns *columns, FILE *file,
                               const struct spex_columns_room *room) {
    size_t width = room->width ? room->width : spex_terminal_width(file, spex_text_width());
    spex_columns_end_row(columns);
    size_t whole = spex_columns_width(columns, 0);
    unsigned turn = 0, column;
    while (!room->all && !narrow(columns, width, room->texts) &&
           (column = next_to_go(columns, room, &turn)) != 0) {
        columns->hidden |= 1u << column;
        columns->crowded |= 1u << column;
    }
    spex_columns_print_rows(columns, file);
    print_left_out(columns, whole, width, file);
    spex_columns_free(columns);
}
