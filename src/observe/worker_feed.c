/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "observe/worker_feed.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "observe/profile_sum.h"
#include "text/waits.h"

/* A report that is so late is missed; a process that cannot be reached for so long is gone. */
#define LATE_NS    UINT64_C(2000000000)
#define GIVE_UP_NS UINT64_C(3000000000)

/* From one reading of /proc to the next. */
#define LOOK_NS UINT64_C(500000000)

enum { LOOK_SILENT_MS = 100 };

static uint64_t now_ns(void) {
    return spex_clock_ns(CLOCK_MONOTONIC);
}

void spex_worker_feed_open(struct spex_worker_feed *feed, const struct spex_workers_of *of,
                           uint32_t interval_ms) {
    *feed = (struct spex_worker_feed){.of = *of, .interval_ms = interval_ms};
}

static void worker_lose(struct spex_worker *worker) {
    if (worker->socket >= 0)
        spex_client_close(worker->socket);
    worker->socket = -1;
    worker->lost_ns = now_ns();
}

static void worker_free(struct spex_worker *worker) {
    if (worker->socket >= 0)
        spex_client_close(worker->socket);
    spex_profile_reader_free(&worker->reader);
    spex_profile_free(&worker->now);
}

void spex_worker_feed_close(struct spex_worker_feed *feed) {
    for (size_t w = 0; w < feed->count; w++)
        worker_free(&feed->workers[w]);
    free(feed->workers);
    spex_profile_free(&feed->gone);
    *feed = (struct spex_worker_feed){.count = 0};
}

/* Does not wait: the socket is a non-blocking one. A failure is found again at the next look. */
static void worker_connect(struct spex_worker_feed *feed, struct spex_worker *worker) {
    struct spex_error error;
    worker->socket = spex_client_connect(worker->process, 0, &error);
    spex_profile_reader_restart(&worker->reader);
    if (worker->socket >= 0 && spex_client_send(worker->socket, SPEX_CONTROL_SUBSCRIBE,
                                                feed->interval_ms, NULL, &error) != 0) {
        spex_client_close(worker->socket);
        worker->socket = -1;
    }
    if (worker->socket >= 0)
        worker->heard_ns = now_ns();
}

/* Keeps what the process has done in its last report. 0 or -ENOMEM. */
static int feed_bury(struct spex_worker_feed *feed, struct spex_worker *worker) {
    struct spex_profile *gone = &feed->gone;
    struct spex_profile done = worker->now;
    done.site_count = 0;
    int err = worker->has_now ? spex_profile_add(gone, &done) : 0;
    spex_profile_free(&worker->now);
    worker->has_now = false;
    gone->process.sites = gone->process.sites_on = gone->process.sites_refused = 0;
    gone->process.threads = 0;
    gone->process.ring_bytes = 0;
    gone->process.lease_seconds = 0;
    for (size_t r = 0; r < gone->row_count; r++)
        gone->rows[r].probe.sites = gone->rows[r].probe.sites_on = gone->rows[r].probe.period = 0;
    return err;
}

/* A collection that has started again counts from 0: what came before it is kept. */
static int worker_take_profile(struct spex_worker_feed *feed, struct spex_worker *worker) {
    struct spex_profile_reader *reader = &worker->reader;
    int err = 0;
    if (worker->has_now && (reader->profile.process.seconds < worker->now.process.seconds ||
                            reader->profile.process.loaded_ns != worker->now.process.loaded_ns))
        err = feed_bury(feed, worker);
    spex_profile_free(&worker->now);
    worker->now = reader->profile;
    worker->has_now = worker->fresh = true;
    worker->heard_ns = now_ns();
    reader->profile = (struct spex_profile){0};
    reader->complete = false;
    uint64_t seconds_ns = (uint64_t)(worker->now.process.seconds * 1e9);
    uint64_t begin_ns = seconds_ns < worker->heard_ns ? worker->heard_ns - seconds_ns : 1;
    if (worker->now.process.seconds > 0 && (!feed->begin_ns || begin_ns < feed->begin_ns))
        feed->begin_ns = begin_ns;
    return err;
}

/* Takes the reports that have come from one process. 0 or -ENOMEM. */
static int worker_take(struct spex_worker_feed *feed, struct spex_worker *worker) {
    struct spex_error error;
    int got = 1, err = 0;
    while (got == 1 && !err && worker->socket >= 0) {
        got = spex_client_receive(worker->socket, &worker->reader, 0, &error);
        bool final = got == 1 && worker->reader.final;
        if (got == 1 && worker->reader.complete)
            err = worker_take_profile(feed, worker);
        if (final || (got < 0 && got != -ETIMEDOUT) || (got == 1 && worker->reader.status < 0))
            worker_lose(worker);
    }
    return err;
}

static bool is_over(const struct spex_worker *worker) {
    bool ended = kill(worker->process, 0) != 0 && errno == ESRCH;
    return worker->socket < 0 && (ended || now_ns() - worker->lost_ns > GIVE_UP_NS);
}

/* Forgets those that are gone, and tries the others again whose connections are lost. */
static int feed_sweep(struct spex_worker_feed *feed) {
    size_t kept = 0;
    int err = 0;
    for (size_t w = 0; w < feed->count; w++) {
        struct spex_worker *worker = &feed->workers[w];
        if (worker->socket < 0 && !is_over(worker))
            worker_connect(feed, worker);
        if (!is_over(worker)) {
            feed->workers[kept++] = *worker;
            continue;
        }
        int one = feed_bury(feed, worker);
        err = one ? one : err;
        worker_free(worker);
    }
    feed->count = kept;
    return err;
}

static bool is_followed(const struct spex_worker_feed *feed, pid_t process) {
    for (size_t w = 0; w < feed->count; w++)
        if (feed->workers[w].process == process)
            return true;
    return false;
}

/* Follows those that are new. */
static int feed_add(struct spex_worker_feed *feed, const pid_t *found, long count) {
    size_t most = feed->count + (size_t)count;
    struct spex_worker *workers = realloc(feed->workers, (most + 1) * sizeof(*workers));
    if (!workers)
        return -ENOMEM;
    feed->workers = workers;
    for (long f = 0; found && f < count; f++) {
        if (is_followed(feed, found[f]))
            continue;
        struct spex_worker *worker = &workers[feed->count++];
        *worker = (struct spex_worker){
            .process = found[f], .socket = -1, .heard_ns = now_ns(), .lost_ns = now_ns()};
        worker_connect(feed, worker);
    }
    return 0;
}

int spex_worker_feed_look(struct spex_worker_feed *feed, struct spex_error *error) {
    pid_t *known = calloc(feed->count + 1, sizeof(*known)), *found = NULL;
    int err = known ? feed_sweep(feed) : -ENOMEM;
    for (size_t w = 0; !err && w < feed->count; w++)
        known[w] = feed->workers[w].process;
    bool due = !feed->looked_ns || now_ns() - feed->looked_ns >= LOOK_NS;
    long count = err || !due ? err : spex_workers_find(&feed->of, known, (long)feed->count, &found);
    err = count < 0 ? (int)count : feed_add(feed, found, count);
    if (due)
        feed->looked_ns = now_ns();
    free(known);
    free(found);
    return err ? spex_fail(error, err, "programs cannot be looked for: %s", strerror(-err)) : 0;
}

bool spex_worker_is_silent(const struct spex_worker_feed *feed, const struct spex_worker *worker) {
    uint32_t asked = feed->interval_ms, told = worker->reader.next_ms;
    uint64_t interval_ns = worker->has_now ? (uint64_t)(told > asked ? told : asked) * 1000000 : 0;
    return now_ns() > worker->heard_ns + interval_ns + LATE_NS;
}

/* Whether each process has sent a report, with `fresh` a new one, or is silent. */
static bool all_told(const struct spex_worker_feed *feed, bool fresh) {
    for (size_t w = 0; w < feed->count; w++) {
        const struct spex_worker *worker = &feed->workers[w];
        bool told = fresh ? worker->fresh : worker->has_now;
        if (!told && worker->socket >= 0 && !spex_worker_is_silent(feed, worker))
            return false;
    }
    return true;
}

/* Whether more reports are to be waited for. */
static bool goes_on(const struct spex_worker_feed *feed, bool late, enum spex_worker_wait wait) {
    switch (wait) {
    case SPEX_WORKERS_FIRST:
        return !late && !all_told(feed, false);
    case SPEX_WORKERS_EACH:
        return !late || !all_told(feed, true);
    default:
        return !late;
    }
}

/* Waits until a process has sent something, `ms` at most. */
static void feed_wait(const struct spex_worker_feed *feed, struct pollfd *fds, int ms) {
    for (size_t w = 0; w < feed->count; w++)
        fds[w] = (struct pollfd){.fd = feed->workers[w].socket, .events = POLLIN};
    spex_wait_ready(fds, feed->count, ms);
}

/* How long to wait for something to be sent. While reports are waited for, those that are silent
 * are looked for every 100 ms. */
static int wait_ms(uint64_t now, uint64_t until_ns, enum spex_worker_wait wait) {
    int left_ms = now < until_ns ? (int)((until_ns - now) / 1000000) + 1 : LOOK_SILENT_MS;
    return wait == SPEX_WORKERS_FIRST && left_ms > LOOK_SILENT_MS ? LOOK_SILENT_MS : left_ms;
}

int spex_worker_feed_take(struct spex_worker_feed *feed, uint64_t until_ns,
                          enum spex_worker_wait wait) {
    struct pollfd *fds = calloc(feed->count + 1, sizeof(*fds));
    int err = fds ? 0 : -ENOMEM;
    for (size_t w = 0; w < feed->count; w++)
        feed->workers[w].fresh = false;
    for (uint64_t now = now_ns(); !err && goes_on(feed, now >= until_ns, wait); now = now_ns()) {
        feed_wait(feed, fds, wait_ms(now, until_ns, wait));
        for (size_t w = 0; !err && w < feed->count; w++)
            err = worker_take(feed, &feed->workers[w]);
    }
    free(fds);
    return err;
}

/* Those that are gone say nothing of what is selected now. */
static int gone_add(const struct spex_worker_feed *feed, struct spex_profile *sum) {
    struct spex_profile gone = feed->gone;
    if (!gone.types)
        return 0;
    memcpy(gone.process.selection, sum->process.selection, sizeof(gone.process.selection));
    memcpy(gone.process.leased, sum->process.leased, sizeof(gone.process.leased));
    memcpy(gone.process.rate_policy, sum->process.rate_policy, sizeof(gone.process.rate_policy));
    return spex_profile_add(sum, &gone);
}

int spex_worker_feed_sum(const struct spex_worker_feed *feed, struct spex_profile *sum,
                         size_t *reporting) {
    int err = 0;
    *sum = (struct spex_profile){.type_count = 0};
    *reporting = 0;
    for (size_t w = 0; w < feed->count && !err; w++)
        if (feed->workers[w].has_now) {
            ++*reporting;
            err = spex_profile_add(sum, &feed->workers[w].now);
        }
    err = err ? err : gone_add(feed, sum);
    if (err)
        spex_profile_free(sum);
    return err;
}
