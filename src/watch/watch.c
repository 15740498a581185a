/* SPDX-License-Identifier: MIT */
/* A sink that judges: it stays until spex stops, with something to be watched or without. No lock of others is taken with
 * ours held, but those of the program's told(). */
#include <spex/watch.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/record.h>

#include "collect/sinks.h"
#include "kernels/kernels_here.h"
#include "watch/record_judge.h"

#define ALARMS 1e-5

/* So often it is looked whether an anomaly is over of which nothing comes any more. */
#define LOOK_SECONDS 0.1

struct watching {
    struct spex_watch_options options;
    struct spex_models models;
    struct spex_anomalies *anomalies;
    struct spex_record_judge *judge;
    struct spex_instant begin;
    double ticks_per_second;
    double looked;
    uint64_t missed; /* records, for want of memory */
    bool over;       /* spex has stopped */
};

static struct {
    struct spex_sink sink;
    pthread_mutex_t lock;
    bool listed;
    struct watching *now;
} outlet = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool is_telling;

static void tell(void *user, enum spex_anomaly_event event, const struct spex_anomaly *anomaly) {
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
    is_telling = true;
    watching->options.told(watching->options.user, &told);
    is_telling = false;
}

static bool take_records(struct spex_sink *sink, const struct spex_record *records, size_t count) {
    (void)sink;
    pthread_mutex_lock(&outlet.lock);
    struct watching *now = outlet.now;
    if (now && !now->over && spex_record_judge_take(now->judge, records, count))
        now->missed += count;
    pthread_mutex_unlock(&outlet.lock);
    return true;
}

static bool take_pass(struct spex_sink *sink, unsigned collector, uint64_t watermark) {
    (void)sink;
    if (collector != 0)
        return true;
    pthread_mutex_lock(&outlet.lock);
    struct watching *now = outlet.now;
    if (now && !now->over) {
        double seconds = (double)(int64_t)(watermark - now->begin.ticks) / now->ticks_per_second;
        if (seconds > now->looked + LOOK_SECONDS) {
            spex_anomalies_pass(now->anomalies, seconds);
            now->looked = seconds;
        }
    }
    pthread_mutex_unlock(&outlet.lock);
    return true;
}

/* With the lock. */
static void end(struct watching *watching) {
    if (!watching->over)
        spex_anomalies_end(watching->anomalies);
    watching->over = true;
}

static void finish(struct spex_sink *sink) {
    (void)sink;
    pthread_mutex_lock(&outlet.lock);
    outlet.listed = false;
    if (outlet.now)
        end(outlet.now);
    pthread_mutex_unlock(&outlet.lock);
}

/* All is left as it was: a collector that this process has not got may have been at work on it. */
static void abandon(struct spex_sink *sink) {
    (void)sink;
    pthread_mutex_init(&outlet.lock, NULL);
    outlet.listed = false;
    outlet.now = NULL;
}

static void watching_free(struct watching *watching) {
    if (!watching)
        return;
    spex_record_judge_destroy(watching->judge);
    spex_anomalies_destroy(watching->anomalies);
    spex_models_free(&watching->models);
    free(watching);
}

static int check_options(const struct spex_watch_options *options, struct spex_error *why) {
    if (!options || options->size != sizeof(*options))
        return spex_fail(why, -EINVAL, "options of this version were expected");
    if (!options->models)
        return spex_fail(why, -EINVAL, "models: a file was expected");
    if (!options->told)
        return spex_fail(why, -EINVAL, "told: a function was expected");
    if (options->alarms != 0 && !(options->alarms >= 1e-9 && options->alarms <= 0.01))
        return spex_fail(why, -EINVAL, "alarms: 1e-9 to 0.01 was expected, not %g",
                         options->alarms);
    return 0;
}

static int read_models(struct watching *watching, struct spex_error *why) {
    const char *path = watching->options.models;
    FILE *in = fopen(path, "re");
    if (!in)
        return spex_fail(why, -errno, "%s: %s", path, strerror(errno));
    int err = spex_models_read(&watching->models, in, path, why);
    fclose(in);
    return err;
}

static int prepare(struct watching *watching, struct spex_error *why) {
    double alarms = watching->options.alarms;
    int err = read_models(watching, why);
    if (err)
        return err;
    watching->ticks_per_second = spex_tick_rate_since(watching->begin);
    if (spex_anomalies_create(&watching->anomalies, &watching->models,
                              alarms != 0 ? alarms : ALARMS, tell, watching) ||
        spex_record_judge_create(&watching->judge, watching->anomalies, &spex_kernels_here,
                                 watching->begin, watching->ticks_per_second))
        return spex_fail(why, -ENOMEM, "out of memory");
    return 0;
}

/* What spex_stop has ended makes way. False: something is being watched. */
static bool put(struct watching *watching) {
    pthread_mutex_lock(&outlet.lock);
    struct watching *former = outlet.now;
    bool free_place = !former || former->over;
    if (free_place)
        outlet.now = watching;
    bool listed = outlet.listed;
    outlet.listed |= free_place;
    pthread_mutex_unlock(&outlet.lock);
    if (!free_place)
        return false;
    watching_free(former);
    if (listed)
        return true;
    outlet.sink = (struct spex_sink){
        .records = take_records, .pass = take_pass, .finish = finish, .abandon = abandon};
    spex_sinks_add(&outlet.sink);
    return true;
}

static int start(const struct spex_watch_options *options, struct spex_error *why) {
    int err = check_options(options, why);
    if (err)
        return err;
    if (is_telling)
        return spex_fail(why, -EBUSY, "this watching is under way");
    struct watching *watching = calloc(1, sizeof(*watching));
    if (!watching)
        return spex_fail(why, -ENOMEM, "out of memory");
    watching->options = *options;
    watching->begin = spex_instant_now();
    err = prepare(watching, why);
    if (!err && !put(watching))
        err = spex_fail(why, -EBUSY, "another watching is under way");
    if (err)
        watching_free(watching);
    else
        watching->options.models = NULL;
    return err;
}

int spex_watch_start(const struct spex_watch_options *options, char *text, size_t size) {
    struct spex_error why = {""};
    int err = start(options, &why);
    if (err && text)
        snprintf(text, size, "%s", why.text);
    return err;
}

int spex_watch_stop(void) {
    if (is_telling)
        return -EDEADLK;
    pthread_mutex_lock(&outlet.lock);
    struct watching *watching = outlet.now;
    if (watching)
        end(watching);
    outlet.now = NULL;
    pthread_mutex_unlock(&outlet.lock);
    watching_free(watching);
    return 0;
}

int spex_watch_look(struct spex_watch_account *account) {
    if (account->size != sizeof(*account))
        return -EINVAL;
    pthread_mutex_lock(&outlet.lock);
    const struct watching *now = outlet.now;
    if (now) {
        const struct spex_anomalies_account *judged = spex_anomalies_account(now->anomalies);
        *account = (struct spex_watch_account){
            .size = sizeof(*account),
            .judged = judged->judged,
            .kernels = judged->kernels,
            .anomalies = judged->anomalies,
            .not_judged = spex_record_judge_left_out(now->judge) + now->missed,
        };
        for (int why = SPEX_NO_MODEL; why < SPEX_UNJUDGED; why++)
            account->not_judged += judged->unjudged[why];
    }
    pthread_mutex_unlock(&outlet.lock);
    return now ? 0 : -ENODATA;
}
