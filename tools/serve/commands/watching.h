/* SPDX-License-Identifier: MIT */
/* Anomalies of the programs that are followed: a `spex watch` for each process tells of them, and
 * the newest are kept. */
#ifndef SPEX_TOOLS_SERVE_COMMANDS_WATCHING_H
#define SPEX_TOOLS_SERVE_COMMANDS_WATCHING_H

#include "tools/common/json.h"
#include "tools/serve/commands/children.h"

/* Processes that are watched at one time, and events that are kept. */
enum { SPEX_WATCHED = 16, SPEX_WATCHED_EVENTS = 256 };

struct spex_watching;

struct spex_watched {
    struct spex_watching *watching;
    /* 0: the place is free. */
    pid_t process;
    char program[64];
    /* NULL: it has ended, and `why` tells why. */
    struct spex_child *child;
    char why[256];
    /* It was among the processes when they were looked at last. */
    bool there;
};

struct spex_watching {
    /* The file of models; NULL: nothing is watched. */
    const char *models;
    struct spex_children *children;
    struct spex_watched list[SPEX_WATCHED];
    /* Processes for which there was no place. */
    size_t left_out;
    /* Events by number: that of number n is at n % SPEX_WATCHED_EVENTS. */
    json_t *events[SPEX_WATCHED_EVENTS];
    json_int_t newest;
    /* It changes with all that spex_watching_json tells. */
    json_int_t version;
};

/* The processes that are followed now: between begin and end, each is told. */
void spex_watching_begin(struct spex_watching *watching);
void spex_watching_process(struct spex_watching *watching, pid_t process, const char *program,
                           uint64_t now_ns);
void spex_watching_end(struct spex_watching *watching);

/* {"newest": number, "watched": […], "left_out": count, "events": those behind number `since`}.
 * NULL where memory is short. */
json_t *spex_watching_json(const struct spex_watching *watching, json_int_t since);

void spex_watching_free(struct spex_watching *watching);

#endif
