/* SPDX-License-Identifier: MIT */
/* Work queues of JetStream. A message stays in its queue until somebody who was given it says that
 * it is done with; of one who says nothing for a time it is taken away, and given to another one.
 * So each is delivered once at least.
 *
 * Each call waits up to 1 s for the server, unless stated otherwise, and returns 0 or a negative
 * errno value with the reason: -ENOENT: there is no such queue; -EACCES: the server does not allow
 * it. */
#ifndef SPEX_FLEET_LINK_QUEUE_H
#define SPEX_FLEET_LINK_QUEUE_H

#include "fleet/link/link.h"

/* Messages of a queue, days after which one is given up, and who waits for messages at a time. */
enum { SPEX_QUEUE_MESSAGES = 100000, SPEX_QUEUE_DAYS = 30, SPEX_QUEUE_WAITING = 4096 };

struct spex_queue;

/* A message that was given, until it is ended. */
struct spex_queue_job {
    /* Its subject is whole. */
    struct spex_link_message message;
    /* How often it has been given to somebody, this time included. */
    uint64_t deliveries;
    /* The message of NATS' library. */
    void *handle;
};

enum spex_queue_end {
    /* It leaves the queue. */
    SPEX_QUEUE_DONE,
    /* It is given to somebody at once, or after a second. */
    SPEX_QUEUE_AGAIN,
    SPEX_QUEUE_LATER
};

/* Makes a stream of the messages whose subjects are `prefix` with more parts, on disk. */
int spex_queue_stream(struct spex_link *link, const char *stream, const char *prefix,
                      struct spex_error *error);

/* Makes the queue `name` of those messages of a stream whose subjects match `filter`. A message is
 * taken away after `patience` seconds. */
int spex_queue_make(struct spex_link *link, const char *stream, const char *name,
                    const char *filter, int patience, struct spex_error *error);
int spex_queue_delete(struct spex_link *link, const char *stream, const char *name,
                      struct spex_error *error);

/* Puts a message into the stream of its subject. When it returns 0, it is there. With `once`, not
 * where one of its subject is there: -EEXIST. */
int spex_queue_put(struct spex_link *link, const char *subject, const char *data, bool once,
                   struct spex_error *error);

/* Takes from a queue that is there. */
int spex_queue_open(struct spex_link *link, const char *stream, const char *name,
                    struct spex_queue **queue, struct spex_error *error);
void spex_queue_close(struct spex_queue *queue);

/* 1: a job, which is to be ended; 0: none has come within `timeout_ms`; -ENOENT: the queue is to be
 * opened again. */
int spex_queue_take(struct spex_queue *queue, int timeout_ms, struct spex_queue_job *job);

/* Somebody still works at it: it is not taken away for as long as at the beginning. */
void spex_queue_keep(const struct spex_queue_job *job);

/* Frees it, too. A negative errno value: the server has not said that it knows. */
int spex_queue_end(struct spex_queue_job *job, enum spex_queue_end how);

#endif
