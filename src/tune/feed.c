/* SPDX-License-Identifier: MIT */
/* A sink that copies records into a buffer under a lock, and the tuning thread's side, which takes
 * the buffer's records and sorts them by time (measure/in_order.h). A record may be used when all
 * collectors have passed its time: the least of their watermarks. */
#define _GNU_SOURCE
#include "tune/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spex/atomic.h>
#include <spex/record.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/memory/memory.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/sinks.h"
#include "measure/in_order.h"
#include "ring/probe_type.h"
#include "site/registry.h"

/* Room for records that the tuning thread has not taken yet. */
#define FEED_RECORDS 65536

/* Least time between two takings of records: half of the longest sleep of a collector while a run
 * waits for records. */
#define LOOK_NS 5000000u

/* The buffer between the collectors and the tuning thread. */
struct spex_feed {
    /* Wakes the tuning thread. */
    int32_t news;
    bool open;
    bool stopped;
    uint64_t from; /* ticks */
    /* A bit for each id of a selected probe, by type. */
    uint64_t wanted[SPEX_PROBE_TYPES][(UINT16_MAX + 1) / 64];
    /* Room for FEED_RECORDS. */
    struct spex_record *records;
    size_t count;
    uint64_t dropped;
    /* Records dropped since the last one that had room. */
    uint32_t untold;
    uint64_t watermarks[SPEX_MAX_COLLECTORS];
    /* When the tuning thread last took records. */
    uint64_t looked_ns;

    /* Used by the tuning thread alone, without the lock. */
    struct spex_in_order waiting;
};

/* The sink that collectors know. It stays in their list until spex stops, whether there is a feed
 * or not. */
static struct {
    struct spex_sink sink;
    /* Guards the feed, too, except `waiting`. */
    struct spex_lock lock;
    bool listed;
    struct spex_feed *feed;
} feed_outlet = {.lock = SPEX_LOCK_FREE};

static void feed_lock(void) {
    spex_lock_take(&feed_outlet.lock);
}

static void feed_unlock(void) {
    spex_lock_give(&feed_outlet.lock);
}

/* The caller holds the lock. */
static void feed_wake(struct spex_feed *feed) {
    feed->news++;
    spex_futex_wake(&feed->news, 1);
}

/* Ids are 16 bits wide, so the table of bits has room for each. */
static bool feed_wants(const struct spex_feed *feed, const struct spex_record *record) {
    const uint64_t *ids = feed->wanted[spex_probe_type_ring(record->probe_type)];
    return record->timestamp > feed->from &&
           ids[record->probe_id / 64] >> record->probe_id % 64 & 1;
}

/* A record that follows dropped ones counts them as lost. */
static void feed_put(struct spex_feed *feed, const struct spex_record *record) {
    if (feed->count == FEED_RECORDS) {
        feed->dropped++;
        feed->untold++;
        return;
    }
    struct spex_record *copy = &feed->records[feed->count++];
    *copy = *record;
    copy->lost += feed->untold;
    copy->gap |= feed->untold > 0;
    feed->untold = 0;
}

/* Always true: what has no room is counted as dropped, and the sink must not be marked as
 * broken. */
static bool sink_records(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    feed_lock();
    struct spex_feed *feed = feed_outlet.feed;
    for (size_t r = 0; r < batch->count && feed && feed->open; r++)
        if (feed_wants(feed, &batch->records[r]))
            feed_put(feed, &batch->records[r]);
    feed_unlock();
    return true;
}

/* Returns whether the tuning thread should take records now: the buffer is half full, or LOOK_NS
 * have passed. Fewer wake-ups cost the program less. */
static bool feed_is_due(const struct spex_feed *feed) {
    if (!feed->open)
        return false;
    if (feed->count > FEED_RECORDS / 2)
        return true;
    return spex_clock_ns(CLOCK_MONOTONIC) - feed->looked_ns > LOOK_NS;
}

/* A new watermark may complete records that wait to be sorted, so it wakes the tuning thread even
 * where no record has come. */
static bool sink_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    (void)sink;
    feed_lock();
    struct spex_feed *feed = feed_outlet.feed;
    if (feed) {
        feed->watermarks[collector] = watermark;
        if (feed_is_due(feed))
            feed_wake(feed);
    }
    feed_unlock();
    return true;
}

/* Wakes the tuning thread, which ends its run. The caller holds the lock. */
static void feed_stop_locked(void) {
    if (!feed_outlet.feed)
        return;
    feed_outlet.feed->stopped = true;
    feed_wake(feed_outlet.feed);
}

/* spex stops: the run cannot go on. */
static void sink_finish(struct spex_sink *sink) {
    (void)sink;
    feed_lock();
    feed_outlet.listed = false;
    feed_stop_locked();
    feed_unlock();
}

/* In the child of a fork. The lock and the feed are reset by spex_feed_fork_child. */
static void sink_abandon(struct spex_sink *sink) {
    (void)sink;
    feed_outlet.listed = false;
}

void spex_feed_fork_child(void) {
    spex_lock_reset(&feed_outlet.lock);
    /* The feed is not freed: a thread of the parent may have been changing it. */
    feed_outlet.feed = NULL;
}

/* Adds the sink to the collectors' list, once. The lock is released before, since collectors hold
 * the list's lock when they take this one. */
static void sink_list(void) {
    feed_lock();
    bool listed = feed_outlet.listed;
    feed_outlet.listed = true;
    feed_unlock();
    if (listed)
        return;
    feed_outlet.sink = (struct spex_sink){
        .records = sink_records, .pass = sink_pass, .finish = sink_finish, .abandon = sink_abandon};
    spex_sinks_add(&feed_outlet.sink);
}

/* The feed is in place before the sink is listed, so that no watermark is missed. */
int spex_feed_open(struct spex_feed **out) {
    struct spex_feed *feed = spex_calloc(1, sizeof(*feed));
    *out = NULL;
    if (!feed || !(feed->records = spex_calloc(FEED_RECORDS, sizeof(*feed->records)))) {
        spex_free(feed);
        return -ENOMEM;
    }
    feed_lock();
    feed_outlet.feed = feed;
    feed_unlock();
    sink_list();
    *out = feed;
    return 0;
}

/* No collector can use the feed once the lock has been released, so it is freed without it. */
void spex_feed_close(struct spex_feed *feed) {
    if (!feed)
        return;
    feed_lock();
    feed_outlet.feed = NULL;
    feed_unlock();
    spex_in_order_free(&feed->waiting);
    spex_free(feed->records);
    spex_free(feed);
}

/* Marks the ids of all sites that the selection switches on. Marks are only added: a library that
 * is unloaded makes no records. */
static void feed_select_probes(struct spex_feed *feed, const struct spex_selection *probes) {
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        const struct spex_selection_probe by = spex_site_selected_by(info);
        if (!spex_site_is_region(info) && spex_selection_sampling(probes, &by).period)
            feed->wanted[spex_probe_type_ring(info->probe_type)][info->probe_id / 64] |=
                UINT64_C(1) << info->probe_id % 64;
    }
}

/* The records that wait are the tuning thread's own; the rest is reset under the lock, so that no
 * record of the run before is passed on. */
void spex_feed_begin(struct spex_feed *feed, const struct spex_selection *probes, uint64_t from) {
    spex_in_order_free(&feed->waiting);
    feed_lock();
    memset(feed->wanted, 0, sizeof(feed->wanted));
    feed_select_probes(feed, probes);
    feed->from = from;
    feed->count = 0;
    feed->dropped = feed->untold = 0;
    feed->open = true;
    /* Relaxed, as where collectors read it: a run waits for records. */
    spex_store_relaxed(&feed_outlet.sink.prompt, true);
    feed_unlock();
}

void spex_feed_select(struct spex_feed *feed, const struct spex_selection *probes) {
    feed_lock();
    feed_select_probes(feed, probes);
    feed_unlock();
}

void spex_feed_end(struct spex_feed *feed) {
    feed_lock();
    feed->open = false;
    spex_store_relaxed(&feed_outlet.sink.prompt, false);
    feed->count = 0;
    feed_unlock();
}

/* `news` is read under the lock, so news that come before the sleep end it at once. (Waits for a
 * condition are among those that a preloaded library may stretch.) */
void spex_feed_wait(struct spex_feed *feed, uint64_t deadline_ns) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    feed_lock();
    while (!feed->stopped && !feed_is_due(feed) && now_ns < deadline_ns) {
        const struct timespec limit = {.tv_sec = (time_t)((deadline_ns - now_ns) / 1000000000),
                                       .tv_nsec = (long)((deadline_ns - now_ns) % 1000000000)};
        int32_t news = feed->news;
        feed_unlock();
        spex_futex_wait(&feed->news, news, &limit);
        feed_lock();
        now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    }
    feed_unlock();
}

/* The time up to which all collectors have passed on records; 0: none is running. */
static uint64_t lowest_watermark(const struct spex_feed *feed) {
    uint64_t lowest = UINT64_MAX;
    unsigned collectors = spex_collectors_running();
    for (unsigned c = 0; c < collectors; c++)
        if (feed->watermarks[c] < lowest)
            lowest = feed->watermarks[c];
    return collectors ? lowest : 0;
}

/* The watermarks are read under the lock under which the records are copied, so all records before
 * *until are in the copy. Sorting is done without the lock. */
int spex_feed_take(struct spex_feed *feed, const struct spex_record **records, size_t *count,
                   uint64_t *until) {
    feed_lock();
    int err = spex_in_order_add(&feed->waiting, feed->records, feed->count);
    feed->count = 0;
    *until = lowest_watermark(feed);
    feed->looked_ns = spex_clock_ns(CLOCK_MONOTONIC);
    feed_unlock();
    if (!err)
        *records = spex_in_order_take(&feed->waiting, *until, count);
    return err;
}

uint64_t spex_feed_dropped(struct spex_feed *feed) {
    feed_lock();
    uint64_t dropped = feed->dropped;
    feed_unlock();
    return dropped;
}

void spex_feed_stop(struct spex_feed *feed) {
    (void)feed;
    feed_lock();
    feed_stop_locked();
    feed_unlock();
}

bool spex_feed_stopped(const struct spex_feed *feed) {
    feed_lock();
    bool stopped = feed->stopped;
    feed_unlock();
    return stopped;
}
