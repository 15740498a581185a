/* SPDX-License-Identifier: MIT */
/* How a fleet has been over time: its modes, coverage, load and decisions, and how it is now, in
 * the store of its master. docs/fleet.md describes the tables. */
#ifndef SPEX_TOOLS_FLEET_FLEET_COURSE_H
#define SPEX_TOOLS_FLEET_FLEET_COURSE_H

#include <jansson.h>

#include "fleet/lead/lead.h"
#include "tools/fleet/fleet_store.h"

/* When a line is due, by the master's clock, and the decisions that have been written. */
struct spex_fleet_course {
    double due;
    size_t decisions;
};

/* Writes a line, each 10 s and when something was decided, with the decision and the status. The
 * lines of the last day are kept, and 10,000 decisions. Without a store it does nothing. 0; -EINVAL
 * or -ENOMEM with the reason, and it is tried again. */
int spex_fleet_course_step(struct spex_fleet_course *course, struct spex_fleet_store *store,
                           struct spex_lead *lead, double now, struct spex_error *error);

/* Adds to `json` the members "course", a list of values for each of its columns, "decisions" and
 * "status", between these times; the course has at most 720 lines, the last one of each part of
 * the time, and the decisions are the newest 200. 0; -EINVAL or -ENOMEM with the reason. */
int spex_fleet_course_read(struct spex_fleet_store *store, double from, double to, json_t *json,
                           struct spex_error *error);

#endif
