/* SPDX-License-Identifier: MIT */
/* The perf events of one counter in the calling thread: opening, reading, releasing. Nothing here
 * allocates, prints or locks. */
#ifndef SPEX_COUNTERS_EVENT_H
#define SPEX_COUNTERS_EVENT_H

#include "counters/plan.h"
#include "counters/ways.h"

/* Opens `*event`, all zero before, in one way. 0, or the negative errno of `*step`, the call that
 * failed; then it is all zero again. */
int spex_event_open(struct spex_event *event, const struct spex_counter_plan *plan,
                    enum spex_way way, const char **step);

/* One reading in the way the event was opened. Unavailable when its descriptor is no longer ours.
 * */
void spex_event_read(const struct spex_event *event, enum spex_counter counter,
                     struct spex_reading *reading);

/* True when reading needs no descriptors or has all of them still. */
bool spex_event_intact(const struct spex_event *event);

/* Unmaps, and closes what is still ours. The event's fields stay. */
void spex_event_release(const struct spex_event *event);

/* In the child of a fork: there are no mappings to remove. */
void spex_event_abandon(const struct spex_event *event);

#endif
