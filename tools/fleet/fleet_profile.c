/* SPDX-License-Identifier: MIT */
/* What the fleet has measured, as its master sums it. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/terminal.h"
#include "profile/columns.h"
#include "text/error.h"
#include "text/quantity.h"
#include "tools/fleet/fleet_ask.h"

/* Parts of a profile: at most as many as there are probes. */
enum { PARTS_MOST = 1024 };

/* The part from that number on. */
static json_t *ask_part(struct spex_fleet_ask *ask, const char *instance, long long from) {
    char request[256];
    snprintf(request, sizeof(request), "%lld%s%s", from, instance ? " " : "",
             instance ? instance : "");
    return spex_fleet_ask_once(ask, "profile", request);
}

json_t *spex_fleet_ask_profile(struct spex_fleet_ask *ask, const char *instance) {
    json_t *all = ask_part(ask, instance, 0), *next = json_object_get(all, "next");
    for (int p = 0; p < PARTS_MOST && json_is_integer(next); p++) {
        json_t *part = ask_part(ask, instance, json_integer_value(next));
        if (!part) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(json_object_get(all, "probes"), json_object_get(part, "probes"));
        json_object_set(all, "next", json_object_get(part, "next"));
        next = json_object_get(all, "next");
        json_decref(part);
    }
    json_object_del(all, "next");
    return all;
}

static double number_of(const json_t *json, const char *name) {
    const json_t *number = json_object_get(json, name);
    return json_is_number(number) ? json_number_value(number) : NAN;
}

/* A text of the answer, printable in `room`; "-": there is none. */
static const char *text_of(const json_t *json, const char *name, struct spex_error *room) {
    const char *text = json_string_value(json_object_get(json, name));
    spex_error_set(room, "%s", text ? text : "-");
    return room->text;
}

/* Whether the probes have several providers. Then they are shown with them. */
static bool is_mixed(const json_t *probes) {
    const json_t *first = json_object_get(json_array_get(probes, 0), "provider");
    for (size_t p = 1; p < json_array_size(probes); p++)
        if (!json_equal(json_object_get(json_array_get(probes, p), "provider"), first))
            return true;
    return false;
}

static void name_of(const json_t *probe, bool mixed, struct spex_error *name) {
    const char *provider = mixed ? json_string_value(json_object_get(probe, "provider")) : NULL;
    const char *text = json_string_value(json_object_get(probe, "name"));
    char id[24];
    snprintf(id, sizeof(id), "%lld", (long long)json_integer_value(json_object_get(probe, "id")));
    spex_error_set(name, "%s%s%s", provider ? provider : "", provider ? "/" : "", text ? text : id);
}

/* Two cells: "13.02 µs", and "(12.9 to 13.2 µs)", which is empty where it is not known. */
static void add_figure(struct spex_columns *columns, const json_t *json, const char *name,
                       const char *unit) {
    char value[48], range[96], low[16], high[16];
    snprintf(low, sizeof(low), "%s_low", name);
    snprintf(high, sizeof(high), "%s_high", name);
    double from = number_of(json, low), to = number_of(json, high);
    bool told = isfinite(from) && isfinite(to);
    spex_columns_add(columns, "%s",
                     spex_quantity_text(number_of(json, name), NAN, unit, value, sizeof(value)));
    spex_columns_add(columns, told ? "(%s)" : "%.0s",
                     spex_range_text(from, to, unit, range, sizeof(range)));
}

static void add_values(struct spex_columns *columns, const json_t *values) {
    static const char *const quantiles[] = {"p50", "p90", "p99"};
    const char *unit = json_string_value(json_object_get(values, "unit"));
    struct spex_error name;
    spex_columns_add(columns, "%s", text_of(values, "name", &name));
    for (size_t q = 0; q < sizeof(quantiles) / sizeof(*quantiles); q++)
        add_figure(columns, values, quantiles[q], unit && strcmp(unit, "s") == 0 ? "s" : "");
}

/* Cells in front of those of values. */
enum { VALUES = 7 };

/* Further values are in rows of their own. */
static void add_probe(struct spex_columns *columns, const json_t *probe, bool mixed) {
    const json_t *values = json_object_get(probe, "values");
    struct spex_error name, type;
    char count[32], lost[32];
    name_of(probe, mixed, &name);
    spex_columns_add(columns, "%s", name.text);
    spex_columns_add(columns, "%s", text_of(probe, "type", &type));
    spex_columns_add(columns, "%lld",
                     (long long)json_integer_value(json_object_get(probe, "instances")));
    spex_columns_add(columns, "%s",
                     spex_quantity_text(number_of(probe, "count"), number_of(probe, "count_margin"),
                                        "", count, sizeof(count)));
    spex_columns_add(columns, "%s",
                     spex_quantity_text(number_of(probe, "lost"), NAN, "", lost, sizeof(lost)));
    add_figure(columns, probe, "rate", "/s");
    for (size_t v = 0; v < json_array_size(values); v++) {
        for (unsigned c = 0; v && c < VALUES; c++)
            spex_columns_add(columns, "%s", "");
        add_values(columns, json_array_get(values, v));
    }
    spex_columns_end_row(columns);
}

static long long count_of(const json_t *json, const char *name) {
    return (long long)json_integer_value(json_object_get(json, name));
}

void spex_fleet_print_probes(const json_t *probes, bool all) {
    static const char *const headings[] = {
        "probe", "type",   "instances", "count",  "lost", "each, a second", "(95 %)", "value",
        "p50",   "(95 %)", "p90",       "(95 %)", "p99",  "(95 %)"};
    static const uint8_t order[] = {11, 9, 13, 6, 10, 2, 7, 1, 4};
    const struct spex_columns_room room = {
        .all = all, .texts = 1, .order = order, .count = sizeof(order)};
    const uint32_t intervals = 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13;
    bool mixed = is_mixed(probes);
    struct spex_columns columns;
    if (!json_array_size(probes))
        return;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]),
                      intervals | 1 | 1u << 1 | 1u << 7);
    columns.beside = intervals;
    for (size_t p = 0; p < json_array_size(probes); p++)
        add_probe(&columns, json_array_get(probes, p), mixed);
    spex_columns_print_within(&columns, stdout, &room);
}

void spex_fleet_print_profile(const json_t *profile, bool all) {
    const json_t *told = json_object_get(profile, "told");
    char text[512];
    snprintf(text, sizeof(text),
             "\nprofile    of %lld instances and %lld that are over, %lld messages; refused %lld, "
             "dropped %lld, no room for %lld; counted before %lld; no room for %lld probes\n",
             count_of(told, "instances"), count_of(told, "gone"), count_of(told, "messages"),
             count_of(told, "refused"), count_of(told, "dropped"), count_of(told, "no_room"),
             count_of(told, "returned"), count_of(told, "probes_left_out"));
    spex_print_wrapped(stdout, text,
                       all ? INT_MAX : spex_terminal_width(stdout, spex_text_width()));
    spex_fleet_print_probes(json_object_get(profile, "probes"), all);
}
