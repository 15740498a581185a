/* SPDX-License-Identifier: MIT */
/* Reads parameters; space_values.c makes their values. Values of ordered parameters (numbers)
 * ascend and get positions between 0 and 1, by which policies and pictures measure distances. */
#include "explore/space/space_parameter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_values.h"
#include "text/number.h"

/* Names occur in command lines, tables and queries, so few characters are allowed. */
static bool is_name(const char *text) {
    return *text && strchr(SPEX_NAME_LETTERS, *text) &&
           text[strspn(text, SPEX_NAME_LETTERS "0123456789.-")] == '\0';
}

/* Everything else about a parameter depends on its kind, so there is no default. */
static int take_kind(struct spex_xml *xml, const xmlNode *element, enum spex_parameter_kind *kind) {
    static const struct {
        const char *name;
        enum spex_parameter_kind kind;
    } kinds[] = {{"integer", SPEX_INTEGER},
                 {"real", SPEX_REAL},
                 {"categorical", SPEX_CATEGORICAL},
                 {"boolean", SPEX_BOOLEAN}};
    const char *type;
    int err = spex_xml_required(xml, element, "type", &type);
    if (err)
        return err;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        if (strcmp(type, kinds[k].name) == 0) {
            *kind = kinds[k].kind;
            return 0;
        }
    return spex_xml_fail(xml, element,
                         "type=\"%s\": integer, real, categorical or boolean was expected", type);
}

/* Names must differ: conditions, templates and reports refer to parameters by them. */
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

/* Adds a zeroed parameter. The array has room for all, and is const for users of the space only.
 * NULL: out of memory. */
static struct spex_parameter *parameter_add(struct spex_space *space) {
    struct spex_parameter *all = (struct spex_parameter *)(uintptr_t)space->parameters;
    if (!all && !(all = calloc(SPEX_PARAMETERS_MAX, sizeof(*all))))
        return NULL;
    space->parameters = all;
    return &all[space->parameter_count++];
}

/* A parameter with a factor is logarithmic unless the scale is given. */
static int take_scale(struct spex_xml *xml, const xmlNode *element,
                      struct spex_parameter *parameter) {
    const char *scale = spex_xml_attribute(element, "scale");
    parameter->logarithmic = spex_xml_attribute(element, "factor") != NULL;
    if (!scale)
        return 0;
    if (!spex_parameter_ordered(parameter))
        return spex_xml_fail(xml, element, "scale: only numbers have one");
    if (strcmp(scale, "log") != 0 && strcmp(scale, "linear") != 0)
        return spex_xml_fail(xml, element, "scale=\"%s\": linear or log was expected", scale);
    parameter->logarithmic = strcmp(scale, "log") == 0;
    return 0;
}

/* Sets *level to the level of the value that an attribute names. Numbers are compared as numbers,
 * so "1.0" names the value 1. */
static int find_level(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                      const struct spex_parameter *parameter, size_t *level) {
    const char *text = spex_xml_attribute(element, attribute);
    double number = NAN;
    if (spex_parameter_ordered(parameter) && !spex_number_real(text, &number))
        return spex_xml_fail(xml, element, "%s=\"%s\": a number was expected", attribute, text);
    for (*level = 0; *level < parameter->count; ++*level)
        if (strcmp(parameter->values[*level].text, text) == 0 ||
            parameter->values[*level].number == number)
            return 0;
    return spex_xml_fail(xml, element, "%s=\"%s\": one of its values was expected", attribute,
                         text);
}

/* Removes all values but the fixed one. It becomes the first; its own place gets the first one's
 * text, which is freed with the rest. */
static int take_fixed(struct spex_xml *xml, const xmlNode *element,
                      struct spex_parameter *parameter) {
    size_t level;
    if (!spex_xml_attribute(element, "fixed"))
        return 0;
    int err = find_level(xml, element, "fixed", parameter, &level);
    if (err)
        return err;
    struct spex_value *values = (struct spex_value *)(uintptr_t)parameter->values;
    const struct spex_value kept = values[level];
    values[level].text = values[0].text;
    values[0] = kept;
    for (size_t v = 1; v < parameter->count; v++)
        free((void *)(uintptr_t)values[v].text);
    parameter->count = 1;
    return 0;
}

static int take_default(struct spex_xml *xml, const xmlNode *element,
                        struct spex_parameter *parameter) {
    if (!spex_xml_attribute(element, "default"))
        return 0;
    if (spex_xml_attribute(element, "fixed"))
        return spex_xml_fail(xml, element, "either default or fixed was expected, not both");
    return find_level(xml, element, "default", parameter, &parameter->default_level);
}

/* Sets each value's position between the lowest (0) and the highest (1), on the parameter's
 * scale. */
static int set_positions(struct spex_xml *xml, const xmlNode *element,
                         struct spex_parameter *parameter) {
    struct spex_value *values = (struct spex_value *)(uintptr_t)parameter->values;
    if (!spex_parameter_ordered(parameter))
        return 0;
    if (parameter->logarithmic && values[0].number <= 0)
        return spex_xml_fail(xml, element,
                             "a logarithmic scale was expected to begin above 0, not at %s",
                             values[0].text);
    double low = values[0].number, high = values[parameter->count - 1].number;
    for (size_t v = 0; v < parameter->count && parameter->count > 1; v++)
        values[v].position = parameter->logarithmic ? log(values[v].number / low) / log(high / low)
                                                    : (values[v].number - low) / (high - low);
    return 0;
}

/* Positions are set before other values are removed: a fixed value keeps its position on the whole
 * scale. */
int spex_parameter_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space) {
    static const char *const known[] = {"name",    "type",  "unit",   "values", "min",
                                        "max",     "step",  "factor", "points", "scale",
                                        "default", "fixed", "when",   NULL};
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
        return spex_fail(xml->error, -ENOMEM, "out of memory");
    const char *unit = spex_xml_attribute(element, "unit");
    parameter->kind = kind;
    parameter->name = strdup(name);
    parameter->unit = strdup(unit ? unit : "");
    if (!parameter->name || !parameter->unit)
        return spex_fail(xml->error, -ENOMEM, "out of memory");
    err = take_scale(xml, element, parameter);
    err = err ? err : spex_values_take(xml, element, parameter);
    err = err ? err : set_positions(xml, element, parameter);
    err = err ? err : take_fixed(xml, element, parameter);
    return err ? err : take_default(xml, element, parameter);
}

void spex_parameter_free(const struct spex_parameter *parameter) {
    for (size_t v = 0; v < parameter->count; v++)
        free((void *)(uintptr_t)parameter->values[v].text);
    free((void *)(uintptr_t)parameter->values);
    free((void *)(uintptr_t)parameter->name);
    free((void *)(uintptr_t)parameter->unit);
}

size_t spex_space_parameter(const struct spex_space *space, const char *name) {
    size_t p = 0;
    while (p < space->parameter_count && strcmp(space->parameters[p].name, name) != 0)
        p++;
    return p;
}

size_t spex_parameter_level(const struct spex_parameter *parameter, const char *text) {
    size_t level = 0;
    while (level < parameter->count && strcmp(parameter->values[level].text, text) != 0)
        level++;
    return level;
}
