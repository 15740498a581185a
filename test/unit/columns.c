/* SPDX-License-Identifier: MIT */
/* Text in columns. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "profile/columns.h"
#include "text/quantity.h"

static const char *const headings[] = {"name", "size", "share"};

static void begin(struct spex_columns *columns) {
    spex_columns_init(columns, headings, COUNT_OF(headings), 1);
}

static void expect(struct spex_columns *columns, const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_columns_print(columns, file);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

TEST(headings_alone) {
    struct spex_columns columns;
    begin(&columns);
    expect(&columns, "name  size  share\n");
}

TEST(columns_are_as_wide_as_they_must_be) {
    struct spex_columns columns;
    begin(&columns);
    spex_columns_add(&columns, "%s", "a");
    spex_columns_add(&columns, "%d", 1234567);
    spex_columns_add(&columns, "%s", "x");
    spex_columns_add(&columns, "%s", "a long name");
    spex_columns_add(&columns, "%d", 1);
    spex_columns_add(&columns, "%s", "100 %");
    expect(&columns, "name            size  share\n"
                     "a            1234567      x\n"
                     "a long name        1  100 %\n");
}

TEST(characters_of_several_bytes_are_one_wide) {
    struct spex_columns columns;
    begin(&columns);
    spex_columns_add(&columns, "%s", "Straße");
    spex_columns_add(&columns, "%s", "±1 µs");
    spex_columns_add(&columns, "%s", "1");
    spex_columns_add(&columns, "%s", "Street");
    spex_columns_add(&columns, "%s", "+-1 us");
    spex_columns_add(&columns, "%s", "1");
    expect(&columns, "name      size  share\n"
                     "Straße   ±1 µs      1\n"
                     "Street  +-1 us      1\n");
}

/* Wide ones take two columns, accents on their own none. */
TEST(wide_characters_take_two_columns) {
    static const uint8_t order[] = {1};
    struct spex_columns columns;
    for (unsigned width = 24; width >= 15; width -= 9) {
        begin(&columns);
        spex_columns_add(&columns, "%s", "数据库查询");
        spex_columns_add(&columns, "%s", "한국");
        spex_columns_end_row(&columns);
        spex_columns_add(&columns, "%s", "ab🚀cdefgh");
        spex_columns_add(&columns, "%s", "カナ1");
        spex_columns_end_row(&columns);
        spex_columns_add(&columns, "%s", "e\xcc\x81te\xcc\x81 ｆ");
        spex_columns_add(&columns, "%s", "2");
        spex_columns_end_row(&columns);
        spex_columns_fit(&columns, width, order, 1);
        expect(&columns, width == 24 ? "name         size\n"
                                       "数据库查询   한국\n"
                                       "ab🚀cdefgh  カナ1\n"
                                       "e\xcc\x81te\xcc\x81 ｆ          2\n"
                                     : "name       size\n"
                                       "数据…询    한국\n"
                                       "ab🚀…fgh  カナ1\n"
                                       "e\xcc\x81te\xcc\x81 ｆ        2\n");
    }
}

TEST(empty_cells_leave_no_blanks_at_the_end) {
    struct spex_columns columns;
    begin(&columns);
    spex_columns_add(&columns, "%s", "short");
    spex_columns_end_row(&columns);
    spex_columns_add(&columns, "%s", "");
    spex_columns_add(&columns, "%s", "");
    spex_columns_add(&columns, "%s", "3");
    spex_columns_end_row(&columns); /* is over already */
    spex_columns_add(&columns, "%s", "");
    spex_columns_end_row(&columns);
    spex_columns_add(&columns, "%s", "b");
    spex_columns_add(&columns, "%s", "2"); /* and printing ends this one */
    expect(&columns, "name   size  share\n"
                     "short\n"
                     "                 3\n"
                     "\n"
                     "b         2\n");
}

TEST(many_rows) {
    struct spex_columns columns;
    char *expected = NULL;
    size_t size;
    FILE *file = open_memstream(&expected, &size);
    assert_non_null(file);
    begin(&columns);
    fputs("name  size\n", file);
    for (int row = 0; row < 500; row++) {
        spex_columns_add(&columns, "r");
        spex_columns_add(&columns, "%d", row);
        spex_columns_end_row(&columns); /* a column that is empty throughout is left out */
        fprintf(file, "r     %4d\n", row);
    }
    fclose(file);
    expect(&columns, expected);
    free(expected);
}

/* A name, a size with its margin, and a share. */
static void begin_wide(struct spex_columns *columns) {
    static const char *const wide[] = {"name", "size", "", "share"};
    spex_columns_init(columns, wide, COUNT_OF(wide), 1 | 1 << 2);
    columns->beside = 1 << 2;
    const char *const cells[] = {"größe.prüfen", "1000", "±12", "5 %", "b", "7", "", "100 %"};
    for (size_t c = 0; c < COUNT_OF(cells); c++)
        spex_columns_add(columns, "%s", cells[c]);
}

static void expect_fitted(unsigned width, const uint8_t *order, unsigned count,
                          const char *expected) {
    struct spex_columns columns;
    begin_wide(&columns);
    spex_columns_fit(&columns, width, order, count);
    expect(&columns, expected);
}

/* Columns go from the end of the order, and those beside them with them; the name gives way. */
TEST(columns_that_fit) {
    static const uint8_t size_first[] = {1, 3}, share_first[] = {3, 1}, margin_last[] = {1, 3, 2};
    expect_fitted(29, size_first, 2,
                  "name          size      share\n"
                  "größe.prüfen  1000 ±12    5 %\n"
                  "b                7      100 %\n");
    expect_fitted(25, size_first, 2,
                  "name      size      share\n"
                  "größ…fen  1000 ±12    5 %\n"
                  "b            7      100 %\n");
    expect_fitted(24, size_first, 2,
                  "name          size\n"
                  "größe.prüfen  1000 ±12\n"
                  "b                7\n");
    expect_fitted(24, share_first, 2,
                  "name          share\n"
                  "größe.prüfen    5 %\n"
                  "b             100 %\n");
    expect_fitted(24, margin_last, 3,
                  "name         size  share\n"
                  "größe…rüfen  1000    5 %\n"
                  "b               7  100 %\n");
    expect_fitted(10, size_first, 2,
                  "name\n"
                  "größe…üfen\n"
                  "b\n");
}

TEST(columns_that_say_nothing) {
    struct spex_columns columns;
    for (int more = 0; more < 2; more++) {
        begin(&columns);
        for (int r = 0; r < 3; r++) {
            spex_columns_add(&columns, "a");
            spex_columns_add(&columns, "%s", r ? "-" : "0");
            spex_columns_add(&columns, "%d", r == 2 ? more : 0);
        }
        spex_columns_hide_plain(&columns, 1, "0");
        spex_columns_hide_plain(&columns, 2, "0");
        expect(&columns,
               more ? "name  share\na         0\na         0\na         1\n" : "name\na\na\na\n");
    }
    begin(&columns);
    spex_columns_hide_plain(&columns, 1, "0");
    expect(&columns, "name  size  share\n");
}

TEST(columns_without_memory) {
    static const uint8_t order[] = {1, 2};
    struct spex_columns columns = {.columns = 3, .error = -ENOMEM};
    spex_columns_hide_plain(&columns, 1, "0");
    spex_columns_fit(&columns, 80, order, COUNT_OF(order));
    expect(&columns, "out of memory: some of it is missing\n");
}

static void expect_wrapped(const char *lines, unsigned width, const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    spex_print_wrapped(file, lines, width);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, expected);
    free(text);
}

TEST(long_lines) {
    expect_wrapped("", 20, "");
    expect_wrapped("one\n\ntwo\n", 20, "one\n\ntwo\n");
    expect_wrapped("exactly twenty wide.\n", 20, "exactly twenty wide.\n");
    expect_wrapped("it takes about 123 ms of each\n", 20, "it takes about\n  123 ms of each\n");
    expect_wrapped("größe größe größe größe\n", 20, "größe größe größe\n  größe\n");
    expect_wrapped("a.name.that.is.longer.than.the.line\n", 20,
                   "a.name.that.is.longe\n  r.than.the.line\n");
    expect_wrapped("1 2 3 4 5 6 7 8 9 10 11 12\n", 20, "1 2 3 4 5 6 7 8 9 10\n  11 12\n");
}

/* By their margin, or four digits. */
TEST(quantities) {
    static const struct {
        double value, margin;
        const char *unit, *text;
    } known[] = {
        {0, NAN, "s", "0 ns"},
        {1e-10, NAN, "s", "0.1 ns"},
        {999e-9, NAN, "s", "999 ns"},
        {9.99996e-7, NAN, "s", "1 µs"},
        {2.2924e-6, 4e-7, "s", "2.3 µs"},
        {0.0123456, NAN, "s", "12.35 ms"},
        {59.994, NAN, "s", "59.99 s"},
        {123456.7, NAN, "s", "123457 s"},
        {-0.00123, NAN, "s", "-1.23 ms"},
        {509864, 40000, "/s", "510 k/s"},
        {654.8, 26, "/s", "655/s"},
        {654.84, 0.5, "/s", "654.8/s"},
        {100, 0.4, "/s", "100.0/s"},
        {1237967, 1e9, "/s", "1.2 M/s"},
        {9999.4, NAN, "/s", "9999/s"},
        {9999.6, NAN, "/s", "10 k/s"},
        {33554432, NAN, "B", "32 MiB"},
        {1000, NAN, "B", "1000 B"},
        {-5, NAN, "", "-5"},
        {2.5e-6, NAN, "", "2.5e-06"},
        {1e308, NAN, "", "1e+308"},
        {1.1e20, NAN, "", "1.1e+20"},
        {12345678, 0, "", "12.3457 M"},
        {123456, NAN, "MB", "123456 MB"},
        {NAN, 1, "s", "-"},
        {INFINITY, NAN, "/s", "-"},
    };
    char text[48];
    for (size_t k = 0; k < COUNT_OF(known); k++)
        assert_string_equal(
            spex_quantity_text(known[k].value, known[k].margin, known[k].unit, text, sizeof(text)),
            known[k].text);
}

/* So many digits, and all that stand before the point. */
TEST(quantities_of_so_many_digits) {
    static const struct {
        double value;
        bool zeros;
        const char *unit, *text;
    } known[] = {
        {1.3e-5, true, "s", "13.0 µs"}, {1.3e-5, false, "s", "13 µs"},
        {0, true, "s", "0 ns"},         {9.996e-4, true, "s", "1.00 ms"},
        {95835, false, "", "95.8 k"},   {1234.5, false, "s", "1234 s"},
        {NAN, true, "s", "-"},
    };
    char text[48];
    for (size_t k = 0; k < COUNT_OF(known); k++)
        assert_string_equal(spex_quantity_digits(known[k].value, 3, known[k].zeros, known[k].unit,
                                                 text, sizeof(text)),
                            known[k].text);
}

TEST(ranges_and_bytes) {
    char text[96];
    assert_string_equal(spex_range_text(628.2, 681.4, "/s", text, sizeof(text)), "628 to 681/s");
    assert_string_equal(spex_range_text(8.04e-9, 9.5e-4, "s", text, sizeof(text)),
                        "8.0 ns to 950 µs");
    assert_string_equal(spex_range_text(-3.2, 1, "", text, sizeof(text)), "-3.2 to 1.0");
    assert_string_equal(spex_range_text(5, 5, "s", text, sizeof(text)), "5 to 5 s");
    assert_string_equal(spex_range_text(NAN, 5, "s", text, sizeof(text)), "-");
    assert_string_equal(spex_bytes_text(33554432, text, sizeof(text)), "32 MiB");
    assert_string_equal(spex_bytes_text(1000000, text, sizeof(text)), "1000000 B");
    assert_string_equal(spex_bytes_text(0, text, sizeof(text)), "0 B");
}

static void expect_percent(double share, int digits, int width, const char *expected) {
    char text[32];
    assert_string_equal(spex_percent_within(share, digits, width, text, sizeof(text)), expected);
}

/* Never with an exponent, and never with digits that stand for less than is of use. */
TEST(percentages) {
    char text[32];
    expect_percent(0, 3, 20, "0 %");
    expect_percent(0.12345, 3, 20, "12.3 %");
    expect_percent(0.05, 2, 20, "5 %");
    expect_percent(1.234, 2, 20, "123 %");
    expect_percent(0.0000999, 2, 20, "0.01 %");
    expect_percent(7.56e-11, 3, 20, "<0.001 %");
    expect_percent(1e-300, 3, 20, "<0.001 %");
    expect_percent(NAN, 3, 20, "-");
    expect_percent(INFINITY, 3, 20, "-");
    /* Digits go first, then the unit. */
    expect_percent(0.000183, 3, 8, "0.0183 %");
    expect_percent(0.000183, 3, 7, "0.018 %");
    expect_percent(0.000183, 3, 6, "0.02 %");
    expect_percent(0.000183, 3, 5, "0.02");
    expect_percent(7.56e-11, 3, 7, "<0.001");
    assert_string_equal(spex_percent_text(0.00123, 2, text, sizeof(text)), "0.12 %");
}

static void expect_within(double value, const char *unit, int width, const char *expected) {
    char text[32];
    assert_string_equal(spex_quantity_within(value, unit, width, text, sizeof(text)), expected);
}

TEST(quantities_in_a_width) {
    expect_within(0.0012345678, "s", 8, "1.235 ms");
    expect_within(0.0012345678, "s", 7, "1.23 ms");
    expect_within(0.0012345678, "s", 4, "1 ms");
    expect_within(0.5168, "", 5, "0.517");
    expect_within(5.168e-16, "", 8, "5.17e-16");
    expect_within(123456, "", 7, "123.5 k");
    expect_within(123456, "", 6, "123 k");
    expect_within(NAN, "s", 3, "-");
    expect_within(0, "", 1, "0");
    /* What cannot be narrower is written whole. */
    expect_within(123456789, "s", 3, "123456789 s");
}
