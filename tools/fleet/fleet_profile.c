/* SPDX-License-Identifier: MIT */
/* What the fleet has measured, as its master sums it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/characters.h"
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

/* With blanks behind it up to so many columns. */
static void print_padded(const char *text, size_t width) {
    size_t own = spex_characters(text);
    printf("%s%*s", text, own < width ? (int)(width - own) : 0, "");
}

/* "13.02 µs (12.9 to 13.2 µs)", or without the interval, where it is not known. */
static void print_figure(const json_t *json, const char *name, const char *unit, size_t width) {
    char value[48], range[96], low[16], high[16], all[160];
    snprintf(low, sizeof(low), "%s_low", name);
    snprintf(high, sizeof(high), "%s_high", name);
    double from = number_of(json, low), to = number_of(json, high);
    spex_quantity_text(number_of(json, name), NAN, unit, value, sizeof(value));
    spex_range_text(from, to, unit, range, sizeof(range));
    bool told = isfinite(from) && isfinite(to);
    snprintf(all, sizeof(all), told ? "%s (%s)" : "%s", value, range);
    printf("  ");
    print_padded(all, width);
}

static void print_values(const json_t *values) {
    const char *unit = json_string_value(json_object_get(values, "unit"));
    const char *of = unit && strcmp(unit, "s") == 0 ? "s" : "";
    struct spex_error name;
    printf("  %-6s", text_of(values, "name", &name));
    print_figure(values, "p50", of, 30);
    print_figure(values, "p90", of, 30);
    print_figure(values, "p99", of, 30);
}

static void print_probe(const json_t *probe, bool mixed) {
    const json_t *values = json_object_get(probe, "values");
    struct spex_error name, type;
    char count[32], lost[32];
    name_of(probe, mixed, &name);
    print_padded(name.text, 24);
    printf(" %-8s %9lld %8s %6s", text_of(probe, "type", &type),
           (long long)json_integer_value(json_object_get(probe, "instances")),
           spex_quantity_text(number_of(probe, "count"), number_of(probe, "count_margin"), "",
                              count, sizeof(count)),
           spex_quantity_text(number_of(probe, "lost"), NAN, "", lost, sizeof(lost)));
    print_figure(probe, "rate", "/s", 30);
    for (size_t v = 0; v < json_array_size(values); v++) {
        if (v)
            printf("\n%-91s", "");
        print_values(json_array_get(values, v));
    }
    putchar('\n');
}

static long long count_of(const json_t *json, const char *name) {
    return (long long)json_integer_value(json_object_get(json, name));
}

void spex_fleet_print_probes(const json_t *probes) {
    bool mixed = is_mixed(probes);
    if (json_array_size(probes))
        printf("%-24s %-8s %9s %8s %6s  %-30s  %-6s  %-30s  %-30s  %s\n", "probe", "type",
               "instances", "count", "lost", "each, a second (95 %)", "value", "p50", "p90", "p99");
    for (size_t p = 0; p < json_array_size(probes); p++)
        print_probe(json_array_get(probes, p), mixed);
}

void spex_fleet_print_profile(const json_t *profile) {
    const json_t *told = json_object_get(profile, "told");
    printf("\nprofile    of %lld instances and %lld that are over, %lld messages; refused %lld, "
           "dropped %lld, no room for %lld; counted before %lld; no room for %lld probes\n",
           count_of(told, "instances"), count_of(told, "gone"), count_of(told, "messages"),
           count_of(told, "refused"), count_of(told, "dropped"), count_of(told, "no_room"),
           count_of(told, "returned"), count_of(told, "probes_left_out"));
    spex_fleet_print_probes(json_object_get(profile, "probes"));
}
