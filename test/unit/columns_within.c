/* SPDX-License-Identifier: MIT */
/* What holds of each table that gives way to its terminal: no line is wider, figures are whole, and a
 * column that is missing is named. Tables are made up at random. */
#include <inttypes.h>

#include "../check.h"
#include "profile/columns.h"
#include "text/characters.h"

enum { TABLES = 300, ROWS_MOST = 12, COLUMNS_MOST = 12, CELL_BYTES = 512 };

/* The same in each run. */
static unsigned drawn(unsigned below) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 40) % below;
}

struct table {
    struct spex_columns columns;
    unsigned count, rows;
    uint32_t texts;
    char cells[ROWS_MOST + 1][COLUMNS_MOST][CELL_BYTES];
    char *printed;
};

/* Words of one or two columns a character; figures have digits alone. */
static void draw_text(char *text) {
    static const char *const words[] = {
        "query", "größe", "数据库查询", "payments.gateway.authorise", "e\xcc\x81", "🚀", "a"};
    *text = '\0';
    for (unsigned n = drawn(9); n; n--)
        snprintf(text + strlen(text), CELL_BYTES - strlen(text), "%s%s",
                 words[drawn(COUNT_OF(words))], n > 1 && drawn(2) ? " " : "");
}

static void draw_cell(struct table *table, unsigned row, unsigned column) {
    char *cell = table->cells[row][column];
    if (row == 0)
        snprintf(cell, CELL_BYTES, "h%c%.*s", 'a' + (int)column, (int)drawn(8), "eadings.");
    else if (table->texts & 1u << column)
        draw_text(cell);
    else
        snprintf(cell, CELL_BYTES, "%" PRIu32, 1 + drawn(1u << drawn(24)));
    if (row)
        spex_columns_add(&table->columns, "%s", cell);
}

/* The first column, the last one, and some others are texts. */
static void draw_table(struct table *table) {
    const char *headings[COLUMNS_MOST];
    *table = (struct table){.count = 2 + drawn(COLUMNS_MOST - 1), .rows = 1 + drawn(ROWS_MOST)};
    table->texts = 1 | 1u << (table->count - 1) | drawn(1u << table->count);
    for (unsigned c = 0; c < table->count; c++) {
        draw_cell(table, 0, c);
        headings[c] = table->cells[0][c];
    }
    spex_columns_init(&table->columns, headings, table->count, table->texts);
    for (unsigned r = 1; r <= table->rows; r++)
        for (unsigned c = 0; c < table->count; c++)
            draw_cell(table, r, c);
    table->columns.folded = drawn(2);
}

static void print_table(struct table *table, const struct spex_columns_room *room) {
    size_t size;
    FILE *file = open_memstream(&table->printed, &size);
    assert_non_null(file);
    spex_columns_print_within(&table->columns, file, room);
    assert_int_equal(fclose(file), 0);
}

static void expect_narrow(const char *text, size_t width) {
    char line[CELL_BYTES * COLUMNS_MOST];
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s", (int)length, text);
        if (spex_characters(line) > width)
            fail_msg("wider than %zu: %s", width, line);
    }
}

/* Whether a word stands in the text, as a word. */
static bool has_word(const char *text, const char *word) {
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || strchr(" \n", at[-1])) && strchr(" ,:\n", at[strlen(word)]))
            return true;
    return false;
}

/* A column of figures is there as a whole or not at all, and then it is named. Returns whether one is
 * not there. */
static bool expect_figures(const struct table *table) {
    const char *note = strstr(table->printed, "no room for");
    bool missing = false;
    for (unsigned c = 1; c < table->count; c++) {
        bool gone = note && has_word(note, table->cells[0][c]);
        missing |= gone;
        for (unsigned r = 1; !gone && r <= table->rows; r++)
            if (!(table->texts & 1u << c) && !has_word(table->printed, table->cells[r][c]))
                fail_msg("%s of %s is not in\n%s", table->cells[r][c], table->cells[0][c],
                         table->printed);
    }
    assert_int_equal(missing, note != NULL);
    return missing;
}

TEST(no_line_is_wider_and_figures_are_whole) {
    static const unsigned widths[] = {20, 40, 60, 80, 120, 200};
    unsigned missing = 0;
    for (unsigned t = 0; t < TABLES; t++) {
        struct table table;
        draw_table(&table);
        struct spex_columns_room room = {.width = widths[t % COUNT_OF(widths)],
                                         .texts = table.texts};
        print_table(&table, &room);
        expect_narrow(table.printed, room.width);
        missing += expect_figures(&table);
        free(table.printed);
    }
    assert_true(missing > TABLES / 10 && missing < TABLES);
}

/* Without a width it is that of the environment, and with `all` nothing gives way. */
TEST(the_width_is_that_of_the_terminal) {
    for (unsigned t = 0; t < TABLES; t++) {
        struct table table;
        char columns[8];
        draw_table(&table);
        struct spex_columns_room room = {.texts = table.texts, .all = t % 2};
        snprintf(columns, sizeof(columns), "%u", 20 + drawn(100));
        setenv("COLUMNS", columns, 1);
        print_table(&table, &room);
        if (!room.all)
            expect_narrow(table.printed, (size_t)atoi(columns));
        for (unsigned c = 0; room.all && c < table.count; c++)
            for (unsigned r = 1; r <= table.rows; r++)
                assert_non_null(strstr(table.printed, table.cells[r][c]));
        free(table.printed);
    }
    unsetenv("COLUMNS");
}

static const char *const headings[] = {"name", "size", "age", "where"};

static void expect_room(struct spex_columns_room room, bool folded, const char *expected) {
    struct table table = {.count = COUNT_OF(headings)};
    spex_columns_init(&table.columns, headings, table.count, 9);
    table.columns.folded = folded;
    spex_columns_add(&table.columns, "payments.authorise");
    spex_columns_add(&table.columns, "123456");
    spex_columns_add(&table.columns, "12");
    spex_columns_add(&table.columns, "in the house of the rising sun, at 5 s");
    print_table(&table, &room);
    assert_string_equal(table.printed, expected);
    free(table.printed);
}

/* The longest text first; then columns in their order; then those at the right. */
TEST(what_gives_way) {
    static const uint8_t order[] = {1};
    const struct spex_columns_room room = {.texts = 9, .order = order, .count = 1};
    struct spex_columns_room at = room;
    at.width = 71;
    expect_room(at, false,
                "name                  size  age  where\n"
                "payments.authorise  123456   12  in the house of the rising sun, at 5 s\n");
    at.width = 55;
    expect_room(at, false,
                "name                  size  age  where\n"
                "payments.authorise  123456   12  in the hous…un, at 5 s\n");
    at.width = 60;
    expect_room(at, true,
                "name                  size  age  where\n"
                "payments.authorise  123456   12  in the house of the rising\n"
                "                                 sun, at 5 s\n");
    at.width = 30;
    expect_room(at, false,
                "name         age  where\n"
                "payme…orise   12  in the…t 5 s\n"
                "no room for size: a width of\n  71 is needed\n");
    at.width = 20;
    expect_room(at, true,
                "name\n"
                "payments.authorise\n"
                "no room for size,\n  age, where: a\n  width of 71 is\n  needed\n");
}
