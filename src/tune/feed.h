/* SPDX-License-Identifier: MIT */
/* Passes the records of a run from the collectors to the tuning thread. A collector copies the
 * selected records into a buffer and does nothing else with them, so it waits for no more than
 * another copy. If the buffer is full, records are dropped; the next record that has room tells how
 * many. */
#ifndef SPEX_TUNE_FEED_H
#define SPEX_TUNE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/record.h>

#include "site/selection.h"

struct spex_feed;

/* Opens the feed and adds it to the sinks; there may be one. 0 or -ENOMEM. */
int spex_feed_open(struct spex_feed **out);

/* Takes the feed away from the collectors and frees it. NULL: does nothing. */
void spex_feed_close(struct spex_feed *feed);

/* Begins a run: records made after `from` (ticks), of the selected probes that are loaded now, are
 * passed on. Discards all earlier records. */
void spex_feed_begin(struct spex_feed *feed, const struct spex_selection *probes, uint64_t from);

/* Adds selected probes that have been loaded since. */
void spex_feed_select(struct spex_feed *feed, const struct spex_selection *probes);

/* Ends the run: no more records are passed on. */
void spex_feed_end(struct spex_feed *feed);

/* Waits until records are to be taken, until `deadline_ns` (CLOCK_MONOTONIC), or until
 * spex_feed_stop. */
void spex_feed_wait(struct spex_feed *feed, uint64_t deadline_ns);

/* Takes the records made before *until (ticks), in the order of their time; all collectors have
 * passed on their records up to then. They stay valid until the next call. 0 or -ENOMEM. */
int spex_feed_take(struct spex_feed *feed, const struct spex_record **records, size_t *count,
                   uint64_t *until);

/* Records that were dropped since the beginning of the run. */
uint64_t spex_feed_dropped(struct spex_feed *feed);

/* Asks the tuning thread to end, for good. spex_stop does so, too. */
void spex_feed_stop(struct spex_feed *feed);
/* Returns whether the end has been asked for. */
bool spex_feed_stopped(const struct spex_feed *feed);

/* In the child of a fork, which has no tuning thread: forgets the feed. */
void spex_feed_fork_child(void);

#endif
