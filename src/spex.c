/* SPDX-License-Identifier: MIT */
/* Start and stop: puts rings, sites, collectors and the output together, in this order, and takes
 * them apart in the other. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "collector.h"
#include "counters/counters.h"
#include "environment.h"
#include "message.h"
#include "probes.h"
#include "rings.h"
#include "selection.h"
#include "sinks.h"
#include "sites.h"
#include "stream.h"
#include "table.h"
#include "threads.h"
#include "unmatched.h"
#include "variables.h"

static struct {
    pthread_mutex_t lock;
    bool started;
    bool fork_handled;
    struct spex_settings settings;
    char *out; /* owned; settings.out points here */
} life = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fork_prepare(void) {
    pthread_mutex_lock(&life.lock);
    spex_sites_fork_prepare();
    spex_sinks_fork_prepare();
    spex_counters_fork_prepare(); /* after the sinks, of which the table asks about counters */
}

static void fork_parent(void) {
    spex_counters_fork_parent();
    spex_sinks_fork_parent();
    spex_sites_fork_parent();
    pthread_mutex_unlock(&life.lock);
}

/* The child starts clean: its probes are off, it has no collector and no output, until it calls
 * spex_start itself. */
static void fork_child(void) {
    spex_counters_fork_child();
    spex_sinks_fork_child();
    spex_sites_fork_child();
    spex_collectors_fork_child();
    spex_threads_fork_child();
    spex_rings_fork_child();
    life.started = false;
    pthread_mutex_unlock(&life.lock);
}

static int output_open(void) {
    static const char unix_prefix[] = "unix:";
    const char *out = life.settings.out;
    struct spex_sink *sink = NULL;
    int err;
    if (out && strncmp(out, unix_prefix, strlen(unix_prefix)) == 0)
        err = spex_stream_open(out + strlen(unix_prefix), life.settings.collectors, &sink);
    else
        err = spex_table_open(out, &sink);
    if (!err)
        spex_sinks_add(sink);
    return err;
}

/* Maps what probes write to, starts collectors, opens the output: all before a site goes on. */
static int collection_start(void) {
    int err = spex_probes_prepare(&life.settings);
    if (!err && !life.fork_handled) {
        err = -pthread_atfork(fork_prepare, fork_parent, fork_child);
        life.fork_handled = !err;
    }
    if (err) {
        spex_message("cannot reserve memory for rings of %u records: %s",
                     life.settings.ring_records, strerror(-err));
        return err;
    }
    err = spex_collectors_start(life.settings.collectors, life.settings.batch_records);
    if (err) {
        spex_message("cannot start %u collector threads: %s", life.settings.collectors,
                     strerror(-err));
        return err;
    }
    err = output_open();
    if (err)
        spex_collectors_stop();
    else
        spex_collectors_begin();
    return err;
}

/* The selection is read before anything is opened or started for it. */
static int select_locked(const char *probes) {
    struct spex_selection selection;
    char why[256] = "out of memory", unmatched[SPEX_UNMATCHED_BYTES];
    int err = spex_selection_parse(probes ? probes : "", &selection, why, sizeof(why));
    if (err) {
        spex_message("probe selection: %s", why);
        return err;
    }
    if (spex_selection_any_on(&selection) && !spex_collectors_running()) {
        err = collection_start();
        if (err) {
            spex_selection_free(&selection);
            return err;
        }
    }
    if (spex_unmatched(&selection, unmatched, sizeof(unmatched)) > 0)
        spex_message("%s", unmatched);
    int on = spex_sites_select(selection);
    if (on < 0)
        spex_message("probe selection: stays as it was: %s", strerror(-on));
    spex_collectors_wake();
    return on;
}

static void stop_locked(void) {
    spex_sites_select((struct spex_selection){0});
    if (spex_collectors_running()) {
        spex_collectors_stop();
        spex_sinks_finish();
    }
    free(life.out);
    life.out = NULL;
    life.started = false;
}

static int start_locked(const struct spex_options *options) {
    if (life.started)
        return -EALREADY;
    spex_variables_check();
    int err = spex_settings_read(options, &life.settings);
    if (err)
        return err;
    if (life.settings.out && !(life.out = strdup(life.settings.out)))
        return -ENOMEM;
    life.settings.out = life.out;
    life.started = true;
    if (!life.settings.probes)
        return 0;
    int on = select_locked(life.settings.probes);
    if (on < 0)
        stop_locked();
    return on < 0 ? on : 0;
}

int spex_start(const struct spex_options *options) {
    pthread_mutex_lock(&life.lock);
    int err = start_locked(options);
    pthread_mutex_unlock(&life.lock);
    return err;
}

int spex_set(const char *probes) {
    pthread_mutex_lock(&life.lock);
    int on = life.started ? select_locked(probes) : -EPERM;
    pthread_mutex_unlock(&life.lock);
    return on;
}

int spex_stop(void) {
    pthread_mutex_lock(&life.lock);
    if (life.started)
        stop_locked();
    pthread_mutex_unlock(&life.lock);
    return 0;
}

__attribute__((destructor)) static void stop_at_exit(void) {
    spex_stop();
    spex_threads_exit();
}

int spex_status_get(struct spex_status *status) {
    if (status->size != sizeof(*status))
        return -EINVAL;
    struct spex_ring_counts counts = spex_rings_totals();
    *status = (struct spex_status){
        .size = sizeof(*status),
        .sites = spex_sites_count(),
        .sites_on = spex_sites_on(),
        .sites_refused = spex_sites_refused(),
        .collectors = spex_collectors_running(),
        .produced = counts.produced,
        .consumed = counts.consumed,
        .lost = counts.lost,
        .pending = counts.pending,
        .undelivered = spex_sinks_undelivered(),
        .unrecorded = spex_threads_unrecorded(),
        .ring_bytes = spex_rings_bytes(),
        .thread_bytes = spex_rings_count() ? SPEX_THREADS_BYTES : 0, /* made before the rings */
    };
    return 0;
}
