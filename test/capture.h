/* SPDX-License-Identifier: MIT */
/* A sink that hands every record to the test, beside the output that spex opens itself. */
#ifndef SPEX_TEST_CAPTURE_H
#define SPEX_TEST_CAPTURE_H

#include <pthread.h>
#include <stdlib.h>

#include "collect/sinks.h"

struct capture {
    struct spex_sink sink;
    pthread_mutex_t lock; /* held during see() */
    void (*see)(const struct spex_record *record, void *context);
    void *context;
};

static inline bool capture_records(struct spex_sink *sink, const struct spex_batch *batch) {
    struct capture *capture = (struct capture *)sink;
    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < batch->count; i++)
        capture->see(&batch->records[i], capture->context);
    pthread_mutex_unlock(&capture->lock);
    return true;
}

static void capture_abandon(struct spex_sink *sink) {
    (void)sink; /* the child of a fork may look at what its parent had */
}

static inline void capture_finish(struct spex_sink *sink) {
    struct capture *capture = (struct capture *)sink;
    pthread_mutex_destroy(&capture->lock);
    free(capture);
}

/* From here to the next spex_stop; see() is called by one thread at a time. */
static inline void capture_start(void (*see)(const struct spex_record *record, void *context),
                                 void *context) {
    struct capture *capture = calloc(1, sizeof(*capture));
    if (!capture)
        abort();
    pthread_mutex_init(&capture->lock, NULL);
    capture->see = see;
    capture->context = context;
    capture->sink.records = capture_records;
    capture->sink.finish = capture_finish;
    capture->sink.abandon = capture_abandon;
    spex_sinks_add(&capture->sink);
}

#endif
