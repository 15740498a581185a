/* SPDX-License-Identifier: MIT */
/* Takes the classes of events from a table. The columns may be in any order; `known_columns` says
 * what each of them holds, and where its value goes in struct spex_rate_class. */
#include "tools/models/plan_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/printable.h"

/* What the cells of a column hold. SHARE is a number from 0 to 1. */
enum kind { NAME, NUMBER, SHARE, YES_NO };

/* The columns that a table may have. Cells of a column that is not required may be empty. */
static const struct column {
    const char *name;
    const char *expected;
    enum kind kind;
    bool required;
    size_t offset;
} known_columns[] = {
    {"name", "a name", NAME, true, offsetof(struct spex_rate_class, name)},
    {"share", "a share of the time from 0 to 1", SHARE, true,
     offsetof(struct spex_rate_class, share)},
    {"frequency", "a frequency in Hz, 0 or more,", NUMBER, true,
     offsetof(struct spex_rate_class, frequency)},
    {"weight", "a weight of 0 or more", NUMBER, true, offsetof(struct spex_rate_class, weight)},
    {"report_cost", "a cost in seconds, 0 or more,", NUMBER, false,
     offsetof(struct spex_rate_class, report_cost)},
    {"detect_cost", "a cost in seconds, 0 or more,", NUMBER, false,
     offsetof(struct spex_rate_class, detect_cost)},
    {"min_frequency", "a frequency in Hz, 0 or more,", NUMBER, false,
     offsetof(struct spex_rate_class, min_frequency)},
    {"pinned", "\"yes\" or \"no\"", YES_NO, false, offsetof(struct spex_rate_class, pinned)},
};

enum { KNOWN_COLUMNS = sizeof(known_columns) / sizeof(known_columns[0]) };

/* The columns in the order of the table. */
struct header {
    const struct column *order[KNOWN_COLUMNS];
    size_t count;
};

static const struct column *find_column(const char *name) {
    for (size_t c = 0; c < KNOWN_COLUMNS; c++)
        if (strcmp(known_columns[c].name, name) == 0)
            return &known_columns[c];
    return NULL;
}

static bool header_has_column(const struct header *header, const struct column *column) {
    for (size_t c = 0; c < header->count; c++)
        if (header->order[c] == column)
            return true;
    return false;
}

/* Whether each required column is there. 0, or -EINVAL with the reason. */
static int header_check_required(const struct spex_csv *csv, const struct header *header,
                                 struct spex_error *error) {
    for (size_t c = 0; c < KNOWN_COLUMNS; c++)
        if (known_columns[c].required && !header_has_column(header, &known_columns[c]))
            return spex_csv_complain(csv, &csv->cells[0], error, "a column \"%s\" was expected",
                                     known_columns[c].name);
    return 0;
}

/* 0, or -EINVAL with the reason. */
static int header_read(const struct spex_csv *csv, struct header *header,
                       struct spex_error *error) {
    bool ended = false;
    if (csv->count == 0)
        return spex_fail(error, -EINVAL,
                         "%s:1:1: a header was expected: name,share,frequency,weight", csv->name);
    for (size_t at = 0; !ended; at++) {
        const struct spex_csv_cell *cell = &csv->cells[at];
        const struct column *column = find_column(cell->text);
        if (!column)
            return spex_csv_complain(csv, cell, error,
                                     "name, share, frequency, weight, report_cost, detect_cost, "
                                     "min_frequency or pinned was expected, not \"%.60s\"",
                                     cell->text);
        if (header_has_column(header, column))
            return spex_csv_complain(csv, cell, error, "one column \"%s\" was expected, not two",
                                     column->name);
        header->order[header->count++] = column;
        ended = cell->ends_row;
    }
    return header_check_required(csv, header, error);
}

/* The range is that of all figures of rate policies. */
static bool cell_read_number(const char *text, double *value) {
    return spex_csv_number(text, value) && spex_rate_is_number(*value);
}

static bool cell_read_yes_no(const char *text, bool *value) {
    *value = strcmp(text, "yes") == 0;
    return *value || strcmp(text, "no") == 0;
}

/* Stores the value of a cell in its member of `cls`. An empty cell leaves the member as it is,
 * which is 0. */
static bool cell_read(const struct column *column, const char *text, struct spex_rate_class *cls) {
    void *member = (char *)cls + column->offset;
    if (*text == '\0')
        return !column->required;
    switch (column->kind) {
    case NAME:
        *(const char **)member = text;
        return spex_is_printable(text);
    case YES_NO:
        return cell_read_yes_no(text, member);
    case NUMBER:
        return cell_read_number(text, member);
    case SHARE:
        return cell_read_number(text, member) && *(double *)member <= 1;
    }
    return false;
}

/* Reads the row that begins at cells[*at], and moves *at to the next row. */
static int class_read(const struct spex_csv *csv, const struct header *header, size_t *at,
                      struct spex_rate_class *cls, struct spex_error *error) {
    for (size_t c = 0; c < header->count; c++) {
        const struct spex_csv_cell *cell = &csv->cells[(*at)++];
        bool last = c + 1 == header->count;
        if (cell->ends_row && !last)
            return spex_csv_complain(csv, cell, error,
                                     "%zu cells were expected, as in the header, not %zu",
                                     header->count, c + 1);
        if (!cell_read(header->order[c], cell->text, cls))
            return spex_csv_complain(csv, cell, error, "%s was expected, not \"%.60s\"",
                                     header->order[c]->expected, cell->text);
        if (!cell->ends_row && last)
            return spex_csv_complain(
                csv, &csv->cells[*at], error,
                "the end of the line was expected after %zu cells, as in the header",
                header->count);
    }
    return 0;
}

/* Equal names are in the order of the text, so that the second one is reported. */
static int order_by_name(const void *a, const void *b) {
    const char *one = *(const char *const *)a, *other = *(const char *const *)b;
    int order = strcmp(one, other);
    return order ? order : (one > other) - (one < other);
}

/* Sorts the names, since comparing each with each takes too long for a long table. `*name` is
 * NULL when there is no duplicate. 0 or -ENOMEM. */
static int table_find_duplicate(const struct spex_plan_table *table, const char **name) {
    const char **sorted = calloc(table->class_count + 1, sizeof(*sorted));
    *name = NULL;
    if (!sorted)
        return -ENOMEM;
    for (size_t c = 0; c < table->class_count; c++)
        sorted[c] = table->classes[c].name;
    qsort(sorted, table->class_count, sizeof(*sorted), order_by_name);
    for (size_t c = 1; c < table->class_count && !*name; c++)
        if (strcmp(sorted[c - 1], sorted[c]) == 0)
            *name = sorted[c];
    free(sorted);
    return 0;
}

/* Finds the cell of the duplicate by its address, for the message. */
static int table_check_names(const struct spex_plan_table *table, struct spex_error *error) {
    const char *name;
    if (table_find_duplicate(table, &name) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t c = 0; name && c < table->csv.count; c++)
        if (table->csv.cells[c].text == name)
            return spex_csv_complain(&table->csv, &table->csv.cells[c], error,
                                     "a name of its own was expected, not \"%.60s\" again", name);
    return 0;
}

/* There are at most as many classes as cells. */
static int table_read_classes(struct spex_plan_table *table, const struct header *header,
                              struct spex_error *error) {
    const struct spex_csv *csv = &table->csv;
    size_t at = header->count;
    if (at == csv->count)
        return spex_fail(error, -EINVAL,
                         "%s:%u:1: a line for each class was expected below the header", csv->name,
                         csv->cells[0].line + 1);
    table->classes = calloc(csv->count, sizeof(*table->classes));
    if (!table->classes)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (; at < csv->count; table->class_count++) {
        int err = class_read(csv, header, &at, &table->classes[table->class_count], error);
        if (err)
            return err;
    }
    return table_check_names(table, error);
}

/* The table owns the cells, since the names of the classes point into them. */
int spex_plan_table_make(struct spex_plan_table *table, struct spex_csv *csv,
                         struct spex_error *error) {
    struct header header = {.count = 0};
    *table = (struct spex_plan_table){.csv = *csv};
    *csv = (struct spex_csv){.name = csv->name};
    int err = header_read(&table->csv, &header, error);
    if (!err)
        err = table_read_classes(table, &header, error);
    if (err) {
        spex_plan_table_free(table);
        return err;
    }
    table->has_report_cost = header_has_column(&header, find_column("report_cost"));
    table->has_detect_cost = header_has_column(&header, find_column("detect_cost"));
    return 0;
}

void spex_plan_table_free(struct spex_plan_table *table) {
    spex_csv_free(&table->csv);
    free(table->classes);
    table->classes = NULL;
    table->class_count = 0;
}
