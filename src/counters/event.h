/* SPDX-License-Identifier: MIT */
/* Opens, reads and releases the perf events of one counter in the calling thread. Nothing here
 * allocates, prints or locks. */
#ifndef SPEX_COUNTERS_EVENT_H
#define SPEX_COUNTERS_EVENT_H

#include "counters/plan.h"
#include "counters/ways.h"

/* Opens `*event`, which is all zero before, in one way. 0, or a negative errno value with the name
 * of the call that failed in `*step`; the event is all zero again then. */
int spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                    enum spex_way way, const char **step);

/* Reads in the way in which the event was opened. The reading is unavailable if the descriptor is
 * no longer the library's. */
void spex_event_read(const struct spex_event *event, enum spex_counter counter,
                     struct spex_reading *reading);

/* Whether all descriptors that reading needs are still the library's. */
bool spex_event_intact(const struct spex_event *event);

/* Unmaps the pages and closes the descriptors that are still the library's. The event's fields
 * stay. */
void spex_event_release(const struct spex_event *event);

/* spex_event_release in the child of a fork, which has no mappings to remove. */
void spex_event_abandon(const struct spex_event *event);

#endif
