/* SPDX-License-Identifier: MIT */
/* The loop of `spex run`: polls the signals, the end of the program, the listening socket and
 * all connections. One thread does all of it. */
#define _GNU_SOURCE
#include "tools/run/run_watch.h"

#include <poll.h>

#include "base/clock.h"
#include "observe/remains/whole.h"
#include "text/waits.h"
#include "tools/common/complain.h"

/* The time after the end of the program in which the answers of running processes, and the last
 * reports of processes that are ending, are waited for. */
#define SETTLE_NS 1000000000u

/* The order of the descriptors that are polled; connections follow from FIRST on. */
enum { SIGNALS, PROGRAM, LISTENER, HANDED, FIRST, POLLED = FIRST + SPEX_CALLERS_MAX };

static double seconds_since_start(const struct spex_run_watch *watch) {
    return (double)(spex_clock_ns(CLOCK_MONOTONIC) - watch->start_ns) / 1e9;
}

/* Accepts the connections that wait, and subscribes to intervals. The message comes with the
 * first connection that is refused. */
static void watch_accept_callers(struct spex_run_watch *watch) {
    size_t refused = watch->listener.refused;
    struct spex_caller *caller;
    while ((caller = spex_listener_accept(&watch->listener)))
        if (watch->interval_ms)
            spex_caller_ask(caller, SPEX_CONTROL_SUBSCRIBE, SPEX_CALLER_INTERVAL,
                            watch->interval_ms);
    if (!refused && watch->listener.refused)
        spex_complain(0, "more than %zu processes have started spex; the probes of others are off",
                      watch->listener.count);
}

/* A process that connects again continues from what its first connection has shown. */
static void caller_take_over(const struct spex_listener *listener, struct spex_caller *caller) {
    for (size_t c = 0; c < listener->count && listener->callers[c] != caller; c++)
        if (spex_caller_same(listener->callers[c], caller)) {
            spex_profile_free(&caller->shown);
            caller->shown = listener->callers[c]->shown;
            listener->callers[c]->shown = (struct spex_profile){.row_count = 0};
        }
}

/* The first report of a subscription is not shown: it comes at once, when there is nothing to
 * report yet. */
static void watch_take_report(struct spex_run_watch *watch, struct spex_caller *caller) {
    if (spex_caller_take(caller) <= 0 || caller->reader.number != SPEX_CALLER_INTERVAL ||
        caller->reader.final)
        return;
    if (caller->subscribed)
        spex_run_output_interval(&watch->output, caller, seconds_since_start(watch));
    else
        caller_take_over(&watch->listener, caller);
    caller->subscribed = true;
}

/* Returns how many descriptors there are. poll ignores those that are -1. */
static nfds_t watch_fill_fds(const struct spex_run_watch *watch, struct pollfd fds[POLLED]) {
    const struct spex_listener *listener = &watch->listener;
    fds[SIGNALS] = (struct pollfd){.fd = watch->signals.fd, .events = POLLIN};
    fds[PROGRAM] = (struct pollfd){.fd = watch->program.pidfd, .events = POLLIN};
    fds[LISTENER] = (struct pollfd){.fd = listener->listening.socket.number, .events = POLLIN};
    fds[HANDED] = (struct pollfd){.fd = listener->handover.own, .events = POLLIN};
    for (size_t c = 0; c < listener->count; c++)
        fds[FIRST + c] = (struct pollfd){.fd = listener->callers[c]->socket, .events = POLLIN};
    return FIRST + listener->count;
}

/* A process that connects during this turn has no descriptor in `fds` yet; its reports are
 * taken in the next one. */
void spex_run_watch(struct spex_run_watch *watch) {
    struct pollfd fds[POLLED];
    while (!spex_launched_ended(&watch->program)) {
        nfds_t count = watch_fill_fds(watch, fds);
        if (spex_wait_ready(fds, count, -1) <= 0)
            continue;
        spex_passed_signals_pass(&watch->signals, &watch->program);
        for (nfds_t f = FIRST; f < count; f++)
            if (fds[f].revents)
                watch_take_report(watch, watch->listener.callers[f - FIRST]);
        watch_accept_callers(watch);
    }
}

/* Whether no more reports are to be waited for: the last answer has come, or the process has
 * ended. The reports that it has sent before are taken by then. */
static bool caller_is_settled(struct spex_caller *caller) {
    if (caller->reader.complete && caller->reader.number == SPEX_CALLER_LAST)
        return true;
    return !spex_caller_runs(caller);
}

/* Takes the reports that have arrived. */
static void caller_drain(struct spex_caller *caller, uint64_t until) {
    while (spex_caller_take(caller) > 0 && spex_clock_ns(CLOCK_MONOTONIC) < until)
        continue;
}

/* Where a process has died without stopping spex, and its rings still have all records. */
static void caller_make_whole(struct spex_caller *caller, double rate) {
    int rings = caller->rings;
    if (!caller->reader.complete || caller->reader.final || spex_caller_runs(caller))
        return;
    caller->rings = -1;
    caller->whole =
        spex_profile_make_whole(&caller->reader.profile, rings, spex_caller_unseen_seconds(caller),
                                rate, &caller->unseen_records) == 0;
}

/* Whether a process has ended is asked before its reports are taken: all that it sent is in the
 * socket by then. */
void spex_run_watch_settle(struct spex_run_watch *watch) {
    struct pollfd fds[SPEX_CALLERS_MAX];
    struct spex_listener *listener = &watch->listener;
    uint64_t until = spex_clock_ns(CLOCK_MONOTONIC) + SETTLE_NS;
    watch_accept_callers(watch);
    spex_listener_shut(listener);
    for (size_t c = 0; c < listener->count; c++)
        spex_caller_ask(listener->callers[c], SPEX_CONTROL_PROFILE, SPEX_CALLER_LAST, 0);
    for (size_t waiting = 1; waiting && spex_clock_ns(CLOCK_MONOTONIC) < until;) {
        waiting = 0;
        for (size_t c = 0; c < listener->count; c++) {
            struct spex_caller *caller = listener->callers[c];
            bool ended = !spex_caller_runs(caller);
            caller_drain(caller, until);
            if (caller->socket >= 0 && !ended && !caller_is_settled(caller))
                fds[waiting++] = (struct pollfd){.fd = caller->socket, .events = POLLIN};
        }
        if (waiting)
            spex_wait_ready(fds, waiting, 10);
    }
    double rate = spex_tick_rate_since(watch->begin);
    for (size_t c = 0; c < listener->count; c++)
        caller_make_whole(listener->callers[c], rate);
}
