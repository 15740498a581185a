/* SPDX-License-Identifier: MIT */
/* Watching from within: a program is told when executions of its kernels (spex/kernel.h) take longer than their models say
 * and than they do. What `spex watch` does from outside, save causes, which the program knows better.
 *
 *     struct spex_watch_options options = {.size = sizeof(options), .models = "kernels.models", .told = told};
 *     spex_start(NULL);
 *     spex_watch_start(&options, why, sizeof(why));
 *     …                      the program's work, with kernels on: by the user, or by spex_set
 *     spex_watch_stop();
 *     spex_stop();
 *
 * The models are what `spex train` has written. Which kernels are on, and how many of their executions make records, is
 * up to who selects probes; what makes a record is judged, by the collectors: in about 0.1 µs, nothing of which a
 * thread of the program waits for. man spex-watch says what is anomalous.
 *
 * One watching at a time in a process. The child of a fork has none, and may start its own. Nothing here is for signal
 * handlers. */
#ifndef SPEX_WATCH_H
#define SPEX_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <spex/compiler.h>

SPEX_EXTERN_C_BEGIN

enum spex_watch_what {
    SPEX_WATCH_BEGINS,
    SPEX_WATCH_ENDS,
    SPEX_WATCH_GOES_ON /* though the watching ends */
};

/* An anomaly: slow executions of one kernel in one context that follow each other. */
struct spex_watch_anomaly {
    size_t size;
    enum spex_watch_what what;
    bool shift;         /* one execution after the other; or single ones */
    uint64_t number;    /* from 1 on: the same where it begins and where it ends */
    const char *kernel; /* with its context: "report/sort" */
    uint32_t thread;    /* of the first execution of it: a kernel thread id; */
    uint32_t parameter_count;
    const char *const *names; /*   its parameters */
    const double *parameters;
    double seconds;           /*   its time, */
    double predicted_seconds; /*   and what was predicted: */
    double low_seconds;       /*   95 % lie between them; */
    double high_seconds;      /*   INFINITY: there is no telling */
    uint64_t executions;      /* so far */
    double lasted_seconds;
    double median_ratio; /* of times over predictions */
    double worst_ratio;
};

struct spex_watch_options {
    size_t size;        /* sizeof(struct spex_watch_options) */
    const char *models; /* a file; read before spex_watch_start returns */
    double alarms;      /* false alarms an execution, 1e-9 to 0.01; 0: 1e-5 */

    /* Called on a collector's thread, which takes no signals, while other collectors may wait for it: it is to be quick,
     * and may not block. Of spex it may call spex_status_get alone. What is still under way at the end is told on the
     * thread that calls spex_watch_stop or spex_stop. What it is given is valid until it returns. */
    void (*told)(void *user, const struct spex_watch_anomaly *anomaly);
    void *user;
};

struct spex_watch_account {
    size_t size;     /* to be set */
    uint64_t judged; /* records */
    uint64_t kernels;
    uint64_t anomalies;
    uint64_t not_judged; /* without a model or class, out of the range of training, or not sound */
};

/* Starts to watch, after spex_start. 0; -EINVAL for options that are not right or a file that holds no models; -EBUSY while
 * another watching is under way; -ENOMEM; or what reading the file failed with. One line in `why` says which. */
SPEX_API SPEX_MUST_CHECK int spex_watch_start(const struct spex_watch_options *options, char *why,
                                              size_t why_size);

/* Ends it; afterwards nothing is told any more. 0, also when there is none; -EDEADLK from within told(), where it does
 * nothing. spex_stop() ends what is watched, too, and leaves the account until this is called. */
SPEX_API int spex_watch_stop(void);

/* Of what is being watched, or was until spex_stop(). 0; -EINVAL for a size that this library does not know; -ENODATA. Not
 * from within told(). */
SPEX_API int spex_watch_look(struct spex_watch_account *account);

SPEX_EXTERN_C_END

#endif
