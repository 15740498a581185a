/* SPDX-License-Identifier: MIT */
/* `spex watch`: attaches to a program, judges the executions of its kernels by their models,
 * and reports anomalies. Samples of the program's threads are taken every LOOK_SECONDS. An
 * anomaly is reported after the sample that follows it, since its cause is found by comparing
 * samples. */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "observe/control_client.h"
#include "observe/thread_samples.h"
#include "profile/columns.h"
#include "tools/attach/attach.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/duration.h"
#include "tools/common/models_file.h"
#include "tools/common/options.h"
#include "tools/common/output_file.h"
#include "tools/common/process_argument.h"
#include "tools/common/stop_signals.h"
#include "tools/watch/watch_output.h"
#include "watch/record_judge.h"

static const char watch_usage[] =
    "usage: spex watch MODELS --pid PID [--alarms RATE] [--probes SELECTION] [--for TIME]\n"
    "                  [--dump] [-o FILE] [--json]\n"
    "\n"
    "Switches on the kernels of the running program PID that MODELS, a file that spex train has\n"
    "written, knows; reports executions that take longer than usual for their kernel, and why, as\n"
    "far as the system tells; and restores the selection at the end.\n"
    "\n"
    "  --pid PID           the program\n"
    "  --model MODELS      the models, where PID stands in their place: spex watch PID --model "
    "MODELS\n"
    "  --alarms RATE       false alarms an execution, 1e-9 to 0.01; the default is 1e-5\n"
    "  --probes SELECTION  the kernels to watch, instead of those that MODELS knows\n"
    "  --for TIME          ends after so long; with the program or by Ctrl-C otherwise\n"
    "  --dump              has the program's flight recorder (man spex-record) write what "
    "came\n"
    "                      before each anomaly, when it begins\n"
    "  -o FILE             writes there instead of to standard output\n"
    "  --json              one JSON object a line\n"
    "\n"
    "Exit status: 0 when there was no anomaly, 3 when there was one.\n";

static const struct spex_syntax watch_syntax = {
    "watch", watch_usage, "one file of models was expected", 1, 1, SPEX_OPTIONS_ANYWHERE};

/* Interval of samples of the program's threads. Anomalies are reported with the next sample. */
#define LOOK_SECONDS 0.2

/* An anomaly is compared with so much time before it. */
#define BEFORE_SECONDS 10.0

/* Events that can wait for the next sample of threads; when there are more, all are reported at
 * once. */
enum { WAITING_MAX = 256 };

/* An event of an anomaly, with the state that the anomaly had then. */
struct event {
    enum spex_anomaly_event event;
    struct spex_anomaly anomaly;
    /* The program had not taken the request before: its dump is asked for again. */
    bool dump_due;
};

struct watch {
    pid_t process;
    const char *models_path;
    /* NULL: the kernels that the models know. */
    const char *probes;
    /* NULL: standard output. */
    const char *out;
    /* Anomalies ask the program's flight recorder for dumps. */
    bool dump;
    /* False alarms an execution. */
    double alarms;
    /* 0: no limit. */
    double seconds;
    struct spex_models models;
    struct spex_attached attached;
    struct spex_anomalies *anomalies;
    struct spex_kernels_known known;
    struct spex_record_judge *judge;
    struct spex_thread_samples *samples;
    struct spex_output_file to;
    struct spex_watch_output output;
    /* Events that wait for the next sample of threads. */
    struct event waiting[WAITING_MAX];
    size_t waits;
};

/* An exit status. */
static int watch_parse(int argc, char **argv, struct watch *watch) {
    const struct spex_option known[] = {
        {"pid", .process = &watch->process},
        {"model", .text = &watch->models_path},
        {"alarms", .number = &watch->alarms, .range = {1e-9, 0.01},
         .error = "1e-9 to 0.01 was expected"},
        {"probes", .text = &watch->probes, .check = spex_probes_argument},
        {"for", .number = &watch->seconds, .read = spex_duration_read,
         .error = SPEX_DURATION_EXPECTED},
        {"dump", .flag = &watch->dump},
        {.letter = 'o', .text = &watch->out},
        {"json", .flag = &watch->output.json},
        {.name = NULL},
    };
    struct spex_operands operands;
    int status = spex_options_take(&watch_syntax, known, argc, argv, &operands);
    if (status)
        return status;
    if (!watch->models_path == !watch->process)
        return spex_complain(SPEX_EXIT_USAGE, "watch: MODELS --pid PID was expected");
    if (watch->models_path)
        return spex_process_argument("watch", operands.list[0], &watch->process);
    watch->models_path = operands.list[0];
    return SPEX_EXIT_OK;
}

/* The time before ends with the sample before the anomaly, so that it has nothing of the
 * anomaly. */
static void watch_report_event(const struct watch *watch, const struct event *event) {
    const struct spex_anomaly *anomaly = &event->anomaly;
    struct spex_thread_use before =
        spex_thread_samples_between(watch->samples, anomaly->thread,
                                    anomaly->begin - BEFORE_SECONDS, anomaly->begin - LOOK_SECONDS);
    struct spex_thread_use during =
        spex_thread_samples_between(watch->samples, anomaly->thread, anomaly->begin, anomaly->end);
    /* A shift is a change of all that the thread does. */
    struct spex_cause_found cause =
        spex_cause_of(&before, &during, anomaly->shift ? INFINITY : anomaly->spent);
    spex_watch_output_event(&watch->output, event->event, anomaly, &cause);
}

/* Has the recorder write what came before the anomaly. False: the program has not taken a request
 * of a moment ago yet. Watching goes on where it fails. */
static bool watch_dump(const struct watch *watch, const struct spex_anomaly *anomaly, bool again) {
    char why[160], took[32], instead[32];
    struct spex_error error = {""};
    snprintf(why, sizeof(why), "anomaly %llu: %.60s took %s instead of %s, thread %u",
             (unsigned long long)anomaly->number, anomaly->kernel->path,
             spex_duration_text(anomaly->seconds, took, sizeof(took)),
             spex_duration_text(anomaly->predicted.value, instead, sizeof(instead)),
             anomaly->thread);
    int err = spex_client_ask_dump(watch->process, why, &error);
    if (err && (err != -EBUSY || again))
        spex_complain(0, "no dump of anomaly %llu: %s", (unsigned long long)anomaly->number,
                      error.text);
    return err != -EBUSY;
}

/* Reports the events that wait, in the order in which they came. */
static void watch_report_waiting(struct watch *watch) {
    for (size_t e = 0; e < watch->waits; e++) {
        if (watch->waiting[e].dump_due)
            watch_dump(watch, &watch->waiting[e].anomaly, true);
        watch_report_event(watch, &watch->waiting[e]);
    }
    watch->waits = 0;
    fflush(watch->output.file);
}

/* For spex_anomalies_create; `user` is the struct watch. When too many events wait, they are
 * reported without another sample. */
static void watch_take_event(void *user, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly) {
    struct watch *watch = user;
    bool dump_due =
        watch->dump && event == SPEX_ANOMALY_BEGINS && !watch_dump(watch, anomaly, false);
    if (watch->waits == WAITING_MAX)
        watch_report_waiting(watch);
    watch->waiting[watch->waits++] =
        (struct event){.event = event, .anomaly = *anomaly, .dump_due = dump_due};
}

/* Samples the threads, and reports the events that have waited for it. */
static void watch_sample_threads(struct watch *watch) {
    double now = spex_attached_seconds(&watch->attached);
    const char *missing;
    spex_thread_samples_take(watch->samples, now);
    while ((missing = spex_thread_samples_missing(watch->samples)))
        fprintf(stderr, "spex: causes: %s\n", missing);
    spex_anomalies_pass(watch->anomalies, now);
    watch_report_waiting(watch);
}

/* 0; 1 when there may be more; or a negative errno value with the reason. */
static int watch_take_records(struct watch *watch, bool all, struct spex_error *error) {
    const struct spex_record *records;
    size_t count;
    int more = spex_attached_take(&watch->attached, all, &records, &count, error);
    if (more < 0)
        return more;
    int err = spex_record_judge_take(watch->judge, records, count);
    return err ? spex_fail(error, err, "out of memory") : more;
}

/* Takes the records that are left at the end. 0, or a negative errno value with the reason. */
static int watch_take_rest(struct watch *watch, struct spex_error *error) {
    int more = 1;
    while (more > 0 && spex_attached_rest(&watch->attached))
        more = watch_take_records(watch, true, error);
    return more < 0 ? more : 0;
}

/* Takes records until the program ends, the time is over, or `stop_fd` is readable; then the
 * records that are left. 0, or a negative errno value with the reason. */
static int watch_follow(struct watch *watch, int stop_fd, struct spex_error *error) {
    double next = 0;
    for (;;) {
        double now = spex_attached_seconds(&watch->attached);
        if (now >= next) {
            watch_sample_threads(watch);
            next = now + LOOK_SECONDS;
        }
        double until = watch->seconds > 0 ? fmin(next, watch->seconds) : next;
        if (watch->seconds > 0 && now >= watch->seconds)
            return watch_take_rest(watch, error);
        bool over = spex_attached_over(&watch->attached);
        if (over)
            return watch_take_rest(watch, error);
        if (spex_attached_wait(&watch->attached, stop_fd, (int)(fmax(until - now, 0) * 1000) + 1))
            return watch_take_rest(watch, error);
        int err = watch_take_records(watch, false, error);
        if (err < 0)
            return err;
        if (ferror(watch->output.file))
            return spex_fail(error, -EIO, "%s cannot be written",
                             watch->out ? watch->out : "standard output");
    }
}

/* When watching began, in seconds since 1970, by the reading of the clocks that was least
 * disturbed. */
static double watch_begin(const struct watch *watch) {
    enum { READINGS = 16 };
    double begin = 0, narrowest = INFINITY;
    for (int r = 0; r < READINGS; r++) {
        double before = spex_attached_seconds(&watch->attached);
        double now = spex_clock_seconds(CLOCK_REALTIME);
        double after = spex_attached_seconds(&watch->attached);
        if (after - before < narrowest)
            begin = now - (before + after) / 2;
        narrowest = fmin(narrowest, after - before);
    }
    return begin;
}

/* 0, or a negative errno value with the reason. What was made is freed by watch_attached. */
static int watch_prepare(struct watch *watch, struct spex_error *error) {
    watch->known = spex_receiver_kernels(watch->attached.receiver);
    watch->output.begin = watch_begin(watch);
    int err = spex_thread_samples_open(watch->process, &watch->samples);
    if (err)
        return spex_fail(error, err, "process %d: %s", (int)watch->process, strerror(-err));
    if (spex_anomalies_create(&watch->anomalies, &watch->models, watch->alarms, watch_take_event,
                              watch) ||
        spex_record_judge_create(&watch->judge, watch->anomalies, &watch->known,
                                 watch->attached.begin, watch->attached.ticks_per_second))
        return spex_fail(error, -ENOMEM, "out of memory");
    return 0;
}

/* Prints what is left and the account. An exit status. */
static int watch_finish(struct watch *watch) {
    const struct spex_watch_account account = {
        .judged = spex_anomalies_account(watch->anomalies),
        .seconds = spex_attached_seconds(&watch->attached),
        .left_out = spex_record_judge_left_out(watch->judge),
        .lost = spex_attached_lost(&watch->attached),
    };
    spex_thread_samples_take(watch->samples, account.seconds);
    spex_anomalies_end(watch->anomalies);
    watch_report_waiting(watch);
    spex_watch_output_account(&watch->output, &account);
    int err = spex_written(watch->output.file);
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s cannot be written: %s",
                             watch->out ? watch->out : "standard output", strerror(-err));
    return account.judged->anomalies ? SPEX_EXIT_FOUND : SPEX_EXIT_OK;
}

/* An exit status. */
static int watch_attached(struct watch *watch, int stop_fd) {
    struct spex_error error = {""};
    int err =
        spex_attach(&watch->attached, watch->process, watch->probes, &watch->models, "", &error);
    err = err ? err : watch_prepare(watch, &error);
    err = err ? err : watch_follow(watch, stop_fd, &error);
    int status = err < 0 ? spex_complain(SPEX_EXIT_FAILED, "%s", error.text) : watch_finish(watch);
    spex_detach(&watch->attached);
    spex_record_judge_destroy(watch->judge);
    spex_anomalies_destroy(watch->anomalies);
    spex_thread_samples_close(watch->samples);
    return status;
}

/* An exit status. */
static int watch_open_output(struct watch *watch) {
    int err = spex_output_file_open(&watch->to, watch->out, SPEX_OUTPUT_LINES, stdout);
    watch->output.file = watch->to.file;
    return err ? spex_complain(SPEX_EXIT_FAILED, "%s: %s", watch->out, strerror(-err))
               : SPEX_EXIT_OK;
}

/* Closes the output at the end, which may find that its end could not be written. An exit
 * status. */
static int watch_run(struct watch *watch) {
    int stop_fd = spex_stop_signals_open();
    if (stop_fd < 0)
        return spex_complain(SPEX_EXIT_FAILED, "cannot wait for signals: %s", strerror(errno));
    int status = spex_models_file_read(watch->models_path, &watch->models);
    size_t alone = spex_models_without_class(&watch->models);
    if (!status && alone)
        fprintf(stderr,
                "spex: the time of %zu of %zu kernels does not follow from parameters (class "
                "unknown): single executions of these are judged, by what is usual for them\n",
                alone, watch->models.count);
    if (!status)
        status = watch_open_output(watch);
    if (!status)
        status = watch_attached(watch, stop_fd);
    int err = watch->out && watch->to.file ? spex_output_file_close(&watch->to) : 0;
    if (err && status != SPEX_EXIT_FAILED)
        status = spex_complain(SPEX_EXIT_FAILED, "%s: %s", watch->out, strerror(-err));
    spex_models_free(&watch->models);
    close(stop_fd);
    return status;
}

/* struct watch is allocated because it is large. The output has characters that are not ASCII. */
int spex_command_watch(int argc, char **argv) {
    struct watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return spex_complain(SPEX_EXIT_FAILED, "out of memory");
    watch->alarms = 1e-5;
    setlocale(LC_CTYPE, "");
    int status = watch_parse(argc, argv, watch);
    if (status == SPEX_EXIT_OK)
        status = watch_run(watch);
    free(watch);
    return status;
}
