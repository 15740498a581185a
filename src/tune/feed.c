/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "tune/feed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <spex/record.h>

#include "collect/collector.h"
#include "collect/sinks.h"
#include "measure/in_order.h"
#include "ring/probe_type.h"
#include "site/registry.h"

/* Room for records that the tuning thread has not taken yet. */
#define FEED_RECORDS 65536

/* How often the tuning thread looks at what there is, in passes of a collector that is at rest: it sleeps up to 10 ms. */
#define LOOK_NS 5000000u

struct spex_feed {
    pthread_cond_t news; /* for the tuning thread */
    bool open;
    bool stopped;
    uint64_t from;                                            /* ticks */
    uint64_t wanted[SPEX_PROBE_TYPES][(UINT16_MAX + 1) / 64]; /* a bit for each id */
    struct spex_record *records;                              /* FEED_RECORDS */
    size_t count;
    uint64_t dropped;
    uint32_t untold; /* dropped since the last record */
    uint64_t watermarks[SPEX_MAX_COLLECTORS];
    struct timespec looked; /* when the tuning thread has taken what there was */

    struct spex_in_order waiting; /* the tuning thread's alone */
};

/* What the collectors know: a sink that stays until spex stops, with a feed or without. */
static struct {
    struct spex_sink sink;
    pthread_mutex_t lock; /* of the feed, too, but for what is the tuning thread's alone */
    bool listed;
    struct spex_feed *feed;
} outlet = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void lock(void) {
    pthread_mutex_lock(&outlet.lock);
}

static void unlock(void) {
    pthread_mutex_unlock(&outlet.lock);
}

static bool is_wanted(const struct spex_feed *feed, const struct spex_record *record) {
    const uint64_t *ids = feed->wanted[spex_probe_type_ring(record->probe_type)];
    return record->timestamp > feed->from &&
           ids[record->probe_id / 64] >> record->probe_id % 64 & 1;
}

static void put(struct spex_feed *feed, const struct spex_record *record) {
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

static bool take_records(struct spex_sink *sink, const struct spex_record *records, size_t count) {
    (void)sink;
    lock();
    struct spex_feed *feed = outlet.feed;
    for (size_t r = 0; r < count && feed && feed->open; r++)
        if (is_wanted(feed, &records[r]))
            put(feed, &records[r]);
    unlock();
    return true;
}

static bool is_due(const struct spex_feed *feed) {
    struct timespec now;
    if (!feed->open)
        return false;
    if (feed->count > FEED_RECORDS / 2)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - feed->looked.tv_sec) * 1000000000 + now.tv_nsec - feed->looked.tv_nsec >
           LOOK_NS;
}

static bool take_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    (void)sink;
    lock();
    struct spex_feed *feed = outlet.feed;
    if (feed) {
        feed->watermarks[collector] = watermark;
        if (is_due(feed))
            pthread_cond_signal(&feed->news);
    }
    unlock();
    return true;
}

static void stop_locked(void) {
    if (!outlet.feed)
        return;
    outlet.feed->stopped = true;
    pthread_cond_signal(&outlet.feed->news);
}

static void finish(struct spex_sink *sink) {
    (void)sink;
    lock();
    outlet.listed = false;
    stop_locked();
    unlock();
}

static void abandon(struct spex_sink *sink) {
    (void)sink;
    outlet.listed = false;
}

void spex_feed_fork_child(void) {
    pthread_mutex_init(&outlet.lock, NULL);
    outlet.feed =
        NULL; /* left as it was: a thread that this process has not got may have been at work on it */
}

/* Sinks' own lock comes before ours. */
static void list(void) {
    lock();
    bool listed = outlet.listed;
    outlet.listed = true;
    unlock();
    if (listed)
        return;
    outlet.sink = (struct spex_sink){
        .records = take_records, .pass = take_pass, .finish = finish, .abandon = abandon};
    spex_sinks_add(&outlet.sink);
}

static int condition_open(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    int err = pthread_condattr_init(&attributes);
    if (err)
        return -err;
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    err = -pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return err;
}

int spex_feed_open(struct spex_feed **out) {
    struct spex_feed *feed = calloc(1, sizeof(*feed));
    *out = NULL;
    if (!feed || !(feed->records = calloc(FEED_RECORDS, sizeof(*feed->records))) ||
        condition_open(&feed->news)) {
        if (feed)
            free(feed->records);
        free(feed);
        return -ENOMEM;
    }
    lock();
    outlet.feed = feed;
    unlock();
    list();
    *out = feed;
    return 0;
}

void spex_feed_close(struct spex_feed *feed) {
    if (!feed)
        return;
    lock();
    outlet.feed = NULL;
    unlock();
    spex_in_order_free(&feed->waiting);
    pthread_cond_destroy(&feed->news);
    free(feed->records);
    free(feed);
}

static void select_probes(struct spex_feed *feed, const struct spex_selection *probes) {
    for (uint32_t i = 0; i < spex_sites_count(); i++) {
        const struct spex_site_info *info = spex_site_info(i);
        const struct spex_selection_probe by = spex_site_selected_by(info);
        if (!spex_site_is_region(info) && spex_selection_sampling(probes, &by).period)
            feed->wanted[spex_probe_type_ring(info->probe_type)][info->probe_id / 64] |=
                UINT64_C(1) << info->probe_id % 64;
    }
}

void spex_feed_begin(struct spex_feed *feed, const struct spex_selection *probes, uint64_t from) {
    spex_in_order_free(&feed->waiting);
    lock();
    memset(feed->wanted, 0, sizeof(feed->wanted));
    select_probes(feed, probes);
    feed->from = from;
    feed->count = 0;
    feed->dropped = feed->untold = 0;
    feed->open = true;
    unlock();
}

void spex_feed_select(struct spex_feed *feed, const struct spex_selection *probes) {
    lock();
    select_probes(feed, probes);
    unlock();
}

void spex_feed_end(struct spex_feed *feed) {
    lock();
    feed->open = false;
    feed->count = 0;
    unlock();
}

void spex_feed_wait(struct spex_feed *feed, uint64_t deadline_ns) {
    const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / 1000000000),
                                      .tv_nsec = (long)(deadline_ns % 1000000000)};
    int err = 0;
    lock();
    while (!feed->stopped && !is_due(feed) && !err)
        err = pthread_cond_timedwait(&feed->news, &outlet.lock, &deadline);
    unlock();
}

/* All collectors have come as far. */
static uint64_t watermark(const struct spex_feed *feed) {
    uint64_t lowest = UINT64_MAX;
    unsigned collectors = spex_collectors_running();
    for (unsigned c = 0; c < collectors; c++)
        if (feed->watermarks[c] < lowest)
            lowest = feed->watermarks[c];
    return collectors ? lowest : 0;
}

int spex_feed_take(struct spex_feed *feed, const struct spex_record **records, size_t *count,
                   uint64_t *until) {
    lock();
    int err = spex_in_order_add(&feed->waiting, feed->records, feed->count);
    feed->count = 0;
    *until = watermark(feed);
    clock_gettime(CLOCK_MONOTONIC, &feed->looked);
    unlock();
    if (!err)
        *records = spex_in_order_take(&feed->waiting, *until, count);
    return err;
}

uint64_t spex_feed_dropped(struct spex_feed *feed) {
    lock();
    uint64_t dropped = feed->dropped;
    unlock();
    return dropped;
}

void spex_feed_stop(struct spex_feed *feed) {
    (void)feed;
    lock();
    stop_locked();
    unlock();
}

bool spex_feed_stopped(const struct spex_feed *feed) {
    lock();
    bool stopped = feed->stopped;
    unlock();
    return stopped;
}
