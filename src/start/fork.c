/* SPDX-License-Identifier: MIT */
/* What happens around a fork, and in its child.
 *
 * The locks are held across the fork, so that the child finds every structure whole. The child has
 * the forking thread alone: it resets each room that had a thread or a file of its parent's, and
 * then collects nothing until it starts spex itself, or at once with SPEX_FORKS=follow. Handlers
 * run on the thread that forks, in the program's time. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/dump_request.h"
#include "collect/metrics.h"
#include "collect/sinks.h"
#include "collect/stream.h"
#include "counters/counters.h"
#include "kernels/kernel_sampler.h"
#include "probe/threads.h"
#include "rate/controller.h"
#include "ring/doorbell.h"
#include "ring/rings.h"
#include "site/registry.h"
#include "site/selection/selection.h"
#include "spans/open_spans.h"
#include "start/life_state.h"
#include "text/at_start.h"

/* Longest time that a fork waits for spex's threads to be between passes: a sink that blocks must
 * not block the program. */
#define FORK_WAIT_NS 20000000

/* Of the program, while it forks. */
static int errno_before;

/* Takes all locks, in the order in which the other code takes them: start and stop, control, sinks,
 * sites, counters. The end of a sink waits for the metrics, which the table and the control thread
 * read together with sites; the table also reads counters, so that their lock comes last. */
static void fork_prepare(void) {
    pthread_mutex_lock(&spex_life.lock);
    uint64_t until_ns = spex_clock_ns(CLOCK_REALTIME) + FORK_WAIT_NS;
    spex_service_threads_await(until_ns);
    /* Before any lock that a pass may take. */
    spex_collectors_fork_prepare(until_ns);
    spex_control_fork_prepare();
    spex_sinks_fork_prepare();
    spex_sites_fork_prepare();
    spex_counters_fork_prepare();
    errno_before = errno;
    errno = 0;
}

/* Releases the locks in the reverse order. Handlers are called after a fork that has failed, too,
 * and are not told of it but by errno. */
static void fork_parent(void) {
    bool forked = !errno, followed = spex_life.settings.follow || spex_streams_of_children();
    if (forked && !followed && spex_metrics_there())
        spex_metrics_fork_unfollowed();
    if (forked)
        errno = errno_before;
    spex_counters_fork_parent();
    spex_sites_fork_parent();
    spex_sinks_fork_parent();
    spex_control_fork_parent();
    spex_collectors_fork_parent();
    pthread_mutex_unlock(&spex_life.lock);
}

/* With SPEX_FORKS=follow the child collects as its parent does. After an error, of which a message
 * tells, the child goes on without spex. Owns `selection`: the registry takes it, or it is
 * freed. */
static void child_follow(struct spex_selection selection, bool table) {
    spex_life.out_given_up = false;
    spex_life_control_start();
    if (selection.count > 0 && !spex_life.out_given_up && spex_collection_start(table) == 0) {
        spex_streams_follow(spex_life.settings.collectors);
        spex_sites_select(selection);
        spex_control_tell();
        spex_doorbell_ring();
    } else {
        spex_selection_free(&selection);
    }
}

/* Resets the child: its probes are off, and it has no collector and no output until it calls
 * spex_start or follows its parent. */
static void fork_child(void) {
    /* Read before the state of the parent is forgotten. */
    bool follows = spex_life.started && spex_life.settings.follow, table = spex_life.output != NULL;
    bool started = spex_life.started;
    struct spex_selection selection;
    spex_counters_fork_child();
    spex_sinks_fork_child();
    follows |= started && spex_streams_followed();
    spex_dump_request_forget();
    spex_metrics_fork_child();
    spex_controller_end();
    spex_sites_fork_child();
    spex_sites_inherit(&selection);
    spex_control_fork_child();
    spex_collectors_fork_child();
    spex_kernel_sampler_fork_child();
    spex_service_threads_fork_child();
    spex_threads_fork_child();
    spex_open_spans_clear(&spex_open_spans);
    spex_rings_fork_child();
    spex_end_table_abandon(spex_life.output); /* which the parent has */
    spex_life.output = NULL;
    spex_life.started = spex_life.followed = follows;
    if (follows) {
        child_follow(selection, table);
    } else {
        /* The rate policy's object stays: another thread may have been in the loader, which is
         * not made anew. */
        spex_life_settings_free();
        spex_selection_free(&selection);
    }
    spex_streams_forget();
    pthread_mutex_unlock(&spex_life.lock);
    errno = errno_before;
}

/* Handlers cannot be removed, so they are installed once and test themselves whether spex is
 * started. */
int spex_fork_handle(void) {
    static bool handled SPEX_AT_START;
    int err = handled ? 0 : -pthread_atfork(fork_prepare, fork_parent, fork_child);
    handled |= !err;
    return err;
}
