/* SPDX-License-Identifier: MIT */
/* What `spex watch` does with executions, wherever they come from: of kernels of a program with spex (watch_kernels.c), or of
 * functions of any program (watch_functions.c). Samples of the program's threads are taken every LOOK_SECONDS. An
 * anomaly is reported after the sample that follows it, since its cause is found by comparing
 * samples. */
#ifndef SPEX_TOOLS_MODELS_WATCHER_H
#define SPEX_TOOLS_MODELS_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/anomalies.h"
#include "model/models.h"
#include "observe/thread_samples.h"
#include "tools/common/output_file.h"
#include "tools/models/watch_output.h"

/* Interval of samples of the program's threads. Anomalies are reported with the next sample. */
#define SPEX_WATCH_LOOK_SECONDS 0.2

/* Events that can wait for the next sample of threads; when there are more, all are reported at
 * once. */
enum { SPEX_WATCH_WAITING_MAX = 256 };

/* An event of an anomaly, with the state that the anomaly had then. */
struct spex_watch_event {
    enum spex_anomaly_event event;
    struct spex_anomaly anomaly;
    /* The program had not taken the request before: its dump is asked for again. */
    bool dump_due;
};

struct spex_watcher {
    pid_t process;
    const char *models_path;
    /* NULL: the kernels that the models know. */
    const char *probes;
    /* NULL: kernels are watched. */
    const char *functions;
    /* Budget of functions; 0: not given. */
    double budget;
    /* NULL: standard output. */
    const char *out;
    /* Anomalies ask the program's flight recorder for dumps. */
    bool dump;
    /* False alarms an execution. */
    double alarms;
    /* 0: no limit. */
    double seconds;
    int stop_fd;
    struct spex_models models;
    /* Seconds since the begin, on the clock of executions. */
    double (*now)(const void *clock);
    const void *clock;
    struct spex_anomalies *anomalies;
    struct spex_thread_samples *samples;
    /* When the next sample of threads is due. */
    double next_look;
    struct spex_output_file to;
    struct spex_watch_output output;
    /* Events that wait for the next sample of threads. */
    struct spex_watch_event waiting[SPEX_WATCH_WAITING_MAX];
    size_t waits;
};

/* From now on anomalies are found and reported. `now` and `clock` stay. 0, or a negative errno value with the reason. */
int spex_watcher_begin(struct spex_watcher *watcher, double (*now)(const void *clock),
                       const void *clock, struct spex_error *error);

/* Samples the threads, and reports what has waited for it, if that is due. 0, or a negative errno value with the reason:
 * the output cannot be written. */
int spex_watcher_look(struct spex_watcher *watcher, struct spex_error *error);

/* Prints what is left, and the account. `left_out`: executions that could not be judged; `lost`: those that are not known
 * of. An exit status. */
int spex_watcher_finish(struct spex_watcher *watcher, uint64_t left_out, uint64_t lost);

/* In any case. */
void spex_watcher_end(struct spex_watcher *watcher);

/* The two sources: each follows the program until it ends, the time is over, or `stop_fd` is readable. Exit statuses. */
int spex_watch_kernels(struct spex_watcher *watcher);
int spex_watch_functions(struct spex_watcher *watcher);

#endif
