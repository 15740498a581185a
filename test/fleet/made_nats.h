/* SPDX-License-Identifier: MIT */
/* NATS' client library as a test makes it, in the place of the real one: it tells which calls came
 * with what, fails those that it shall, and hands out made messages. What it gives is memory of its
 * own, so that what is not given back is known. */
#ifndef SPEX_TEST_FLEET_MADE_NATS_H
#define SPEX_TEST_FLEET_MADE_NATS_H

#include <nats/nats.h>

#include "../check.h"

enum { MADE_MESSAGES = 8 };

struct made_message {
    const char *subject, *reply, *data;
    int size;
};

static struct {
    char told[8192];
    size_t length;
    /* Fails with this status: the call of this name. */
    const char *failing;
    natsStatus status;
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

natsStatus jsOptions_Init(jsOptions *options) {
    memset(options, 0, sizeof(*options));
    made.fresh = options;
    return NATS_OK;
}

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
natsStatus natsConnection_RequestString(natsMsg **m, natsConnection *nc, const char *subject,
                                        const char *text, int64_t timeout) {
    assert_non_null(nc);
    return message_given(called(__func__, " %s %s %d", subject, text, (int)timeout), (void **)m);
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
#endif
