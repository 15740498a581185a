/* SPDX-License-Identifier: MIT */
/* The connection that has the reports. When it is lost, the feed searches: it connects again every
 * RETRY_MS until the process has ended or GIVE_UP_NS have passed without a report. A program that
 * executes another one keeps its process id, and its new program opens a new socket. */
#define _GNU_SOURCE
#include "tools/top/top_feed.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "observe/profile_sum.h"
#include "text/waits.h"

/* A program that starts spex again after an exec does so soon. */
#define RETRY_MS   100
#define GIVE_UP_NS 3000000000u

/* A report that is so late is missed: the program is stopped, or its machine is very busy. */
#define LATE_NS 2000000000u

/* kill with signal 0 only asks whether the process exists. */
static bool process_ended(const struct spex_top_feed *feed) {
    struct pollfd fd = {.fd = feed->process_fd, .events = POLLIN};
    if (feed->process_fd >= 0)
        return spex_wait_ready(&fd, 1, 0) == 1;
    return kill(feed->process, 0) != 0 && errno == ESRCH;
}

/* Whether the last connection was found again, and no report has come by it. */
static bool found_in_vain(const struct spex_top_feed *feed) {
    return feed->found > 0 && !feed->has_now;
}

/* The connection is lost; the program may come back. One that accepts connections and closes them
 * has not been found meanwhile. */
static void feed_lose(struct spex_top_feed *feed) {
    spex_client_close(feed->socket);
    feed->socket = -1;
    feed->state = SPEX_TOP_SEARCHES;
    if (!found_in_vain(feed))
        feed->lost_ns = spex_clock_ns(CLOCK_MONOTONIC);
}

/* Gives the program up, with the reason in feed->error. */
static void feed_leave(struct spex_top_feed *feed) {
    if (feed->socket >= 0)
        feed_lose(feed);
    feed->state = SPEX_TOP_LEFT;
}

/* 0, or a negative errno value with the reason in feed->error. */
static int feed_connect(struct spex_top_feed *feed) {
    int fd = spex_client_connect(feed->process, SPEX_CLIENT_CONNECT_MS, &feed->error);
    if (fd < 0)
        return fd;
    spex_profile_reader_restart(&feed->reader);
    int err = spex_client_send(fd, SPEX_CONTROL_SUBSCRIBE, feed->interval_ms, NULL, &feed->error);
    if (err) {
        spex_client_close(fd);
        return err;
    }
    feed->socket = fd;
    feed->state = SPEX_TOP_FOLLOWS;
    feed->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    return 0;
}

int spex_top_feed_open(struct spex_top_feed *feed, pid_t process, uint32_t interval_ms) {
    *feed = (struct spex_top_feed){.process = process, .socket = -1, .interval_ms = interval_ms};
    feed->process_fd = (int)syscall(SYS_pidfd_open, process, 0);
    return feed_connect(feed);
}

void spex_top_feed_close(struct spex_top_feed *feed) {
    if (feed->socket >= 0)
        spex_client_close(feed->socket);
    if (feed->process_fd >= 0)
        close(feed->process_fd);
    spex_profile_reader_free(&feed->reader);
    spex_profile_free(&feed->now);
    spex_profile_free(&feed->difference);
}

void spex_top_feed_subscribe(struct spex_top_feed *feed, uint32_t interval_ms) {
    feed->interval_ms = interval_ms;
    feed->report_ms = 0;
    feed->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    if (feed->socket >= 0 && spex_client_send(feed->socket, SPEX_CONTROL_SUBSCRIBE, interval_ms,
                                              NULL, &feed->error) != 0)
        feed_lose(feed);
}

/* When a program that has sent no report counts as silent: the first one comes at once. */
static uint64_t silent_at(const struct spex_top_feed *feed) {
    uint32_t asked = feed->interval_ms, told = feed->reader.next_ms;
    uint64_t interval_ns = feed->has_now ? (uint64_t)(told > asked ? told : asked) * 1000000 : 0;
    return feed->heard_ns + interval_ns + LATE_NS;
}

static int milliseconds_until(uint64_t when_ns) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    return now_ns < when_ns ? (int)((when_ns - now_ns) / 1000000) + 1 : 0;
}

/* poll ignores descriptors that are -1. The pidfd of a process that has ended stays readable,
 * and would end every poll at once. */
int spex_top_feed_wait(const struct spex_top_feed *feed, struct pollfd fds[SPEX_TOP_FEED_FDS]) {
    if (feed->source)
        return feed->source->wait(feed, fds);
    bool over = feed->state == SPEX_TOP_ENDED || feed->state == SPEX_TOP_LEFT;
    fds[0] = (struct pollfd){.fd = feed->socket, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = over ? -1 : feed->process_fd, .events = POLLIN};
    if (feed->state == SPEX_TOP_SEARCHES)
        return RETRY_MS;
    return feed->state == SPEX_TOP_FOLLOWS && !feed->silent ? milliseconds_until(silent_at(feed))
                                                            : -1;
}

/* When the collection has started again, the difference is all of the profile. */
int spex_top_feed_take_profile(struct spex_top_feed *feed, struct spex_profile *profile) {
    struct spex_profile before = feed->now, none = {0};
    bool has_before = feed->has_now;
    int err = 0;
    feed->now = *profile;
    *profile = (struct spex_profile){0};
    feed->has_now = true;
    /* The program may be in another PID namespace, and have another number there. */
    feed->now.process.process_id = (uint32_t)feed->process;
    feed->heard_ns = spex_clock_ns(CLOCK_MONOTONIC);
    feed->silent = false;
    if (has_before) {
        bool anew = feed->now.process.seconds < before.process.seconds;
        spex_profile_free(&feed->difference);
        err = spex_profile_since(&feed->now, anew ? &none : &before, &feed->difference);
        feed->has_difference = !err;
    }
    spex_profile_free(&before);
    return err;
}

/* True when the answer has a report. An error of the program ends the feed; after its last
 * report the connection is closed. */
static bool feed_take_answer(struct spex_top_feed *feed) {
    feed->final = feed->reader.final;
    bool report = feed->reader.complete;
    int err = report ? spex_top_feed_take_profile(feed, &feed->reader.profile) : 0;
    feed->reader.complete = false;
    if (err || feed->reader.status < 0) {
        spex_error_set(&feed->error, "%.500s", err ? "out of memory" : feed->reader.text);
        feed_leave(feed);
    } else if (feed->final) {
        feed_lose(feed);
    }
    return report && !err;
}

/* Connects again, or finds that the process has ended, or gives up. Each call makes one attempt. */
static void feed_reconnect(struct spex_top_feed *feed) {
    bool late = spex_clock_ns(CLOCK_MONOTONIC) - feed->lost_ns > GIVE_UP_NS;
    if (process_ended(feed)) {
        feed->state = SPEX_TOP_ENDED;
    } else if (!(late && found_in_vain(feed)) && feed_connect(feed) == 0) {
        feed->found++;
        feed->has_now = false;
        /* `final` stays until the program has answered: its socket may be about to close. */
    } else if (late) {
        spex_error_set(&feed->error, "process %d %s", (int)feed->process,
                       feed->final ? "has stopped spex" : "cannot be reached any more");
        feed->state = SPEX_TOP_LEFT;
    }
}

/* Whether the process has ended is asked before receiving: all that it sent is in the socket by
 * then. */
bool spex_top_feed_take(struct spex_top_feed *feed) {
    if (feed->source)
        return feed->source->take(feed);
    while (feed->state == SPEX_TOP_FOLLOWS) {
        bool ended = process_ended(feed);
        int got = spex_client_receive(feed->socket, &feed->reader, 0, &feed->error);
        if (got == 1 && feed_take_answer(feed))
            return true;
        if (got == -ETIMEDOUT && !ended) {
            feed->silent = spex_clock_ns(CLOCK_MONOTONIC) >= silent_at(feed);
            return false;
        }
        if (got == -ECONNRESET || got == -ETIMEDOUT)
            feed_lose(feed);
        else if (got < 0)
            feed_leave(feed);
    }
    if (feed->state == SPEX_TOP_SEARCHES)
        feed_reconnect(feed);
    return false;
}
