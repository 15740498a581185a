/* SPDX-License-Identifier: MIT */
/* Rows become levels. Their order by levels finds equal ones, and later whether a configuration is
 * in the list. */
#define _GNU_SOURCE
#include "explore/space/space_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>

#include "explore/space/space_parameter.h"
#include "explore/space/table.h"
#include "measure/plan.h"
#include "text/number.h"

/* A list while it is read. */
struct taking {
    struct spex_xml *xml;
    const xmlNode *element;
    struct spex_space *space;
    struct spex_table table;
    size_t parameters[SPEX_PARAMETERS_MAX]; /* of each column */
    size_t *levels;
};

static int compare_levels(const size_t *a, const size_t *b, size_t parameters) {
    for (size_t p = 0; p < parameters; p++)
        if (a[p] != b[p])
            return a[p] < b[p] ? -1 : 1;
    return 0;
}

/* Equal ones in the order of the list. */
static int compare_rows(const void *a, const void *b, void *user) {
    const struct taking *taking = user;
    size_t one = *(const size_t *)a, other = *(const size_t *)b,
           parameters = taking->space->parameter_count;
    int order = compare_levels(taking->levels + one * parameters,
                               taking->levels + other * parameters, parameters);
    return order ? order : one < other ? -1 : one > other;
}

/* Finds the parameter of each column. One of a single value needs none. */
static int take_names(struct taking *taking) {
    const struct spex_space *space = taking->space;
    const struct spex_table *table = &taking->table;
    uint64_t seen = 0;
    for (size_t c = 0; c < table->columns; c++) {
        size_t p = spex_space_parameter(space, spex_table_name(table, c));
        if (p == space->parameter_count)
            return spex_table_fail(table, SPEX_TABLE_NAMES, c, taking->xml->error,
                                   "the space has no such parameter");
        if (seen >> p & 1)
            return spex_table_fail(table, SPEX_TABLE_NAMES, c, taking->xml->error,
                                   "only one column of a parameter was expected");
        seen |= UINT64_C(1) << p;
        taking->parameters[c] = p;
    }
    for (size_t p = 0; p < space->parameter_count; p++)
        if (!(seen >> p & 1) && space->parameters[p].count > 1)
            return spex_fail(taking->xml->error, -EINVAL,
                             "%s:%zu: a column of parameter \"%s\" was expected", table->path,
                             table->lines[0], space->parameters[p].name);
    return 0;
}

/* Numbers are compared as numbers. They ascend: O(log values). */
static size_t level_of(const struct spex_parameter *parameter, const char *text) {
    double number;
    if (!spex_parameter_ordered(parameter))
        return spex_parameter_level(parameter, text);
    if (!spex_number_real(text, &number))
        return parameter->count;
    size_t low = 0, high = parameter->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parameter->values[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < parameter->count && parameter->values[low].number == number ? low
                                                                             : parameter->count;
}

/* An empty cell is that of a parameter that does not apply. */
static int take_row(struct taking *taking, size_t row) {
    const struct spex_space *space = taking->space;
    const struct spex_table *table = &taking->table;
    size_t *levels = taking->levels + row * space->parameter_count;
    for (size_t p = 0; p < space->parameter_count; p++)
        levels[p] = space->parameters[p].default_level;
    for (size_t c = 0; c < table->columns; c++) {
        const struct spex_parameter *parameter = &space->parameters[taking->parameters[c]];
        const char *text = spex_table_cell(table, row, c);
        size_t level = level_of(parameter, text);
        if (level < parameter->count)
            levels[taking->parameters[c]] = level;
        else if (*text || !space->applies || space->applies(space, levels, taking->parameters[c]))
            return spex_table_fail(table, row, c, taking->xml->error,
                                   "one of the %zu value%s of parameter \"%s\" was expected, not "
                                   "\"%.64s\"",
                                   parameter->count, parameter->count == 1 ? "" : "s",
                                   parameter->name, text);
    }
    if (!spex_space_settle(space, levels))
        return spex_fail(taking->xml->error, -EINVAL,
                         "%s:%zu: a configuration that the constraints allow was expected",
                         table->path, table->lines[row + 1]);
    return 0;
}

/* Sorts, and fails where two are equal. */
static int sort_rows(struct taking *taking, size_t *order) {
    const struct spex_table *table = &taking->table;
    size_t parameters = taking->space->parameter_count;
    for (size_t row = 0; row < table->rows; row++)
        order[row] = row;
    qsort_r(order, table->rows, sizeof(*order), compare_rows, taking);
    for (size_t i = 1; i < table->rows; i++)
        if (compare_levels(taking->levels + order[i - 1] * parameters,
                           taking->levels + order[i] * parameters, parameters) == 0)
            return spex_fail(taking->xml->error, -EINVAL,
                             "%s:%zu: another configuration than that of line %zu was expected",
                             table->path, table->lines[order[i] + 1],
                             table->lines[order[i - 1] + 1]);
    return 0;
}

/* The path of a file that is named in the document: relative to this. NULL: out of memory. */
static char *path_beside(const char *document, const char *name) {
    const char *slash = strrchr(document, '/');
    char *path = NULL;
    if (*name == '/' || !slash)
        return strdup(name);
    return asprintf(&path, "%.*s%s", (int)(slash - document + 1), document, name) < 0 ? NULL : path;
}

/* Puts the list into the element, in the place of its file's name, and writes the document again.
 */
static int put_inside(struct taking *taking, const char *text) {
    xmlNode *element = (xmlNode *)(uintptr_t)taking->element;
    xmlNode *content = xmlNewText(BAD_CAST text);
    xmlChar *written = NULL;
    int length = 0;
    if (content && xmlAddChild(element, content) && xmlUnsetProp(element, BAD_CAST "file") == 0)
        xmlDocDumpMemory(taking->xml->document, &written, &length);
    char *copy = written ? strdup((const char *)written) : NULL;
    xmlFree(written);
    if (!copy)
        return spex_fail(taking->xml->error, -ENOMEM, "out of memory");
    free(taking->xml->text);
    taking->xml->text = copy;
    taking->xml->length = strlen(copy);
    return 0;
}

static int read_named(struct taking *taking, const char *name, char **path) {
    struct spex_error *error = taking->xml->error;
    char *text = NULL;
    *path = path_beside(taking->xml->path, name);
    if (!*path)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = spex_table_read(&taking->table, *path, &text, error);
    err = err ? err : put_inside(taking, text);
    free(text);
    return err;
}

static int read_inside(struct taking *taking) {
    for (const xmlNode *node = taking->element->children; node; node = node->next)
        if (node->type == XML_ELEMENT_NODE)
            return spex_xml_fail(taking->xml, node, "not expected inside <%s>",
                                 spex_xml_name(taking->element));
    xmlChar *text = xmlNodeGetContent(taking->element);
    if (!text)
        return spex_fail(taking->xml->error, -ENOMEM, "out of memory");
    int err = spex_table_parse(&taking->table, taking->xml->path,
                               (size_t)xmlGetLineNo((xmlNode *)(uintptr_t)taking->element),
                               (const char *)text, taking->xml->error);
    xmlFree(text);
    return err;
}

/* The levels of all rows, in taking->levels. */
static int take_rows(struct taking *taking, size_t **by_levels) {
    size_t rows = taking->table.rows, parameters = taking->space->parameter_count;
    taking->levels = calloc(rows * parameters, sizeof(size_t));
    size_t *order = calloc(rows, sizeof(*order));
    int err = taking->levels && order ? 0 : spex_fail(taking->xml->error, -ENOMEM, "out of memory");
    for (size_t row = 0; !err && row < rows; row++)
        err = take_row(taking, row);
    err = err ? err : sort_rows(taking, order);
    if (err) {
        free(taking->levels);
        free(order);
        return err;
    }
    *by_levels = order;
    return 0;
}

int spex_list_take_first(struct spex_xml *xml, const xmlNode *element, struct spex_space *space) {
    struct taking taking = {.xml = xml, .element = element, .space = space};
    size_t *order = NULL;
    if (element->properties)
        return spex_xml_fail(xml, element, "no attribute was expected");
    int err = read_inside(&taking);
    err = err ? err : take_names(&taking);
    err = err ? err : take_rows(&taking, &order);
    if (!err) {
        space->first = taking.levels;
        space->first_count = taking.table.rows;
    }
    free(order);
    spex_table_free(&taking.table);
    return err;
}

int spex_list_take(struct spex_xml *xml, const xmlNode *element, struct spex_space *space,
                   size_t **order) {
    static const char *const known[] = {"file", NULL};
    struct taking taking = {.xml = xml, .element = element, .space = space};
    const char *name;
    char *path = NULL;
    int err = element->properties ? spex_xml_check(xml, element, known, 0) : 0;
    if (!err && element->properties)
        err = spex_xml_required(xml, element, "file", &name);
    if (err)
        return err;
    err = element->properties ? read_named(&taking, name, &path) : read_inside(&taking);
    err = err ? err : take_names(&taking);
    err = err ? err : take_rows(&taking, order);
    if (!err) {
        space->listed = taking.levels;
        space->listed_count = taking.table.rows;
    }
    spex_table_free(&taking.table);
    free(path);
    return err;
}

bool spex_list_has(const struct spex_space *space, const size_t *order, const size_t *levels) {
    size_t low = 0, high = space->listed_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int found = compare_levels(space->listed + order[middle] * space->parameter_count, levels,
                                   space->parameter_count);
        if (found == 0)
            return true;
        if (found < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static void print_all(const struct spex_space *space, const char *what, const size_t *list,
                      uint64_t count, FILE *out) {
    for (uint64_t n = 0; n < count; n++) {
        const size_t *levels = list + n * space->parameter_count;
        fputs(what, out);
        for (size_t p = 0; p < space->parameter_count; p++)
            fprintf(out, " %s", space->parameters[p].values[levels[p]].text);
        fputc('\n', out);
    }
}

void spex_list_print(const struct spex_space *space, FILE *out) {
    print_all(space, "configuration", space->listed, space->listed_count, out);
}

void spex_list_print_first(const struct spex_space *space, FILE *out) {
    print_all(space, "first", space->first, space->first_count, out);
}
