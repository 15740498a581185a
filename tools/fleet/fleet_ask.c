/* SPDX-License-Identifier: MIT */
/* `spex fleet status` and `spex fleet why`: ask the master of a fleet. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/terminal.h"
#include "fleet/link/link_options.h"
#include "profile/columns.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/fleet/fleet.h"
#include "tools/fleet/fleet_ask.h"

/* How many parts a status may have. */
enum { PARTS_MOST = 1000 };

/* All parts of a status as one; NULL after a message. */
static json_t *ask_status(struct spex_fleet_ask *ask) {
    json_t *all = spex_fleet_ask_once(ask, "status", "0");
    json_t *instances = json_object_get(all, "instances"), *next = json_object_get(all, "next");
    for (int p = 0; p < PARTS_MOST && json_is_integer(next); p++) {
        char from[24];
        snprintf(from, sizeof(from), "%lld", (long long)json_integer_value(next));
        json_t *part = spex_fleet_ask_once(ask, "status", from);
        if (!part) {
            json_decref(all);
            return NULL;
        }
        json_array_extend(instances, json_object_get(part, "instances"));
        json_object_set(all, "next", json_object_get(part, "next"));
        next = json_object_get(all, "next");
        json_decref(part);
    }
    json_object_del(all, "next");
    json_t *profile = all ? spex_fleet_ask_profile(ask, NULL) : NULL;
    if (all && !profile) {
        json_decref(all);
        return NULL;
    }
    json_object_set_new(all, "profile", profile);
    return all;
}

long long spex_fleet_count_of(const json_t *json, const char *name) {
    return (long long)json_integer_value(json_object_get(json, name));
}

const char *spex_fleet_text_of(const json_t *json, const char *name, struct spex_error *room) {
    const char *text = json_string_value(json_object_get(json, name));
    spex_error_set(room, "%s", text ? text : "-");
    return room->text;
}

static const char *quantity_of(const json_t *json, const char *name, const char *unit, char *text,
                               size_t size) {
    const json_t *number = json_object_get(json, name);
    return spex_quantity_text(json_is_number(number) ? json_number_value(number) : NAN, NAN, unit,
                              text, size);
}

static void add_instance(struct spex_columns *columns, const json_t *json) {
    static const char *const texts[] = {"instance", "program", "mode", "cause"};
    struct spex_error text;
    char quantity[32];
    for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++)
        spex_columns_add(columns, "%s", spex_fleet_text_of(json, texts[t], &text));
    spex_columns_add(columns, "%lld of %lld", spex_fleet_count_of(json, "on"),
                     spex_fleet_count_of(json, "map"));
    spex_columns_add(columns, "%s", quantity_of(json, "response", "s", quantity, sizeof(quantity)));
    spex_columns_add(columns, "%s",
                     quantity_of(json, "throughput", "/s", quantity, sizeof(quantity)));
    spex_columns_add(columns, "%s",
                     json_is_true(json_object_get(json, "leaving"))
                         ? "leaving"
                         : spex_fleet_text_of(json, "why", &text));
}

static void print_instances(const json_t *instances, bool all) {
    static const char *const headings[] = {"instance",  "program",  "mode",       "cause",
                                           "probes on", "response", "throughput", ""};
    static const uint8_t order[] = {1, 3, 6, 5};
    const struct spex_columns_room room = {
        .all = all, .texts = 3, .order = order, .count = sizeof(order)};
    struct spex_columns columns;
    if (!json_array_size(instances))
        return;
    spex_columns_init(&columns, headings, sizeof(headings) / sizeof(headings[0]), 0x8f);
    columns.folded = true;
    for (size_t i = 0; i < json_array_size(instances); i++)
        add_instance(&columns, json_array_get(instances, i));
    putchar('\n');
    spex_columns_print_within(&columns, stdout, &room);
}

static void print_decision(FILE *out, const char *title, const json_t *json) {
    struct spex_error text;
    fprintf(out, "%-10s %s\n", title,
            json_is_object(json) ? spex_fleet_text_of(json, "text", &text) : "none yet");
}

static void print_overlap(FILE *out, const json_t *json) {
    const json_t *overlap = json_object_get(json, "overlap");
    if (json_is_object(overlap))
        fprintf(out,
                "overlap    %.2f %% of the profile of all instances (95 %%: %.2f to %.2f %%), from "
                "%lld "
                "that record\n",
                100 * json_number_value(json_object_get(overlap, "share")),
                100 * json_number_value(json_object_get(overlap, "low")),
                100 * json_number_value(json_object_get(overlap, "high")),
                spex_fleet_count_of(overlap, "instances"));
    else
        fputs("overlap    not known: two instances that record were expected\n", out);
}

static void print_totals(FILE *out, const json_t *json) {
    struct spex_error text, host;
    const json_t *modes = json_object_get(json, "modes"), *me = json_object_get(json, "master");
    fprintf(out, "fleet      %s, led from %s (process %lld) for %.0f s\n",
            spex_fleet_text_of(json, "fleet", &text), spex_fleet_text_of(me, "host", &host),
            spex_fleet_count_of(me, "process"), json_number_value(json_object_get(me, "seconds")));
    fprintf(out, "instances  %lld on %lld hosts: %lld none, %lld partial, %lld full\n",
            spex_fleet_count_of(json, "count"), spex_fleet_count_of(json, "hosts"),
            spex_fleet_count_of(modes, "none"), spex_fleet_count_of(modes, "partial"),
            spex_fleet_count_of(modes, "full"));
    fprintf(out, "coverage   %lld of %lld probes decided, %lld on\n",
            spex_fleet_count_of(json, "covered"), spex_fleet_count_of(json, "map"),
            spex_fleet_count_of(json, "recorded"));
    print_overlap(out, json);
    fprintf(
        out,
        "reports    %lld; refused %lld, dropped %lld; no room for %lld probes, %lld instances\n",
        spex_fleet_count_of(json, "reports"), spex_fleet_count_of(json, "refused"),
        spex_fleet_count_of(json, "dropped"), spex_fleet_count_of(json, "probes_left_out"),
        spex_fleet_count_of(json, "instances_left_out"));
    print_decision(out, "now", json_object_get(json, "now"));
    print_decision(out, "last", json_object_get(json, "last"));
    if (json_is_string(json_object_get(me, "hook")))
        fprintf(out, "hook       %s\n", spex_fleet_text_of(me, "hook", &text));
}

static void print_status(const json_t *json, bool all) {
    char *text = NULL;
    size_t size;
    FILE *memory = all ? NULL : open_memstream(&text, &size);
    print_totals(memory ? memory : stdout, json);
    if (memory && fclose(memory) == 0)
        spex_print_wrapped(stdout, text, spex_terminal_width(stdout, spex_text_width()));
    free(text);
    print_instances(json_object_get(json, "instances"), all);
    spex_fleet_print_profile(json_object_get(json, "profile"), all);
}

static void print_why(const json_t *json) {
    struct spex_error text;
    const json_t *instance = json_object_get(json, "instance");
    const char *why = json_string_value(json_object_get(instance, "why"));
    puts(spex_fleet_text_of(json, "text", &text));
    if (why && *why)
        printf("its agent: %s\n", spex_fleet_text_of(instance, "why", &text));
    print_decision(stdout, "now", json_object_get(json, "now"));
    print_decision(stdout, "last", json_object_get(json, "last"));
}

static json_t *ask_for(struct spex_fleet_ask *ask) {
    if (ask->why)
        return spex_fleet_ask_once(ask, "why", ask->why);
    return ask->instance ? spex_fleet_ask_profile(ask, ask->instance) : ask_status(ask);
}

static int ask_and_print(struct spex_fleet_ask *ask) {
    json_t *json = ask_for(ask);
    if (!json)
        return SPEX_EXIT_FAILED;
    if (ask->json) {
        spex_json_print(json, stdout);
        return spex_fleet_flush(SPEX_EXIT_OK);
    }
    if (ask->why)
        print_why(json);
    else if (ask->instance)
        spex_fleet_print_profile(json, ask->all);
    else
        print_status(json, ask->all);
    json_decref(json);
    return spex_fleet_flush(SPEX_EXIT_OK);
}

int spex_fleet_ask_master(const char *command, struct spex_fleet_ask *ask,
                          int (*of)(struct spex_fleet_ask *ask)) {
    struct spex_error error = {""};
    if (spex_link_missing(&ask->options))
        return spex_complain(SPEX_EXIT_USAGE, "%s: %s", command, spex_link_missing(&ask->options));
    if (!ask->fleet || !spex_link_is_name(ask->fleet))
        return spex_complain(SPEX_EXIT_USAGE, "%s: --fleet with the name of a fleet was expected",
                             command);
    ask->options.name = "spex fleet";
    int err = spex_link_open(&ask->options, &ask->link, &error);
    int state = err ? err : spex_link_state(ask->link, &error);
    int status = state == 1 ? of(ask)
                            : spex_complain(SPEX_EXIT_FAILED, "fleet: %s",
                                            state ? error.text : "NATS cannot be reached");
    spex_link_close(ask->link);
    return status;
}

static int take(int argc, char **argv, const struct spex_syntax *syntax,
                struct spex_fleet_ask *ask) {
    const struct spex_option known[] = {SPEX_LINK_OPTIONS(&ask->options),
                                        {"fleet", .text = &ask->fleet},
                                        {"json", .flag = &ask->json},
                                        {"verbose", .flag = &ask->all},
                                        /* Of status alone: with NULL the table ends. */
                                        {syntax->most ? NULL : "instance", .text = &ask->instance},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(syntax, known, argc, argv, &operands);
    if (status)
        return status;
    ask->why = operands.count ? operands.list[0] : NULL;
    return spex_fleet_ask_master(syntax->command, ask, ask_and_print);
}

int spex_fleet_status(int argc, char **argv) {
    static const struct spex_syntax syntax = {
        "fleet status", spex_fleet_usage, "no operand was expected", 0, 0, SPEX_OPTIONS_ANYWHERE};
    struct spex_fleet_ask ask = {.fleet = NULL};
    return take(argc, argv, &syntax, &ask);
}

int spex_fleet_why(int argc, char **argv) {
    static const struct spex_syntax syntax = {
        "fleet why", spex_fleet_usage,     "an instance, HOST/PROCESS, was expected", 1,
        1,           SPEX_OPTIONS_ANYWHERE};
    struct spex_fleet_ask ask = {.fleet = NULL};
    return take(argc, argv, &syntax, &ask);
}
