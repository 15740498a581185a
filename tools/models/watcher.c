/* SPDX-License-Identifier: MIT */
#include "tools/models/watcher.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "observe/causes.h"
#include "observe/control_client.h"
#include "profile/columns.h"
#include "tools/common/complain.h"

/* An anomaly is compared with so much time before it. */
#define BEFORE_SECONDS 10.0

/* The time before ends with the sample before the anomaly, so that it has nothing of the
 * anomaly. */
static void report_event(const struct spex_watcher *watcher, const struct spex_watch_event *event) {
    const struct spex_anomaly *anomaly = &event->anomaly;
    struct spex_thread_use before = spex_thread_samples_between(
        watcher->samples, anomaly->thread, anomaly->begin - BEFORE_SECONDS,
        anomaly->begin - SPEX_WATCH_LOOK_SECONDS);
    struct spex_thread_use during = spex_thread_samples_between(watcher->samples, anomaly->thread,
                                                                anomaly->begin, anomaly->end);
    /* A shift is a change of all that the thread does. */
    struct spex_cause_found cause =
        spex_cause_of(&before, &during, anomaly->shift ? INFINITY : anomaly->spent);
    spex_watch_output_event(&watcher->output, event->event, anomaly, &cause);
}

/* Has the recorder write what came before the anomaly. False: the program has not taken a request
 * of a moment ago yet. Watching goes on where it fails. */
static bool ask_dump(const struct spex_watcher *watcher, const struct spex_anomaly *anomaly,
                     bool again) {
    char why[160], took[32], instead[32];
    struct spex_error error = {""};
    snprintf(why, sizeof(why), "anomaly %llu: %.60s took %s instead of %s, thread %u",
             (unsigned long long)anomaly->number, anomaly->kernel->path,
             spex_duration_text(anomaly->seconds, took, sizeof(took)),
             spex_duration_text(anomaly->predicted.value, instead, sizeof(instead)),
             anomaly->thread);
    int err = spex_client_ask_dump(watcher->process, why, &error);
    if (err && (err != -EBUSY || again))
        spex_complain(0, "no dump of anomaly %llu: %s", (unsigned long long)anomaly->number,
                      error.text);
    return err != -EBUSY;
}

/* Reports the events that wait, in the order in which they came. */
static void report_waiting(struct spex_watcher *watcher) {
    for (size_t e = 0; e < watcher->waits; e++) {
        if (watcher->waiting[e].dump_due)
            ask_dump(watcher, &watcher->waiting[e].anomaly, true);
        report_event(watcher, &watcher->waiting[e]);
    }
    watcher->waits = 0;
    fflush(watcher->output.file);
}

/* For spex_anomalies_create; `user` is the struct spex_watcher. When too many events wait, they are
 * reported without another sample. */
static void take_event(void *user, enum spex_anomaly_event event,
                       const struct spex_anomaly *anomaly) {
    struct spex_watcher *watcher = user;
    bool dump_due =
        watcher->dump && event == SPEX_ANOMALY_BEGINS && !ask_dump(watcher, anomaly, false);
    if (watcher->waits == SPEX_WATCH_WAITING_MAX)
        report_waiting(watcher);
    watcher->waiting[watcher->waits++] =
        (struct spex_watch_event){.event = event, .anomaly = *anomaly, .dump_due = dump_due};
}

/* When watching began, in seconds since 1970, by the reading of the clocks that was least
 * disturbed. */
static double begin_of(const struct spex_watcher *watcher) {
    enum { READINGS = 16 };
    double begin = 0, narrowest = INFINITY;
    for (int r = 0; r < READINGS; r++) {
        double before = watcher->now(watcher->clock);
        double now = spex_clock_seconds(CLOCK_REALTIME);
        double after = watcher->now(watcher->clock);
        if (after - before < narrowest)
            begin = now - (before + after) / 2;
        narrowest = fmin(narrowest, after - before);
    }
    return begin;
}

int spex_watcher_begin(struct spex_watcher *watcher, double (*now)(const void *clock),
                       const void *clock, struct spex_error *error) {
    watcher->now = now;
    watcher->clock = clock;
    watcher->output.begin = begin_of(watcher);
    int err = spex_thread_samples_open(watcher->process, &watcher->samples);
    if (err)
        return spex_fail(error, err, "process %d: %s", (int)watcher->process, strerror(-err));
    err = spex_anomalies_create(&watcher->anomalies, &watcher->models, watcher->alarms, take_event,
                                watcher);
    return err ? spex_fail(error, err, "out of memory") : 0;
}

static void look(struct spex_watcher *watcher, double now) {
    const char *missing;
    spex_thread_samples_take(watcher->samples, now);
    while ((missing = spex_thread_samples_missing(watcher->samples)))
        fprintf(stderr, "spex: causes: %s\n", missing);
    spex_anomalies_pass(watcher->anomalies, now);
    report_waiting(watcher);
}

int spex_watcher_look(struct spex_watcher *watcher, struct spex_error *error) {
    double now = watcher->now(watcher->clock);
    if (now >= watcher->next_look) {
        look(watcher, now);
        watcher->next_look = now + SPEX_WATCH_LOOK_SECONDS;
    }
    if (ferror(watcher->output.file))
        return spex_fail(error, -EIO, "%s cannot be written",
                         watcher->out ? watcher->out : "standard output");
    return 0;
}

int spex_watcher_finish(struct spex_watcher *watcher, uint64_t left_out, uint64_t lost) {
    const struct spex_watch_account account = {
        .judged = spex_anomalies_account(watcher->anomalies),
        .seconds = watcher->now(watcher->clock),
        .left_out = left_out,
        .lost = lost,
    };
    spex_thread_samples_take(watcher->samples, account.seconds);
    spex_anomalies_end(watcher->anomalies);
    report_waiting(watcher);
    spex_watch_output_account(&watcher->output, &account);
    int err = spex_written(watcher->output.file);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s cannot be written: %s",
                             watcher->out ? watcher->out : "standard output", strerror(-err));
    return account.judged->anomalies ? SPEX_EXIT_FOUND : SPEX_EXIT_OK;
}

void spex_watcher_end(struct spex_watcher *watcher) {
    spex_anomalies_destroy(watcher->anomalies);
    spex_thread_samples_close(watcher->samples);
}
