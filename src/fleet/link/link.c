/* SPDX-License-Identifier: MIT */
#include "fleet/link/link.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/link/link_parts.h"
#include "fleet/link/server.h"

/* Milliseconds for connecting, and for an answer of JetStream. */
enum { CONNECT_MS = 2000, BUCKET_MS = 1000 };

/* How often a lost connection is tried again, and when a silent server is taken for lost. */
enum { RECONNECT_MS = 500, PING_MS = 5000, PINGS_OUT = 2 };

/* Milliseconds after which a peer that does not speak as NATS is asked once more. */
enum { AGAIN_MS = 100 };

/* Bytes that wait in an inbox: more are dropped. */
enum { INBOX_BYTES = 64 << 20 };

struct spex_link_inbox {
    natsSubscription *subscription;
    size_t prefix;
};

struct spex_link_watch {
    kvWatcher *watcher;
};

static void note_connect(natsConnection *connection, void *user) {
    struct spex_link *link = user;
    (void)connection;
    pthread_mutex_lock(&link->lock);
    link->connects++;
    pthread_mutex_unlock(&link->lock);
}

static void note_error(natsConnection *connection, natsSubscription *subscription,
                       natsStatus status, void *user) {
    struct spex_link *link = user;
    const char *text = NULL;
    (void)subscription;
    if (status != NATS_NOT_PERMITTED)
        return;
    natsConnection_GetLastError(connection, &text);
    pthread_mutex_lock(&link->lock);
    snprintf(link->denied, sizeof(link->denied), "%s", text ? text : "not permitted");
    pthread_mutex_unlock(&link->lock);
}

static natsStatus set_times(struct spex_link *link, const struct spex_link_options *from) {
    natsOptions *options = link->options;
    natsStatus status = natsOptions_SetTimeout(options, CONNECT_MS);
    status = status ? status : natsOptions_SetName(options, from->name);
    status = status ? status : natsOptions_SetMaxReconnect(options, -1);
    status = status ? status : natsOptions_SetReconnectWait(options, RECONNECT_MS);
    status = status ? status : natsOptions_SetPingInterval(options, PING_MS);
    status = status ? status : natsOptions_SetMaxPingsOut(options, PINGS_OUT);
    status = status ? status : natsOptions_SetIgnoreDiscoveredServers(options, true);
    status = status ? status : natsOptions_SetFailRequestsOnDisconnect(options, true);
    status = status ? status : natsOptions_SetErrorHandler(options, note_error, link);
    return status ? status : natsOptions_SetReconnectedCB(options, note_connect, link);
}

static int refused(const char *url, natsStatus status, struct spex_error *error) {
    if (status == NATS_CONNECTION_AUTH_FAILED)
        return spex_fail(error, -EACCES, "NATS at %s refuses the credentials", url);
    return spex_fail(error, -EINVAL, "NATS at %s: %s", url, natsStatus_GetText(status));
}

static int set_options(struct spex_link *link, const struct spex_link_options *from,
                       struct spex_error *error) {
    natsStatus status = natsOptions_Create(&link->options);
    int err = status == NATS_OK ? spex_link_server_set(link->options, from, error) : 0;
    if (err)
        return err;
    status = status ? status : set_times(link, from);
    return status == NATS_OK ? 0 : refused(from->url, status, error);
}

/* A server that ends meanwhile may leave half a line, which is a protocol error. A peer that is no
 * NATS makes the same error again. */
static natsStatus connect_once_or_twice(struct spex_link *link) {
    natsStatus status = natsConnection_Connect(&link->connection, link->options);
    if (status != NATS_PROTOCOL_ERROR)
        return status;
    nats_Sleep(AGAIN_MS);
    return natsConnection_Connect(&link->connection, link->options);
}

/* A server that is there and refuses is told from one that is not there: that one is tried
 * again. */
static natsStatus connect_now(struct spex_link *link) {
    natsStatus status = connect_once_or_twice(link);
    if (status == NATS_OK)
        note_connect(link->connection, link);
    if (status != NATS_NO_SERVER && status != NATS_IO_ERROR && status != NATS_TIMEOUT)
        return status;
    status = natsOptions_SetRetryOnFailedConnect(link->options, true, note_connect, link);
    return status ? status : natsConnection_Connect(&link->connection, link->options);
}

static int connect_first(struct spex_link *link, const char *url, struct spex_error *error) {
    jsOptions waits;
    natsStatus status = connect_now(link);
    if (status != NATS_OK && status != NATS_NOT_YET_CONNECTED)
        return refused(url, status, error);
    jsOptions_Init(&waits);
    waits.Wait = BUCKET_MS;
    status = natsConnection_JetStream(&link->stream, link->connection, &waits);
    return status == NATS_OK ? 0 : refused(url, status, error);
}

int spex_link_open(const struct spex_link_options *options, struct spex_link **link,
                   struct spex_error *error) {
    struct spex_link *opened = calloc(1, sizeof(*opened));
    *link = NULL;
    if (!opened)
        return spex_fail(error, -ENOMEM, "out of memory");
    pthread_mutex_init(&opened->lock, NULL);
    int err = set_options(opened, options, error);
    err = err ? err : connect_first(opened, options->url, error);
    if (err)
        spex_link_close(opened);
    else
        *link = opened;
    return err;
}

void spex_link_close(struct spex_link *link) {
    if (!link)
        return;
    kvStore_Destroy(link->store);
    jsCtx_Destroy(link->stream);
    if (link->connection)
        natsConnection_FlushTimeout(link->connection, BUCKET_MS);
    natsConnection_Destroy(link->connection);
    natsOptions_Destroy(link->options);
    /* Its threads call back until they have ended. */
    nats_CloseAndWait(CONNECT_MS);
    pthread_mutex_destroy(&link->lock);
    free(link);
}

int spex_link_state(struct spex_link *link, struct spex_error *error) {
    const char *text = NULL;
    natsConnStatus status = natsConnection_Status(link->connection);
    if (status != NATS_CONN_STATUS_CLOSED)
        return status == NATS_CONN_STATUS_CONNECTED;
    natsConnection_GetLastError(link->connection, &text);
    return spex_fail(error, -EACCES, "NATS has closed the connection: %s",
                     text && *text ? text : "no reason is known");
}

uint64_t spex_link_connects(const struct spex_link *link) {
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&link->lock;
    pthread_mutex_lock(lock);
    uint64_t connects = link->connects;
    pthread_mutex_unlock(lock);
    return connects;
}

int spex_link_err_of(natsStatus status) {
    switch (status) {
    case NATS_OK:
        return 0;
    case NATS_NOT_FOUND:
        return -ENOENT;
    case NATS_NOT_PERMITTED:
    case NATS_CONNECTION_AUTH_FAILED:
        return -EACCES;
    case NATS_NO_MEMORY:
        return -ENOMEM;
    case NATS_NO_RESPONDERS:
        return -ESRCH;
    case NATS_TIMEOUT:
        return -ETIMEDOUT;
    case NATS_MAX_PAYLOAD:
        return -E2BIG;
    default:
        return -EIO;
    }
}

int spex_link_explain(struct spex_link *link, natsStatus status, const char *what,
                      struct spex_error *error) {
    int err = spex_link_err_of(status);
    if (!err)
        return 0;
    pthread_mutex_lock(&link->lock);
    bool denied = link->denied[0] != '\0';
    if (denied)
        spex_error_set(error, "%s: NATS does not permit it: %s", what, link->denied);
    link->denied[0] = '\0';
    pthread_mutex_unlock(&link->lock);
    if (denied)
        return -EACCES;
    return spex_fail(error, err, "%s: %s", what, natsStatus_GetText(status));
}

int spex_link_send(struct spex_link *link, const char *subject, const void *data, size_t size) {
    if (natsConnection_Status(link->connection) != NATS_CONN_STATUS_CONNECTED)
        return 0;
    if (size > SPEX_LINK_BYTES)
        return -E2BIG;
    return spex_link_err_of(natsConnection_Publish(link->connection, subject, data, (int)size));
}

int spex_link_listen(struct spex_link *link, const char *prefix, int most,
                     struct spex_link_inbox **inbox) {
    char subject[SPEX_LINK_NAME_BYTES];
    struct spex_link_inbox *opened = calloc(1, sizeof(*opened));
    if (!opened)
        return -ENOMEM;
    snprintf(subject, sizeof(subject), "%s.*", prefix);
    opened->prefix = strlen(prefix) + 1;
    natsStatus status =
        natsConnection_SubscribeSync(&opened->subscription, link->connection, subject);
    if (status == NATS_OK)
        status = natsSubscription_SetPendingLimits(opened->subscription, most, INBOX_BYTES);
    if (status != NATS_OK)
        spex_link_inbox_free(opened);
    else
        *inbox = opened;
    return spex_link_err_of(status);
}

void spex_link_inbox_free(struct spex_link_inbox *inbox) {
    if (inbox)
        natsSubscription_Destroy(inbox->subscription);
    free(inbox);
}

uint64_t spex_link_dropped(const struct spex_link_inbox *inbox) {
    int64_t dropped = 0;
    natsSubscription_GetDropped(inbox->subscription, &dropped);
    return (uint64_t)dropped;
}

bool spex_link_copy(const char *subject, const char *reply, const void *data, int size,
                    struct spex_link_message *message) {
    *message = (struct spex_link_message){.size = (size_t)size};
    if (size < 0 || size > SPEX_LINK_BYTES || strlen(subject) >= sizeof(message->subject) ||
        (reply && strlen(reply) >= sizeof(message->reply)))
        return false;
    message->data = malloc((size_t)size + 1);
    if (!message->data)
        return false;
    if (size)
        memcpy(message->data, data, (size_t)size);
    message->data[size] = '\0';
    snprintf(message->subject, sizeof(message->subject), "%s", subject);
    snprintf(message->reply, sizeof(message->reply), "%s", reply ? reply : "");
    return true;
}

int spex_link_take(struct spex_link_inbox *inbox, int timeout_ms,
                   struct spex_link_message *message) {
    natsMsg *got = NULL;
    bool good = false;
    while (!good && natsSubscription_NextMsg(&got, inbox->subscription, timeout_ms) == NATS_OK) {
        good = spex_link_copy(natsMsg_GetSubject(got) + inbox->prefix, natsMsg_GetReply(got),
                              natsMsg_GetData(got), natsMsg_GetDataLength(got), message);
        natsMsg_Destroy(got);
    }
    return good;
}

void spex_link_message_free(struct spex_link_message *message) {
    free(message->data);
    message->data = NULL;
}

int spex_link_ask(struct spex_link *link, const char *subject, const char *request, int timeout_ms,
                  struct spex_link_message *answer, struct spex_error *error) {
    natsMsg *got = NULL;
    natsStatus status =
        natsConnection_RequestString(&got, link->connection, subject, request, timeout_ms);
    if (status != NATS_OK)
        return spex_link_explain(link, status, subject, error);
    bool good = spex_link_copy("", NULL, natsMsg_GetData(got), natsMsg_GetDataLength(got), answer);
    natsMsg_Destroy(got);
    return good ? 0 : spex_fail(error, -EPROTO, "%s: the answer is too large", subject);
}

static void forget_store(struct spex_link *link) {
    kvStore_Destroy(link->store);
    link->store = NULL;
}

/* The bucket is looked up once, and again after an error: it may have been made anew. */
static natsStatus open_store(struct spex_link *link, const char *bucket) {
    if (link->store && strcmp(link->bucket, bucket) == 0)
        return NATS_OK;
    forget_store(link);
    snprintf(link->bucket, sizeof(link->bucket), "%s", bucket);
    return js_KeyValue(&link->store, link->stream, bucket);
}

static int done(struct spex_link *link, natsStatus status, const char *bucket, const char *key,
                struct spex_error *error) {
    char what[2 * SPEX_LINK_NAME_BYTES];
    if (status == NATS_OK)
        return 0;
    forget_store(link);
    snprintf(what, sizeof(what), "%s of bucket %s", key, bucket);
    return spex_link_explain(link, status, what, error);
}

int spex_link_bucket_make(struct spex_link *link, const char *bucket, struct spex_error *error) {
    kvConfig config;
    forget_store(link);
    natsStatus status = open_store(link, bucket);
    if (status == NATS_NOT_FOUND) {
        kvConfig_Init(&config);
        config.Bucket = bucket;
        config.Description = "what spex wants of a fleet";
        config.History = 1;
        config.MaxValueSize = SPEX_LINK_BYTES;
        status = js_CreateKeyValue(&link->store, link->stream, &config);
    }
    return done(link, status, bucket, "making", error);
}

int spex_link_put(struct spex_link *link, const char *bucket, const char *key, const void *data,
                  size_t size, struct spex_error *error) {
    if (size > SPEX_LINK_BYTES)
        return spex_fail(error, -E2BIG, "%s of bucket %s: %d bytes at most were expected", key,
                         bucket, SPEX_LINK_BYTES);
    natsStatus status = open_store(link, bucket);
    status = status ? status : kvStore_Put(NULL, link->store, key, data, (int)size);
    return done(link, status, bucket, key, error);
}

int spex_link_delete(struct spex_link *link, const char *bucket, const char *key,
                     struct spex_error *error) {
    natsStatus status = open_store(link, bucket);
    status = status ? status : kvStore_Purge(link->store, key, NULL);
    return done(link, status, bucket, key, error);
}

static bool copy_entry(kvEntry *entry, struct spex_link_message *message) {
    bool gone = kvEntry_Operation(entry) != kvOp_Put;
    bool good = spex_link_copy(kvEntry_Key(entry), NULL, gone ? NULL : kvEntry_Value(entry),
                               gone ? 0 : kvEntry_ValueLen(entry), message);
    if (good && gone)
        spex_link_message_free(message);
    return good;
}

int spex_link_get(struct spex_link *link, const char *bucket, const char *key,
                  struct spex_link_message *value, struct spex_error *error) {
    kvEntry *entry = NULL;
    natsStatus status = open_store(link, bucket);
    status = status ? status : kvStore_Get(&entry, link->store, key);
    if (status != NATS_OK)
        return done(link, status, bucket, key, error);
    bool good = copy_entry(entry, value);
    kvEntry_Destroy(entry);
    return good ? 0 : spex_fail(error, -E2BIG, "%s of bucket %s is too large", key, bucket);
}

int spex_link_watch(struct spex_link *link, const char *bucket, const char *key,
                    struct spex_link_watch **watch, struct spex_error *error) {
    struct spex_link_watch *opened = calloc(1, sizeof(*opened));
    if (!opened)
        return spex_fail(error, -ENOMEM, "out of memory");
    natsStatus status = open_store(link, bucket);
    status = status ? status : kvStore_Watch(&opened->watcher, link->store, key, NULL);
    if (status != NATS_OK)
        free(opened);
    else
        *watch = opened;
    return done(link, status, bucket, key, error);
}

void spex_link_watch_free(struct spex_link_watch *watch) {
    if (watch)
        kvWatcher_Destroy(watch->watcher);
    free(watch);
}

/* An entry that is NULL stands behind the first values. The library takes no time of 0. */
int spex_link_watch_take(struct spex_link_watch *watch, struct spex_link_message *message) {
    kvEntry *entry = NULL;
    bool good = false;
    while (!good && kvWatcher_Next(&entry, watch->watcher, 1) == NATS_OK) {
        good = entry && copy_entry(entry, message);
        kvEntry_Destroy(entry);
        entry = NULL;
    }
    return good;
}
