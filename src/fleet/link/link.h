/* SPDX-License-Identifier: MIT */
/* The connection of a fleet's commands to NATS: messages, and one key-value bucket of JetStream.
 * What comes is data of others: bounded here in size and number, checked by who takes it.
 *
 * Calls return at once unless stated otherwise. The library behind has threads of its own, which
 * reconnect by themselves; one thread of ours calls this. */
#ifndef SPEX_FLEET_LINK_LINK_H
#define SPEX_FLEET_LINK_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/error.h"

struct spex_link;
struct spex_link_inbox;
struct spex_link_watch;

/* Most bytes of a message and of a value. */
enum { SPEX_LINK_BYTES = 1 << 20, SPEX_LINK_NAME_BYTES = 128 };

struct spex_link_options {
    /* "nats://HOST:PORT" or "tls://HOST:PORT". */
    const char *url;
    /* A file with "USER:PASSWORD", a token, or what `nsc generate creds` writes; NULL: none. */
    const char *credentials;
    /* Files with certificates, and with the client's key; NULL: those of the system, and none. */
    const char *authorities, *certificate, *key;
    /* The client's name at the server. */
    const char *name;
};

struct spex_link_message {
    /* What follows the prefix that the inbox has subscribed to, or the key of a value. */
    char subject[SPEX_LINK_NAME_BYTES];
    /* Where an answer is to go; empty: none is wanted. */
    char reply[SPEX_LINK_NAME_BYTES];
    /* Ends with a 0 behind `size` bytes. NULL: the value was deleted. */
    char *data;
    size_t size;
};

/* Checks the options, and connects. Waits for 4 s at most; a server that is not reachable is tried
 * again and again from then on. 0; -EACCES: the server refuses the credentials; -EINVAL: other
 * options were expected; -ENOSYS: spex was built without NATS; with the reason. */
int spex_link_open(const struct spex_link_options *options, struct spex_link **link,
                   struct spex_error *error);
void spex_link_close(struct spex_link *link);

/* 1: connected; 0: not now; a negative errno value with the reason: never again. */
int spex_link_state(struct spex_link *link, struct spex_error *error);

/* How often it has connected: whoever has watches makes them anew when this has changed. */
uint64_t spex_link_connects(const struct spex_link *link);

/* Sends a message; does nothing while there is no connection. 0 or a negative errno value. */
int spex_link_send(struct spex_link *link, const char *subject, const void *data, size_t size);

/* Receives what is sent to subjects that are `prefix` with one more part. At most `most` messages
 * wait: more are dropped, and counted. 0 or a negative errno value. */
int spex_link_listen(struct spex_link *link, const char *prefix, int most,
                     struct spex_link_inbox **inbox);
void spex_link_inbox_free(struct spex_link_inbox *inbox);
uint64_t spex_link_dropped(const struct spex_link_inbox *inbox);

/* Takes the next message, for which it waits up to `timeout_ms`. 1, or 0: there is none. Free
 * it. */
int spex_link_take(struct spex_link_inbox *inbox, int timeout_ms,
                   struct spex_link_message *message);
void spex_link_message_free(struct spex_link_message *message);

/* Sends a request, and waits up to `timeout_ms` for the answer. 0; -ESRCH: nobody answers such
 * requests; or another negative errno value, with the reason. Free the answer. */
int spex_link_ask(struct spex_link *link, const char *subject, const char *request, int timeout_ms,
                  struct spex_link_message *answer, struct spex_error *error);

/* The bucket. Each waits up to 1 s. 0 or a negative errno value with the reason; -ENOENT: there is
 * no bucket or value; -EACCES: the server does not allow it. */
int spex_link_bucket_make(struct spex_link *link, const char *bucket, struct spex_error *error);
int spex_link_put(struct spex_link *link, const char *bucket, const char *key, const void *data,
                  size_t size, struct spex_error *error);
int spex_link_delete(struct spex_link *link, const char *bucket, const char *key,
                     struct spex_error *error);
int spex_link_get(struct spex_link *link, const char *bucket, const char *key,
                  struct spex_link_message *value, struct spex_error *error);

/* Watches a key: its value first, if there is one, and then each new one. */
int spex_link_watch(struct spex_link *link, const char *bucket, const char *key,
                    struct spex_link_watch **watch, struct spex_error *error);
void spex_link_watch_free(struct spex_link_watch *watch);

/* 1: a value; free the message. 0: there is none now. */
int spex_link_watch_take(struct spex_link_watch *watch, struct spex_link_message *message);

/* Whether the text may be a part of a subject and of a bucket's name: 1 to 63 letters, digits, "-"
 * and "_". */
bool spex_link_is_name(const char *text);

#endif
