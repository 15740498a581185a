/* SPDX-License-Identifier: MIT */
#include "fleet/decide/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/printable.h"

int spex_fleet_texts_find(const struct spex_fleet_texts *texts, const char *text) {
    for (size_t t = 0; t < texts->count; t++)
        if (strcmp(texts->items[t], text) == 0)
            return (int)t;
    return -1;
}

int spex_fleet_texts_add(struct spex_fleet_texts *texts, const char *text) {
    int known = spex_fleet_texts_find(texts, text);
    if (known >= 0)
        return known;
    if (texts->count == SPEX_FLEET_PROBES_MAX || strlen(text) >= SPEX_FLEET_PROBE_BYTES)
        return -E2BIG;
    /* A power of two: the array is full. */
    if (!(texts->count & (texts->count - 1))) {
        size_t room = texts->count ? 2 * texts->count : 1;
        void *grown = realloc(texts->items, room * sizeof(*texts->items));
        if (!grown)
            return -ENOMEM;
        texts->items = grown;
    }
    snprintf(texts->items[texts->count], SPEX_FLEET_PROBE_BYTES, "%s", text);
    return (int)texts->count++;
}

void spex_fleet_texts_free(struct spex_fleet_texts *texts) {
    free(texts->items);
    *texts = (struct spex_fleet_texts){.items = NULL};
}

json_t *spex_fleet_texts_json(const struct spex_fleet_texts *texts) {
    json_t *json = json_array();
    for (size_t t = 0; json && t < texts->count; t++)
        json_array_append_new(json, json_string(texts->items[t]));
    return json;
}

/* Hexadecimal digits, of which the first is for the probes 0 to 3. */
json_t *spex_fleet_set_json(const struct spex_fleet_set *set, size_t count) {
    char text[SPEX_FLEET_PROBES_MAX / 4 + 1];
    size_t length = (count + 3) / 4;
    for (size_t d = 0; d < length; d++)
        text[d] = "0123456789abcdef"[set->words[d / 16] >> d % 16 * 4 & 15];
    text[length] = '\0';
    return json_string(text);
}

json_t *spex_fleet_key_json(const struct spex_fleet_instance_key *key) {
    char text[48];
    snprintf(text, sizeof(text), "%" PRId32 ".%" PRIu64, key->process, key->loaded_ns);
    return json_string(text);
}

char *spex_fleet_json_text(json_t *json) {
    char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    json_decref(json);
    return text;
}

json_t *spex_fleet_json_read(const char *text, size_t size, struct spex_error *error) {
    json_error_t where;
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &where);
    json_int_t format = json_integer_value(json_object_get(json, "format"));
    if (!json)
        spex_error_set(error, "JSON was expected: %s at byte %d", where.text, where.position);
    else if (!json_is_object(json) || format != SPEX_FLEET_FORMAT)
        spex_error_set(error, "a message of format %d was expected", SPEX_FLEET_FORMAT);
    else
        return json;
    json_decref(json);
    return NULL;
}

int spex_fleet_texts_read(const json_t *json, struct spex_fleet_texts *texts,
                          struct spex_error *error) {
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > SPEX_FLEET_PROBES_MAX)
        return spex_fail(error, -EINVAL, "probes: an array of at most %d was expected",
                         SPEX_FLEET_PROBES_MAX);
    for (size_t t = 0; t < count; t++) {
        const char *text = json_string_value(json_array_get(json, t));
        if (!text || !*text || !spex_is_printable(text) || strlen(text) >= SPEX_FLEET_PROBE_BYTES)
            return spex_fail(error, -EINVAL, "probes: the name of a probe was expected");
        int added = spex_fleet_texts_add(texts, text);
        if (added == -ENOMEM)
            return spex_fail(error, -ENOMEM, "out of memory");
        if (added != (int)t)
            return spex_fail(error, -EINVAL, "probes: each was expected once");
    }
    return 0;
}

static int digit(char c) {
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

int spex_fleet_set_read(const json_t *json, size_t count, struct spex_fleet_set *set,
                        struct spex_error *error) {
    const char *text = json_string_value(json);
    *set = (struct spex_fleet_set){{0}};
    if (!text || strlen(text) != (count + 3) / 4)
        return spex_fail(error, -EINVAL, "a set of %zu probes was expected", count);
    for (size_t d = 0; text[d]; d++) {
        int value = digit(text[d]);
        if (value < 0 || (4 * d + 4 > count && value >> (count - 4 * d)))
            return spex_fail(error, -EINVAL, "a set of %zu probes was expected", count);
        set->words[d / 16] |= (uint64_t)value << d % 16 * 4;
    }
    return 0;
}

int spex_fleet_key_read(const json_t *json, struct spex_fleet_instance_key *key,
                        struct spex_error *error) {
    const char *text = json_string_value(json), *dot = text ? strchr(text, '.') : NULL;
    char process[16];
    int64_t number = 0, loaded = 0;
    bool good = dot && dot - text < (int)sizeof(process);
    if (good) {
        snprintf(process, sizeof(process), "%.*s", (int)(dot - text), text);
        good = spex_number_integer(process, &number) && number > 0 && number <= INT32_MAX &&
               spex_number_integer(dot + 1, &loaded) && loaded >= 0;
    }
    if (!good)
        return spex_fail(error, -EINVAL, "instance: PROCESS.LOADED was expected");
    *key = (struct spex_fleet_instance_key){(int32_t)number, (uint64_t)loaded};
    return 0;
}

int spex_fleet_number_read(const json_t *object, const char *name, uint64_t *number,
                           struct spex_error *error) {
    const json_t *json = json_object_get(object, name);
    if (!json_is_integer(json) || json_integer_value(json) < 0)
        return spex_fail(error, -EINVAL, "%s: a whole number was expected", name);
    *number = (uint64_t)json_integer_value(json);
    return 0;
}

int spex_fleet_text_read(const json_t *object, const char *name, char *text, size_t size,
                         struct spex_error *error) {
    const char *value = json_string_value(json_object_get(object, name));
    if (!value || strlen(value) >= size || !spex_is_printable(value))
        return spex_fail(error, -EINVAL, "%s: a text of less than %zu bytes was expected", name,
                         size);
    snprintf(text, size, "%s", value);
    return 0;
}

const json_t *spex_fleet_instances_read(const json_t *object, struct spex_error *error) {
    const json_t *instances = json_object_get(object, "instances");
    if (json_is_array(instances) && json_array_size(instances) <= SPEX_FLEET_HOST_INSTANCES_MAX)
        return instances;
    spex_error_set(error, "instances: an array of at most %d was expected",
                   SPEX_FLEET_HOST_INSTANCES_MAX);
    return NULL;
}
