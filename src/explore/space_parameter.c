/* SPDX-License-Identifier: MIT */
#include "space_parameter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

/* Values as they come in; capacity is a power of two. */
struct values {
    struct spex_value *items;
    size_t count;
};

static int append(struct spex_xml *xml, const xmlNode *element, struct values *values,
                  const char *text, size_t length, int64_t integer) {
    if (values->count == SPEX_VALUES_MAX)
        return spex_xml_fail(xml, element, "at most %d values were expected", SPEX_VALUES_MAX);
    if ((values->count & (values->count - 1)) == 0) {
        size_t room = values->count ? values->count * 2 : 1;
        struct spex_value *items = realloc(values->items, room * sizeof(*items));
        if (!items)
            return spex_fail(xml->why, -ENOMEM, "out of memory");
        values->items = items;
    }
    char *copy = strndup(text, length);
    if (!copy)
        return spex_fail(xml->why, -ENOMEM, "out of memory");
    values->items[values->count++] = (struct spex_value){.text = copy, .integer = integer};
    return 0;
}

static int append_integer(struct spex_xml *xml, const xmlNode *element, struct values *values,
                          int64_t integer) {
    char text[24];
    int length = snprintf(text, sizeof(text), "%" PRId64, integer);
    return append(xml, element, values, text, (size_t)length, integer);
}

static int check_last(struct spex_xml *xml, const xmlNode *element, const struct values *values,
                      enum spex_parameter_kind kind) {
    const struct spex_value *last = &values->items[values->count - 1];
    if (kind == SPEX_INTEGER) {
        if (!spex_number_integer(last->text, &values->items[values->count - 1].integer))
            return spex_xml_fail(xml, element, "values: \"%s\" is no integer", last->text);
        if (values->count > 1 && last->integer <= last[-1].integer)
            return spex_xml_fail(xml, element,
                                 "values: ascending ones were expected, not %s after %s",
                                 last->text, last[-1].text);
        return 0;
    }
    if (values->count > SPEX_CATEGORIES_MAX)
        return spex_xml_fail(xml, element, "at most %d categories were expected",
                             SPEX_CATEGORIES_MAX);
    for (size_t v = 0; v + 1 < values->count; v++)
        if (strcmp(values->items[v].text, last->text) == 0)
            return spex_xml_fail(xml, element, "values: \"%s\" is there twice", last->text);
    return 0;
}

/* values="a b c" */
static int take_list(struct spex_xml *xml, const xmlNode *element, const char *list,
                     enum spex_parameter_kind kind, struct values *values) {
    static const char blanks[] = " \t\r\n";
    static const char *const ranges[] = {"min", "max", "step", "factor"};
    for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++)
        if (spex_xml_attribute(element, ranges[r]))
            return spex_xml_fail(xml, element, "either values or %s was expected, not both",
                                 ranges[r]);
    int err = 0;
    for (const char *item = list + strspn(list, blanks); *item && !err;) {
        size_t length = strcspn(item, blanks);
        err = append(xml, element, values, item, length, 0);
        err = err ? err : check_last(xml, element, values, kind);
        item += length;
        item += strspn(item, blanks);
    }
    if (!err && values->count == 0)
        err = spex_xml_fail(xml, element, "values: at least one was expected");
    return err;
}

/* An attribute that must be an integer of at least `low`; *value stays when it is not there. */
static int take_integer(struct spex_xml *xml, const xmlNode *element, const char *name, int64_t low,
                        int64_t *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_integer(text, value) && *value >= low))
        return 0;
    if (low == INT64_MIN)
        return spex_xml_fail(xml, element, "%s=\"%s\": an integer was expected", name, text);
    return spex_xml_fail(xml, element, "%s=\"%s\": an integer from %" PRId64 " was expected", name,
                         text, low);
}

struct range {
    int64_t min, max, step, factor;
};

static int check_range(struct spex_xml *xml, const xmlNode *element, const struct range *range) {
    if (!spex_xml_attribute(element, "min") || !spex_xml_attribute(element, "max"))
        return spex_xml_fail(xml, element, "values, or min and max, were expected");
    if (spex_xml_attribute(element, "step") && spex_xml_attribute(element, "factor"))
        return spex_xml_fail(xml, element, "either step or factor was expected, not both");
    if (range->min > range->max)
        return spex_xml_fail(xml, element,
                             "min=%" PRId64 " was expected not to be above max=%" PRId64,
                             range->min, range->max);
    if (range->factor && range->min < 1)
        return spex_xml_fail(xml, element, "with factor, min was expected to be at least 1");
    return 0;
}

/* The value after `value`; false when it would pass what an integer holds. */
static bool range_next(const struct range *range, int64_t *value) {
    if (range->factor)
        return !__builtin_mul_overflow(*value, range->factor, value);
    return !__builtin_add_overflow(*value, range->step, value);
}

/* min="2" max="256" and step="2", factor="2" or neither */
static int take_range(struct spex_xml *xml, const xmlNode *element, struct values *values) {
    struct range range = {.step = 1};
    int err = take_integer(xml, element, "min", INT64_MIN, &range.min);
    err = err ? err : take_integer(xml, element, "max", INT64_MIN, &range.max);
    err = err ? err : take_integer(xml, element, "step", 1, &range.step);
    err = err ? err : take_integer(xml, element, "factor", 2, &range.factor);
    err = err ? err : check_range(xml, element, &range);
    int64_t value = range.min;
    bool more = true;
    while (!err && more && value <= range.max) {
        err = append_integer(xml, element, values, value);
        more = range_next(&range, &value);
    }
    if (!err && values->items[values->count - 1].integer != range.max)
        err = spex_xml_fail(xml, element,
                            "max=%" PRId64 " is not reached from min=%" PRId64 "; %s is the last",
                            range.max, range.min, values->items[values->count - 1].text);
    return err;
}

/* Names stand in command lines, tables and queries. */
static bool is_name(const char *text) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    return *text && strchr(letters, *text) &&
           text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-")] == '\0';
}

static int take_kind(struct spex_xml *xml, const xmlNode *element, enum spex_parameter_kind *kind) {
    const char *type;
    int err = spex_xml_required(xml, element, "type", &type);
    if (err)
        return err;
    *kind = strcmp(type, "integer") == 0 ? SPEX_INTEGER : SPEX_CATEGORICAL;
    if (*kind == SPEX_CATEGORICAL && strcmp(type, "categorical") != 0)
        return spex_xml_fail(xml, element, "type=\"%s\": integer or categorical was expected",
                             type);
    return 0;
}

static int take_values(struct spex_xml *xml, const xmlNode *element, enum spex_parameter_kind kind,
                       struct values *values) {
    const char *list = spex_xml_attribute(element, "values");
    if (list)
        return take_list(xml, element, list, kind, values);
    if (kind == SPEX_CATEGORICAL)
        return spex_xml_fail(xml, element, "attribute \"values\" was expected");
    return take_range(xml, element, values);
}

static int take_name(struct spex_xml *xml, const xmlNode *element, const struct spex_space *space,
                     const char **name) {
    int err = spex_xml_required(xml, element, "name", name);
    if (err)
        return err;
    if (!is_name(*name))
        return spex_xml_fail(xml, element,
                             "name=\"%s\": a letter, then letters, digits, \"_\", \".\" or \"-\" "
                             "were expected",
                             *name);
    for (size_t p = 0; p < space->parameter_count; p++)
        if (strcmp(space->parameters[p].name, *name) == 0)
            return spex_xml_fail(xml, element, "parameter \"%s\" is there twice", *name);
    return 0;
}

/* Room for one more, zeroed, already counted. */
static struct spex_parameter *parameter_add(struct spex_space *space) {
    struct spex_parameter *all = (struct spex_parameter *)(uintptr_t)space->parameters;
    if (!all && !(all = calloc(SPEX_PARAMETERS_MAX, sizeof(*all))))
        return NULL;
    space->parameters = all;
    return &all[space->parameter_count++];
}

int spex_parameter_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space) {
    static const char *const known[] = {"name", "type", "unit",   "values", "min",
                                        "max",  "step", "factor", NULL};
    const char *name = NULL;
    enum spex_parameter_kind kind = SPEX_INTEGER;
    if (space->parameter_count == SPEX_PARAMETERS_MAX)
        return spex_xml_fail(xml, element, "at most %d parameters were expected",
                             SPEX_PARAMETERS_MAX);
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : take_name(xml, element, space, &name);
    err = err ? err : take_kind(xml, element, &kind);
    if (err)
        return err;
    struct spex_parameter *parameter = parameter_add(space);
    if (!parameter)
        return spex_fail(xml->why, -ENOMEM, "out of memory");
    struct values values = {NULL, 0};
    const char *unit = spex_xml_attribute(element, "unit");
    err = take_values(xml, element, kind, &values);
    parameter->kind = kind;
    parameter->name = strdup(name);
    parameter->unit = strdup(unit ? unit : "");
    parameter->values = values.items;
    parameter->count = values.count;
    if (!err && (!parameter->name || !parameter->unit))
        err = spex_fail(xml->why, -ENOMEM, "out of memory");
    return err;
}

void spex_parameter_free(const struct spex_parameter *parameter) {
    for (size_t v = 0; v < parameter->count; v++)
        free((void *)(uintptr_t)parameter->values[v].text);
    free((void *)(uintptr_t)parameter->values);
    free((void *)(uintptr_t)parameter->name);
    free((void *)(uintptr_t)parameter->unit);
}
