/* SPDX-License-Identifier: MIT */
/* Reads units. A unit becomes items of a selection, so that a probe is matched here as it is in
 * the program. */
#define _GNU_SOURCE
#include "fleet/decide/fleet_unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/probe_type.h"

/* A unit's item of one mode: room for its text. */
#define ITEM_BYTES 512

static const char *const type_names[] = {"probe", "glob", "file", "library"};

const char *spex_fleet_unit_type_name(enum spex_fleet_unit_type type) {
    return type_names[type];
}

static int take_type(struct spex_xml *xml, const xmlNode *element, struct spex_fleet_unit *unit) {
    const char *text = NULL;
    int err = spex_xml_required(xml, element, "type", &text);
    if (err)
        return err;
    for (unsigned t = 0; t < sizeof(type_names) / sizeof(type_names[0]); t++)
        if (strcmp(text, type_names[t]) == 0) {
            unit->type = t;
            return 0;
        }
    return spex_xml_fail(xml, element, "type=\"%s\": probe, glob, file or library was expected",
                         text);
}

/* Separators of selections would make more of the name than one unit. */
static int take_name(struct spex_xml *xml, const xmlNode *element, struct spex_fleet_unit *unit) {
    const char *text = NULL;
    int err = spex_xml_required(xml, element, "name", &text);
    if (err)
        return err;
    bool library = unit->type == SPEX_FLEET_LIBRARY;
    const char *refused = unit->type == SPEX_FLEET_PROBE ? ",:@=+ *?[" : ",:@=+ ";
    if (strlen(text) > 255 || strpbrk(text, refused) || (library && strchr(text, '/')))
        return spex_xml_fail(xml, element,
                             "name=\"%s\": the %s of a %s was expected, at most 255 bytes without "
                             "any of \"%s%s\"",
                             text, unit->type == SPEX_FLEET_PROBE ? "name or id" : "glob",
                             unit->type == SPEX_FLEET_GLOB ? "probe" : type_names[unit->type],
                             refused, library ? "/" : "");
    unit->name = strdup(text);
    return unit->name ? 0 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

/* "internal" is within the unit, "external" between it and others (the paper, section 3.1). Of
 * probes, spans reach from one function or thread to another, and snapshots can have the sizes of
 * what is handed over, the paper's "data exchange"; other types begin and end in one place. */
static int take_scope(struct spex_xml *xml, const xmlNode *element, struct spex_fleet_unit *unit) {
    const char *text = spex_xml_attribute(element, "scope");
    unit->external = text && strcmp(text, "external") == 0;
    if (!text || unit->external || strcmp(text, "internal") == 0)
        return 0;
    return spex_xml_fail(xml, element, "scope=\"%s\": internal or external was expected", text);
}

static int check_scope(struct spex_xml *xml, const xmlNode *element,
                       const struct spex_fleet_unit *unit, uint32_t type) {
    bool fits = type == SPEX_SNAPSHOT || unit->external == (type == SPEX_SPAN);
    if (fits)
        return 0;
    return spex_xml_fail(xml, element, "modes: %s for scope=\"%s\", and not %s",
                         unit->external ? "span or snapshot was expected"
                                        : "a type that begins and ends in the unit was expected",
                         unit->external ? "external" : "internal", spex_probe_type_name(type));
}

/* Adds the item of a mode, "TYPE" or "TYPE@SAMPLING", to the policy's selection. */
static int add_mode(struct spex_xml *xml, const xmlNode *element, struct spex_fleet_policy *policy,
                    struct spex_fleet_unit *unit, const char *mode) {
    char what[ITEM_BYTES], text[2 * ITEM_BYTES];
    uint32_t type = spex_probe_type_named(mode, strcspn(mode, "@"));
    struct spex_selection item = {.items = NULL};
    struct spex_error error;
    if (!type)
        return spex_xml_fail(xml, element,
                             "modes: \"%s\": a type of probes, as lat, or with a rate, as cnt@100, "
                             "was expected",
                             mode);
    if (unit->modes & type)
        return spex_xml_fail(xml, element, "modes: %s once was expected",
                             spex_probe_type_name(type));
    int err = check_scope(xml, element, unit, type);
    if (err)
        return err;
    if (unit->type == SPEX_FLEET_FILE)
        snprintf(what, sizeof(what), "file=%s", unit->name);
    else
        snprintf(what, sizeof(what), "%s%s", unit->name,
                 unit->type == SPEX_FLEET_LIBRARY ? "/*" : "");
    snprintf(text, sizeof(text), "+%s:%s", what, mode);
    err = spex_selection_parse(text, &item, &error);
    if (!err && (item.count != 1 || !spex_selection_any_on(&item)))
        err = spex_fail(&error, -EINVAL, "\"%s\": a rate was expected", mode);
    unit->modes |= type;
    size_t before = policy->selection.count;
    if (!err)
        err = spex_selection_change(&policy->selection, &item);
    else
        spex_selection_free(&item);
    if (!err && policy->selection.count != before + 1)
        return spex_xml_fail(xml, element, "%s:%s is in a unit before", what,
                             spex_probe_type_name(type));
    if (err == -ENOMEM)
        return spex_fail(xml->error, err, "out of memory");
    return err ? spex_xml_fail(xml, element, "modes: %s", err == -EINVAL ? error.text : "too many")
               : 0;
}

static int take_modes(struct spex_xml *xml, const xmlNode *element,
                      struct spex_fleet_policy *policy, struct spex_fleet_unit *unit) {
    const char *text = NULL;
    char *rest = NULL;
    int err = spex_xml_required(xml, element, "modes", &text);
    char *copy = err ? NULL : strdup(text);
    if (!err && !copy)
        err = spex_fail(xml->error, -ENOMEM, "out of memory");
    unit->first_item = policy->selection.count;
    for (char *mode = copy ? strtok_r(copy, " \t\r\n", &rest) : NULL; mode && !err;
         mode = strtok_r(NULL, " \t\r\n", &rest))
        err = add_mode(xml, element, policy, unit, mode);
    unit->item_count = policy->selection.count - unit->first_item;
    if (!err && !unit->modes)
        err = spex_xml_fail(xml, element, "modes: a type of probes was expected");
    free(copy);
    return err;
}

static int take_unit(struct spex_xml *xml, const xmlNode *element,
                     struct spex_fleet_policy *policy) {
    static const char *const known[] = {"type", "name", "modes", "scope", NULL};
    struct spex_fleet_unit *unit = &policy->units[policy->unit_count];
    if (strcmp(spex_xml_name(element), "unit") != 0)
        return spex_xml_fail(xml, element, "<unit> was expected here");
    if (policy->unit_count == SPEX_FLEET_UNITS_MAX)
        return spex_xml_fail(xml, element, "at most %d units were expected", SPEX_FLEET_UNITS_MAX);
    policy->unit_count++;
    unit->line = xmlGetLineNo((xmlNode *)(uintptr_t)element);
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : take_type(xml, element, unit);
    err = err ? err : take_name(xml, element, unit);
    err = err ? err : take_scope(xml, element, unit);
    return err ? err : take_modes(xml, element, policy, unit);
}

int spex_fleet_units_take(struct spex_xml *xml, const xmlNode *map,
                          struct spex_fleet_policy *policy) {
    static const char *const known[] = {NULL};
    int err = spex_xml_check(xml, map, known, 1);
    policy->units = calloc(SPEX_FLEET_UNITS_MAX, sizeof(*policy->units));
    if (!err && !policy->units)
        err = spex_fail(xml->error, -ENOMEM, "out of memory");
    for (const xmlNode *e = spex_xml_child(map); e && !err; e = spex_xml_next(e))
        err = take_unit(xml, e, policy);
    if (!err && !policy->unit_count)
        err = spex_xml_fail(xml, map, "a <unit> was expected in it");
    return err;
}

static const struct spex_selection_item *item_of(const struct spex_fleet_policy *policy,
                                                 const struct spex_fleet_unit *unit,
                                                 const struct spex_selection_probe *probe) {
    const struct spex_selection_item *items = &policy->selection.items[unit->first_item];
    for (size_t i = 0; i < unit->item_count; i++)
        if (spex_selection_item_matches(&items[i], probe))
            return &items[i];
    return NULL;
}

bool spex_fleet_unit_matches(const struct spex_fleet_policy *policy,
                             const struct spex_fleet_unit *unit,
                             const struct spex_selection_probe *probe) {
    return item_of(policy, unit, probe) != NULL;
}

const struct spex_selection_item *spex_fleet_item_of(const struct spex_fleet_policy *policy,
                                                     const struct spex_selection_probe *probe) {
    const struct spex_selection_item *item = NULL;
    for (size_t u = 0; !item && u < policy->unit_count; u++)
        item = item_of(policy, &policy->units[u], probe);
    return item;
}
