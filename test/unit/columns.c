/* SPDX-License-Identifier: MIT */
/* Text in columns. */
#include <stdio.h>
#include <stdlib.h>

#include "../check.h"
#include "profile/columns.h"

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

static void headings_alone(void **state) {
    struct spex_columns columns;
    (void)state;
    begin(&columns);
    expect(&columns, "name  size  share\n");
}

static void columns_are_as_wide_as_they_must_be(void **state) {
    struct spex_columns columns;
    (void)state;
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

static void characters_of_several_bytes_are_one_wide(void **state) {
    struct spex_columns columns;
    (void)state;
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

static void empty_cells_leave_no_blanks_at_the_end(void **state) {
    struct spex_columns columns;
    (void)state;
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

static void many_rows(void **state) {
    struct spex_columns columns;
    char *expected = NULL;
    size_t size;
    FILE *file = open_memstream(&expected, &size);
    (void)state;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headings_alone),
        cmocka_unit_test(columns_are_as_wide_as_they_must_be),
        cmocka_unit_test(characters_of_several_bytes_are_one_wide),
        cmocka_unit_test(empty_cells_leave_no_blanks_at_the_end),
        cmocka_unit_test(many_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
