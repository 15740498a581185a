/* SPDX-License-Identifier: MIT */
/* Start and stop of the library: the public functions, and their parts under the lock of start and
 * stop. A start opens the control socket and, where probes are selected, starts rings, collectors
 * and output before the sites go on. A stop does the reverse: first the sites go off, then
 * everything that handles their records ends. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "base/grown.h"
#include "base/last_thread.h"
#include "base/memory/memory.h"
#include "base/process.h"
#include "base/service_thread.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "collect/sinks.h"
#include "kernels/functions.h"
#include "kernels/kernel_sampler.h"
#include "probe/open_spans.h"
#include "probe/regions.h"
#include "probe/threads.h"
#include "rate/controller.h"
#include "rate/occupancy_sampler.h"
#include "ring/doorbell.h"
#include "ring/rings.h"
#include "serve/control.h"
#include "site/provider.h"
#include "site/registry.h"
#include "site/selection.h"
#include "start/dormant.h"
#include "start/life.h"
#include "start/life_state.h"
#include "text/message.h"
#include "text/variables.h"

/* The order matters. Sites go off first, so that no new records are made. The kernel sampler writes
 * records, too, and ends before the collectors, which read the rings empty. The metrics end, and
 * then the accounts, which read them. The control thread ends after that, so that its last report
 * has all records. The table comes last of the readers, when no other thread of spex runs; sinks
 * are freed after it because it reads the metrics. *unused: the policy's object, for the caller to
 * close without the lock. */
static void stop_locked(bool at_exit, struct spex_shared_object *unused) {
    spex_sites_need((struct spex_selection){0});
    spex_sites_select((struct spex_selection){0});
    bool collected = spex_collectors_running() != 0;
    spex_dormant_end();
    spex_kernel_sampler_stop();
    if (collected) {
        spex_collectors_stop();
        uint64_t end_ns = spex_clock_ns(CLOCK_MONOTONIC);
        spex_regions_tell();
        spex_metrics_end();
        spex_controller_close_accounts(end_ns);
    }
    /* The table tells what the threads have cost, so a thread that is left is not in it. */
    if (collected || !at_exit || !spex_control_leave())
        spex_control_stop();
    if (spex_life.output)
        spex_end_table_finish(spex_life.output);
    spex_sinks_finish();   /* a command may have asked for a stream though nothing was collected */
    spex_controller_end(); /* may have begun though collectors could not */
    spex_occupancy_sampler_end();
    spex_life_settings_free();
    *unused = spex_life.settings.rate_object;
    spex_life.settings.rate_object = (struct spex_shared_object){.handle = NULL};
    spex_threads_give_back();
    spex_open_spans_clear(&spex_open_spans);
    spex_life.output = NULL;
    spex_life.started = spex_life.followed = false;
}

/* Copies texts of the settings, which point into the environment and the program's options: both
 * may change. */
static int settings_keep(void) {
    const char *out = spex_life.settings.out, *control = spex_life.settings.control;
    const char *models = spex_life.settings.models;
    if ((out && !(spex_life.out = spex_strdup(out))) ||
        (control && !(spex_life.control = spex_strdup(control))) ||
        (models && !(spex_life.models = spex_strdup(models))))
        return -ENOMEM;
    spex_life.settings.out = spex_life.out;
    spex_life.settings.control = spex_life.control;
    spex_life.settings.models = spex_life.models;
    return 0;
}

/* Makes kernels of functions. Programs that are not instrumented do not link the room functions, so
 * that its weak symbol is NULL. They get a message and run on: the variable may be meant for
 * another program of the same environment. */
static int functions_make(void) {
    if (!spex_life.settings.functions)
        return 0;
    if (spex_functions_make)
        return spex_functions_make(spex_life.settings.functions);
    spex_message(
        "SPEX_FUNCTIONS: this program was not compiled with -finstrument-functions, or linked "
        "with -flto and without -Wl,-u,__cyg_profile_func_enter");
    return 0;
}

static int fork_handlers_install(void) {
    int err = spex_fork_handle();
    if (err)
        spex_message("cannot install handlers of forks: %s", strerror(-err));
    return err;
}

/* What the end takes, the table above all, is about half of what a start with probes does. It is
 * charged at the start, since a program that is over soon cannot pay for it later. `begin`: the CPU
 * time of this thread when the start began. */
static int select_at_start(uint64_t begin) {
    uint64_t before = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const struct spex_control_selection selection = {.probes = spex_life.settings.probes};
    int on = spex_life_select_locked(&selection, NULL, 0);
    uint64_t after = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spex_controller_charge(spex_grown(begin, before) + spex_grown(begin, after) / 2);
    return on;
}

/* Whether spex is started; then *err is what a start returns. A child that follows its parent has
 * been started by the fork; its own first spex_start succeeds and changes nothing. */
static bool is_started(bool follows, int *err) {
    if (!spex_life.started)
        return false;
    *err = spex_life.followed ? 0 : -EALREADY;
    spex_life.followed &= follows;
    return true;
}

/* `started` is set before the selection, whose failure is undone by a whole stop. `begin`: the CPU
 * time of this thread when the start began. *unused is the settings' object, and stays so where
 * another thread has started spex since they were read; then it is as of stop_locked. */
/* The first thread is about to leave. */
static void lookers_wake(void) {
    spex_doorbell_ring();
    spex_control_nudge();
}

static int start_locked(const struct spex_settings *settings, uint64_t begin, bool follows,
                        struct spex_shared_object *unused) {
    int err;
    if (is_started(follows, &err))
        return err;
    unused->handle = NULL;
    spex_process_keep();
    spex_life.settings = *settings;
    spex_unload_expect();
    err = settings_keep();
    err = err ? err : fork_handlers_install();
    err = err ? err : functions_make();
    spex_life.out_given_up = false;
    spex_last_thread_wake_by(lookers_wake);
    if (!err)
        spex_life_control_start();
    spex_life.started = true;
    int on = err;
    if (!err && spex_life.settings.probes && !spex_life.out_given_up)
        on = select_at_start(begin);
    if (on > 0 && spex_life_out_command())
        spex_control_tell();
    if (on >= 0 || spex_life.out_given_up) {
        spex_life_select_standing();
        spex_life.followed = follows;
        return 0;
    }
    stop_locked(false, unused);
    return on;
}

/* Whether there is nothing to be started; then *err is what a start returns. */
static bool is_settled(bool follows, int *err) {
    struct spex_uninterrupted before;
    *err = spex_life_take(&before);
    if (*err)
        return true;
    bool started = is_started(follows, err);
    spex_life_give(&before);
    return started;
}

static int start_by(const struct spex_settings *settings, uint64_t begin, bool follows) {
    struct spex_shared_object unused = settings->rate_object;
    struct spex_uninterrupted before;
    int err = spex_life_take(&before);
    if (!err) {
        err = start_locked(settings, begin, follows, &unused);
        spex_life_give(&before);
    }
    spex_shared_object_close(&unused);
    return err;
}

/* A policy's object is loaded and unloaded without the lock: who has the loader, in a constructor,
 * may fork or call spex, and wait for it. */
static int start(const struct spex_options *options, bool follows) {
    struct spex_uninterrupted before;
    struct spex_settings settings;
    int err;
    if (is_settled(follows, &err))
        return err;
    spex_uninterrupted_begin(&before);
    uint64_t begin = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spex_variables_check();
    err = spex_settings_read(options, &settings);
    err = err ? err : start_by(&settings, begin, follows);
    spex_uninterrupted_end(&before);
    return err;
}

int spex_start(const struct spex_options *options) {
    return start(options, false);
}

void spex_life_begin(void) {
    (void)start(NULL, true);
}

static int set(const char *probes, struct spex_lease lease) {
    struct spex_uninterrupted before;
    int on = spex_life_take(&before);
    if (on)
        return on;
    const struct spex_control_selection selection = {.probes = probes, .lease = lease};
    on = spex_life.started ? spex_life_select_locked(&selection, NULL, 0) : -EPERM;
    spex_life_give(&before);
    return on;
}

int spex_set(const char *probes) {
    return set(probes, (struct spex_lease){0});
}

/* The limits are those of commands. False for NAN. */
int spex_set_for(const char *probes, double seconds) {
    bool told =
        seconds >= SPEX_CONTROL_LEASE_MIN_MS / 1e3 && seconds <= SPEX_CONTROL_LEASE_MAX_MS / 1e3;
    return told ? set(probes, (struct spex_lease){.ms = (uint32_t)(seconds * 1e3)}) : -EINVAL;
}

/* Where a process ends in which no probe has ever been on, its socket alone has to go: what is
 * looked at costs the program pages. */
static bool leave(void) {
    return !spex_rings_count() && !spex_sinks_any() && !spex_life.output && spex_control_leave();
}

static int stop(bool at_exit) {
    struct spex_shared_object unused = {.handle = NULL};
    struct spex_uninterrupted before;
    int err = spex_life_take(&before);
    if (err)
        return err;
    if (spex_life.started && !(at_exit && leave()))
        stop_locked(at_exit, &unused);
    spex_life_give(&before);
    spex_shared_object_close(&unused);
    return 0;
}

/* Does nothing where spex has not been started. A thread of spex, which is in a function of the
 * program, would wait for its own end. */
int spex_stop(void) {
    return spex_service_thread_is_this() ? -EDEADLK : stop(false);
}

/* exit was called in a function of the program that a thread of spex calls, or that spex calls while
 * it starts or stops. What would end is what is being done, so that the process leaves it. */
static void leave_from_within(void) {
    if (spex_collectors_running() && spex_life.output)
        spex_message("exit was called in a function that spex had called: there is no table");
}

/* A program that returns from main without spex_stop gets its table, too. A library may end before
 * the process does: then no thread may be left in it. */
__attribute__((destructor)) static void stop_at_exit(void) {
    bool of_program = spex_is_of_program(&spex_life);
    if (!of_program)
        spex_forks_refuse();
    if (spex_service_thread_is_this() || stop(of_program) == -EDEADLK)
        leave_from_within();
    else if (!of_program)
        spex_forks_await();
    spex_threads_exit();
    spex_unload();
}

/* Waits for no lock, because a program's event loop must not wait: nothing is done while another
 * thread starts, sets or stops spex. */
int spex_poll(void) {
    struct spex_uninterrupted before;
    int result = 0;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    spex_uninterrupted_begin(&before);
    if (spex_lock_try(&spex_life.lock)) {
        result = spex_life.started ? spex_control_poll() : -EPERM;
        spex_lock_give(&spex_life.lock);
    }
    spex_uninterrupted_end(&before);
    return result;
}

int spex_poll_descriptor(void) {
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    int descriptor = spex_control_poll_descriptor();
    spex_uninterrupted_end(&before);
    return descriptor;
}

/* Without a lock: each figure is read by itself, so the figures may differ by what happens
 * meanwhile. */
int spex_status_get(struct spex_status *status) {
    if (status->size != sizeof(*status))
        return -EINVAL;
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
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
        .thread_bytes = spex_threads_bytes(),
    };
    spex_uninterrupted_end(&before);
    return 0;
}
