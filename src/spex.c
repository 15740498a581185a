/* SPDX-License-Identifier: MIT */
/* Start and stop: puts rings, sites, collectors and the output together, in this order, and takes
 * them apart in the other. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>
#include <spex/spex.h>

#include "allowance.h"
#include "clock.h"
#include "collector.h"
#include "control/control.h"
#include "controller.h"
#include "counters/counters.h"
#include "environment.h"
#include "functions.h"
#include "life.h"
#include "message.h"
#include "metrics.h"
#include "output.h"
#include "prober.h"
#include "probes.h"
#include "regions.h"
#include "rings.h"
#include "samples/looker.h"
#include "selection.h"
#include "service_thread.h"
#include "sinks.h"
#include "sites.h"
#include "stream.h"
#include "threads.h"
#include "unmatched.h"
#include "unprobed.h"
#include "variables.h"

enum { WHY_BYTES = 512 };

/* How long a fork waits for threads of ours to be at rest. A sink that blocks must not block the program. */
#define FORK_WAIT_NS 20000000

struct models_asked {
    char *path; /* owned; NULL: by the settings */
    double samples;
    double share;
};

static struct {
    pthread_mutex_t lock;
    bool started;
    bool
        followed; /* by itself, in the child of a fork, and the program has not called spex_start since */
    bool fork_handled;
    struct spex_settings settings;
    char *out;                        /* owned; settings.out points here */
    char *control;                    /* and settings.control here, */
    char *models;                     /* and settings.models */
    struct models_asked models_asked; /* by a command, instead */
    struct spex_output *output;       /* NULL: there is to be no table */
} life = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Locks in the order in which all others take them: a sink's end waits for metrics, of which the table and the control
 * thread ask, with sites. */
static void fork_prepare(void) {
    pthread_mutex_lock(&life.lock);
    uint64_t until_ns = spex_clock_ns(CLOCK_REALTIME) + FORK_WAIT_NS;
    spex_service_threads_await(until_ns);
    spex_collectors_fork_prepare(until_ns); /* while it has no lock that a pass may want */
    spex_control_fork_prepare();
    spex_sinks_fork_prepare();
    spex_sites_fork_prepare();
    spex_counters_fork_prepare(); /* after the sinks, of which the table asks about counters */
}

static void fork_parent(void) {
    spex_counters_fork_parent();
    spex_sites_fork_parent();
    spex_sinks_fork_parent();
    spex_control_fork_parent();
    spex_collectors_fork_parent();
    pthread_mutex_unlock(&life.lock);
}

static int collection_start(bool table);
static int control_start(void);

/* With SPEX_FORKS=follow the child does as its parent did. What goes wrong is said, and it goes on without. */
static void follow(struct spex_selection selection, bool table) {
    control_start();
    if (selection.count > 0 && collection_start(table) == 0) {
        spex_sites_select(selection);
        spex_collectors_wake();
    } else {
        spex_selection_free(&selection);
    }
}

static void settings_free(void) {
    free(life.out);
    free(life.control);
    free(life.models);
    free(life.models_asked.path);
    life.models_asked.path = NULL;
    life.out = life.control = life.models = NULL;
}

/* The child starts clean: its probes are off, it has no collector and no output, until it calls
 * spex_start itself. */
static void fork_child(void) {
    bool follows = life.started && life.settings.follow, table = life.output != NULL;
    struct spex_selection selection;
    spex_counters_fork_child();
    spex_sinks_fork_child();
    spex_metrics_fork_child();
    spex_controller_end();
    spex_sites_fork_child();
    spex_sites_inherit(&selection);
    spex_control_fork_child();
    spex_collectors_fork_child();
    spex_looker_fork_child();
    spex_service_threads_fork_child();
    spex_threads_fork_child();
    spex_rings_fork_child();
    spex_output_abandon(life.output); /* which the parent has */
    life.output = NULL;
    life.started = life.followed = follows;
    if (follows) {
        follow(selection, table);
    } else {
        /* The rate policy's object stays: another thread may have been in the loader, which is not made anew. */
        settings_free();
        spex_selection_free(&selection);
    }
    pthread_mutex_unlock(&life.lock);
}

static const char unix_prefix[] = "unix:";
static const char metrics_prefix[] = "metrics:";

enum {
    REPORT_INTERVAL_MS = 1000
}; /* what a command that we call gets, unless it asks for another */

static bool begins_with(const char *text, const char *prefix) {
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

static int fork_handle(void) {
    if (life.fork_handled)
        return 0;
    int err = -pthread_atfork(fork_prepare, fork_parent, fork_child);
    life.fork_handled = !err;
    return err;
}

static int sink_open(void) {
    struct spex_sink *sink = NULL;
    int err = begins_with(life.settings.out, unix_prefix)
                  ? spex_stream_open(life.settings.out + strlen(unix_prefix),
                                     life.settings.collectors, &sink)
                  : spex_metrics_open(&sink);
    if (!err)
        spex_sinks_add(sink);
    return err;
}

/* There is one where the program or its user in front of it has asked for figures, and not where a command
 * has, which gets them itself. */
static int output_open(bool table) {
    const char *out = life.settings.out;
    if (life.output || begins_with(out, unix_prefix) || begins_with(out, metrics_prefix) ||
        !(out || table))
        return 0;
    return spex_output_open(out, &life.output);
}

static int outputs_open(bool table) {
    int err = output_open(table);
    return err ? err : sink_open();
}

/* Records that another process takes are recorded as selected. */
static bool is_elsewhere(void) {
    return begins_with(life.settings.out, unix_prefix);
}

static int controller_begin(void) {
    const struct spex_rate_policy_ops *policy = life.settings.rate_policy;
    int err = spex_controller_begin(is_elsewhere() ? 0 : life.settings.budget, policy);
    if (err)
        spex_message("cannot reserve memory for the rate policy %s: %s", policy->name,
                     strerror(-err));
    return err;
}

/* In ticks, of which it must be known how long they are: that takes a few milliseconds. */
static void allowance_begin(void) {
    double share = life.settings.thread_budget;
    spex_allowance_set(share, share > 0 ? spex_tick_rate_since(spex_instant_now()) : 0);
}

/* What the user has named is there, or it is an error, as a selection that cannot be read. */
static int models_begin(struct spex_why *why) {
    const char *path = life.settings.models;
    double samples = life.settings.samples, budget = life.settings.budget;
    bool controlled = budget > 0 && !is_elsewhere();
    if (life.models_asked.path) {
        path = life.models_asked.path;
        samples = life.models_asked.samples;
        budget = life.models_asked.share > 0 ? life.models_asked.share : budget;
    }
    if (path)
        return spex_looker_start(path, samples, budget, !controlled, why);
    spex_looker_stop();
    return 0;
}

/* Maps what probes write to, starts collectors, opens the output: all before a site goes on. */
static int collection_start(bool table) {
    int err = spex_probes_prepare(&life.settings);
    err = err ? err : fork_handle();
    if (err) {
        spex_message("cannot reserve memory for rings of %u records: %s",
                     life.settings.ring_records, strerror(-err));
        return err;
    }
    allowance_begin();
    err = controller_begin();
    if (err)
        return err;
    spex_prober_begin(life.settings.probing);
    err = spex_collectors_start(life.settings.collectors, life.settings.batch_records);
    if (err) {
        spex_message("cannot start %u collector threads: %s", life.settings.collectors,
                     strerror(-err));
        return err;
    }
    struct spex_why why = {""};
    err = models_begin(&why);
    if (err)
        spex_message("SPEX_MODELS: %s", why.text);
    err = err ? err : outputs_open(table);
    if (err) {
        spex_looker_stop();
        spex_collectors_stop();
    } else {
        spex_collectors_begin();
    }
    return err;
}

/* A program runs as well without: unless somebody has said that he wants a door, nothing is said when there can
 * be none. */
static void door_open(void) {
    char why[WHY_BYTES] = "";
    if (life.settings.closed)
        return;
    int err = fork_handle();
    err = err ? err : spex_control_start(life.settings.control, why, sizeof(why));
    if (err && (life.settings.control || life.settings.probes))
        spex_message("no control socket: %s", why);
}

static int control_start(void) {
    char why[WHY_BYTES] = "";
    door_open();
    if (!begins_with(life.settings.out, metrics_prefix))
        return 0;
    int err = fork_handle();
    err = err ? err
              : spex_control_call(life.settings.out + strlen(metrics_prefix), REPORT_INTERVAL_MS,
                                  why, sizeof(why));
    if (err)
        spex_message("SPEX_OUT: %s", why);
    return err;
}

/* To who has selected: a command, which has room for it, or the program itself, on standard error. */
__attribute__((format(printf, 3, 4))) static void tell(char *answer, size_t size,
                                                       const char *format, ...) {
    char line[SPEX_UNMATCHED_BYTES + 64];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (answer)
        snprintf(answer, size, "%s", line);
    else
        spex_message("%s", line);
}

/* The selection is read before anything is opened or started for it. `answer`: NULL where the program itself
 * selects. */
static int select_locked(const char *probes, char *answer, size_t size) {
    struct spex_selection selection;
    char why[256] = "out of memory", unmatched[SPEX_UNMATCHED_BYTES];
    int err = spex_selection_parse(probes ? probes : "", &selection, why, sizeof(why));
    if (err) {
        tell(answer, size, "probe selection: %s", why);
        return err;
    }
    if (spex_selection_any_on(&selection))
        err = spex_collectors_running() ? output_open(!answer) : collection_start(!answer);
    if (err) { /* of which the program has said already why */
        if (answer)
            tell(answer, size, "records cannot be collected: %s", strerror(-err));
        spex_selection_free(&selection);
        return err;
    }
    if (spex_unprobed(&selection, unmatched, sizeof(unmatched)) > 0)
        tell(answer, size, "%s", unmatched);
    if (spex_unmatched(&selection, unmatched, sizeof(unmatched)) > 0)
        tell(answer, size, "%s", unmatched);
    int on = spex_sites_select(selection);
    if (on < 0)
        tell(answer, size, "probe selection: stays as it was: %s", strerror(-on));
    spex_collectors_wake();
    return on;
}

int spex_life_select(const char *probes, char *answer, size_t size) {
    if (pthread_mutex_trylock(&life.lock) != 0)
        return -EBUSY;
    int on = life.started ? select_locked(probes, answer, size) : -EPERM;
    pthread_mutex_unlock(&life.lock);
    return on;
}

static int stream_locked(struct spex_descriptor socket, uint32_t types, char *answer, size_t size) {
    int err = life.started ? spex_stream_attach(socket, types, life.settings.collectors) : -EPERM;
    if (err == -EUSERS)
        tell(answer, size, "this program streams to %d others already: no more may be",
             SPEX_STREAMS_MAX);
    else if (err)
        tell(answer, size, "records cannot be streamed: %s",
             err == -EPERM ? "spex has not been started" : strerror(-err));
    return err;
}

int spex_life_stream(struct spex_descriptor socket, uint32_t types, char *answer, size_t size) {
    if (pthread_mutex_trylock(&life.lock) != 0)
        return -EBUSY;
    int err = stream_locked(socket, types, answer, size);
    pthread_mutex_unlock(&life.lock);
    return err;
}

static int models_locked(const char *path, double samples, double share, char *answer,
                         size_t size) {
    char *copy = path ? strdup(path) : NULL;
    struct spex_why why = {""};
    int err = life.started ? 0 : -EPERM;
    if (err || (path && !copy)) {
        tell(answer, size, "models cannot be gone by: %s", strerror(err ? EPERM : ENOMEM));
        free(copy);
        return err ? err : -ENOMEM;
    }
    struct models_asked before = life.models_asked;
    life.models_asked = (struct models_asked){copy, samples, share};
    if (spex_collectors_running())
        err = models_begin(&why);
    else if (copy)
        err = spex_looker_check(copy, &why);
    free(err ? copy : before.path);
    if (err) { /* what was gone by before still is */
        tell(answer, size, "%s", why.text);
        life.models_asked = before;
    }
    return err;
}

int spex_life_models(const char *path, double samples, double share, char *answer, size_t size) {
    if (pthread_mutex_trylock(&life.lock) != 0)
        return -EBUSY;
    int err = models_locked(path, samples, share, answer, size);
    pthread_mutex_unlock(&life.lock);
    return err;
}

static int need_locked(const char *probes, char *why, size_t why_size) {
    struct spex_selection selection;
    int err = spex_selection_parse(probes, &selection, why, why_size);
    if (err)
        return err;
    if (spex_selection_any_on(&selection) && !spex_collectors_running())
        err = collection_start(false);
    if (err) {
        snprintf(why, why_size, "records cannot be collected: %s", strerror(-err));
        spex_selection_free(&selection);
        return err;
    }
    spex_sites_need(selection);
    spex_collectors_wake();
    return 0;
}

int spex_life_need(const char *probes, char *why, size_t why_size) {
    pthread_mutex_lock(&life.lock);
    int err = -EPERM;
    if (life.started)
        err = need_locked(probes, why, why_size);
    else
        snprintf(why, why_size, "spex has not been started");
    pthread_mutex_unlock(&life.lock);
    return err;
}

static void stop_locked(void) {
    spex_sites_need((struct spex_selection){0});
    spex_sites_select((struct spex_selection){0});
    bool collected = spex_collectors_running() != 0;
    spex_looker_stop();
    if (collected) {
        spex_collectors_stop();
        uint64_t end_ns = spex_clock_ns(CLOCK_MONOTONIC);
        spex_regions_tell();
        spex_metrics_end();
        spex_controller_close_accounts(end_ns);
    }
    spex_control_stop();
    if (life.output)
        spex_output_finish(life.output);
    spex_sinks_finish();   /* a command may have asked for a stream though nothing was collected */
    spex_controller_end(); /* may have begun though collectors could not */
    settings_free();
    spex_rate_object_close(&life.settings.rate_object);
    life.output = NULL;
    life.started = life.followed = false;
}

/* The settings point into the environment and into the program's options, which may go away. */
static int settings_keep(void) {
    const char *out = life.settings.out, *control = life.settings.control;
    const char *models = life.settings.models;
    if ((out && !(life.out = strdup(out))) || (control && !(life.control = strdup(control))) ||
        (models && !(life.models = strdup(models))))
        return -ENOMEM;
    life.settings.out = life.out;
    life.settings.control = life.control;
    life.settings.models = life.models;
    return 0;
}

/* Programs that are not instrumented do not have what makes kernels of functions. */
static int functions_make(void) {
    if (!life.settings.functions)
        return 0;
    if (spex_functions_make)
        return spex_functions_make(life.settings.functions);
    spex_message(
        "SPEX_FUNCTIONS: this program was not compiled with -finstrument-functions, or linked "
        "with -flto and without -Wl,-u,__cyg_profile_func_enter");
    return 0;
}

static int start_locked(const struct spex_options *options) {
    if (life.started) {
        bool followed = life.followed;
        life.followed = false;
        return followed ? 0 : -EALREADY;
    }
    spex_variables_check();
    int err = spex_settings_read(options, &life.settings);
    if (err)
        return err;
    err = settings_keep();
    err = err ? err : functions_make();
    err = err ? err : control_start();
    life.started = true;
    int on = err;
    if (!err && life.settings.probes)
        on = select_locked(life.settings.probes, NULL, 0);
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
    int on = life.started ? select_locked(probes, NULL, 0) : -EPERM;
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
        .sites = spex_sites_of_probes(),
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
        .thread_bytes = spex_rings_count() ? spex_threads_bytes() : 0, /* made before the rings */
    };
    return 0;
}
