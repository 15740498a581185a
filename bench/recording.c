/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "recording.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/table.h"
#include "text/number.h"

/* Names of columns become names of parameters: "$<Performance" is "Performance". */
static void print_name(const char *name, FILE *out) {
    for (; *name; name++)
        if (strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *name))
            fputc(*name, out);
}

static double figure_of(const struct spex_table *table, size_t row) {
    double figure;
    if (!spex_number_real(spex_table_cell(table, row, table->columns - 1), &figure) || figure <= 0)
        errx(1, "%s:%zu: a figure above 0 was expected in the last column", table->path,
             table->lines[row + 1]);
    return figure;
}

/* The first row that has the same parameters. */
static size_t first_of(const struct spex_table *table, size_t row) {
    for (size_t before = 0; before < row; before++) {
        size_t c = 0;
        while (c + 1 < table->columns &&
               strcmp(spex_table_cell(table, before, c), spex_table_cell(table, row, c)) == 0)
            c++;
        if (c + 1 == table->columns)
            return before;
    }
    return row;
}

/* Makes each configuration's figure the mean of its rows, or with no repeats that of its first. */
static void take_figures(struct recording *recording, bool repeats) {
    double *counts = calloc(recording->rows, sizeof(*counts));
    for (size_t m = 0; m < recording->measurement_count; m++) {
        const struct measurement *of = &recording->measurements[m];
        double *figure = &recording->figures[of->configuration];
        if (repeats || counts[of->configuration] == 0)
            *figure += (of->figure - *figure) / ++counts[of->configuration];
    }
    free(counts);
}

/* The space of the table in XML, as `spex explore --pool` makes it. */
static char *space_of(struct spex_table *table, struct recording *recording, bool repeats,
                      bool maximise) {
    char *text;
    size_t length;
    struct spex_error error;
    FILE *out = open_memstream(&text, &length);
    for (size_t c = 0; c < table->columns; c++) {
        char *name;
        size_t size;
        FILE *to = open_memstream(&name, &size);
        print_name(spex_table_name(table, c), to);
        fclose(to);
        table->cells[c] = name;
    }
    fprintf(out, "<space name=\"recorded\">\n");
    for (size_t c = 0; c + 1 < table->columns; c++)
        if (spex_table_write_parameter(table, c, out, &error))
            errx(1, "%s", error.text);
    fprintf(out, "<objective measure=\"true\" goal=\"minimise\"/><run trials=\"1\"/>\n");
    fprintf(out, "<configurations>");
    for (size_t c = 0; c + 1 < table->columns; c++)
        fprintf(out, "%s%s", c ? "," : "", table->cells[c]);
    size_t *configurations = calloc(table->rows, sizeof(*configurations));
    for (size_t row = 0; row < table->rows; row++) {
        double figure = figure_of(table, row);
        size_t first = first_of(table, row);
        configurations[row] = first == row ? recording->rows++ : configurations[first];
        recording->measurements[recording->measurement_count++] =
            (struct measurement){configurations[row], maximise ? 1 / figure : figure};
        if (first != row)
            continue;
        for (size_t c = 0; c + 1 < table->columns; c++)
            fprintf(out, "%s%s", c ? "," : "\n", spex_table_cell(table, row, c));
    }
    free(configurations);
    take_figures(recording, repeats);
    fprintf(out, "\n</configurations></space>\n");
    fclose(out);
    return text;
}

void recording_read(struct recording *recording, const char *path, bool repeats, bool maximise) {
    struct spex_table table;
    struct spex_error error;
    const char *base = strrchr(path, '/');
    *recording = (struct recording){.name = strdup(base ? base + 1 : path), .least = INFINITY};
    if (spex_table_read(&table, path, NULL, &error))
        errx(1, "%s", error.text);
    recording->figures = calloc(table.rows, sizeof(double));
    recording->measurements = calloc(table.rows, sizeof(*recording->measurements));
    char *xml = space_of(&table, recording, repeats, maximise);
    if (spex_space_parse(path, xml, &recording->file, &error))
        errx(1, "%s", error.text);
    for (size_t row = 0; row < recording->rows; row++)
        recording->least = fmin(recording->least, recording->figures[row]);
    free(xml);
    for (size_t c = 0; c < table.columns; c++)
        free((void *)(uintptr_t)table.cells[c]);
    spex_table_free(&table);
}

size_t recording_row(const struct recording *recording, const size_t *levels) {
    const struct spex_space *space = &recording->file->space;
    for (size_t row = 0; row < recording->rows; row++)
        if (memcmp(space->listed + row * space->parameter_count, levels,
                   space->parameter_count * sizeof(*levels)) == 0)
            return row;
    errx(1, "%s: a configuration that is not listed", recording->name);
}

/* One of the rows of a configuration. */
double recording_draw(const struct recording *recording, size_t row, struct spex_draw *draw) {
    size_t count = 0, chosen = 0;
    for (size_t m = 0; m < recording->measurement_count; m++)
        if (recording->measurements[m].configuration == row && spex_draw_below(draw, ++count) == 0)
            chosen = m;
    return recording->measurements[chosen].figure;
}

void recording_free(struct recording *recording) {
    spex_space_free(recording->file);
    free(recording->figures);
    free(recording->measurements);
    free(recording->name);
}
