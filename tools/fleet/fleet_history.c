/* SPDX-License-Identifier: MIT */
/* `spex fleet history`: what a fleet has measured between two times, by the store of its master. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/fleet/fleet.h"
#include "tools/fleet/fleet_ask.h"
#include "tools/fleet/fleet_course.h"
#include "tools/fleet/fleet_reports.h"
#include "tools/fleet/fleet_store.h"

/* Decisions below the table. */
enum { DECISIONS_SHOWN = 5 };

struct history {
    const char *path, *from_text, *to_text;
    double from, to;
    bool json, all;
};

/* "2026-11-24 12:00:00" or "2026-11-24T12:00", in this machine's time zone, or seconds since the
 * epoch. */
static bool read_time(const char *text, double *seconds) {
    static const char *const forms[] = {"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M",
                                        "%Y-%m-%dT%H:%M",    "%Y-%m-%d",          "%s"};
    for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
        struct tm when = {.tm_isdst = -1};
        const char *end = strptime(text, forms[f], &when);
        if (!end || *end)
            continue;
        *seconds = (double)mktime(&when);
        return *seconds >= 0;
    }
    return false;
}

static int check(struct history *history) {
    const char *wrong = NULL;
    history->from = 0;
    history->to = INFINITY;
    if (history->from_text && !read_time(history->from_text, &history->from))
        wrong = "--from";
    if (history->to_text && !read_time(history->to_text, &history->to))
        wrong = "--to";
    return wrong ? spex_complain(SPEX_EXIT_USAGE,
                                 "fleet history: %s: a time such as 2026-11-24T12:00 was expected",
                                 wrong)
                 : SPEX_EXIT_OK;
}

/* All probes, of which an answer to a request has a part. NULL: no memory. */
static json_t *history_json(const struct spex_fleet_reports *reports) {
    json_t *all = spex_fleet_reports_answer(reports, "0"), *next = json_object_get(all, "next");
    while (json_is_integer(next)) {
        char from[24];
        snprintf(from, sizeof(from), "%lld", (long long)json_integer_value(next));
        json_t *part = spex_fleet_reports_answer(reports, from);
        json_array_extend(json_object_get(all, "probes"), json_object_get(part, "probes"));
        json_object_set(all, "next", part ? json_object_get(part, "next") : json_null());
        next = json_object_get(all, "next");
        json_decref(part);
    }
    json_object_del(all, "next");
    json_object_del(all, "told");
    return all;
}

/* The last ones. */
static void print_decisions(const json_t *decisions) {
    size_t count = json_array_size(decisions);
    if (count)
        putchar('\n');
    for (size_t d = count > DECISIONS_SHOWN ? count - DECISIONS_SHOWN : 0; d < count; d++) {
        const json_t *decision = json_array_get(decisions, d);
        time_t time = (time_t)json_number_value(json_object_get(decision, "time"));
        struct spex_error text;
        struct tm parts;
        char when[32] = "?";
        if (localtime_r(&time, &parts))
            strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
        printf("%s  %s\n", when, spex_fleet_text_of(decision, "text", &text));
    }
}

static int print(const struct history *history, const struct spex_fleet_reports *reports,
                 struct spex_fleet_store *store) {
    struct spex_error error = {"out of memory"};
    json_t *json = history_json(reports);
    int err = json ? spex_fleet_course_read(store, history->from, history->to, json, &error) : 1;
    if (err) {
        json_decref(json);
        return spex_complain(SPEX_EXIT_FAILED, "fleet history: %s", error.text);
    }
    if (history->json) {
        spex_json_print(json, stdout);
        return spex_fleet_flush(SPEX_EXIT_OK);
    }
    spex_fleet_print_probes(json_object_get(json, "probes"), history->all);
    print_decisions(json_object_get(json, "decisions"));
    json_decref(json);
    return spex_fleet_flush(SPEX_EXIT_OK);
}

static int run(const struct history *history) {
    struct spex_fleet_store *store = NULL;
    struct spex_fleet_reports reports = {.refused = 0};
    struct spex_error error = {""};
    spex_fleet_sums_init(&reports.sums);
    int err = spex_fleet_store_open(history->path, NULL, &store, &error);
    err =
        err ? err : spex_fleet_store_read(store, history->from, history->to, &reports.sums, &error);
    int status = err ? spex_complain(SPEX_EXIT_FAILED, "fleet history: %s", error.text)
                     : print(history, &reports, store);
    spex_fleet_store_close(store);
    spex_fleet_sums_free(&reports.sums);
    return status;
}

int spex_fleet_history(int argc, char **argv) {
    static const struct spex_syntax syntax = {
        "fleet history", spex_fleet_usage, "a store was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};
    struct history history = {.path = NULL};
    const struct spex_option known[] = {{"from", .text = &history.from_text},
                                        {"to", .text = &history.to_text},
                                        {"json", .flag = &history.json},
                                        {"verbose", .flag = &history.all},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&syntax, known, argc, argv, &operands);
    if (status)
        return status;
    history.path = operands.list[0];
    status = check(&history);
    return status ? status : run(&history);
}
