/* SPDX-License-Identifier: MIT */
/* A list of the sites in the files of a program and its libraries, and how it is printed. The
 * list owns the sites that were read from each file. */
#define _GNU_SOURCE
#include "tools/list/probe_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "profile/columns.h"
#include "ring/probe_type.h"
#include "site/provider.h"
#include "text/printable.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"

/* Paths may have any bytes but zero; they are shown in a terminal. To be freed; NULL: out of
 * memory. */
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

/* Frees the sites when memory is short. */
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
    *list = (struct spex_probe_list){.program = NULL};
}

void spex_probe_list_add_name(struct spex_columns *columns, const char *provider, const char *name,
                              int32_t id) {
    char text[SPEX_PROBE_TEXT_BYTES];
    spex_columns_add(columns, "%s", spex_probe_called(provider, name, id, text, sizeof(text)));
}

void spex_probe_list_add_id(struct spex_columns *columns, int32_t id) {
    if (id < 0)
        spex_columns_add(columns, "-");
    else
        spex_columns_add(columns, "%d", (int)id);
}

/* A type with what its `detail` means: the counter, or how many values or parameters. */
void spex_probe_list_add_type(struct spex_columns *columns, uint32_t probe_type, unsigned detail,
                              const char *parameters) {
    const char *type = spex_probe_type_name(probe_type);
    if (probe_type == SPEX_PERFCNTR)
        spex_columns_add(columns, "%s, counter %u", type, detail);
    else if (probe_type == SPEX_SNAPSHOT)
        spex_columns_add(columns, "%s, %u value%s", type, detail, detail == 1 ? "" : "s");
    else if (probe_type == SPEX_KERNEL && parameters)
        spex_columns_add(columns, "%s of %s", type, parameters);
    else if (probe_type == SPEX_KERNEL && detail > 0)
        spex_columns_add(columns, "%s, %u parameter%s", type, detail, detail == 1 ? "" : "s");
    else if (probe_type == SPEX_SPAN)
        spex_columns_add(columns, "%s, %s", type, detail == SPEX_SPAN_ENDS ? "END" : "BEGIN");
    else
        spex_columns_add(columns, "%s", type);
}

/* The END of a SPAN chooses no executions. */
void spex_probe_list_add_sc(struct spex_columns *columns, uint32_t probe_type, unsigned detail,
                            uint32_t subsample) {
    if (spex_probe_type_ends_span(probe_type, detail))
        spex_columns_add(columns, "-");
    else
        spex_columns_add(columns, "%u", subsample);
}

void spex_probe_list_add_copies(struct spex_columns *columns, uint32_t copies) {
    if (copies > 1)
        spex_columns_add(columns, "×%u", copies);
    else
        spex_columns_add(columns, "%s", "");
}

/* `object`: the file of the site, and `provider` its provider, or "". */
static void site_add_row(struct spex_columns *columns, const struct spex_object_site *site,
                         const char *provider, const char *object) {
    int32_t id = spex_object_site_id(site);
    spex_probe_list_add_name(columns, provider, site->name, id);
    spex_probe_list_add_id(columns, id);
    spex_probe_list_add_type(columns, site->probe_type, site->detail, site->parameters);
    spex_probe_list_add_sc(columns, site->probe_type, site->detail, site->subsample);
    spex_columns_add(columns, "%s:%u", site->file, site->line);
    spex_probe_list_add_copies(columns, site->copies);
    spex_columns_add(columns, "%s", object);
}

/* Whether all sites are in the program itself, the first object: the column with the object is
 * empty then. */
static bool has_one_object(const struct spex_probe_list *list) {
    return list->objects[0].sites.count == list->site_count;
}

/* Whether the list has probes of several providers. */
static bool list_mixed(const struct spex_probe_list *list) {
    const char *provider = NULL;
    for (size_t o = 0; o < list->object_count; o++) {
        const struct spex_object_sites *sites = &list->objects[o].sites;
        if (sites->count && provider && strcmp(provider, sites->provider) != 0)
            return true;
        if (sites->count)
            provider = sites->provider;
    }
    return false;
}

/* The mask has the columns of text, which are aligned to the left. */
int spex_probe_list_print(const struct spex_probe_list *list, bool all, FILE *out) {
    static const char *const headings[] = {"probe", "id",     "type",  "sc",
                                           "where", "copies", "object"};
    static const uint8_t order[] = {3, 5, 1, 6, 4};
    const struct spex_columns_room room = {
        .all = all, .texts = 0x55, .order = order, .count = sizeof(order)};
    struct spex_columns columns;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 0x75);
    bool mixed = list_mixed(list);
    for (size_t o = 0; o < list->object_count; o++)
        for (size_t s = 0; s < list->objects[o].sites.count; s++)
            site_add_row(&columns, &list->objects[o].sites.items[s],
                         mixed ? list->objects[o].sites.provider : "",
                         has_one_object(list) ? "" : list->objects[o].path);
    int err = columns.error;
    spex_columns_print_within(&columns, out, &room);
    return err ? err : spex_written(out);
}

/* Keys that only some types have are added at the end. */
static json_t *site_json(const struct spex_object_site *site, const char *provider,
                         const char *object) {
    json_t *json =
        json_pack("{s:o, s:s?, s:s, s:s, s:s, s:I, s:I, s:I, s:s}", "id",
                  spex_id_json(spex_object_site_id(site)), "name", *site->name ? site->name : NULL,
                  "provider", provider, "type", spex_probe_type_name(site->probe_type), "file",
                  site->file, "line", (json_int_t)site->line, "sc", (json_int_t)site->subsample,
                  "copies", (json_int_t)site->copies, "object", object);
    if (site->probe_type == SPEX_PERFCNTR)
        json_object_set_new(json, "counter", json_integer(site->detail));
    if (site->probe_type == SPEX_SNAPSHOT)
        json_object_set_new(json, "values", json_integer(site->detail));
    if (site->probe_type == SPEX_KERNEL)
        json_object_set_new(json, "parameters",
                            json_string(site->parameters ? site->parameters : ""));
    if (site->probe_type == SPEX_SPAN)
        json_object_set_new(json, "end", json_boolean(site->detail == SPEX_SPAN_ENDS));
    if (site->region)
        json_object_set_new(json, "region", json_integer(site->region));
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
            err |= json_array_append_new(
                sites, site_json(&object->sites.items[s], object->sites.provider, object->path));
    }
    json_t *json = json_pack("{s:s, s:o, s:o, s:b}", "program", list->program, "objects", objects,
                             "sites", sites, "functions", (int)list->functions);
    return spex_json_unless(err, json);
}

int spex_probe_list_print_json(const struct spex_probe_list *list, FILE *out) {
    int err = spex_json_print(list_json(list), out);
    return err ? err : spex_written(out);
}
