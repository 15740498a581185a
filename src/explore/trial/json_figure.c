/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "explore/trial/json_figure.h"

#include <stdlib.h>
#include <string.h>

#include "text/number.h"

int spex_json_figure_open(struct spex_json_figure *document, const char *text, size_t length,
                          struct spex_error *error) {
    json_error_t reason;
    document->root = json_loadb(text ? text : "", length, 0, &reason);
    if (document->root)
        return 0;
    return spex_fail(error, -ENODATA, "JSON was expected as its output; line %d: %s", reason.line,
                     reason.text);
}

void spex_json_figure_close(struct spex_json_figure *document) {
    json_decref(document->root);
    document->root = NULL;
}

/* "~1" stands for "/" and "~0" for "~". In place: a name becomes shorter only. */
static void unescape(char *name) {
    char *to = name;
    for (; *name; name++) {
        bool escaped = *name == '~' && (name[1] == '0' || name[1] == '1');
        *to++ = !escaped ? *name : name[1] == '1' ? '/' : '~';
        name += escaped;
    }
    *to = '\0';
}

static json_t *member_of(json_t *of, const char *name) {
    int64_t index;
    if (!json_is_array(of))
        return json_object_get(of, name);
    return spex_number_integer(name, &index) && index >= 0 ? json_array_get(of, (size_t)index)
                                                           : NULL;
}

static const char *kind_of(const json_t *value) {
    static const char *const kinds[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return kinds[json_typeof(value)];
}

/* strsep keeps empty names, which are names as any other. */
int spex_json_figure_value(const struct spex_json_figure *document, const char *pointer,
                           double *value, struct spex_error *error) {
    char *copy = strdup(pointer + 1), *rest = copy;
    json_t *at = document->root;
    if (!copy)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (char *name; at && (name = strsep(&rest, "/"));) {
        unescape(name);
        at = member_of(at, name);
    }
    free(copy);
    if (!at)
        return spex_fail(error, -ENODATA,
                         "a number at %.200s of its JSON was expected; there is none", pointer);
    if (!json_is_number(at))
        return spex_fail(error, -ENODATA, "a number at %.200s of its JSON was expected, not %s",
                         pointer, kind_of(at));
    *value = json_number_value(at);
    return 0;
}
