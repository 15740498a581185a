/* SPDX-License-Identifier: MIT */
/* The occupancy sampler, at times that the test chooses, with threads that wait where the test has
 * led them, so that what it sees is known exactly. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <spex/probe.h>
#include <spex/spex.h>

#include "../check.h"
#include "../children.h"
#include "collect/metrics.h"
#include "messages.h"
#include "rate/occupancy_sampler.h"
#include "site/registry.h"

enum { WORK = 1, COUNTED, STATE, OTHER, WORKERS = 3, DEPTH = 3, CHANGES = 700 };

/* A thread that goes from stop to stop of its script. */
struct worker {
    pthread_t thread;
    pthread_barrier_t barrier;
    void (*script)(struct worker *self);
};

/* In the script: the thread stands here until the test lets it go on. */
static void stop_here(struct worker *self) {
    pthread_barrier_wait(&self->barrier);
    pthread_barrier_wait(&self->barrier);
}

/* In the test: it has reached its next stop. */
static void reach(struct worker *worker) {
    pthread_barrier_wait(&worker->barrier);
}

static void go_on(struct worker *worker) {
    pthread_barrier_wait(&worker->barrier);
}

static void to_next_stop(struct worker *worker) {
    go_on(worker);
    reach(worker);
}

static void *run(void *arg) {
    struct worker *self = arg;
    self->script(self);
    return NULL;
}

/* It stands at its first stop. */
static void send(struct worker *worker, void (*script)(struct worker *self)) {
    worker->script = script;
    assert_int_equal(pthread_barrier_init(&worker->barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, run, worker), 0);
    reach(worker);
}

/* From its last stop on. */
static void end(struct worker *worker) {
    go_on(worker);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
    pthread_barrier_destroy(&worker->barrier);
}

static uint32_t first_site(uint16_t id) {
    uint32_t site = 0;
    while (spex_site_info(site)->probe_id != id)
        site++;
    return spex_site_info(site)->probe;
}

/* What the occupancy sampler sees in so many looks from now on. The few looks of the collector wait
 * meanwhile. */
static struct spex_occupancy look(uint16_t id, unsigned looks) {
    spex_metrics_lock();
    struct spex_occupancy before = spex_occupancy_sampler_occupancy(first_site(id));
    for (unsigned i = 0; i < looks; i++)
        spex_occupancy_sampler_look();
    struct spex_occupancy now = spex_occupancy_sampler_occupancy(first_site(id));
    spex_metrics_unlock();
    spex_occupancy_subtract(&now, &before);
    return now;
}

static uint64_t threads_in(uint16_t id) {
    struct spex_occupancy seen = look(id, 1);
    assert_int_equal(seen.looks, 1);
    assert_int_equal(seen.active, seen.threads > 0);
    return seen.threads;
}

static int start(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null", .no_calibration = true};
    setenv("SPEX_PROBING", "1", 1);
    return spex_start(&options);
}

static uint64_t produced(void) {
    struct spex_status status = {.size = sizeof(status)};
    assert_int_equal(spex_status_get(&status), 0);
    return status.produced;
}

static void once(struct worker *self) {
    stop_here(self);
    LAT_PROBE_BEGIN(WORK, 1);
    stop_here(self);
    LAT_PROBE_END(WORK);
    stop_here(self);
}

TEST(shares_are_those_of_the_looks) {
    struct worker workers[WORKERS];
    uint64_t before = produced();
    assert_int_equal(start("1:lat@poll"), 0);
    for (int w = 0; w < WORKERS; w++)
        send(&workers[w], once);
    assert_int_equal(threads_in(WORK), 0);
    to_next_stop(&workers[0]);
    assert_int_equal(threads_in(WORK), 1);
    to_next_stop(&workers[1]);
    struct spex_occupancy both = look(WORK, 10);
    assert_int_equal(both.looks, 10);
    assert_int_equal(both.active, 10);
    assert_int_equal(both.threads, 20);
    assert_int_equal(both.thread_squares, 40);
    to_next_stop(&workers[0]);
    assert_int_equal(threads_in(WORK), 1);
    to_next_stop(&workers[1]);
    assert_int_equal(threads_in(WORK), 0);
    to_next_stop(&workers[2]);
    to_next_stop(&workers[2]);
    for (int w = 0; w < WORKERS; w++)
        end(&workers[w]);
    assert_int_equal(produced(), before);
    assert_int_equal(spex_stop(), 0);
}

static void recur(struct worker *self, int depth) {
    LAT_PROBE_BEGIN(WORK, 1);
    stop_here(self);
    if (depth > 1) {
        recur(self, depth - 1);
        stop_here(self);
    }
    LAT_PROBE_END(WORK);
}

static void recursive(struct worker *self) {
    stop_here(self);
    recur(self, DEPTH);
    stop_here(self);
}

TEST(a_recursive_execution_ends_with_the_outermost) {
    struct worker worker;
    assert_int_equal(start("1:lat@poll"), 0);
    send(&worker, recursive);
    for (int stop = 0; stop < 2 * DEPTH - 1; stop++) {
        to_next_stop(&worker);
        assert_int_equal(threads_in(WORK), 1);
    }
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 0);
    end(&worker);
    assert_int_equal(spex_stop(), 0);
}

/* Three places of one probe, and another probe. */
static void nested(struct worker *self) {
    LAT_PROBE_BEGIN(WORK, 1);
    {
        SPEX_LAT_SCOPE(WORK, 1);
        CNT_PROBE_BEGIN(COUNTED, 1);
        stop_here(self);
        CNT_PROBE_END(COUNTED);
    }
    stop_here(self);
    LAT_PROBE_END(WORK);
    stop_here(self);
}

TEST(a_thread_counts_once_in_each_probe) {
    struct worker worker;
    assert_int_equal(start("1:lat@poll,2:cnt@poll"), 0);
    send(&worker, nested);
    assert_int_equal(threads_in(WORK), 1);
    assert_int_equal(threads_in(COUNTED), 1);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 1);
    assert_int_equal(threads_in(COUNTED), 0);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 0);
    end(&worker);
    assert_int_equal(spex_stop(), 0);
}

__attribute__((noinline)) static void leave(bool leaves, struct worker *self) {
    LAT_PROBE_BEGIN(WORK, 1);
    if (leaves)
        return;
    stop_here(self);
    LAT_PROBE_END(WORK);
}

static void leaving(struct worker *self) {
    leave(true, self);
    stop_here(self);
    leave(false, self);
    stop_here(self);
    leave(true, self);
    stop_here(self);
}

TEST(without_its_end_it_lasts_until_the_next_or_the_threads_end) {
    struct worker worker;
    assert_int_equal(start("1:lat@poll"), 0);
    send(&worker, leaving);
    assert_int_equal(threads_in(WORK), 1);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 1);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 0);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 1);
    end(&worker);
    assert_int_equal(threads_in(WORK), 0);
    assert_int_equal(spex_stop(), 0);
}

static void twice(struct worker *self) {
    LAT_PROBE_BEGIN(WORK, 1);
    stop_here(self);
    LAT_PROBE_END(WORK);
    stop_here(self);
    once(self);
}

/* An execution goes on as it has begun. */
TEST(switching_in_mid_execution) {
    struct worker worker;
    uint64_t before = produced();
    assert_int_equal(start("1:lat"), 0);
    send(&worker, twice); /* begins recorded */
    assert_int_equal(look(WORK, 2).looks, 0);
    assert_true(spex_set("1:lat@poll") > 0);
    assert_int_equal(threads_in(WORK), 0);
    to_next_stop(&worker);
    assert_int_equal(produced(), before + 1);
    assert_int_equal(threads_in(WORK), 0);
    go_on(&worker);
    reach(&worker);
    to_next_stop(&worker); /* begins probed */
    assert_int_equal(threads_in(WORK), 1);
    assert_true(spex_set("1:lat") > 0);
    assert_int_equal(look(WORK, 2).looks, 0);
    to_next_stop(&worker);
    assert_int_equal(produced(), before + 1);
    assert_true(spex_set("1:lat@poll") > 0);
    assert_int_equal(threads_in(WORK), 0);
    end(&worker);
    assert_int_equal(spex_stop(), 0);
}

static bool enough;

static void *execute(void *arg) {
    (void)arg;
    while (!spex_load_relaxed(&enough)) {
        LAT_PROBE_BEGIN(WORK, 1);
        { SPEX_LAT_SCOPE(WORK, 1); }
        LAT_PROBE_END(WORK);
    }
    return NULL;
}

/* Whatever an execution has begun as, nothing is left of it. */
TEST(switching_while_threads_execute) {
    static const char *const selections[] = {"1:lat@poll", "1:lat@3",   "1:lat@poll", "off",
                                             "1:lat@poll", "1:lat@~10", "1:lat@10x4"};
    pthread_t threads[WORKERS];
    enough = false;
    assert_int_equal(start("1:lat"), 0);
    for (int t = 0; t < WORKERS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, execute, NULL), 0);
    for (int change = 0; change < CHANGES; change++) {
        assert_true(spex_set(selections[change % COUNT_OF(selections)]) >= 0);
        struct spex_occupancy seen = look(WORK, 3);
        assert_true(spex_occupancy_valid(&seen));
        assert_true(seen.threads <= 3 * WORKERS);
    }
    spex_store_relaxed(&enough, true);
    for (int t = 0; t < WORKERS; t++)
        assert_int_equal(pthread_join(threads[t], NULL), 0);
    assert_true(spex_set("1:lat@poll") > 0);
    assert_int_equal(threads_in(WORK), 0);
    assert_int_equal(spex_stop(), 0);
}

TEST(looks_on_both_sides_of_a_pause_are_no_pair) {
    assert_int_equal(start("1:lat@poll,2@poll"), 0);
    assert_int_equal(look(WORK, 5).pairs, 4);
    assert_true(spex_set("2@poll") > 0);
    assert_int_equal(look(WORK, 3).looks, 0);
    assert_true(spex_set("1:lat@poll") > 0);
    assert_int_equal(look(WORK, 2).pairs, 1);
    assert_int_equal(spex_stop(), 0);
}

TEST(the_controller_may_have_it_polled) {
    struct worker worker;
    bool loaded;
    assert_int_equal(start("1:lat,3"), 0);
    spex_probe_throttle(first_site(WORK), SPEX_SITE_POLLED);
    spex_probe_throttle(first_site(STATE), SPEX_SITE_POLLED);
    send(&worker, once);
    to_next_stop(&worker);
    assert_int_equal(threads_in(WORK), 1);
    assert_int_equal(spex_site_sampling(first_site(WORK), &loaded).kind, SPEX_SAMPLING_POLLING);
    assert_int_equal(spex_site_sampling(first_site(STATE), &loaded).kind, SPEX_SAMPLING_PERIODIC);
    spex_probe_throttle(first_site(WORK), 0);
    assert_int_equal(look(WORK, 1).looks, 0);
    to_next_stop(&worker);
    end(&worker);
    assert_int_equal(spex_stop(), 0);
}

TEST(time_that_is_polled_is_told_apart) {
    uint32_t site = first_site(WORK);
    assert_int_equal(start("1:lat@poll"), 0);
    struct spex_probe_state probed = spex_probe_state(site, spex_ticks());
    assert_true(probed.by_hand);
    assert_true(probed.on_ticks > 0);
    assert_int_equal(probed.polled_ticks, probed.on_ticks);
    assert_true(spex_set("1:lat@10") > 0);
    struct spex_probe_state first = spex_probe_state(site, spex_ticks());
    struct spex_probe_state later = spex_probe_state(site, spex_ticks() + 1000);
    assert_false(first.by_hand);
    assert_true(first.polled_ticks >= probed.polled_ticks);
    assert_int_equal(later.polled_ticks, first.polled_ticks);
    assert_true(later.on_ticks > first.on_ticks);
    assert_int_equal(spex_stop(), 0);
}

TEST(snapshots_stay_off_and_it_is_said) {
    bool loaded;
    for (unsigned i = 0; i < 1; i++) {
        SNAPSHOT_PROBE(STATE, 7, i);
        SNAPSHOT_PROBE(OTHER, 7, i);
    }
    messages_begin();
    assert_int_equal(start("*@poll"), 0);
    assert_string_equal(messages_end(), "spex: snapshots and spans cannot be polled, so "
                                        "they stay off: 3, 4\n");
    assert_int_equal(spex_site_sampling(first_site(STATE), &loaded).period, 0);
    assert_int_equal(spex_site_sampling(first_site(WORK), &loaded).kind, SPEX_SAMPLING_POLLING);
    messages_begin();
    assert_true(spex_set("*@poll,:snapshot") > 0);
    assert_string_equal(messages_end(), "");
    assert_int_equal(spex_site_sampling(first_site(STATE), &loaded).period, 7);
    assert_int_equal(spex_stop(), 0);
}

/* The parent's thread is within its probe; the child's copy of it is not. */
TEST(a_forked_child_has_nothing_of_it) {
    int status = -1;
    SKIP_WITHOUT_CHILDREN();
    assert_int_equal(start("1:lat@poll"), 0);
    LAT_PROBE_BEGIN(WORK, 1);
    assert_int_equal(threads_in(WORK), 1);
    pid_t child = fork();
    if (child == 0) {
        bool good = start("1:lat@poll") == 0;
        spex_metrics_lock();
        good = good && spex_occupancy_sampler_occupancy(first_site(WORK)).looks <= 1;
        spex_occupancy_sampler_look();
        good = good && spex_occupancy_sampler_occupancy(first_site(WORK)).active == 0;
        spex_metrics_unlock();
        _exit(good ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(threads_in(WORK), 1);
    LAT_PROBE_END(WORK);
    assert_int_equal(threads_in(WORK), 0);
    assert_int_equal(spex_stop(), 0);
}

TEST(each_collection_begins_anew) {
    assert_int_equal(start("1:lat@poll"), 0);
    assert_int_equal(look(WORK, 5).looks, 5);
    assert_int_equal(spex_stop(), 0);
    assert_int_equal(start("1:lat@poll"), 0);
    spex_metrics_lock();
    assert_true(spex_occupancy_sampler_occupancy(first_site(WORK)).looks < 5);
    spex_metrics_unlock();
    assert_int_equal(spex_stop(), 0);
}

TEST(a_collector_waits_for_the_next_look_only_while_there_is_one) {
    assert_int_equal(start("1:lat"), 0);
    assert_int_equal(spex_stop(), 0);
    assert_true(spex_occupancy_sampler_wait() == UINT64_MAX);
}
