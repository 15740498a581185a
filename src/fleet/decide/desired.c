/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/parts.h"

char *spex_fleet_desired_write(const struct spex_fleet_desired *desired) {
    json_t *items = json_array();
    bool err = !items;
    for (size_t i = 0; i < desired->count; i++) {
        const struct spex_fleet_wanted *item = &desired->items[i];
        err |=
            json_array_append_new(
                items, json_pack("{s:o, s:o}", "instance", spex_fleet_key_json(&item->key), "on",
                                 spex_fleet_set_json(&item->probes, desired->probes.count))) != 0;
    }
    json_t *json = json_pack("{s:i, s:I, s:o, s:o}", "format", SPEX_FLEET_FORMAT, "number",
                             (json_int_t)desired->number, "probes",
                             spex_fleet_texts_json(&desired->probes), "instances", items);
    if (!err)
        return spex_fleet_json_text(json);
    json_decref(json);
    return NULL;
}

static int items_read(const json_t *json, struct spex_fleet_desired *desired,
                      struct spex_error *error) {
    const json_t *items = spex_fleet_instances_read(json, error);
    if (!items)
        return -EINVAL;
    desired->items = calloc(json_array_size(items) + 1, sizeof(*desired->items));
    if (!desired->items)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = 0;
    for (size_t i = 0; i < json_array_size(items) && !err; i++) {
        const json_t *item = json_array_get(items, i);
        struct spex_fleet_wanted *wanted = &desired->items[desired->count++];
        err = spex_fleet_key_read(json_object_get(item, "instance"), &wanted->key, error);
        err = err ? err
                  : spex_fleet_set_read(json_object_get(item, "on"), desired->probes.count,
                                        &wanted->probes, error);
    }
    return err;
}

int spex_fleet_desired_read(const char *text, size_t size, struct spex_fleet_desired *desired,
                            struct spex_error *error) {
    *desired = (struct spex_fleet_desired){.count = 0};
    json_t *json = spex_fleet_json_read(text, size, error);
    int err = json ? spex_fleet_number_read(json, "number", &desired->number, error) : -EINVAL;
    err =
        err ? err : spex_fleet_texts_read(json_object_get(json, "probes"), &desired->probes, error);
    err = err ? err : items_read(json, desired, error);
    if (err)
        spex_fleet_desired_free(desired);
    json_decref(json);
    return err;
}

void spex_fleet_desired_free(struct spex_fleet_desired *desired) {
    free(desired->items);
    spex_fleet_texts_free(&desired->probes);
    *desired = (struct spex_fleet_desired){.count = 0};
}

const struct spex_fleet_wanted *spex_fleet_desired_find(const struct spex_fleet_desired *desired,
                                                        const struct spex_fleet_instance_key *key) {
    for (size_t i = 0; i < desired->count; i++)
        if (desired->items[i].key.process == key->process &&
            desired->items[i].key.loaded_ns == key->loaded_ns)
            return &desired->items[i];
    return NULL;
}
