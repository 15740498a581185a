/* SPDX-License-Identifier: MIT */
/* Watching from within: a program is told when executions of its kernels (kernel.h) take longer
 * than their models predict and than they usually do. `spex watch` does the same from outside, and
 * also names causes, which the program knows better.
 *
 *     struct spex_watch_options options = {.size = sizeof(options), .models = "kernels.models",
 *                                          .told = told};
 *     spex_start(NULL);
 *     spex_watch_start(&options, why, sizeof(why));
 *     …                      the program's work, with kernels on: by the user, or by spex_set
 *     spex_watch_stop();
 *     spex_stop();
 *
 * The models are a file that `spex train` has written. The detection is that of Bhattacharyya and
 * Amza (ADLER), section 5.2; spex-watch(1) says what is anomalous. The selection decides which
 * kernels are on and how many of their executions make records; every record is judged. Collectors
 * do that, in about 0.1 µs a record; no thread of the program waits for it.
 *
 * One watching at a time in a process. The child of a fork has none, and may start its own. No
 * function here may be called in a signal handler. */
#ifndef SPEX_WATCH_H
#define SPEX_WATCH_H

#include <spex/detail/names_begin.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_HEADER_BEGIN_

SPEX_EXTERN_C_BEGIN

/* Why told() is called. */
enum spex_watch_what {
    SPEX_WATCH_BEGINS,
    SPEX_WATCH_ENDS,
    /* The watching ends, but the anomaly has not. */
    SPEX_WATCH_GOES_ON
};

/* An anomaly: successive slow executions of one kernel in one context. Times are in seconds. */
struct spex_watch_anomaly {
    /* sizeof, as compiled by the library. */
    size_t size;
    enum spex_watch_what what;
    /* True: every execution takes longer, one after the other. False: single ones do. */
    bool shift;
    /* The number of the anomaly, from 1 on; the same where it begins and where it ends. */
    uint64_t number;
    /* The kernel with its context: "report/sort". */
    const char *kernel;
    /* The thread of the first slow execution: a kernel thread id. */
    uint32_t thread;
    /* The number, the names and the values of that execution's parameters. */
    uint32_t parameter_count;
    const char *const *names;
    const double *parameters;
    /* The time of that execution, and the time that the model predicts for it. */
    double seconds;
    double predicted_seconds;
    /* 95 % of such executions lie between these times; high_seconds INFINITY: unknown. */
    double low_seconds;
    double high_seconds;
    /* Slow executions so far. */
    uint64_t executions;
    /* How long the anomaly has lasted. */
    double lasted_seconds;
    /* Times divided by predictions: the median and the largest. */
    double median_ratio;
    double worst_ratio;
};

/* What to watch for. */
struct spex_watch_options {
    /* sizeof(struct spex_watch_options). */
    size_t size;
    /* The path of a file of models. It is read before spex_watch_start returns. */
    const char *models;
    /* False alarms per execution, 1e-9 to 0.01; 0: 1e-5. */
    double alarms;

    /* Called when an anomaly begins and when it ends, on a collector's thread, which takes no
     * signals. Other collectors may wait for it: it must be quick and must not block. Of spex it
     * may call spex_status_get and spex_dump only. Anomalies that go on at the end are reported on
     * the thread that calls spex_watch_stop or spex_stop. `anomaly` is valid until it returns. */
    void (*told)(void *user, const struct spex_watch_anomaly *anomaly);
    /* Passed to told(). */
    void *user;
};

/* What a watching has done so far. */
struct spex_watch_account {
    /* Set by the caller: sizeof(struct spex_watch_account). */
    size_t size;
    /* Records that were judged. */
    uint64_t judged;
    /* Kernels of which records were judged. */
    uint64_t kernels;
    /* Anomalies so far. */
    uint64_t anomalies;
    /* Records that were not: without a model, outside of the range of training, or
     * unsound. */
    uint64_t not_judged;
};

/* Starts to watch; after spex_start. Returns 0; -EINVAL for wrong options or a file without models;
 * -EBUSY while another watching is going on; -ENOMEM; or the error of reading the file. After an
 * error `why` holds one line that names it. */
SPEX_API SPEX_MUST_CHECK int spex_watch_start(const struct spex_watch_options *options, char *why,
                                              size_t why_size);

/* Ends the watching; told() is not called after it has returned. Returns 0, also when there is no
 * watching; -EDEADLK within told(), where it does nothing. spex_stop() ends the watching, too, and
 * keeps the account until this function is called. */
SPEX_API int spex_watch_stop(void);

/* Fills in the account of the watching, or of the one that spex_stop() has ended. Returns 0;
 * -EINVAL for a size that this library does not know; -ENODATA when there is none. Not within
 * told(). */
SPEX_API int spex_watch_look(struct spex_watch_account *account);

SPEX_EXTERN_C_END

SPEX_HEADER_END_

#include <spex/detail/names_end.h>

#endif
