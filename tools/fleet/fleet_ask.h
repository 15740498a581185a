/* SPDX-License-Identifier: MIT */
/* Requests to the master of a fleet. */
#ifndef SPEX_TOOLS_FLEET_FLEET_ASK_H
#define SPEX_TOOLS_FLEET_FLEET_ASK_H

#include <stdbool.h>

#include <jansson.h>

#include "fleet/link/link_options.h"

struct spex_fleet_ask {
    struct spex_link_options options;
    /* `why`: the instance whose mode is to be explained; `instance`: whose profile is wanted alone;
     * NULL: neither. */
    const char *fleet, *why, *instance;
    bool json, all;
    struct spex_link *link;
};

/* Connects, and has the master asked. An exit status: that of `of`, or another one after a
 * message. */
int spex_fleet_ask_master(const char *command, struct spex_fleet_ask *ask,
                          int (*of)(struct spex_fleet_ask *ask));

/* One answer, an object without "error"; NULL after a message. */
json_t *spex_fleet_ask_once(struct spex_fleet_ask *ask, const char *what, const char *request);

/* What the fleet has measured, or with `instance` one of it: all parts of the answer as one. NULL
 * after a message. */
json_t *spex_fleet_ask_profile(struct spex_fleet_ask *ask, const char *instance);

/* Prints that as a table, or the probes alone. `all`: however wide that is. */
void spex_fleet_print_profile(const json_t *profile, bool all);
void spex_fleet_print_probes(const json_t *probes, bool all);

/* A whole number of an answer, 0 where it is none; and a text, printable in `room`, "-" where it is
 * none. */
long long spex_fleet_count_of(const json_t *json, const char *name);
const char *spex_fleet_text_of(const json_t *json, const char *name, struct spex_error *room);

#endif
