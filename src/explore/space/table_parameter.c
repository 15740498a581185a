/* SPDX-License-Identifier: MIT */
/* Makes parameters of a table's columns. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/table.h"
#include "text/html.h"
#include "text/number.h"

/* A value of a column, and its number if all are numbers. */
struct item {
    const char *text;
    double number;
};

static int compare_numbers(const void *a, const void *b) {
    const struct item *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

static int compare_texts(const void *a, const void *b) {
    const struct item *one = a, *other = b;
    return strcmp(one->text, other->text);
}

/* Sorts, and leaves one of equals. */
static size_t keep_different(struct item *items, size_t count, bool numbers) {
    int (*compare)(const void *, const void *) = numbers ? compare_numbers : compare_texts;
    size_t kept = 0;
    qsort(items, count, sizeof(*items), compare);
    for (size_t i = 0; i < count; i++)
        if (!kept || compare(&items[i], &items[kept - 1]) != 0)
            items[kept++] = items[i];
    return kept;
}

/* How unevenly numbers are spaced: the squared coefficient of variation of their distances. */
static double unevenness(const struct item *items, size_t count, bool ratios) {
    double sum = 0, squares = 0, n = (double)count - 1;
    for (size_t i = 1; i < count; i++) {
        double distance = ratios ? log(items[i].number / items[i - 1].number)
                                 : items[i].number - items[i - 1].number;
        sum += distance;
        squares += distance * distance;
    }
    return n * squares / (sum * sum) - 1;
}

/* Whether ratios matter: where these are more even than differences are. */
static bool are_ratios(const struct item *items, size_t count) {
    return count > 2 && items[0].number > 0 &&
           unevenness(items, count, true) < unevenness(items, count, false);
}

static void write_items(const struct spex_table *table, size_t column, const struct item *items,
                        size_t count, const char *kind, FILE *out) {
    fputs("  <parameter name=\"", out);
    spex_html_text(out, spex_table_name(table, column));
    fprintf(out, "\" type=\"%s\" values=\"", kind);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? " " : "", out);
        spex_html_text(out, items[i].text);
    }
    fprintf(out, "\"%s/>\n", *kind != 'c' && are_ratios(items, count) ? " scale=\"log\"" : "");
}

/* Values stand in a list with blanks between them. */
static int take_item(const struct spex_table *table, size_t row, size_t column, struct item *item,
                     struct spex_error *error) {
    item->text = spex_table_cell(table, row, column);
    if (*item->text && !strpbrk(item->text, " \t"))
        return 0;
    return spex_table_fail(table, row, column, error, "a value without blanks was expected");
}

int spex_table_write_parameter(const struct spex_table *table, size_t column, FILE *out,
                               struct spex_error *error) {
    struct item *items = calloc(table->rows, sizeof(*items));
    bool integers = true, numbers = true;
    int err = items ? 0 : spex_fail(error, -ENOMEM, "out of memory");
    for (size_t row = 0; !err && row < table->rows; row++) {
        int64_t integer;
        err = take_item(table, row, column, &items[row], error);
        integers = integers && !err && spex_number_integer(items[row].text, &integer);
        numbers = numbers && !err && spex_number_real(items[row].text, &items[row].number);
    }
    if (!err)
        write_items(table, column, items, keep_different(items, table->rows, numbers),
                    !numbers   ? "categorical"
                    : integers ? "integer"
                               : "real",
                    out);
    free(items);
    return err;
}
