/* SPDX-License-Identifier: MIT */
/* Starts a collection: rings, the controller, collectors, the output, in this order. Each function
 * is called with the lock of start and stop held (life_state.h), by the thread that starts or
 * selects. A collection begins with the first selection that switches a probe on, so a program that
 * is never looked at has neither rings nor collectors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/last_thread.h"
#include "collect/collector.h"
#include "collect/dump_request.h"
#include "collect/metrics.h"
#include "collect/sinks.h"
#include "collect/stream.h"
#include "kernels/kernel_sampler.h"
#include "probe/probes.h"
#include "probe/regions.h"
#include "probe/thread_budget.h"
#include "probe/threads.h"
#include "rate/controller.h"
#include "rate/occupancy_sampler.h"
#include "ring/rings.h"
#include "serve/own_trace.h"
#include "site/registry.h"
#include "start/dormant.h"
#include "start/life_state.h"
#include "text/message.h"

/* Opens the stream to the socket at `path`, without which the probes stay off. */
static int stream_open(const char *path, bool dumps) {
    struct spex_sink *sink = NULL;
    int err = spex_stream_open(path, &spex_life.settings.handover, dumps,
                               spex_life.settings.collectors, &sink);
    if (err)
        spex_life_out_give_up();
    else
        spex_sinks_add(sink);
    return err;
}

/* Opens the trace in the folder `path`. Without it the program goes on, and its probes stay off. */
static int trace_open(const char *path) {
    struct spex_sink *sink = NULL;
    int err = spex_own_trace_open(path, spex_life.settings.collectors, &sink);
    if (err)
        spex_life_out_give_up();
    else
        spex_sinks_add(sink);
    return err;
}

/* Opens the sinks that the process has from the beginning: a stream where SPEX_OUT names a socket
 * for it, a trace where it names a folder, and metrics but for a stream alone. Metrics come last,
 * since the trace tells of them at its end. The list of sinks frees them when spex stops. */
static int sinks_open(void) {
    struct spex_sink *sink = NULL;
    const char *stream = spex_life_out_after(SPEX_OUT_STREAM);
    const char *record = spex_life_out_after(SPEX_OUT_RECORD);
    const char *trace = spex_life_out_after(SPEX_OUT_TRACE);
    int err = stream || record ? stream_open(stream ? stream : record, record) : 0;
    err = trace ? trace_open(trace) : err;
    if (err || stream)
        return err;
    err = spex_metrics_open(&sink);
    if (!err)
        spex_sinks_add(sink);
    return err;
}

/* Opens the output of the table at the end. There is a table where the program or its environment
 * has selected probes, or SPEX_OUT names a file. There is none where a command has selected them,
 * because the command gets the figures itself. */
int spex_collection_output_open(bool table) {
    const char *out = spex_life.settings.out;
    if (spex_life.output || spex_life_out_after(SPEX_OUT_STREAM) ||
        spex_life_out_after(SPEX_OUT_TRACE) || spex_life_out_command() || !(out || table))
        return 0;
    return spex_end_table_open(out, spex_life.settings.verbose, &spex_life.output);
}

static int outputs_open(bool table) {
    int err = spex_collection_output_open(table);
    return err ? err : sinks_open();
}

/* Returns whether another process takes the records. Then the controller does not change what is
 * selected: that process has asked for exactly these records. */
static bool is_elsewhere(void) {
    return spex_life_out_after(SPEX_OUT_STREAM) != NULL;
}

/* Begins the controller before the metrics, whose lock both share. A budget of 0 makes it keep
 * accounts without changing anything. */
static int controller_begin(void) {
    const struct spex_rate_policy_ops *policy = spex_life.settings.rate_policy;
    int err = spex_controller_begin(is_elsewhere() ? 0 : spex_life.settings.budget,
                                    is_elsewhere() ? NULL : policy);
    if (err)
        spex_message("cannot reserve memory for the rate policy %s: %s", policy->name,
                     strerror(-err));
    return err;
}

/* Sets the thread budget, which is kept in ticks: waits about a millisecond until their length is
 * known. */
static void thread_budget_begin(void) {
    double share = spex_life.settings.thread_budget;
    spex_thread_budget_set(share, share > 0 ? spex_tick_rate_since(spex_instant_now()) : 0);
}

/* What a command has asked for goes before the settings; without a share of its own it has the
 * budget's. The sampler counts the collectors' cost for its budget only where no controller
 * does. */
int spex_collection_models_begin(struct spex_error *error) {
    const char *path = spex_life.settings.models;
    double samples = spex_life.settings.samples, budget = spex_life.settings.budget;
    bool controlled = budget > 0 && !is_elsewhere();
    if (spex_life.models_asked.path) {
        path = spex_life.models_asked.path;
        samples = spex_life.models_asked.samples;
        budget = spex_life.models_asked.share > 0 ? spex_life.models_asked.share : budget;
    }
    if (path)
        return spex_kernel_sampler_start(path, samples, budget, !controlled, error);
    spex_kernel_sampler_stop();
    return 0;
}

/* Chores of the first collector: ends of leases, looks at polled probes, the controller, messages
 * about overruns of regions, requests for dumps, memory for threads to come, and whether threads
 * of the program are left. */
static const struct spex_chore chores[] = {
    {.pass = spex_leases_pass, .due_ns = spex_leases_due_ns, .timed = true},
    {.pass = spex_occupancy_sampler_pass, .due_ns = spex_occupancy_sampler_wait},
    {.pass = spex_controller_pass,
     .due_ns = spex_controller_due_ns,
     .holds = spex_controller_holds},
    {.pass = spex_regions_tell},
    {.pass = spex_dump_request_pass},
    {.pass = spex_threads_provide_more},
    {.pass = spex_last_thread_look_if_due, .due_ns = spex_last_thread_wait_ns, .timed = true},
};

/* The caller switches sites on after this, so that no probe writes before there are rings. After an
 * error no thread is left running. Rings are never unmapped, because threads of the program may
 * still be writing to them. */
int spex_collection_start(bool table) {
    const struct spex_settings *settings = &spex_life.settings;
    if (!spex_clock_moves()) {
        spex_message("the clock stands still, so that nothing can be timed; the probes stay off");
        spex_life_out_give_up();
        return -ETIME;
    }
    if (spex_life_out_command())
        spex_rings_share();
    int err = spex_probes_prepare(settings->ring_records, settings->ring_cpus, settings->commit,
                                  settings->calibrate);
    if (err) {
        spex_message("cannot reserve memory for rings of %u records: %s; less is reserved with "
                     "SPEX_RING_CPUS or SPEX_RING_RECORDS",
                     spex_life.settings.ring_records, strerror(-err));
        return err;
    }
    thread_budget_begin();
    err = controller_begin();
    if (err)
        return err;
    spex_occupancy_sampler_begin(spex_life.settings.probing);
    err = spex_collectors_start(spex_life.settings.collectors, spex_life.settings.batch_records);
    if (err) {
        spex_message("cannot start %u collector threads: %s", spex_life.settings.collectors,
                     strerror(-err));
        return err;
    }
    struct spex_error error = {""};
    /* The kernel sampler may run before there is a sink: its records wait in the rings until
     * spex_collectors_begin. */
    err = spex_collection_models_begin(&error);
    if (err)
        spex_message("SPEX_MODELS: %s", error.text);
    err = err ? err : outputs_open(table);
    if (err) {
        spex_kernel_sampler_stop();
        spex_collectors_stop();
    } else {
        spex_collectors_begin(chores, sizeof(chores) / sizeof(chores[0]));
        spex_dormant_wake();
    }
    return err;
}
