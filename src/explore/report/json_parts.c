/* SPDX-License-Identifier: MIT */
#include "explore/report/json_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "measure/criterion.h"
#include "text/quantity.h"

json_t *spex_json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *spex_json_text(const char *text) {
    json_t *string = json_string(text);
    return string ? string : json_string("not UTF-8");
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

int spex_json_write(json_t *object, FILE *out, struct spex_error *error) {
    if (!object)
        return spex_fail(error, -ENOMEM, "out of memory");
    int bad = json_dumpf(object, out, JSON_INDENT(2) | JSON_REAL_PRECISION(SPEX_PLAIN_DIGITS));
    json_decref(object);
    if (bad || fputc('\n', out) == EOF || fflush(out) != 0)
        return spex_fail(error, -EIO, "cannot write the report: %s", strerror(errno));
    return 0;
}
