/* SPDX-License-Identifier: MIT */
#include "fleet/trials/trial_parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/parts.h"
#include "measure/plan.h"
#include "text/printable.h"

json_t *spex_trial_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *spex_trial_levels_json(const struct spex_space *space, const size_t *levels) {
    json_t *json = json_array();
    for (size_t p = 0; json && p < space->parameter_count; p++)
        json_array_append_new(json, json_integer((json_int_t)levels[p]));
    return json;
}

json_t *spex_trial_id_json(const struct spex_trial_id *id) {
    return json_pack("[I, I]", (json_int_t)id->asked, (json_int_t)id->repeat);
}

json_t *spex_trial_machine_json(const struct spex_circumstances *machine) {
    json_t *json = json_array();
    for (size_t c = 0; json && c < SPEX_ON_COUNT; c++)
        json_array_append_new(json, json_string(machine->texts[c]));
    return json;
}

char *spex_trial_json_text(json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(json);
    return text;
}

int spex_trial_name_read(const json_t *object, const char *name, char text[SPEX_CLASS_BYTES],
                         struct spex_error *error) {
    int err = spex_fleet_text_read(object, name, text, SPEX_CLASS_BYTES, error);
    if (err)
        return err;
    if (strspn(text, "0123456789abcdef") == SPEX_CLASS_BYTES - 1)
        return 0;
    return spex_fail(error, -EINVAL, "%s: %d hexadecimal digits were expected", name,
                     SPEX_CLASS_BYTES - 1);
}

int spex_trial_id_read(const json_t *object, struct spex_trial_id *id, struct spex_error *error) {
    const json_t *json = json_object_get(object, "trial");
    json_int_t asked = json_integer_value(json_array_get(json, 0));
    json_int_t repeat = json_integer_value(json_array_get(json, 1));
    if (json_array_size(json) != 2 || !json_is_integer(json_array_get(json, 1)) || asked < 1 ||
        repeat < 0 || repeat > INT32_MAX)
        return spex_fail(error, -EINVAL, "trial: two whole numbers were expected");
    *id = (struct spex_trial_id){(uint64_t)asked, (unsigned)repeat};
    return 0;
}

/* Levels that settle to others are those of no plan. */
static bool is_configuration(const struct spex_space *space, const size_t *levels) {
    size_t settled[SPEX_PARAMETERS_MAX];
    memcpy(settled, levels, space->parameter_count * sizeof(*levels));
    return spex_space_settle(space, settled) &&
           memcmp(settled, levels, space->parameter_count * sizeof(*levels)) == 0;
}

int spex_trial_levels_read(const json_t *object, const struct spex_space *space, size_t *levels,
                           struct spex_error *error) {
    const json_t *json = json_object_get(object, "levels");
    bool good = json_is_array(json) && json_array_size(json) == space->parameter_count;
    for (size_t p = 0; p < space->parameter_count && good; p++) {
        const json_t *level = json_array_get(json, p);
        json_int_t value = json_integer_value(level);
        good = json_is_integer(level) && value >= 0 && (uint64_t)value < space->parameters[p].count;
        levels[p] = good ? (size_t)value : 0;
    }
    if (good && is_configuration(space, levels))
        return 0;
    return spex_fail(error, -EINVAL, "levels: a configuration of the space was expected");
}

int spex_trial_machine_read(const json_t *object, struct spex_circumstances *machine,
                            struct spex_error *error) {
    const json_t *json = json_object_get(object, "machine");
    int err = 0;
    *machine = (struct spex_circumstances){{NULL}};
    if (json_array_size(json) != SPEX_ON_COUNT)
        err = spex_fail(error, -EINVAL, "machine: %d texts were expected", SPEX_ON_COUNT);
    for (size_t c = 0; c < SPEX_ON_COUNT && !err; c++) {
        const char *text = json_string_value(json_array_get(json, c));
        if (!text || !*text || strlen(text) >= SPEX_TRIAL_TEXT_BYTES || !spex_is_printable(text))
            err = spex_fail(error, -EINVAL, "machine: a text of 1 to %d bytes was expected",
                            SPEX_TRIAL_TEXT_BYTES - 1);
        else if (!(machine->texts[c] = strdup(text)))
            err = spex_fail(error, -ENOMEM, "out of memory");
    }
    if (err)
        spex_circumstances_free(machine);
    return err;
}

int spex_trial_real_read(const json_t *json, double *value, struct spex_error *error) {
    *value = json_is_null(json) ? NAN : json_number_value(json);
    if (json_is_null(json) || json_is_number(json))
        return 0;
    return spex_fail(error, -EINVAL, "a number or null was expected");
}
