/* SPDX-License-Identifier: MIT */
/* Follows the processes of one program, which come and go, and sums their profiles. No call waits
 * for a process that does not answer. One thread uses a feed. */
#ifndef SPEX_OBSERVE_WORKER_FEED_H
#define SPEX_OBSERVE_WORKER_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "observe/profile_reader.h"
#include "observe/workers.h"
#include "text/error.h"

struct spex_worker {
    pid_t process;
    /* -1: the connection is lost; another is tried at each look. */
    int socket;
    struct spex_profile_reader reader;
    /* Its last report, and whether that has come since reports were last taken. */
    struct spex_profile now;
    bool has_now, fresh;
    /* When the last report has come, or was asked for, and when the connection was lost:
     * CLOCK_MONOTONIC, ns. */
    uint64_t heard_ns;
    uint64_t lost_ns;
};

struct spex_worker_feed {
    struct spex_workers_of of;
    /* From one report of a process to the next. */
    uint32_t interval_ms;
    struct spex_worker *workers;
    size_t count;
    /* Sums of the last reports of processes that have ended. */
    struct spex_profile gone;
    /* When the first process began to collect, CLOCK_MONOTONIC; 0: not known yet. */
    uint64_t begin_ns;
    /* When processes were looked for last. */
    uint64_t looked_ns;
};

/* A feed without processes: spex_worker_feed_look finds them. */
void spex_worker_feed_open(struct spex_worker_feed *feed, const struct spex_workers_of *of,
                           uint32_t interval_ms);
void spex_worker_feed_close(struct spex_worker_feed *feed);

/* Finds processes that have come, and forgets those that are gone. To be called every interval:
 * /proc is read twice a second at most. 0, or a negative errno value as of spex_workers_find, with
 * the reason. */
int spex_worker_feed_look(struct spex_worker_feed *feed, struct spex_error *error);

/* What taking reports waits for: for a time alone; for the first report of each process, no longer
 * than that time; or for that time and a report of each process, so that none is left out of what
 * has happened meanwhile. Those that are silent are not waited for. */
enum spex_worker_wait { SPEX_WORKERS_TIME, SPEX_WORKERS_FIRST, SPEX_WORKERS_EACH };

/* Takes the reports that come. `until_ns`: CLOCK_MONOTONIC. 0 or -ENOMEM. */
int spex_worker_feed_take(struct spex_worker_feed *feed, uint64_t until_ns,
                          enum spex_worker_wait wait);

/* Whether a report of the process is overdue: it is stopped, or its machine is very busy. */
bool spex_worker_is_silent(const struct spex_worker_feed *feed, const struct spex_worker *worker);

/* Sets `sum` to what all have done so far, and *reporting to how many processes it has reports of;
 * those that are gone are in the sum alone. Times are to be settled (profile_sum.h). Free it. 0 or
 * -ENOMEM. */
int spex_worker_feed_sum(const struct spex_worker_feed *feed, struct spex_profile *sum,
                         size_t *reporting);

#endif
