/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "probe_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "printable.h"
#include "probe_type.h"

enum { PROBE, ID, TYPE, SC, WHERE, COPIES, OBJECT, COLUMNS };

static const char *const headings[COLUMNS] = {"probe", "id",     "type",  "sc",
                                              "where", "copies", "object"};

struct row {
    char *cells[COLUMNS];
};

static char *printable_copy(const char *text) {
    char *copy = strdup(text);
    if (copy)
        spex_make_printable(copy);
    return copy;
}

int spex_probe_list_set_program(struct spex_probe_list *list, const char *program) {
    list->program = printable_copy(program);
    return list->program ? 0 : -ENOMEM;
}

int spex_probe_list_add(struct spex_probe_list *list, const char *path,
                        struct spex_object_sites *sites) {
    struct spex_probe_object *objects =
        realloc(list->objects, (list->object_count + 1) * sizeof(*objects));
    if (objects)
        list->objects = objects;
    char *copy = objects ? printable_copy(path) : NULL;
    if (!copy) {
        spex_object_sites_free(sites);
        return -ENOMEM;
    }
    objects[list->object_count++] = (struct spex_probe_object){copy, *sites};
    list->site_count += sites->count;
    return 0;
}

void spex_probe_list_free(struct spex_probe_list *list) {
    for (size_t o = 0; o < list->object_count; o++) {
        free(list->objects[o].path);
        spex_object_sites_free(&list->objects[o].sites);
    }
    free(list->objects);
    free(list->program);
    *list = (struct spex_probe_list){NULL, NULL, 0, 0};
}

__attribute__((format(printf, 2, 3))) static bool format_cell(char **cell, const char *format,
                                                              ...) {
    va_list args;
    va_start(args, format);
    if (vasprintf(cell, format, args) < 0)
        *cell = NULL;
    va_end(args);
    return *cell != NULL;
}

static bool format_type(char **cell, const struct spex_object_site *site) {
    const char *type = spex_probe_type_name(site->probe_type);
    if (site->probe_type == SPEX_PERFCNTR)
        return format_cell(cell, "%s, counter %u", type, site->detail);
    if (site->probe_type == SPEX_SNAPSHOT)
        return format_cell(cell, "%s, %u value%s", type, site->detail,
                           site->detail == 1 ? "" : "s");
    return format_cell(cell, "%s", type);
}

/* A probe without a name is called by its id. */
static bool fill_row(struct row *row, const struct spex_object_site *site, const char *object) {
    char **cells = row->cells;
    return (*site->name ? format_cell(&cells[PROBE], "%s", site->name)
                        : format_cell(&cells[PROBE], "%u", site->probe_id)) &&
           format_cell(&cells[ID], "%u", site->probe_id) && format_type(&cells[TYPE], site) &&
           format_cell(&cells[SC], "%u", site->subsample) &&
           format_cell(&cells[WHERE], "%s:%u", site->file, site->line) &&
           (site->copies > 1 ? format_cell(&cells[COPIES], "×%u", site->copies)
                             : format_cell(&cells[COPIES], "%s", "")) &&
           format_cell(&cells[OBJECT], "%s", object);
}

static bool fill_rows(struct row *rows, const struct spex_probe_list *list) {
    size_t r = 0;
    bool filled = true;
    for (size_t h = 0; h < COLUMNS; h++)
        filled = filled && format_cell(&rows[0].cells[h], "%s", headings[h]);
    for (size_t o = 0; o < list->object_count; o++)
        for (size_t s = 0; s < list->objects[o].sites.count && filled; s++)
            filled = fill_row(&rows[++r], &list->objects[o].sites.items[s], list->objects[o].path);
    return filled;
}

/* Letters of UTF-8. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool has_copies(const struct spex_probe_list *list) {
    for (size_t o = 0; o < list->object_count; o++)
        for (size_t s = 0; s < list->objects[o].sites.count; s++)
            if (list->objects[o].sites.items[s].copies > 1)
                return true;
    return false;
}

/* Whether all sites are in the program itself, the first object. */
static bool has_one_object(const struct spex_probe_list *list) {
    return list->objects[0].sites.count == list->site_count;
}

static void print_row(const struct row *row, const bool *shown, const size_t *widths, FILE *out) {
    size_t owed = 0; /* spaces, which a line does not end with */
    for (size_t c = 0; c < COLUMNS; c++) {
        if (!shown[c])
            continue;
        size_t width = width_of(row->cells[c]);
        bool right = c == ID || c == SC;
        size_t before = owed + (right ? widths[c] - width : 0);
        if (width)
            fprintf(out, "%*s%s", (int)before, "", row->cells[c]);
        owed = width ? (right ? 0 : widths[c] - width) + 2 : before + widths[c] + 2;
    }
    fputc('\n', out);
}

static void print_rows(const struct row *rows, const struct spex_probe_list *list, FILE *out) {
    const bool shown[COLUMNS] = {
        true, true, true, true, true, has_copies(list), !has_one_object(list)};
    size_t widths[COLUMNS] = {0};
    for (size_t r = 0; r <= list->site_count; r++)
        for (size_t c = 0; c < COLUMNS; c++) {
            size_t width = width_of(rows[r].cells[c]);
            widths[c] = width > widths[c] ? width : widths[c];
        }
    for (size_t r = 0; r <= list->site_count; r++)
        print_row(&rows[r], shown, widths, out);
}

/* What writing has come to. */
static int finish(FILE *out) {
    errno = 0;
    if (fflush(out) != 0 || ferror(out))
        return errno ? -errno : -EIO;
    return 0;
}

int spex_probe_list_print(const struct spex_probe_list *list, FILE *out) {
    struct row *rows = calloc(list->site_count + 1, sizeof(*rows));
    bool filled = rows && fill_rows(rows, list);
    if (filled)
        print_rows(rows, list, out);
    for (size_t r = 0; rows && r <= list->site_count; r++)
        for (size_t c = 0; c < COLUMNS; c++)
            free(rows[r].cells[c]);
    free(rows);
    return filled ? finish(out) : -ENOMEM;
}

static json_t *site_json(const struct spex_object_site *site, const char *object) {
    json_t *json = json_pack("{s:i, s:s?, s:s, s:s, s:I, s:I, s:I, s:s}", "id", (int)site->probe_id,
                             "name", *site->name ? site->name : NULL, "type",
                             spex_probe_type_name(site->probe_type), "file", site->file, "line",
                             (json_int_t)site->line, "sc", (json_int_t)site->subsample, "copies",
                             (json_int_t)site->copies, "object", object);
    if (site->probe_type == SPEX_PERFCNTR)
        json_object_set_new(json, "counter", json_integer(site->detail));
    if (site->probe_type == SPEX_SNAPSHOT)
        json_object_set_new(json, "values", json_integer(site->detail));
    return json;
}

/* NULL when memory is short. */
static json_t *list_json(const struct spex_probe_list *list) {
    json_t *objects = json_array(), *sites = json_array();
    int err = 0;
    for (size_t o = 0; o < list->object_count; o++) {
        const struct spex_probe_object *object = &list->objects[o];
        err |= json_array_append_new(objects, json_string(object->path));
        for (size_t s = 0; s < object->sites.count; s++)
            err |= json_array_append_new(sites, site_json(&object->sites.items[s], object->path));
    }
    json_t *json =
        json_pack("{s:s, s:o, s:o}", "program", list->program, "objects", objects, "sites", sites);
    if (!err)
        return json;
    json_decref(json);
    return NULL;
}

int spex_probe_list_print_json(const struct spex_probe_list *list, FILE *out) {
    json_t *json = list_json(list);
    if (!json)
        return -ENOMEM;
    json_dumpf(json, out, JSON_INDENT(2)); /* the stream keeps an error */
    json_decref(json);
    fputc('\n', out);
    return finish(out);
}
