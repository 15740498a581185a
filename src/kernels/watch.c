/* SPDX-License-Identifier: MIT */
/* A sink that passes kernels' records to the detector of anomalies. It stays in the list of sinks
 * until spex stops, whether something is being watched or not.
 *
 * Collectors call the sink; the program's threads call spex_watch_…. `watch_outlet.lock` guards all
 * of it and is held while the program's function told() runs. No other lock is taken while it is
 * held, except those that told() takes. */
#include <spex/watch.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>

#include "base/lock.h"
#include "base/memory/memory.h"
#include "base/process.h"
#include "base/uninterrupted.h"
#include "collect/sinks.h"
#include "kernels/kernels_here.h"
#include "kernels/record_judge.h"

/* False alarms for each execution, where the options do not say. */
#define ALARMS_DEFAULT 1e-5

/* Seconds between two checks for anomalies that have ended because no execution follows. */
#define PASS_SECONDS 0.1

/* What is being watched: from spex_watch_start until it is stopped or replaced. */
struct watching {
    struct spex_watch_options options;
    struct spex_models models;
    struct spex_anomalies *anomalies;
    struct spex_record_judge *judge;
    struct spex_instant begin;
    double ticks_per_second;
    double looked;
    /* Records that were not judged: out of memory. */
    uint64_t missed;
    /* spex has stopped: nothing more is judged. */
    bool over;
};

/* The sink, and what it is for at present. `listed`: the sink is in the collectors' list. */
static struct {
    struct spex_sink sink;
    struct spex_lock lock;
    bool listed;
    struct watching *now;
} watch_outlet = {.lock = SPEX_LOCK_FREE};

/* This thread is in the program's told() and holds the lock: starting or stopping from there would
 * deadlock. */
static _Thread_local bool is_reporting;

/* Translates an anomaly for the program's function told(), and calls it: on the collector that took
 * the record, or on the program's thread that ends the watching. The lock is held. */
static void anomaly_report(void *user, enum spex_anomaly_event event,
                           const struct spex_anomaly *anomaly) {
    static const enum spex_watch_what whats[] = {[SPEX_ANOMALY_BEGINS] = SPEX_WATCH_BEGINS,
                                                 [SPEX_ANOMALY_ENDS] = SPEX_WATCH_ENDS,
                                                 [SPEX_ANOMALY_GOES_ON] = SPEX_WATCH_GOES_ON};
    const struct watching *watching = user;
    const struct spex_watch_anomaly told = {
        .size = sizeof(told),
        .what = whats[event],
        .shift = anomaly->shift,
        .number = anomaly->number,
        .kernel = anomaly->kernel->path,
        .thread = anomaly->thread,
        .parameter_count = (uint32_t)anomaly->kernel->model.parameter_count,
        .names = (const char *const *)anomaly->kernel->names,
        .parameters = anomaly->parameters,
        .seconds = anomaly->seconds,
        .predicted_seconds = anomaly->predicted.value,
        .low_seconds = anomaly->predicted.low,
        .high_seconds = anomaly->predicted.high,
        .executions = anomaly->executions,
        .lasted_seconds = anomaly->end - anomaly->begin,
        .median_ratio = anomaly->median,
        .worst_ratio = anomaly->worst,
    };
    is_reporting = true;
    watching->options.told(watching->options.user, &told);
    is_reporting = false;
}

/* Several collectors may call this at once; the lock serialises them. Always true: a batch that was
 * not judged is counted in `missed`, and the sink must not be marked as broken for it. */
static bool sink_records(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    spex_lock_take(&watch_outlet.lock);
    struct watching *now = watch_outlet.now;
    if (now && !now->over && spex_record_judge_take(now->judge, batch->records, batch->count))
        now->missed += batch->count;
    spex_lock_give(&watch_outlet.lock);
    return true;
}

/* Collector 0 alone checks for anomalies that have ended. Time is that of the records, by the
 * collector's watermark. */
static bool sink_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    (void)sink;
    if (collector != 0)
        return true;
    spex_lock_take(&watch_outlet.lock);
    struct watching *now = watch_outlet.now;
    if (now && !now->over) {
        double seconds = (double)(int64_t)(watermark - now->begin.ticks) / now->ticks_per_second;
        if (seconds > now->looked + PASS_SECONDS) {
            spex_anomalies_pass(now->anomalies, seconds);
            now->looked = seconds;
        }
    }
    spex_lock_give(&watch_outlet.lock);
    return true;
}

/* Reports the end of anomalies that still last. The caller holds the lock. */
static void watching_end(struct watching *watching) {
    if (!watching->over)
        spex_anomalies_end(watching->anomalies);
    watching->over = true;
}

/* spex stops: the watching ends, but stays for spex_watch_look until it is stopped or replaced. The
 * sink is static, so nothing is freed. */
static void sink_finish(struct spex_sink *sink) {
    (void)sink;
    if (is_reporting) /* told() has called exit */
        return;
    spex_lock_take(&watch_outlet.lock);
    watch_outlet.listed = false;
    if (watch_outlet.now)
        watching_end(watch_outlet.now);
    spex_lock_give(&watch_outlet.lock);
}

/* In the child of a fork. What was watched is not freed: a collector of the parent may have been
 * changing it. */
static void sink_abandon(struct spex_sink *sink) {
    (void)sink;
    spex_lock_reset(&watch_outlet.lock);
    watch_outlet.listed = false;
    watch_outlet.now = NULL;
}

static void watching_free(struct watching *watching) {
    if (!watching)
        return;
    spex_record_judge_destroy(watching->judge);
    spex_anomalies_destroy(watching->anomalies);
    spex_models_free(&watching->models);
    spex_free(watching);
}

static int check_options(const struct spex_watch_options *options, struct spex_error *error) {
    if (!options || options->size != sizeof(*options))
        return spex_fail(error, -EINVAL, "options of this version were expected");
    if (!options->models)
        return spex_fail(error, -EINVAL, "models: a file was expected");
    if (!options->told)
        return spex_fail(error, -EINVAL, "told: a function was expected");
    if (options->alarms != 0 && !(options->alarms >= 1e-9 && options->alarms <= 0.01))
        return spex_fail(error, -EINVAL, "alarms: 1e-9 to 0.01 was expected, not %g",
                         options->alarms);
    return 0;
}

static int watching_prepare(struct watching *watching, struct spex_error *error) {
    double alarms = watching->options.alarms;
    int err = spex_models_read_file(&watching->models, watching->options.models, SPEX_FILE_REGULAR,
                                    error);
    if (err)
        return err;
    watching->ticks_per_second = spex_tick_rate_since(watching->begin);
    if (spex_anomalies_create(&watching->anomalies, &watching->models,
                              alarms != 0 ? alarms : ALARMS_DEFAULT, anomaly_report, watching) ||
        spex_record_judge_create(&watching->judge, watching->anomalies, &spex_kernels_here,
                                 watching->begin, watching->ticks_per_second))
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

/* Installs what is to be watched, and adds the sink to the list unless it is there. What spex_stop
 * has ended is replaced. False: something is being watched. The lock is released before the sink is
 * added, because spex_sinks_finish takes this lock while it holds that of the list. */
static bool watching_put(struct watching *watching) {
    spex_lock_take(&watch_outlet.lock);
    struct watching *former = watch_outlet.now;
    bool free_place = !former || former->over;
    if (free_place)
        watch_outlet.now = watching;
    bool listed = watch_outlet.listed;
    watch_outlet.listed |= free_place;
    spex_lock_give(&watch_outlet.lock);
    if (!free_place)
        return false;
    watching_free(former);
    if (listed)
        return true;
    watch_outlet.sink = (struct spex_sink){
        .records = sink_records, .pass = sink_pass, .finish = sink_finish, .abandon = sink_abandon};
    spex_sinks_add(&watch_outlet.sink);
    return true;
}

/* The models' path is the caller's and is forgotten once the file has been read. */
static int watching_start(const struct spex_watch_options *options, struct spex_error *error) {
    int err = check_options(options, error);
    if (err)
        return err;
    if (spex_process_is_unknown())
        return spex_fail(error, -ENOTRECOVERABLE, SPEX_PROCESS_UNKNOWN);
    if (is_reporting)
        return spex_fail(error, -EBUSY, "this watching is under way");
    struct watching *watching = spex_calloc(1, sizeof(*watching));
    if (!watching)
        return spex_fail(error, -ENOMEM, "out of memory");
    watching->options = *options;
    watching->begin = spex_instant_now();
    err = watching_prepare(watching, error);
    if (!err && !watching_put(watching))
        err = spex_fail(error, -EBUSY, "another watching is under way");
    if (err)
        watching_free(watching);
    else
        watching->options.models = NULL;
    return err;
}

int spex_watch_start(const struct spex_watch_options *options, char *text, size_t size) {
    struct spex_error error = {""};
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    int err = watching_start(options, &error);
    if (err && text)
        snprintf(text, size, "%s", error.text);
    spex_uninterrupted_end(&before);
    return err;
}

/* The judge is freed without the lock: no collector can find it any more, and one that is using it
 * holds the lock until it is done. */
int spex_watch_stop(void) {
    if (is_reporting)
        return -EDEADLK;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    spex_lock_take(&watch_outlet.lock);
    struct watching *watching = watch_outlet.now;
    if (watching)
        watching_end(watching);
    watch_outlet.now = NULL;
    spex_lock_give(&watch_outlet.lock);
    watching_free(watching);
    spex_uninterrupted_end(&before);
    return 0;
}

/* Not judged: records that are not sound, those for which memory ran out, and executions that the
 * detector could not judge, for whatever reason. */
int spex_watch_look(struct spex_watch_account *account) {
    if (account->size != sizeof(*account))
        return -EINVAL;
    if (spex_process_is_unknown())
        return -ENOTRECOVERABLE;
    struct spex_uninterrupted before;
    spex_uninterrupted_begin(&before);
    spex_lock_take(&watch_outlet.lock);
    const struct watching *now = watch_outlet.now;
    if (now) {
        const struct spex_anomalies_account *judged = spex_anomalies_account(now->anomalies);
        *account = (struct spex_watch_account){
            .size = sizeof(*account),
            .judged = judged->judged,
            .kernels = judged->kernels,
            .anomalies = judged->anomalies,
            .not_judged = spex_record_judge_left_out(now->judge) + now->missed,
        };
        for (int reason = SPEX_NO_MODEL; reason < SPEX_UNJUDGED; reason++)
            account->not_judged += judged->unjudged[reason];
    }
    spex_lock_give(&watch_outlet.lock);
    spex_uninterrupted_end(&before);
    return now ? 0 : -ENODATA;
}
