/* SPDX-License-Identifier: MIT */
/* How a fleet's link is opened, call by call of NATS' library, and what becomes of calls that fail;
 * with a library that the test makes. What messages, values and queues do is shown by a real server
 * (fleet_link.c). */
#include <errno.h>
#include <sys/stat.h>

#include "fleet/link/link.h"
#include "fleet/link/link_options.h"
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

TEST(a_link_opens_and_closes) {
    struct spex_link *link;
    struct spex_error error;
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

TEST(what_is_secret_and_trusted_is_passed_on) {
    char path[] = "/tmp/spex-link-XXXXXX", expected[1024];
    static const struct {
        const char *text, *call, *url, *host;
    } cases[] = {
        {"me:my:word\r\nmore", "natsOptions_SetUserInfo me my:word", "tls://far:1", "far"},
        {"token\n", "natsOptions_SetToken token", "tls://[::2]:1", "::2"},
        {"-----BEGIN NATS USER JWT-----", "natsOptions_SetUserCredentialsFromFiles PATH -",
         "nats://1.2.3.4", "1.2.3.4"},
    };
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

TEST(a_call_that_fails_opens_nothing) {
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
TEST(a_server_may_be_away_or_refuse) {
    static const natsStatus away[] = {NATS_NO_SERVER, NATS_IO_ERROR, NATS_TIMEOUT};
    struct spex_link *link;
    struct spex_error error;
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

TEST(the_state_is_that_of_the_connection) {
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
TEST(each_status_has_its_error) {
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
    made_add((struct made_message){"s", "r", "yes", 3});
    assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), 0);
    expect_told("natsConnection_RequestString a.b ? 70\n");
    assert_true(strcmp(answer.data, "yes") == 0 && answer.size == 3 && !answer.subject[0] &&
                !answer.reply[0]);
    spex_link_message_free(&answer);
    assert_null(answer.data);
    made_add((struct made_message){"s", "r", "", SPEX_LINK_BYTES + 1});
    assert_int_equal(spex_link_ask(link, "a.b", "?", 70, &answer, &error), -EPROTO);
    assert_string_equal(error.text, "a.b: the answer is too large");
    closed(link);
}

TEST(names_are_parts_of_subjects) {
    char longest[65];
    memset(longest, 'a', 64);
    longest[64] = '\0';
    assert_false(spex_link_is_name(longest));
    assert_true(spex_link_is_name(longest + 1));
    assert_true(spex_link_is_name("Z") && spex_link_is_name("a-Z_09"));
    assert_false(spex_link_is_name("") || spex_link_is_name("a.b") || spex_link_is_name("a*") ||
                 spex_link_is_name("a b"));
}
