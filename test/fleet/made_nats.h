/* SPDX-License-Identifier: MIT */
/* NATS' client library as a test makes it, in the place of the real one: it tells which calls came
 * with what, fails those that it shall, and hands out made messages. What it gives is memory of its
 * own, so that what is not given back is known. */
#ifndef SPEX_TEST_FLEET_MADE_NATS_H
#define SPEX_TEST_FLEET_MADE_NATS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nats/nats.h>

#include "../check.h"

enum { MADE_MESSAGES = 8 };

/* A message, or a value of a bucket; without data: deleted. */
struct made_message {
    const char *subject, *reply, *data;
    int size;
    uint64_t deliveries;
    bool no_metadata;
};

static struct {
    char told[8192];
    size_t length;
    /* Fails with this status, and this code of JetStream: the call of this name. */
    const char *failing;
    natsStatus status;
    jsErrCode code;
    /* How often it fails; 0: always. */
    unsigned times;
    int alive;
    struct made_message messages[MADE_MESSAGES];
    size_t given, count;
    natsConnStatus connected;
    natsConnectionHandler on_connect;
    natsErrHandler on_error;
    void *user;
    const char *last_error;
    /* The options that were initialised last: others must not be passed on. */
    const void *fresh;
    int64_t dropped;
} made;

static inline void made_reset(void) {
    memset(&made, 0, sizeof(made));
    made.connected = NATS_CONN_STATUS_CONNECTED;
}

static inline void made_add(struct made_message message) {
    assert_true(made.count < MADE_MESSAGES);
    made.messages[made.count++] = message;
}

__attribute__((format(printf, 2, 3))) static inline natsStatus called(const char *name,
                                                                      const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t room = sizeof(made.told) - made.length;
    made.length += (size_t)snprintf(made.told + made.length, room, "%s", name);
    room = sizeof(made.told) - made.length;
    made.length += (size_t)vsnprintf(made.told + made.length, room, format, arguments);
    made.length += (size_t)snprintf(made.told + made.length, room, "\n");
    va_end(arguments);
    assert_true(made.length < sizeof(made.told));
    if (!made.failing || strcmp(made.failing, name) != 0)
        return NATS_OK;
    if (made.times && --made.times == 0)
        made.failing = NULL;
    return made.status;
}

static inline natsStatus given(natsStatus status, void **thing) {
    *thing = NULL;
    if (status != NATS_OK)
        return status;
    *thing = malloc(1);
    assert_non_null(*thing);
    made.alive++;
    return NATS_OK;
}

static inline void given_back(void *thing) {
    made.alive -= thing != NULL;
    free(thing);
}

/* The message itself is the handle. */
static inline natsStatus message_given(natsStatus status, void **message) {
    *message = NULL;
    if (status == NATS_OK && made.given == made.count)
        return NATS_TIMEOUT;
    if (status != NATS_OK)
        return status;
    struct made_message *copy = malloc(sizeof(*copy));
    assert_non_null(copy);
    *copy = made.messages[made.given++];
    *message = copy;
    made.alive++;
    return NATS_OK;
}

#define GIVEN(place, ...) given(called(__func__, __VA_ARGS__), (void **)(place))

#define FRESH(type, name)                                                                          \
    natsStatus name(type *options) {                                                               \
        memset(options, 0, sizeof(*options));                                                      \
        made.fresh = options;                                                                      \
        return NATS_OK;                                                                            \
    }
FRESH(jsOptions, jsOptions_Init)
FRESH(jsStreamConfig, jsStreamConfig_Init)
FRESH(jsConsumerConfig, jsConsumerConfig_Init)
FRESH(jsPubOptions, jsPubOptions_Init)
FRESH(jsSubOptions, jsSubOptions_Init)
FRESH(kvConfig, kvConfig_Init)

/* Options. */
natsStatus natsOptions_Create(natsOptions **o) {
    return GIVEN(o, "%s", "");
}
void natsOptions_Destroy(natsOptions *o) {
    given_back(o);
}
#define OPTION_NUMBER(name, type)                                                                  \
    natsStatus natsOptions_##name(natsOptions *o, type value) {                                    \
        (void)o;                                                                                   \
        return called(__func__, " %d", (int)value);                                                \
    }
#define OPTION_TEXT(name)                                                                          \
    natsStatus natsOptions_##name(natsOptions *o, const char *value) {                             \
        (void)o;                                                                                   \
        return called(__func__, " %s", value);                                                     \
    }
#define OPTION_TEXTS(name)                                                                         \
    natsStatus natsOptions_##name(natsOptions *o, const char *one, const char *other) {            \
        (void)o;                                                                                   \
        return called(__func__, " %s %s", one, other ? other : "-");                               \
    }
OPTION_NUMBER(SetTimeout, int64_t)
OPTION_NUMBER(SetMaxReconnect, int)
OPTION_NUMBER(SetReconnectWait, int64_t)
OPTION_NUMBER(SetPingInterval, int64_t)
OPTION_NUMBER(SetMaxPingsOut, int)
OPTION_NUMBER(SetIgnoreDiscoveredServers, bool)
OPTION_NUMBER(SetFailRequestsOnDisconnect, bool)
OPTION_NUMBER(SetSecure, bool)
OPTION_TEXT(SetName)
OPTION_TEXT(SetURL)
OPTION_TEXT(SetToken)
OPTION_TEXT(SetExpectedHostname)
OPTION_TEXT(LoadCATrustedCertificates)
OPTION_TEXTS(LoadCertificatesChain)
OPTION_TEXTS(SetUserInfo)
OPTION_TEXTS(SetUserCredentialsFromFiles)

natsStatus natsOptions_SetErrorHandler(natsOptions *o, natsErrHandler handler, void *user) {
    (void)o;
    made.on_error = handler;
    made.user = user;
    return called(__func__, "%s", "");
}
natsStatus natsOptions_SetReconnectedCB(natsOptions *o, natsConnectionHandler handler, void *user) {
    (void)o;
    made.on_connect = handler;
    assert_ptr_equal(user, made.user);
    return called(__func__, "%s", "");
}
natsStatus natsOptions_SetRetryOnFailedConnect(natsOptions *o, bool retry,
                                               natsConnectionHandler handler, void *user) {
    (void)o;
    assert_ptr_equal(handler, made.on_connect);
    assert_ptr_equal(user, made.user);
    return called(__func__, " %d", retry);
}

/* The connection. */
natsStatus natsConnection_Connect(natsConnection **nc, natsOptions *o) {
    assert_non_null(o);
    return GIVEN(nc, "%s", "");
}
void natsConnection_Destroy(natsConnection *nc) {
    given_back(nc);
}
natsStatus natsConnection_FlushTimeout(natsConnection *nc, int64_t timeout) {
    assert_non_null(nc);
    return called(__func__, " %d", (int)timeout);
}
natsStatus nats_CloseAndWait(int64_t timeout) {
    return called(__func__, " %d", (int)timeout);
}
natsConnStatus natsConnection_Status(natsConnection *nc) {
    assert_non_null(nc);
    return made.connected;
}
natsStatus natsConnection_GetLastError(natsConnection *nc, const char **text) {
    assert_non_null(nc);
    *text = made.last_error;
    return NATS_OK;
}
natsStatus natsConnection_JetStream(jsCtx **js, natsConnection *nc, jsOptions *o) {
    assert_true(nc && made.fresh == o);
    return GIVEN(js, " %d", (int)o->Wait);
}
void jsCtx_Destroy(jsCtx *js) {
    given_back(js);
}
natsStatus natsConnection_Publish(natsConnection *nc, const char *subject, const void *data,
                                  int size) {
    assert_non_null(nc);
    return called(__func__, " %s %.*s", subject, size < 99 ? size : 1, (const char *)data);
}
natsStatus natsConnection_SubscribeSync(natsSubscription **s, natsConnection *nc,
                                        const char *subject) {
    assert_non_null(nc);
    return GIVEN(s, " %s", subject);
}
natsStatus natsConnection_RequestString(natsMsg **m, natsConnection *nc, const char *subject,
                                        const char *text, int64_t timeout) {
    assert_non_null(nc);
    return message_given(called(__func__, " %s %s %d", subject, text, (int)timeout), (void **)m);
}
void natsSubscription_Destroy(natsSubscription *s) {
    given_back(s);
}
natsStatus natsSubscription_SetPendingLimits(natsSubscription *s, int messages, int bytes) {
    assert_non_null(s);
    return called(__func__, " %d %d", messages, bytes);
}
natsStatus natsSubscription_GetDropped(natsSubscription *s, int64_t *dropped) {
    assert_non_null(s);
    *dropped = made.dropped;
    return NATS_OK;
}
natsStatus natsSubscription_NextMsg(natsMsg **m, natsSubscription *s, int64_t timeout) {
    assert_non_null(s);
    return message_given(called(__func__, " %d", (int)timeout), (void **)m);
}

/* Messages. */
static inline const struct made_message *made_of(const void *message) {
    assert_non_null(message);
    return message;
}
const char *natsMsg_GetSubject(const natsMsg *m) {
    return made_of(m)->subject;
}
const char *natsMsg_GetReply(const natsMsg *m) {
    return made_of(m)->reply;
}
const char *natsMsg_GetData(const natsMsg *m) {
    return made_of(m)->data;
}
int natsMsg_GetDataLength(const natsMsg *m) {
    return made_of(m)->size;
}
void natsMsg_Destroy(natsMsg *m) {
    given_back(m);
}
natsStatus natsMsg_GetMetaData(jsMsgMetaData **about, natsMsg *m) {
    *about = NULL;
    if (made_of(m)->no_metadata)
        return NATS_ERR;
    *about = calloc(1, sizeof(**about));
    assert_non_null(*about);
    (*about)->NumDelivered = made_of(m)->deliveries;
    made.alive++;
    return NATS_OK;
}
void jsMsgMetaData_Destroy(jsMsgMetaData *about) {
    given_back(about);
}
#define ABOUT_MESSAGE(name, ...) natsStatus natsMsg_##name(natsMsg *m, __VA_ARGS__)
ABOUT_MESSAGE(AckSync, jsOptions *o, jsErrCode *code) {
    (void)o;
    (void)code;
    return called(__func__, " %s", made_of(m)->subject);
}
ABOUT_MESSAGE(Nak, jsOptions *o) {
    (void)o;
    return called(__func__, " %s", made_of(m)->subject);
}
ABOUT_MESSAGE(NakWithDelay, int64_t delay, jsOptions *o) {
    (void)o;
    return called(__func__, " %s %d", made_of(m)->subject, (int)delay);
}
ABOUT_MESSAGE(Term, jsOptions *o) {
    (void)o;
    return called(__func__, " %s", made_of(m)->subject);
}
ABOUT_MESSAGE(InProgress, jsOptions *o) {
    (void)o;
    return called(__func__, " %s", made_of(m)->subject);
}

/* Buckets. */
natsStatus js_KeyValue(kvStore **store, jsCtx *js, const char *bucket) {
    assert_non_null(js);
    return GIVEN(store, " %s", bucket);
}
natsStatus js_CreateKeyValue(kvStore **store, jsCtx *js, kvConfig *config) {
    assert_true(js && made.fresh == config);
    return GIVEN(store, " %s %d %d", config->Bucket, (int)config->History,
                 (int)config->MaxValueSize);
}
void kvStore_Destroy(kvStore *store) {
    given_back(store);
}
natsStatus kvStore_Put(uint64_t *revision, kvStore *store, const char *key, const void *data,
                       int size) {
    assert_true(store && !revision);
    return called(__func__, " %s %.*s", key, size < 99 ? size : 1, (const char *)data);
}
natsStatus kvStore_Purge(kvStore *store, const char *key, kvPurgeOptions *o) {
    assert_true(store && !o);
    return called(__func__, " %s", key);
}
natsStatus kvStore_Get(kvEntry **entry, kvStore *store, const char *key) {
    assert_non_null(store);
    return message_given(called(__func__, " %s", key), (void **)entry);
}
natsStatus kvStore_Watch(kvWatcher **watcher, kvStore *store, const char *keys, kvWatchOptions *o) {
    assert_true(store && !o);
    return GIVEN(watcher, " %s", keys);
}
void kvWatcher_Destroy(kvWatcher *watcher) {
    given_back(watcher);
}
/* A message without a subject is the NULL behind the first values. */
natsStatus kvWatcher_Next(kvEntry **entry, kvWatcher *watcher, int64_t timeout) {
    assert_non_null(watcher);
    *entry = NULL;
    if (made.given < made.count && !made.messages[made.given].subject) {
        made.given++;
        return NATS_OK;
    }
    return message_given(called(__func__, " %d", (int)timeout), (void **)entry);
}
void kvEntry_Destroy(kvEntry *entry) {
    given_back(entry);
}
const char *kvEntry_Key(kvEntry *entry) {
    return made_of(entry)->subject;
}
const void *kvEntry_Value(kvEntry *entry) {
    return made_of(entry)->data;
}
int kvEntry_ValueLen(kvEntry *entry) {
    return made_of(entry)->size;
}
kvOperation kvEntry_Operation(kvEntry *entry) {
    return made_of(entry)->data ? kvOp_Put : kvOp_Delete;
}

/* Queues. */
static inline natsStatus with_code(natsStatus status, jsErrCode *code) {
    if (code)
        *code = status == NATS_OK ? 0 : made.code;
    return status;
}
natsStatus js_AddStream(jsStreamInfo **info, jsCtx *js, jsStreamConfig *config, jsOptions *o,
                        jsErrCode *code) {
    assert_true(js && !info && !o && made.fresh == config && config->SubjectsLen == 1);
    return with_code(called(__func__, " %s %s %d %d %d %d %d days", config->Name,
                            config->Subjects[0], (int)config->Retention, (int)config->Discard,
                            (int)config->MaxMsgs, (int)config->MaxMsgSize,
                            (int)(config->MaxAge / 86400000000000)),
                     code);
}
natsStatus js_AddConsumer(jsConsumerInfo **info, jsCtx *js, const char *stream,
                          jsConsumerConfig *config, jsOptions *o, jsErrCode *code) {
    assert_true(js && !info && !o && made.fresh == config);
    return with_code(called(__func__, " %s %s %s %d %g s %d %d %d", stream, config->Durable,
                            config->FilterSubject, (int)config->AckPolicy,
                            (double)config->AckWait / 1e9, (int)config->MaxDeliver,
                            (int)config->MaxAckPending, (int)config->MaxWaiting),
                     code);
}
natsStatus js_DeleteConsumer(jsCtx *js, const char *stream, const char *consumer, jsOptions *o,
                             jsErrCode *code) {
    assert_true(js && !o);
    return with_code(called(__func__, " %s %s", stream, consumer), code);
}
natsStatus js_Publish(jsPubAck **ack, jsCtx *js, const char *subject, const void *data, int size,
                      jsPubOptions *o, jsErrCode *code) {
    assert_true(js && !ack && made.fresh == o);
    return with_code(called(__func__, " %s %.*s %d", subject, size < 99 ? size : 1,
                            (const char *)data, o->ExpectNoMessage),
                     code);
}
natsStatus js_PullSubscribe(natsSubscription **s, jsCtx *js, const char *subject,
                            const char *durable, jsOptions *o, jsSubOptions *of, jsErrCode *code) {
    assert_true(js && !subject && !durable && !o && made.fresh == of);
    return with_code(GIVEN(s, " %s %s", of->Stream, of->Consumer), code);
}
natsStatus natsSubscription_Fetch(natsMsgList *list, natsSubscription *s, int batch,
                                  int64_t timeout, jsErrCode *code) {
    natsMsg *message;
    assert_true(s && !code);
    natsStatus status =
        message_given(called(__func__, " %d %d", batch, (int)timeout), (void **)&message);
    *list = (natsMsgList){NULL, 0};
    if (status != NATS_OK)
        return status;
    list->Msgs = malloc(sizeof(*list->Msgs));
    assert_non_null(list->Msgs);
    list->Msgs[0] = message;
    list->Count = 1;
    made.alive++;
    return NATS_OK;
}
void natsMsgList_Destroy(natsMsgList *list) {
    for (int m = 0; m < list->Count; m++)
        given_back(list->Msgs[m]);
    given_back(list->Msgs);
    *list = (natsMsgList){NULL, 0};
}

#endif
