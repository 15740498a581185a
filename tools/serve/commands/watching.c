/* SPDX-License-Identifier: MIT */
#include "tools/serve/commands/watching.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 16 * 1024 };

/* Keeps an event of `spex watch --json`, with whose it is; the account at the end is none. */
static void take_line(void *user, const char *line, size_t bytes) {
    struct spex_watched *watched = user;
    struct spex_watching *watching = watched->watching;
    json_t *event = json_loadb(line, bytes, 0, NULL);
    const char *kind = json_string_value(json_object_get(event, "event"));
    if (!kind || strcmp(kind, "account") == 0) {
        json_decref(event);
        return;
    }
    json_int_t number = watching->newest + 1;
    json_object_set_new(event, "anomaly", json_incref(json_object_get(event, "number")));
    json_object_set_new(event, "number", json_integer(number));
    json_object_set_new(event, "pid", json_integer((json_int_t)watched->process));
    json_object_set_new(event, "program", spex_text_json(watched->program));
    json_t **place = &watching->events[number % SPEX_WATCHED_EVENTS];
    json_decref(*place);
    *place = event;
    watching->newest = number;
    watching->version++;
}

static void take_end(void *user, struct spex_child *child) {
    struct spex_watched *watched = user;
    watched->child = NULL;
    watched->watching->version++;
    snprintf(watched->why, sizeof(watched->why), "%s",
             *child->why ? child->why : "watching has ended");
}

/* The place of the process, or a free one; NULL: there is none. */
static struct spex_watched *place_of(struct spex_watching *watching, pid_t process) {
    struct spex_watched *free_place = NULL;
    for (size_t w = 0; w < SPEX_WATCHED; w++) {
        if (watching->list[w].process == process)
            return &watching->list[w];
        if (!watching->list[w].process)
            free_place = &watching->list[w];
    }
    return free_place;
}

static void begin(struct spex_watched *watched, pid_t process, const char *program,
                  uint64_t now_ns) {
    struct spex_watching *watching = watched->watching;
    char number[16];
    const char *const arguments[] = {"watch", number, "--model", watching->models, "--json", NULL};
    const struct spex_child_task task = {.arguments = arguments,
                                         .folder = -1,
                                         .most = LINE_BYTES,
                                         .line = take_line,
                                         .over = take_end,
                                         .user = watched};
    snprintf(number, sizeof(number), "%d", (int)process);
    watched->child = spex_children_start(watching->children, &task, now_ns);
    if (!watched->child)
        return;
    watched->process = process;
    watching->version++;
    watched->why[0] = '\0';
    snprintf(watched->program, sizeof(watched->program), "%s", program);
}

void spex_watching_begin(struct spex_watching *watching) {
    watching->left_out = 0;
    for (size_t w = 0; w < SPEX_WATCHED; w++)
        watching->list[w].there = false;
}

/* One that cannot be watched is not tried again, as it would fail again. */
void spex_watching_process(struct spex_watching *watching, pid_t process, const char *program,
                           uint64_t now_ns) {
    struct spex_watched *watched = watching->models ? place_of(watching, process) : NULL;
    if (watched && !watched->process) {
        watched->watching = watching;
        begin(watched, process, program, now_ns);
    }
    if (watched && watched->process)
        watched->there = true;
    else if (watching->models)
        watching->left_out++;
}

void spex_watching_end(struct spex_watching *watching) {
    for (size_t w = 0; w < SPEX_WATCHED; w++)
        if (watching->list[w].process && !watching->list[w].there && !watching->list[w].child) {
            watching->list[w].process = 0;
            watching->version++;
        }
}

static json_t *watched_json(const struct spex_watched *watched) {
    return json_pack("{s:I, s:o, s:b, s:o}", "pid", (json_int_t)watched->process, "program",
                     spex_text_json(watched->program), "watched", watched->child != NULL, "why",
                     spex_text_json(watched->why));
}

json_t *spex_watching_json(const struct spex_watching *watching, json_int_t since) {
    json_int_t oldest = watching->newest - SPEX_WATCHED_EVENTS + 1;
    json_int_t first = since + 1 > oldest ? since + 1 : oldest;
    json_t *list = json_array(), *events = json_array();
    int err = !list || !events;
    for (size_t w = 0; !err && w < SPEX_WATCHED; w++)
        if (watching->list[w].process)
            err = json_array_append_new(list, watched_json(&watching->list[w]));
    for (json_int_t n = first > 1 ? first : 1; !err && n <= watching->newest; n++)
        err = json_array_append(events, watching->events[n % SPEX_WATCHED_EVENTS]);
    return spex_json_unless(err, json_pack("{s:I, s:I, s:o, s:o}", "newest", watching->newest,
                                           "left_out", (json_int_t)watching->left_out, "watched",
                                           list, "events", events));
}

void spex_watching_free(struct spex_watching *watching) {
    for (size_t e = 0; e < SPEX_WATCHED_EVENTS; e++)
        json_decref(watching->events[e]);
}
