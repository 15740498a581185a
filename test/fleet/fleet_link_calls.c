/* SPDX-License-Identifier: MIT */
/* What a fleet's link and queues ask of NATS' library, call by call, and what becomes of each call
 * that fails; with a library that the test makes, so without a server. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fleet/link/link.h"
#include "fleet/link/link_options.h"
#include "fleet/link/queue.h"
#include "made_nats.h"

#define URL "nats://localhost:4222"

static const struct spex_link_options local = {.url = URL, .name = "spex-test"};

static struct spex_link *opened(void) {
    struct spex_link *link;
    struct spex_error error;
    made_reset();
    assert_int_equal(spex_link_open(&local, &link, &error), 0);
    made.length = 0;
    made.told[0] = '\0';
    return link;
}

/* Nothing that the library gave is left. */
static void closed(struct spex_link *link) {
    spex_link_close(link);
    assert_int_equal(made.alive, 0);
}

static void expect_told(const char *expected) {
    assert_string_equal(made.told, expected);
    made.length = 0;
    made.told[0] = '\0';
}

static void fail_call(const char *name, natsStatus status, unsigned times) {
    made.failing = name;
    made.status = status;
    made.times = times;
}

#define OPENED                                                                                     \
    "natsOptions_SetTimeout 2000\n"                                                                \
    "natsOptions_SetName spex-test\n"                                                              \
    "natsOptions_SetMaxReconnect -1\n"                                                             \
    "natsOptions_SetReconnectWait 500\n"                                                           \
    "natsOptions_SetPingInterval 5000\n"                                                           \
    "natsOptions_SetMaxPingsOut 2\n"                                                               \
    "natsOptions_SetIgnoreDiscoveredServers 1\n"                                                   \
    "natsOptions_SetFailRequestsOnDisconnect 1\n"                                                  \
    "natsOptions_SetErrorHandler\n"                                                                \
    "natsOptions_SetReconnectedCB\n"                                                               \
    "natsConnection_Connect\n"

static void a_link_opens_and_closes(void **unused) {
    struct spex_link *link;
    struct spex_error error;
    (void)unused;
    made_reset();
    assert_int_equal(spex_link_open(&local, &link, &error), 0);
    expect_told("natsOptions_Create\n"
                "natsOptions_SetURL " URL "\n" OPENED "natsConnection_JetStream 1000\n");
    assert_int_equal(spex_link_connects(link), 1);
    made.on_connect(NULL, made.user);
    assert_int_equal(spex_link_connects(link), 2);
    closed(link);
    expect_told("natsConnection_FlushTimeout 1000\nnats_CloseAndWait 2000\n");
    spex_link_close(NULL);
    expect_told("");
}

static void what_is_secret_and_trusted_is_passed_on(void **unused) {
    char path[] = "/tmp/spex-link-XXXXXX", expected[1024];
    static const struct {
        const char *text, *call, *url, *host;
    } cases[] = {
        {"me:my:word\r\nmore", "natsOptions_SetUserInfo me my:word", "tls://far:1", "far"},
        {"token\n", "natsOptions_SetToken token", "tls://[::2]:1", "::2"},
        {"-----BEGIN NATS USER JWT-----", "natsOptions_SetUserCredentialsFromFiles PATH -",
         "nats://1.2.3.4", "1.2.3.4"},
    };
    (void)unused;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_link_options options = local;
        struct spex_link *link;
        struct spex_error error;
        size_t length = strlen(cases[c].text);
        options.url = cases[c].url;
        options.credentials = path;
        options.authorities = "ca.pem";
        options.certificate = c ? "c.pem" : NULL;
        options.key = c ? "k.pem" : NULL;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, cases[c].text, length, 0), (ssize_t)length);
        made_reset();
        assert_int_equal(spex_link_open(&options, &link, &error), 0);
        char call[128];
        snprintf(call, sizeof(call), "%s", cases[c].call);
        if (strstr(call, "PATH"))
            snprintf(strstr(call, "PATH"), 64, "%s -", path);
        snprintf(expected, sizeof(expected),
                 "natsOptions_Create\nnatsOptions_SetURL nats://%s\nnatsOptions_SetSecure 1\n"
                 "natsOptions_SetExpectedHostname %s\n"
                 "natsOptions_LoadCATrustedCertificates ca.pem\n%s%s\n" OPENED
                 "natsConnection_JetStream 1000\n",
                 strstr(cases[c].url, "://") + 3, cases[c].host,
                 c ? "natsOptions_LoadCertificatesChain c.pem k.pem\n" : "", call);
        expect_told(expected);
        closed(link);
    }
    static const struct {
        const char *name, *text;
    } failing[] = {
        {"natsOptions_SetSecure", "--tls-ca: "},
        {"natsOptions_SetExpectedHostname", "--tls-ca: "},
        {"natsOptions_LoadCATrustedCertificates", "--tls-ca: "},
        {"natsOptions_LoadCertificatesChain", "--tls-cert: "},
        {"natsOptions_SetToken", "--credentials: "},
        {"natsOptions_SetURL", "--nats: "},
    };
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, "token", 5, 0), 5);
    for (size_t f = 0; f < COUNT_OF(failing); f++) {
        struct spex_link_options options = {"tls://far", path, "ca", "c", "k", "n"};
        struct spex_link *link;
        struct spex_error error;
        made_reset();
        fail_call(failing[f].name, NATS_INVALID_ARG, 0);
        assert_int_equal(spex_link_open(&options, &link, &error), -EINVAL);
        assert_memory_equal(error.text, failing[f].text, strlen(failing[f].text));
        assert_null(strstr(made.told, "Connect"));
        assert_int_equal(made.alive, 0);
    }
    close(fd);
    unlink(path);
}

static void a_call_that_fails_opens_nothing(void **unused) {
    static const char *const names[] = {"natsOptions_Create",
                                        "natsOptions_SetTimeout",
                                        "natsOptions_SetName",
                                        "natsOptions_SetMaxReconnect",
                                        "natsOptions_SetReconnectWait",
                                        "natsOptions_SetPingInterval",
                                        "natsOptions_SetMaxPingsOut",
                                        "natsOptions_SetIgnoreDiscoveredServers",
                                        "natsOptions_SetFailRequestsOnDisconnect",
                                        "natsOptions_SetErrorHandler",
                                        "natsOptions_SetReconnectedCB",
                                        "natsConnection_Connect",
                                        "natsConnection_JetStream"};
    (void)unused;
    for (size_t n = 0; n < COUNT_OF(names); n++) {
        struct spex_link *link;
        struct spex_error error;
        made_reset();
        fail_call(names[n], NATS_INVALID_ARG, 0);
        assert_int_equal(spex_link_open(&local, &link, &error), -EINVAL);
        assert_null(link);
        assert_string_equal(error.text, "NATS at " URL ": Invalid Argument");
        assert_int_equal(made.alive, 0);
        /* Nothing comes behind it but the end. */
        const char *end = strchr(strstr(made.told, names[n]), '\n');
        bool connected = n + 1 == COUNT_OF(names);
        assert_string_equal(end + 1, connected ? "natsConnection_FlushTimeout 1000\n"
                                                 "nats_CloseAndWait 2000\n"
                                               : "nats_CloseAndWait 2000\n");
    }
}

/* A server that is not there is tried again; one that refuses is not. One that ends while it is
 * asked is asked again. */
static void a_server_may_be_away_or_refuse(void **unused) {
    static const natsStatus away[] = {NATS_NO_SERVER, NATS_IO_ERROR, NATS_TIMEOUT};
    struct spex_link *link;
    struct spex_error error;
    (void)unused;
    for (size_t a = 0; a < COUNT_OF(away); a++) {
        made_reset();
        fail_call("natsConnection_Connect", away[a], 1);
        assert_int_equal(spex_link_open(&local, &link, &error), 0);
        assert_non_null(strstr(made.told, "natsConnection_Connect\n"
                                          "natsOptions_SetRetryOnFailedConnect 1\n"
                                          "natsConnection_Connect\n"
                                          "natsConnection_JetStream 1000\n"));
        assert_int_equal(spex_link_connects(link), 0);
        closed(link);
        made_reset();
        fail_call("natsConnection_Connect", away[a], 0);
        assert_int_equal(spex_link_open(&local, &link, &error), -EINVAL);
    }
    made_reset();
    fail_call("natsConnection_Connect", NATS_PROTOCOL_ERROR, 1);
    assert_int_equal(spex_link_open(&local, &link, &error), 0);
    assert_int_equal(spex_link_connects(link), 1);
    closed(link);
    made_reset();
    fail_call("natsConnection_Connect", NATS_PROTOCOL_ERROR, 0);
    assert_int_equal(spex_link_open(&local, &link, &error), -EINVAL);
    assert_string_equal(error.text, "NATS at " URL ": Protocol Error");
    made_reset();
    fail_call("natsConnection_Connect", NATS_CONNECTION_AUTH_FAILED, 0);
    assert_int_equal(spex_link_open(&local, &link, &error), -EACCES);
    assert_string_equal(error.text, "NATS at " URL " refuses the credentials");
    assert_int_equal(made.alive, 0);
}

static void the_state_is_that_of_the_connection(void **unused) {
    static const struct {
        natsConnStatus status;
        const char *text;
        int state;
        const char *expected;
    } cases[] = {
        {NATS_CONN_STATUS_CONNECTED, "old", 1, ""},
        {NATS_CONN_STATUS_RECONNECTING, "lost", 0, ""},
        {NATS_CONN_STATUS_CONNECTING, "", 0, ""},
        {NATS_CONN_STATUS_CLOSED, "revoked", -EACCES, "NATS has closed the connection: revoked"},
        {NATS_CONN_STATUS_CLOSED, "", -EACCES,
         "NATS has closed the connection: no reason is known"},
        {NATS_CONN_STATUS_CLOSED, NULL, -EACCES,
         "NATS has closed the connection: no reason is known"},
    };
    (void)unused;
    struct spex_link *link = opened();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_error error = {""};
        made.connected = cases[c].status;
        made.last_error = cases[c].text;
        assert_int_equal(spex_link_state(link, &error), cases[c].state);
        assert_string_equal(error.text, cases[c].expected);
        assert_int_equal(spex_link_send(link, "a.b", "c", 1), 0);
    }
    expect_told("natsConnection_Publish a.b c\n");
    made.connected = NATS_CONN_STATUS_CONNECTED;
    assert_int_equal(spex_link_send(link, "a", "", SPEX_LINK_BYTES + 1), -E2BIG);
    expect_told("");
    closed(link);
}

/* What failed, and what the server did not permit, which it tells beside. */
static void each_status_has_its_error(void **unused) {
    static const struct {
        natsStatus status;
        int err;
    } cases[] = {{NATS_NOT_FOUND, -ENOENT},
                 {NATS_NOT_PERMITTED, -EACCES},
                 {NATS_CONNECTION_AUTH_FAILED, -EACCES},
                 {NATS_NO_MEMORY, -ENOMEM},
                 {NATS_NO_RESPONDERS, -ESRCH},
                 {NATS_TIMEOUT, -ETIMEDOUT},
                 {NATS_MAX_PAYLOAD, -E2BIG},
                 {NATS_ERR, -EIO}};
    struct spex_link_message answer;
    struct spex_error error;
    char expected[256];
    (void)unused;
    struct spex_link *link = opened();
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        fail_call("natsConnection_Publish", cases[c].status, 1);
        assert_int_equal(spex_link_send(link, "a", "b", 1), cases[c].err);
        fail_call("natsConnection_RequestString", cases[c].status, 3);
        assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), cases[c].err);
        snprintf(expected, sizeof(expected), "a.b: %s", natsStatus_GetText(cases[c].status));
        assert_string_equal(error.text, expected);
        made.on_error(NULL, NULL, NATS_ERR, made.user);
        assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), cases[c].err);
        made.last_error = c ? "no, never" : NULL;
        made.on_error((natsConnection *)link, NULL, NATS_NOT_PERMITTED, made.user);
        assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), -EACCES);
        assert_string_equal(error.text, c ? "a.b: NATS does not permit it: no, never"
                                          : "a.b: NATS does not permit it: not permitted");
        fail_call("natsConnection_RequestString", cases[c].status, 1);
        assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), cases[c].err);
    }
    made.length = 0;
    made_add((struct made_message){"s", "r", "yes", 3, 0, false});
    assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), 0);
    expect_told("natsConnection_RequestString a.b ? 70\n");
    assert_true(strcmp(answer.data, "yes") == 0 && answer.size == 3 && !answer.subject[0] &&
                !answer.reply[0]);
    spex_link_message_free(&answer);
    assert_null(answer.data);
    made_add((struct made_message){"s", "r", "", SPEX_LINK_BYTES + 1, 0, false});
    assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), -EPROTO);
    assert_string_equal(error.text, "a.b: the answer is too large");
    closed(link);
}

/* What does not fit is left out. */
static void an_inbox_hands_out_what_fits(void **unused) {
    static char subject[SPEX_LINK_NAME_BYTES + 16], reply[SPEX_LINK_NAME_BYTES + 16],
        large[SPEX_LINK_BYTES + 1];
    struct spex_link_inbox *inbox;
    struct spex_link_message message;
    (void)unused;
    memset(subject, 'x', sizeof(subject) - 1);
    memset(reply, 'y', sizeof(reply) - 1);
    struct spex_link *link = opened();
    assert_int_equal(spex_link_listen(link, "fleet.in", 12, &inbox), 0);
    expect_told("natsConnection_SubscribeSync fleet.in.*\n"
                "natsSubscription_SetPendingLimits 12 67108864\n");
    /* "fleet.in." is 9 bytes. */
    made_add((struct made_message){subject + sizeof(subject) - 1 - SPEX_LINK_NAME_BYTES - 9, "",
                                   "a", 1, 0, false});
    made_add((struct made_message){"fleet.in.one", reply + 16 - 1, "b", 1, 0, false});
    made_add((struct made_message){"fleet.in.one", "", "c", -1, 0, false});
    made_add((struct made_message){"fleet.in.one", "", large, sizeof(large), 0, false});
    made_add((struct made_message){"fleet.in.two", "to.me", "data", 4, 0, false});
    assert_int_equal(spex_link_take(inbox, 30, &message), 1);
    assert_string_equal(message.subject, "two");
    assert_string_equal(message.reply, "to.me");
    assert_string_equal(message.data, "data");
    assert_int_equal(message.size, 4);
    spex_link_message_free(&message);
    made.count = made.given = 0;
    made_add((struct made_message){subject + sizeof(subject) - SPEX_LINK_NAME_BYTES - 9, reply + 16,
                                   large, SPEX_LINK_BYTES, 0, false});
    made_add((struct made_message){"fleet.in.three", NULL, NULL, 0, 0, false});
    assert_int_equal(spex_link_take(inbox, 30, &message), 1);
    assert_int_equal(strlen(message.subject), SPEX_LINK_NAME_BYTES - 1);
    assert_int_equal(strlen(message.reply), SPEX_LINK_NAME_BYTES - 1);
    assert_int_equal(message.size, SPEX_LINK_BYTES);
    spex_link_message_free(&message);
    assert_int_equal(spex_link_take(inbox, 30, &message), 1);
    assert_true(message.size == 0 && strcmp(message.data, "") == 0 && !message.reply[0]);
    spex_link_message_free(&message);
    assert_int_equal(spex_link_take(inbox, 30, &message), 0);
    made.dropped = 77;
    assert_int_equal(spex_link_dropped(inbox), 77);
    spex_link_inbox_free(inbox);
    spex_link_inbox_free(NULL);
    fail_call("natsConnection_SubscribeSync", NATS_TIMEOUT, 1);
    assert_int_equal(spex_link_listen(link, "a", 1, &inbox), -ETIMEDOUT);
    fail_call("natsSubscription_SetPendingLimits", NATS_NO_MEMORY, 1);
    assert_int_equal(spex_link_listen(link, "a", 1, &inbox), -ENOMEM);
    closed(link);
}

static void names_are_parts_of_subjects(void **unused) {
    char longest[65];
    (void)unused;
    memset(longest, 'a', 64);
    longest[64] = '\0';
    assert_false(spex_link_is_name(longest));
    assert_true(spex_link_is_name(longest + 1));
    assert_true(spex_link_is_name("Z") && spex_link_is_name("a-Z_09"));
    assert_false(spex_link_is_name("") || spex_link_is_name("a.b") || spex_link_is_name("a*") ||
                 spex_link_is_name("a b"));
}

static void a_bucket_is_looked_up_once_and_after_an_error(void **unused) {
    struct spex_link_message value;
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    assert_int_equal(spex_link_bucket_make(link, "b", &error), 0);
    assert_int_equal(spex_link_put(link, "b", "k", "v1", 2, &error), 0);
    assert_int_equal(spex_link_delete(link, "b", "k", &error), 0);
    expect_told("js_KeyValue b\nkvStore_Put k v1\nkvStore_Purge k\n");
    assert_int_equal(spex_link_put(link, "c", "k", "v2", 2, &error), 0);
    expect_told("js_KeyValue c\nkvStore_Put k v2\n");
    fail_call("kvStore_Put", NATS_TIMEOUT, 1);
    assert_int_equal(spex_link_put(link, "c", "k", "v3", 2, &error), -ETIMEDOUT);
    assert_string_equal(error.text, "k of bucket c: Timeout");
    fail_call("kvStore_Purge", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_link_delete(link, "c", "k", &error), -ENOENT);
    expect_told("kvStore_Put k v3\njs_KeyValue c\nkvStore_Purge k\n");
    fail_call("js_KeyValue", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_link_bucket_make(link, "b", &error), 0);
    expect_told("js_KeyValue b\njs_CreateKeyValue b 1 1048576\n");
    fail_call("js_KeyValue", NATS_ERR, 1);
    assert_int_equal(spex_link_bucket_make(link, "b", &error), -EIO);
    assert_string_equal(error.text, "making of bucket b: Error");
    expect_told("js_KeyValue b\n");
    assert_int_equal(spex_link_put(link, "b", "k", "", SPEX_LINK_BYTES + 1, &error), -E2BIG);
    assert_string_equal(error.text, "k of bucket b: 1048576 bytes at most were expected");
    expect_told("");
    made_add((struct made_message){"k", NULL, "v4", 2, 0, false});
    made_add((struct made_message){"k", NULL, NULL, 0, 0, false});
    made_add((struct made_message){"k", NULL, "", SPEX_LINK_BYTES + 1, 0, false});
    assert_int_equal(spex_link_get(link, "b", "k", &value, &error), 0);
    assert_true(strcmp(value.subject, "k") == 0 && strcmp(value.data, "v4") == 0);
    spex_link_message_free(&value);
    assert_int_equal(spex_link_get(link, "b", "k", &value, &error), 0);
    assert_true(!value.data && value.size == 0);
    assert_int_equal(spex_link_get(link, "b", "k", &value, &error), -E2BIG);
    assert_string_equal(error.text, "k of bucket b is too large");
    fail_call("kvStore_Get", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_link_get(link, "b", "k", &value, &error), -ENOENT);
    expect_told("js_KeyValue b\nkvStore_Get k\nkvStore_Get k\nkvStore_Get k\nkvStore_Get k\n");
    closed(link);
}

static void a_watch_hands_out_values_and_deletions(void **unused) {
    struct spex_link_watch *watch;
    struct spex_link_message value;
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    assert_int_equal(spex_link_watch(link, "b", "k.>", &watch, &error), 0);
    expect_told("js_KeyValue b\nkvStore_Watch k.>\n");
    made_add((struct made_message){"k.1", NULL, "v", 1, 0, false});
    made_add((struct made_message){NULL, NULL, NULL, 0, 0, false});
    made_add((struct made_message){"k.2", NULL, "", SPEX_LINK_BYTES + 1, 0, false});
    made_add((struct made_message){"k.3", NULL, NULL, 0, 0, false});
    assert_int_equal(spex_link_watch_take(watch, &value), 1);
    assert_true(strcmp(value.subject, "k.1") == 0 && strcmp(value.data, "v") == 0);
    spex_link_message_free(&value);
    assert_int_equal(spex_link_watch_take(watch, &value), 1);
    assert_true(strcmp(value.subject, "k.3") == 0 && !value.data);
    assert_int_equal(spex_link_watch_take(watch, &value), 0);
    expect_told("kvWatcher_Next 1\nkvWatcher_Next 1\nkvWatcher_Next 1\nkvWatcher_Next 1\n");
    spex_link_watch_free(watch);
    spex_link_watch_free(NULL);
    fail_call("kvStore_Watch", NATS_NOT_PERMITTED, 1);
    assert_int_equal(spex_link_watch(link, "b", "k", &watch, &error), -EACCES);
    closed(link);
}

static void streams_and_queues_are_made(void **unused) {
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    assert_int_equal(spex_queue_stream(link, "work", "fleet.work", &error), 0);
    assert_int_equal(spex_queue_make(link, "work", "q", "fleet.work.q.*", 7, &error), 0);
    assert_int_equal(spex_queue_delete(link, "work", "q", &error), 0);
    expect_told("js_AddStream work fleet.work.> 2 1 100000 1048576 30 days\n"
                "js_AddConsumer work q fleet.work.q.* 0 7 s -1 100000 4096\n"
                "js_DeleteConsumer work q\n");
    fail_call("js_AddStream", NATS_ERR, 1);
    made.code = JSStreamNameExistErr;
    assert_int_equal(spex_queue_stream(link, "work", "fleet.work", &error), 0);
    fail_call("js_AddStream", NATS_ERR, 1);
    made.code = JSStreamNotFoundErr;
    assert_int_equal(spex_queue_stream(link, "work", "fleet.work", &error), -EIO);
    assert_string_equal(error.text, "making stream work: Error");
    fail_call("js_AddConsumer", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_queue_make(link, "work", "q", "f", 7, &error), -ENOENT);
    assert_string_equal(error.text, "making queue q: Not Found");
    fail_call("js_DeleteConsumer", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_queue_delete(link, "work", "q", &error), -ENOENT);
    assert_string_equal(error.text, "removing queue q: Not Found");
    closed(link);
}

/* Where the stream is not there, the status is that of any error. */
static void a_stream_that_is_not_there_is_told(void **unused) {
    struct spex_queue *queue;
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    for (int there = 0; there < 2; there++) {
        int err = there ? -EIO : -ENOENT;
        made.code = there ? JSConsumerNameExistErr : JSStreamNotFoundErr;
        fail_call("js_AddConsumer", NATS_ERR, 1);
        assert_int_equal(spex_queue_make(link, "work", "q", "f", 7, &error), err);
        fail_call("js_DeleteConsumer", NATS_ERR, 1);
        assert_int_equal(spex_queue_delete(link, "work", "q", &error), err);
        fail_call("js_PullSubscribe", NATS_ERR, 1);
        assert_int_equal(spex_queue_open(link, "work", "q", &queue, &error), err);
        assert_null(queue);
        assert_string_equal(error.text,
                            there ? "opening queue q: Error" : "opening queue q: Not Found");
    }
    closed(link);
}

static void messages_are_put_once_or_not(void **unused) {
    static char large[SPEX_LINK_BYTES + 2];
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    assert_int_equal(spex_queue_put(link, "s.1", "text", false, &error), 0);
    assert_int_equal(spex_queue_put(link, "s.1", "text", true, &error), 0);
    expect_told("js_Publish s.1 text 0\njs_Publish s.1 text 1\n");
    fail_call("js_Publish", NATS_ERR, 1);
    made.code = JSStreamWrongLastSequenceErr;
    assert_int_equal(spex_queue_put(link, "s.1", "text", true, &error), -EEXIST);
    assert_string_equal(error.text, "s.1 is there already");
    fail_call("js_Publish", NATS_TIMEOUT, 1);
    made.code = 0;
    assert_int_equal(spex_queue_put(link, "s.1", "text", true, &error), -ETIMEDOUT);
    assert_string_equal(error.text, "sending s.1: Timeout");
    memset(large, 'x', SPEX_LINK_BYTES + 1);
    made.length = 0;
    assert_int_equal(spex_queue_put(link, "s.1", large, false, &error), -E2BIG);
    assert_string_equal(error.text, "s.1: 1048577 bytes are too many");
    assert_int_equal(spex_queue_put(link, "s.1", large + 1, false, &error), 0);
    expect_told("js_Publish s.1 x 0\n");
    closed(link);
}

static void jobs_are_taken_and_ended(void **unused) {
    struct spex_queue *queue;
    struct spex_queue_job job;
    struct spex_error error;
    (void)unused;
    struct spex_link *link = opened();
    assert_int_equal(spex_queue_open(link, "work", "q", &queue, &error), 0);
    expect_told("js_PullSubscribe work q\n");
    for (int how = SPEX_QUEUE_DONE; how <= SPEX_QUEUE_LATER; how++) {
        made_add((struct made_message){"s.1", NULL, "job", 3, (uint64_t)how + 4, false});
        assert_int_equal(spex_queue_take(queue, 40, &job), 1);
        assert_int_equal(job.deliveries, how + 4);
        assert_string_equal(job.message.subject, "s.1");
        assert_string_equal(job.message.data, "job");
        spex_queue_keep(&job);
        if (how == SPEX_QUEUE_LATER)
            fail_call("natsMsg_NakWithDelay", NATS_TIMEOUT, 1);
        assert_int_equal(spex_queue_end(&job, (enum spex_queue_end)how),
                         how == SPEX_QUEUE_LATER ? -ETIMEDOUT : 0);
        assert_true(!job.handle && !job.message.data);
    }
    expect_told("natsSubscription_Fetch 1 40\nnatsMsg_InProgress s.1\nnatsMsg_AckSync s.1\n"
                "natsSubscription_Fetch 1 40\nnatsMsg_InProgress s.1\nnatsMsg_Nak s.1\n"
                "natsSubscription_Fetch 1 40\nnatsMsg_InProgress s.1\n"
                "natsMsg_NakWithDelay s.1 1000\n");
    made_add((struct made_message){"s.2", NULL, "", SPEX_LINK_BYTES + 1, 1, false});
    made_add((struct made_message){"s.3", NULL, "", 0, 1, true});
    for (int bad = 0; bad < 2; bad++)
        assert_int_equal(spex_queue_take(queue, 40, &job), 0);
    assert_int_equal(spex_queue_take(queue, 40, &job), 0); /* none comes in time */
    expect_told("natsSubscription_Fetch 1 40\nnatsMsg_Term s.2\n"
                "natsSubscription_Fetch 1 40\nnatsMsg_Term s.3\nnatsSubscription_Fetch 1 40\n");
    fail_call("natsSubscription_Fetch", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_queue_take(queue, 40, &job), -ENOENT);
    spex_queue_close(queue);
    spex_queue_close(NULL);
    fail_call("js_PullSubscribe", NATS_NOT_FOUND, 1);
    assert_int_equal(spex_queue_open(link, "work", "q", &queue, &error), -ENOENT);
    assert_null(queue);
    assert_string_equal(error.text, "opening queue q: Not Found");
    closed(link);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_opens_and_closes),
        cmocka_unit_test(what_is_secret_and_trusted_is_passed_on),
        cmocka_unit_test(a_call_that_fails_opens_nothing),
        cmocka_unit_test(a_server_may_be_away_or_refuse),
        cmocka_unit_test(the_state_is_that_of_the_connection),
        cmocka_unit_test(each_status_has_its_error),
        cmocka_unit_test(an_inbox_hands_out_what_fits),
        cmocka_unit_test(names_are_parts_of_subjects),
        cmocka_unit_test(a_bucket_is_looked_up_once_and_after_an_error),
        cmocka_unit_test(a_watch_hands_out_values_and_deletions),
        cmocka_unit_test(streams_and_queues_are_made),
        cmocka_unit_test(a_stream_that_is_not_there_is_told),
        cmocka_unit_test(messages_are_put_once_or_not),
        cmocka_unit_test(jobs_are_taken_and_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
