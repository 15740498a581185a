/* SPDX-License-Identifier: MIT */
/* In the place of link.c, queue.c and server.c where spex is built without libnats: no connection
 * can be opened, so that nothing else here is ever called. */
#include <errno.h>

#include "fleet/link/link.h"
#include "fleet/link/queue.h"

int spex_link_open(const struct spex_link_options *options, struct spex_link **link,
                   struct spex_error *error) {
    (void)options;
    *link = NULL;
    return spex_fail(error, -ENOSYS, "this spex was built without NATS (libnats)");
}

void spex_link_close(struct spex_link *link) {
    (void)link;
}

int spex_link_state(struct spex_link *link, struct spex_error *error) {
    (void)link;
    return spex_fail(error, -ENOSYS, "there is no connection");
}

uint64_t spex_link_connects(const struct spex_link *link) {
    (void)link;
    return 0;
}

int spex_link_send(struct spex_link *link, const char *subject, const void *data, size_t size) {
    (void)link, (void)subject, (void)data, (void)size;
    return -ENOSYS;
}

int spex_link_listen(struct spex_link *link, const char *prefix, int most,
                     struct spex_link_inbox **inbox) {
    (void)link, (void)prefix, (void)most, (void)inbox;
    return -ENOSYS;
}

void spex_link_inbox_free(struct spex_link_inbox *inbox) {
    (void)inbox;
}

uint64_t spex_link_dropped(const struct spex_link_inbox *inbox) {
    (void)inbox;
    return 0;
}

int spex_link_take(struct spex_link_inbox *inbox, int timeout_ms,
                   struct spex_link_message *message) {
    (void)inbox, (void)timeout_ms, (void)message;
    return 0;
}

void spex_link_message_free(struct spex_link_message *message) {
    (void)message;
}

int spex_link_ask(struct spex_link *link, const char *subject, const char *request, int timeout_ms,
                  struct spex_link_message *answer, struct spex_error *error) {
    (void)subject, (void)request, (void)timeout_ms, (void)answer;
    return spex_link_state(link, error);
}

int spex_link_bucket_make(struct spex_link *link, const char *bucket, struct spex_error *error) {
    (void)bucket;
    return spex_link_state(link, error);
}

int spex_link_put(struct spex_link *link, const char *bucket, const char *key, const void *data,
                  size_t size, struct spex_error *error) {
    (void)bucket, (void)key, (void)data, (void)size;
    return spex_link_state(link, error);
}

int spex_link_delete(struct spex_link *link, const char *bucket, const char *key,
                     struct spex_error *error) {
    (void)bucket, (void)key;
    return spex_link_state(link, error);
}

int spex_link_get(struct spex_link *link, const char *bucket, const char *key,
                  struct spex_link_message *value, struct spex_error *error) {
    (void)bucket, (void)key, (void)value;
    return spex_link_state(link, error);
}

int spex_link_watch(struct spex_link *link, const char *bucket, const char *key,
                    struct spex_link_watch **watch, struct spex_error *error) {
    (void)bucket, (void)key, (void)watch;
    return spex_link_state(link, error);
}

void spex_link_watch_free(struct spex_link_watch *watch) {
    (void)watch;
}

int spex_link_watch_take(struct spex_link_watch *watch, struct spex_link_message *message) {
    (void)watch, (void)message;
    return 0;
}

int spex_queue_stream(struct spex_link *link, const char *stream, const char *prefix,
                      struct spex_error *error) {
    (void)stream, (void)prefix;
    return spex_link_state(link, error);
}

int spex_queue_make(struct spex_link *link, const char *stream, const char *name,
                    const char *filter, int patience, struct spex_error *error) {
    (void)stream, (void)name, (void)filter, (void)patience;
    return spex_link_state(link, error);
}

int spex_queue_delete(struct spex_link *link, const char *stream, const char *name,
                      struct spex_error *error) {
    (void)stream, (void)name;
    return spex_link_state(link, error);
}

int spex_queue_put(struct spex_link *link, const char *subject, const char *data, bool once,
                   struct spex_error *error) {
    (void)subject, (void)data, (void)once;
    return spex_link_state(link, error);
}

int spex_queue_open(struct spex_link *link, const char *stream, const char *name,
                    struct spex_queue **queue, struct spex_error *error) {
    (void)stream, (void)name, (void)queue;
    return spex_link_state(link, error);
}

void spex_queue_close(struct spex_queue *queue) {
    (void)queue;
}

int spex_queue_take(struct spex_queue *queue, int timeout_ms, struct spex_queue_job *job) {
    (void)queue, (void)timeout_ms, (void)job;
    return -ENOENT;
}

void spex_queue_keep(const struct spex_queue_job *job) {
    (void)job;
}

int spex_queue_end(struct spex_queue_job *job, enum spex_queue_end how) {
    (void)job, (void)how;
    return -ENOSYS;
}
