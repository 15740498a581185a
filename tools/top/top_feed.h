/* SPDX-License-Identifier: MIT */
/* Receives the profiles of a running program: subscribes to them, reconnects after the connection
 * is lost, and notices the end of the program. */
#ifndef SPEX_TOOLS_TOP_TOP_FEED_H
#define SPEX_TOOLS_TOP_TOP_FEED_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile_reader.h"
#include "text/error.h"

enum spex_top_state {
    SPEX_TOP_FOLLOWS,
    /* The process exists and does not answer: it may be executing another program. */
    SPEX_TOP_SEARCHES,
    /* The process exists, and has not answered for too long. */
    SPEX_TOP_LEFT,
    /* The process has ended. */
    SPEX_TOP_ENDED,
};

struct spex_top_feed;
struct spex_function_watch;

enum { SPEX_TOP_FEED_FDS = 2 };

/* Another source of profiles than a program's reports: what its wait and take are. */
struct spex_top_source {
    int (*wait)(const struct spex_top_feed *feed, struct pollfd fds[SPEX_TOP_FEED_FDS]);
    bool (*take)(struct spex_top_feed *feed);
};

struct spex_top_feed {
    pid_t process;
    /* Readable when the process has ended; -1 where the system has no pidfd_open. */
    int process_fd;
    /* -1: none. */
    int socket;
    enum spex_top_state state;
    /* How many times the program was found again. */
    unsigned found;
    /* The last report said that no other follows. */
    bool final;
    uint32_t interval_ms;
    uint64_t lost_ns;
    /* When the last report has come, or was asked for. `silent`: another is overdue. */
    uint64_t heard_ns;
    bool silent;
    struct spex_profile_reader reader;
    bool has_now, has_difference;
    /* The figures since the program has started spex. */
    struct spex_profile now;
    /* The figures since the report before. */
    struct spex_profile difference;
    /* NULL, or that of functions that are counted here (top_functions.h): when they are to be looked at, and the next
     * report, in milliseconds. */
    const struct spex_top_source *source;
    struct spex_function_watch *functions;
    uint64_t pass_ms, report_ms;
    /* Why the state is SPEX_TOP_LEFT, or why opening failed. */
    struct spex_error error;
};

/* 0, or a negative errno value with the reason in feed->error. */
int spex_top_feed_open(struct spex_top_feed *feed, pid_t process, uint32_t interval_ms);
void spex_top_feed_close(struct spex_top_feed *feed);

/* Takes a profile, which becomes the feed's. 0 or -ENOMEM. */
int spex_top_feed_take_profile(struct spex_top_feed *feed, struct spex_profile *profile);

/* Changes the interval. The program sends a report at once, also when the interval stays the
 * same. */
void spex_top_feed_subscribe(struct spex_top_feed *feed, uint32_t interval_ms);

/* Sets the descriptors to poll before the next spex_top_feed_take; returns the timeout in
 * milliseconds. */
int spex_top_feed_wait(const struct spex_top_feed *feed, struct pollfd fds[SPEX_TOP_FEED_FDS]);

/* Takes one report. False when there is none; feed->state says whether more may come. */
bool spex_top_feed_take(struct spex_top_feed *feed);

#endif
