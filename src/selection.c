/* SPDX-License-Identifier: MIT */
#include "selection.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/site.h>

#include "probe_type.h"

#define ALL_TYPES ((1u << SPEX_PROBE_TYPES) - 1)

/* Decimal digits only, no sign, at most `max`. */
static bool parse_number(const char *text, size_t length, uint32_t max, uint32_t *number) {
    uint64_t value = 0;
    if (length == 0 || length > 10)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *number = (uint32_t)value;
    return value <= max;
}

static int parse_item(const char *text, size_t length, struct spex_selection_item *item, char *why,
                      size_t why_size) {
    const char *at = memchr(text, '@', length);
    size_t head = at ? (size_t)(at - text) : length;
    const char *colon = memchr(text, ':', head);
    size_t name = colon ? (size_t)(colon - text) : head;

    *item = (struct spex_selection_item){.types = ALL_TYPES};
    if (name == 0) {
        snprintf(why, why_size, "\"%.*s\": a probe's name or id was expected first", (int)length,
                 text);
        return -EINVAL;
    }
    if (colon)
        item->types = spex_probe_type_named(colon + 1, head - name - 1);
    if (!item->types) {
        snprintf(why, why_size,
                 "\"%.*s\": after \":\" a probe type was expected: cnt, lat, "
                 "tpt, llc, flt, ctxsw, perfcntr or snapshot",
                 (int)length, text);
        return -EINVAL;
    }
    if (at && (!parse_number(at + 1, length - head - 1, SPEX_CONTROL_PERIOD_MAX, &item->period) ||
               item->period == 0)) {
        snprintf(why, why_size, "\"%.*s\": after \"@\" a period of 1 to %u was expected",
                 (int)length, text, SPEX_CONTROL_PERIOD_MAX);
        return -EINVAL;
    }
    item->name = strndup(text, name);
    return item->name ? 0 : -ENOMEM;
}

int spex_selection_parse(const char *text, struct spex_selection *selection, char *why,
                         size_t why_size) {
    *selection = (struct spex_selection){0};
    if (*text == '\0')
        return 0;
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    selection->items = calloc(most, sizeof(*selection->items));
    if (!selection->items)
        return -ENOMEM;
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        int err = parse_item(item, length, &selection->items[selection->count], why, why_size);
        if (err) {
            spex_selection_free(selection);
            return err;
        }
        selection->count++;
        item += length;
        if (*item == '\0')
            return 0;
    }
}

void spex_selection_free(struct spex_selection *selection) {
    for (size_t i = 0; i < selection->count; i++)
        free(selection->items[i].name);
    free(selection->items);
    *selection = (struct spex_selection){0};
}

static bool item_matches(const struct spex_selection_item *item, uint16_t id, const char *name,
                         uint32_t type) {
    uint32_t number;
    if (!(item->types & type))
        return false;
    if (parse_number(item->name, strlen(item->name), UINT16_MAX, &number) && number == id)
        return true;
    return fnmatch(item->name, name ? name : "", 0) == 0;
}

uint32_t spex_selection_control(const struct spex_selection *selection, uint16_t id,
                                const char *name, uint32_t type, uint32_t subsample) {
    for (size_t i = selection->count; i-- > 0;) {
        const struct spex_selection_item *item = &selection->items[i];
        if (item_matches(item, id, name, type))
            return item->period ? item->period : subsample;
    }
    return 0;
}
