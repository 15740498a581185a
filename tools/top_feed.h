/* SPDX-License-Identifier: MIT */
/* The profiles of a running program, as they come: subscribes, finds the program again when its socket is lost,
 * notices its end. */
#ifndef SPEX_TOP_FEED_H
#define SPEX_TOP_FEED_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile_reader.h"

enum spex_top_state {
    SPEX_TOP_FOLLOWS,
    SPEX_TOP_SEARCHES, /* the program is there and does not answer: it may have become another one */
    SPEX_TOP_LEFT,     /* and has not come back */
    SPEX_TOP_ENDED,    /* it is not there any more */
};

struct spex_top_feed {
    pid_t process;
    int process_fd; /* readable when the process has ended; -1: the system has no such thing */
    int socket;     /* -1: none */
    enum spex_top_state state;
    unsigned found; /* again, so many times */
    bool final;     /* the program has said that this was the last */
    uint32_t interval_ms;
    uint64_t lost_ns;
    struct spex_profile_reader reader;
    bool has_now, has_difference;
    struct spex_profile now;        /* since its beginning */
    struct spex_profile difference; /* since the one before */
    char why[512];                  /* SPEX_TOP_LEFT */
};

enum { SPEX_TOP_FEED_FDS = 2 };

/* 0, or a negative errno value with the reason in `why`. */
int spex_top_feed_open(struct spex_top_feed *feed, pid_t process, uint32_t interval_ms);
void spex_top_feed_close(struct spex_top_feed *feed);

/* Another interval; or the same, for a report at once. */
void spex_top_feed_subscribe(struct spex_top_feed *feed, uint32_t interval_ms);

/* What to wait for before the next spex_top_feed_take; returns for how long, in milliseconds. */
int spex_top_feed_wait(const struct spex_top_feed *feed, struct pollfd fds[SPEX_TOP_FEED_FDS]);

/* Takes one report in. True when there was one; false when there is no more, and `state` says why. */
bool spex_top_feed_take(struct spex_top_feed *feed);

#endif
