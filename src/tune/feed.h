/* SPDX-License-Identifier: MIT */
/* Records of a run, from the collectors to the tuning thread: a collector leaves them here, and all that is to be
 * thought about them is thought on the other side. A collector never waits for more than a copy; when there is no room,
 * records are dropped, and the next one tells how many. */
#ifndef SPEX_TUNE_FEED_H
#define SPEX_TUNE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "site/selection.h"

struct spex_feed;

/* The collectors have it from here on; they may have one. 0 or -ENOMEM. */
int spex_feed_open(struct spex_feed **out);

/* No collector has it any more. NULL: nothing. */
void spex_feed_close(struct spex_feed *feed);

/* What is to be handed over from here on: records that are made after `from` (ticks), of probes that are selected, of those
 * that are loaded now. Nothing of before is left. */
void spex_feed_begin(struct spex_feed *feed, const struct spex_selection *probes, uint64_t from);

/* Other probes have been loaded: looks again. */
void spex_feed_select(struct spex_feed *feed, const struct spex_selection *probes);

/* Nothing more for now. */
void spex_feed_end(struct spex_feed *feed);

/* Until there is something to look at, `deadline_ns` (CLOCK_MONOTONIC) is over, or the end has been asked for. */
void spex_feed_wait(struct spex_feed *feed, uint64_t deadline_ns);

/* Records in the order of their time, all there are before *until (ticks); they stay until the next call. 0 or
 * -ENOMEM. */
int spex_feed_take(struct spex_feed *feed, const struct spex_record **records, size_t *count,
                   uint64_t *until);

/* Records that there was no room for since the beginning of the run. */
uint64_t spex_feed_dropped(struct spex_feed *feed);

/* Asks for the end, for good; whether somebody has: spex_stop does. */
void spex_feed_stop(struct spex_feed *feed);
bool spex_feed_stopped(const struct spex_feed *feed);

/* In the child of a fork: there is none. */
void spex_feed_fork_child(void);

#endif
