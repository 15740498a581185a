/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/parts.h"

static json_t *real_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* One number for each probe that is on, in the order of the probes. */
static json_t *numbers_json(const struct spex_fleet_report *report,
                            const struct spex_fleet_reported *item, const float *numbers) {
    json_t *json = json_array();
    for (size_t p = 0; json && p < report->probes.count; p++)
        if (spex_fleet_set_has(&item->on, p))
            json_array_append_new(json,
                                  numbers[p] < 0 ? json_null() : json_real((double)numbers[p]));
    return json;
}

static json_t *item_json(const struct spex_fleet_report *report,
                         const struct spex_fleet_reported *item) {
    size_t count = report->probes.count;
    return json_pack("{s:o, s:s, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:s}", "instance",
                     spex_fleet_key_json(&item->key), "program", item->program, "response",
                     real_json(item->response), "throughput", real_json(item->throughput), "budget",
                     item->budget, "here", spex_fleet_set_json(&item->here, count), "on",
                     spex_fleet_set_json(&item->on, count), "costs",
                     numbers_json(report, item, item->costs), "rates",
                     numbers_json(report, item, item->rates), "why", item->why);
}

char *spex_fleet_report_write(const struct spex_fleet_report *report) {
    json_t *items = json_array();
    for (size_t i = 0; i < report->count; i++)
        if (json_array_append_new(items, item_json(report, &report->items[i])) != 0) {
            json_decref(items);
            return NULL;
        }
    return spex_fleet_json_text(
        json_pack("{s:i, s:I, s:I, s:o, s:o}", "format", SPEX_FLEET_FORMAT, "agent",
                  (json_int_t)report->agent, "desired", (json_int_t)report->desired, "probes",
                  spex_fleet_texts_json(&report->probes), "instances", items));
}

/* A number from 0 to `most`; null is `unknown`. */
static int real_read(const json_t *json, double most, double unknown, double *value,
                     struct spex_error *error) {
    *value = json_is_null(json) ? unknown : json_number_value(json);
    if (!json_is_null(json) && (!json_is_number(json) || !(*value >= 0 && *value <= most)))
        return spex_fail(error, -EINVAL, "a number from 0 to %g, or null, was expected", most);
    return 0;
}

static int numbers_read(const json_t *item_json, const char *name, size_t count, double most,
                        const struct spex_fleet_set *on, float **numbers,
                        struct spex_error *error) {
    const json_t *json = json_object_get(item_json, name);
    size_t next = 0;
    double number = 0;
    int err = 0;
    *numbers = malloc((count + 1) * sizeof(**numbers));
    if (!*numbers)
        return spex_fail(error, -ENOMEM, "out of memory");
    for (size_t p = 0; p < count && !err; p++) {
        bool told = spex_fleet_set_has(on, p);
        err = told ? real_read(json_array_get(json, next++), most, -1, &number, error) : 0;
        (*numbers)[p] = told ? (float)number : -1;
    }
    if (!err && (!json_is_array(json) || json_array_size(json) != next))
        err = spex_fail(error, -EINVAL, "%s: one for each probe that is on was expected", name);
    return err;
}

/* Response times and throughputs of up to a million seconds and of a billion a second. */
static int item_read(const json_t *json, size_t count, struct spex_fleet_reported *item,
                     struct spex_error *error) {
    int err = spex_fleet_key_read(json_object_get(json, "instance"), &item->key, error);
    err = err ? err
              : spex_fleet_text_read(json, "program", item->program, sizeof(item->program), error);
    err = err ? err : spex_fleet_text_read(json, "why", item->why, sizeof(item->why), error);
    err =
        err ? err : real_read(json_object_get(json, "response"), 1e6, NAN, &item->response, error);
    err = err ? err
              : real_read(json_object_get(json, "throughput"), 1e9, NAN, &item->throughput, error);
    err = err ? err : real_read(json_object_get(json, "budget"), 1, 0, &item->budget, error);
    err = err ? err : spex_fleet_set_read(json_object_get(json, "here"), count, &item->here, error);
    err = err ? err : spex_fleet_set_read(json_object_get(json, "on"), count, &item->on, error);
    err = err ? err : numbers_read(json, "costs", count, 1e6, &item->on, &item->costs, error);
    return err ? err : numbers_read(json, "rates", count, 1e12, &item->on, &item->rates, error);
}

static int items_read(const json_t *json, struct spex_fleet_report *report,
                      struct spex_error *error) {
    const json_t *items = spex_fleet_instances_read(json, error);
    if (!items)
        return -EINVAL;
    report->items = calloc(json_array_size(items) + 1, sizeof(*report->items));
    if (!report->items)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = 0;
    for (size_t i = 0; i < json_array_size(items) && !err; i++)
        err = item_read(json_array_get(items, i), report->probes.count,
                        &report->items[report->count++], error);
    return err;
}

int spex_fleet_report_read(const char *text, size_t size, struct spex_fleet_report *report,
                           struct spex_error *error) {
    uint64_t agent = 0;
    *report = (struct spex_fleet_report){.count = 0};
    json_t *json = spex_fleet_json_read(text, size, error);
    int err = json ? spex_fleet_number_read(json, "agent", &agent, error) : -EINVAL;
    err = err ? err : spex_fleet_number_read(json, "desired", &report->desired, error);
    err =
        err ? err : spex_fleet_texts_read(json_object_get(json, "probes"), &report->probes, error);
    err = err ? err : items_read(json, report, error);
    report->agent = (uint32_t)agent;
    if (err)
        spex_fleet_report_free(report);
    json_decref(json);
    return err;
}

void spex_fleet_report_free(struct spex_fleet_report *report) {
    for (size_t i = 0; i < report->count; i++) {
        free(report->items[i].costs);
        free(report->items[i].rates);
    }
    free(report->items);
    spex_fleet_texts_free(&report->probes);
    *report = (struct spex_fleet_report){.count = 0};
}
