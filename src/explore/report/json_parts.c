/* SPDX-License-Identifier: MIT */
/* Parts that several JSON reports use. jansson's functions accept NULL for a value that could not
 * be made, so results are checked in spex_json_write alone. */
#include "explore/report/json_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/criterion.h"
#include "text/printable.h"

json_t *spex_json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* jansson refuses a text that is not UTF-8, and json_pack would then fail for the whole report. */
json_t *spex_json_text(const char *text) {
    char *copy = strdup(text);
    if (copy)
        spex_make_printable(copy);
    json_t *string = json_string(copy);
    free(copy);
    return string;
}

/* null for a parameter that does not apply. */
static json_t *value_json(const struct spex_space *space, const size_t *levels, size_t p) {
    const struct spex_parameter *parameter = &space->parameters[p];
    const struct spex_value *value = &parameter->values[levels[p]];
    if (!spex_space_applies(space, levels, p))
        return json_null();
    switch (parameter->kind) {
    case SPEX_INTEGER:
        return json_integer(value->integer);
    case SPEX_REAL:
        return json_real(value->number);
    case SPEX_BOOLEAN:
        return json_boolean(value->integer);
    default:
        return json_string(value->text);
    }
}

json_t *spex_json_config(const struct spex_space *space, const size_t *levels) {
    json_t *config = json_object();
    for (size_t p = 0; p < space->parameter_count; p++)
        json_object_set_new(config, space->parameters[p].name, value_json(space, levels, p));
    return config;
}

/* The names of goals are part of the format. */
json_t *spex_json_criterion(const struct spex_criterion *criterion) {
    static const char *const goals[] = {[SPEX_MAXIMISE] = "maximise",
                                        [SPEX_MINIMISE] = "minimise",
                                        [SPEX_AT_MOST] = "at_most",
                                        [SPEX_AT_LEAST] = "at_least"};
    json_t *of = json_pack("{s:s, s:s, s:i, s:s, s:s}", "probe", criterion->probe, "metric",
                           criterion->metric, "field", (int)criterion->field, "goal",
                           goals[criterion->goal], "unit", spex_criterion_unit(criterion));
    if (spex_criterion_is_limit(criterion))
        json_object_set_new(of, "bound", json_real(criterion->bound));
    return of;
}

json_t *spex_json_machines(const struct spex_circumstances *machines, size_t count) {
    json_t *list = json_array();
    for (size_t m = 0; m < count; m++) {
        json_t *machine = json_object();
        for (size_t c = 0; c < SPEX_ON_COUNT; c++)
            json_object_set_new(machine, spex_circumstance_names[c],
                                spex_json_text(machines[m].texts[c]));
        json_array_append_new(list, machine);
    }
    return list;
}

/* Escapes the control characters that jansson does not: U+007F to U+009F, of which terminals obey
 * some. They are within strings. */
static void write_escaped(const char *text, FILE *out) {
    for (; *text; text++) {
        bool two_bytes = text[0] == '\xc2' && (unsigned char)text[1] < 0xa0;
        text += two_bytes;
        if (two_bytes || *text == 0x7f)
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
}

/* 12 digits are more than any figure is exact to. */
int spex_json_write(json_t *object, FILE *out, struct spex_error *error) {
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : NULL;
    json_decref(object);
    if (!text)
        return spex_fail(error, -ENOMEM, "out of memory");
    write_escaped(text, out);
    free(text);
    if (fputc('\n', out) == EOF || fflush(out) != 0 || ferror(out))
        return spex_fail(error, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}
