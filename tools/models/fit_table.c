/* SPDX-License-Identifier: MIT */
/* Takes the measurements from a table. The header is read first; each row must have as many
 * cells. The names of the parameters stay in the cells of the table. */
#include "tools/models/fit_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "text/printable.h"

static const char expected_header[] = "a header was expected: parameters, perhaps rep, and time";

/* The columns that the header has. */
struct header {
    size_t columns;
    /* The index of the column "rep", or `columns` when there is none. */
    size_t repetition;
};

/* "=" and "," have a meaning in --predict. */
static bool is_parameter_name(const char *text) {
    return *text && spex_is_printable(text) && strpbrk(text, "=,") == NULL;
}

/* Adds a parameter by the cell with its name. */
static int table_take_name(struct spex_fit_table *table, const struct spex_csv_cell *cell,
                           struct spex_error *error) {
    size_t *count = &table->measured.parameter_count;
    if (!is_parameter_name(cell->text))
        return spex_csv_complain(&table->csv, cell, error,
                                 "a parameter's name was expected, not \"%.60s\"", cell->text);
    for (size_t p = 0; p < *count; p++)
        if (strcmp(table->names[p], cell->text) == 0)
            return spex_csv_complain(&table->csv, cell, error,
                                     "one column \"%.60s\" was expected, not two", cell->text);
    if (*count == SPEX_MODEL_PARAMETERS_MAX)
        return spex_csv_complain(&table->csv, cell, error, "%d parameters at most were expected",
                                 SPEX_MODEL_PARAMETERS_MAX);
    table->names[(*count)++] = cell->text;
    return 0;
}

/* 0, -EINVAL or -ENOMEM with the reason. */
static int table_read_header(struct spex_fit_table *table, struct header *header,
                             struct spex_error *error) {
    const struct spex_csv *csv = &table->csv;
    if (csv->count == 0)
        return spex_fail(error, -EINVAL, "%s:1:1: %s", csv->name, expected_header);
    while (!csv->cells[header->columns].ends_row)
        header->columns++;
    const struct spex_csv_cell *last = &csv->cells[header->columns++];
    header->repetition = header->columns;
    if (strcmp(last->text, "time") != 0)
        return spex_csv_complain(csv, last, error,
                                 "\"time\" was expected as the last column, not \"%.60s\"",
                                 last->text);
    for (size_t c = 0; c + 1 < header->columns; c++) {
        const struct spex_csv_cell *cell = &csv->cells[c];
        int err = 0;
        if (header->repetition == header->columns && strcmp(cell->text, "rep") == 0)
            header->repetition = c;
        else
            err = table_take_name(table, cell, error);
        if (err)
            return err;
    }
    return 0;
}

/* Reads the row that begins at cells[at]. A number in the column "rep" is not checked. */
static int table_read_row(struct spex_fit_table *table, const struct header *header, size_t at,
                          struct spex_error *error) {
    const struct spex_csv *csv = &table->csv;
    struct spex_measurements *measured = &table->measured;
    double *to = table->parameters + measured->count * measured->parameter_count;
    for (size_t c = 0; c < header->columns; c++) {
        const struct spex_csv_cell *cell = &csv->cells[at + c];
        bool last = c + 1 == header->columns;
        double ignored = 0, *value = last                      ? &table->times[measured->count]
                                     : c == header->repetition ? &ignored
                                                               : to++;
        if (cell->ends_row && !last)
            return spex_csv_complain(csv, cell, error,
                                     "%zu cells were expected, as in the header, not %zu",
                                     header->columns, c + 1);
        if (!spex_csv_number(cell->text, value) && c != header->repetition)
            return spex_csv_complain(
                csv, cell, error, "a number of 0 or more was expected, not \"%.60s\"", cell->text);
        if (last ? !spex_fit_takes_time(*value) : *value > SPEX_FIT_GREATEST)
            return spex_csv_complain(csv, cell, error, "a number of %s%g was expected, not %g",
                                     last ? "0, or of 1e-25 to " : "0 to ", SPEX_FIT_GREATEST,
                                     *value);
        if (!cell->ends_row && last)
            return spex_csv_complain(
                csv, &csv->cells[at + c + 1], error,
                "the end of the line was expected after %zu cells, as in the header",
                header->columns);
    }
    measured->count++;
    return 0;
}

/* The table has at most as many rows as its cells fill; memory for that many is allocated at
 * once. */
static int table_read(struct spex_fit_table *table, struct spex_error *error) {
    struct header header = {0};
    int err = table_read_header(table, &header, error);
    if (err)
        return err;
    size_t rows = table->csv.count / header.columns;
    table->parameters = calloc(rows * table->measured.parameter_count + 1, sizeof(double));
    table->times = calloc(rows + 1, sizeof(double));
    if (!table->parameters || !table->times)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t at = header.columns; at < table->csv.count && !err; at += header.columns)
        err = table_read_row(table, &header, at, error);
    if (!err && table->measured.count == 0)
        err = spex_fail(error, -EINVAL, "%s:2:1: a measurement was expected", table->csv.name);
    table->measured.parameters = table->parameters;
    table->measured.times = table->times;
    return err;
}

int spex_fit_table_make(struct spex_fit_table *table, struct spex_csv *csv,
                        struct spex_error *error) {
    *table = (struct spex_fit_table){.csv = *csv};
    int err = table_read(table, error);
    if (err)
        spex_fit_table_free(table);
    return err;
}

void spex_fit_table_free(struct spex_fit_table *table) {
    free(table->parameters);
    free(table->times);
    spex_csv_free(&table->csv);
    *table = (struct spex_fit_table){.parameters = NULL};
}
