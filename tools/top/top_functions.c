/* SPDX-License-Identifier: MIT */
#include "tools/top/top_functions.h"

#include "base/clock.h"
#include "observe/profile_sum.h"

static uint64_t now_ms(void) {
    return spex_clock_ns(CLOCK_MONOTONIC) / 1000000;
}

/* Until a function is to be looked at, or the next report. */
static int wait_for(const struct spex_top_feed *feed, struct pollfd fds[SPEX_TOP_FEED_FDS]) {
    const struct spex_function_watch *watch = feed->functions;
    bool over = feed->state == SPEX_TOP_ENDED;
    uint64_t now = now_ms(),
             due = feed->pass_ms < feed->report_ms ? feed->pass_ms : feed->report_ms;
    fds[0] = (struct pollfd){.fd = over ? -1 : spex_attachment_alarms(watch->attachment),
                             .events = POLLIN};
    fds[1] = (struct pollfd){.fd = over ? -1 : watch->program.pidfd, .events = POLLIN};
    if (over)
        return -1;
    return due > now ? (int)(due - now) : 0;
}

/* A report, by a copy of what there is. */
static bool report(struct spex_top_feed *feed) {
    const struct spex_profile none = {.row_count = 0};
    struct spex_profile here, copy;
    spex_attachment_profile(feed->functions->attachment, &here);
    int err = spex_profile_since(&here, &none, &copy);
    err = err ? err : spex_top_feed_take_profile(feed, &copy);
    if (!err)
        return true;
    spex_error_set(&feed->error, "out of memory");
    feed->state = SPEX_TOP_LEFT;
    return false;
}

/* Reports begin when all functions are on that can be. */
static bool take(struct spex_top_feed *feed) {
    if (feed->state != SPEX_TOP_FOLLOWS)
        return false;
    if (spex_program_state(&feed->functions->program) != SPEX_PROGRAM_RUNS) {
        feed->state = SPEX_TOP_ENDED;
        return false;
    }
    uint64_t now = now_ms();
    feed->pass_ms = now + (uint64_t)spex_function_watch_pass(feed->functions);
    if (now < feed->report_ms || !feed->functions->settled)
        return false;
    feed->report_ms = now + feed->interval_ms;
    return report(feed);
}

void spex_top_functions_open(struct spex_top_feed *feed, struct spex_function_watch *watch,
                             uint32_t interval_ms) {
    static const struct spex_top_source source = {wait_for, take};
    *feed = (struct spex_top_feed){.process = watch->program.process,
                                   .process_fd = -1,
                                   .socket = -1,
                                   .interval_ms = interval_ms,
                                   .source = &source,
                                   .functions = watch};
}
