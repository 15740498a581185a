/* SPDX-License-Identifier: MIT */
/* Which servers a fleet's commands connect to, and how they prove to be allowed: what is refused
 * before anything is sent. */
#define _GNU_SOURCE
#include "../check.h"

#include <sys/stat.h>

#include "fleet/link/link_options.h"
#include "fleet/link/server.h"

/* "": the options are good. */
static void answer(const struct spex_link_options *from, char text[512]) {
    struct spex_error error = {""};
    natsOptions *options = NULL;
    assert_int_equal(natsOptions_Create(&options), NATS_OK);
    int err = spex_link_server_set(options, from, &error);
    natsOptions_Destroy(options);
    assert_int_equal(err != 0, error.text[0] != '\0');
    snprintf(text, 512, "%s", error.text);
}

static void check(const struct spex_link_options *from, const char *expected) {
    char text[512];
    answer(from, text);
    if (strcmp(text, expected) != 0)
        fail_msg("%s: \"%s\" and not \"%s\"", from->url, text, expected);
}

#define FORM "--nats: nats://HOST:PORT or tls://HOST:PORT was expected, not "
#define SAFE "--nats: off loopback, tls:// and --credentials or --tls-cert were expected for "

TEST(addresses) {
    static const char *const urls[][2] = {
        {"nats://localhost", ""},
        {"nats://localhost:4222", ""},
        {"nats://127.0.0.1:4222", ""},
        {"nats://127.9", ""},
        {"nats://[::1]:4222", ""},
        {"tls://localhost:4222", ""},
        {"nats://127.a:4222", SAFE "127.a"},
        {"nats://128.0.0.1:4222", SAFE "128.0.0.1"},
        {"nats://[::2]:4222", SAFE "[::2]"},
        {"nats://[::1", SAFE "["},
        {"nats://localhostx:4222", SAFE "localhostx"},
        {"tls://far:4222", SAFE "far"},
        {"nats://", FORM "\"nats://\""},
        {"tls://", FORM "\"tls://\""},
        {"localhost", FORM "\"localhost\""},
        {"http://localhost", FORM "\"http://localhost\""},
        {"nats://localhost/x", FORM "\"nats://localhost/x\""},
        {"nats://localhost,far", FORM "\"nats://localhost,far\""},
        {"nats://local host", FORM "\"nats://local host\""},
        {"nats://u:p@localhost", "--nats: no password was expected in it, where other users see "
                                 "it: --credentials names a file with it"},
    };
    for (size_t u = 0; u < COUNT_OF(urls); u++)
        check(&(struct spex_link_options){.url = urls[u][0]}, urls[u][1]);
}

/* Hosts of 255 bytes at most. */
TEST(long_addresses) {
    char url[300], text[512];
    for (int bytes = 254; bytes <= 257; bytes++) {
        snprintf(url, sizeof(url), "nats://%0*d", bytes, 0);
        answer(&(struct spex_link_options){.url = url}, text);
        assert_int_equal(strncmp(text, SAFE, strlen(SAFE)) == 0, bytes <= 255);
        assert_int_equal(strncmp(text, FORM, strlen(FORM)) == 0, bytes > 255);
    }
}

static char directory[] = "/tmp/fleet-server-XXXXXX", path[64];

static void write_file(const char *text, mode_t mode) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

TEST(secrets) {
    const struct spex_link_options here = {.url = "nats://localhost", .credentials = path};
    const struct spex_link_options far = {.url = "tls://far:4222", .credentials = path};
    const struct spex_link_options plain = {.url = "nats://far:4222", .credentials = path};
    char expected[256];
    write_file("user:password\n", 0600);
    check(&here, "");
    check(&far, "");
    check(&plain, SAFE "far");
    write_file("token", 0400);
    check(&here, "");
    write_file("\n", 0600);
    check(&here, "--credentials: USER:PASSWORD or a token was expected");
    write_file("", 0600);
    check(&here, "--credentials: USER:PASSWORD or a token was expected");
    for (mode_t bit = 1; bit < 0100; bit *= 2) {
        write_file("token", 0600 | bit);
        snprintf(expected, sizeof(expected),
                 "%s: a file was expected that its owner alone can read (chmod 600)", path);
        check(&here, expected);
    }
    assert_int_equal(chmod(path, 0600), 0);
    unlink(path);
    snprintf(expected, sizeof(expected), "cannot read %s: No such file or directory", path);
    check(&here, expected);
}

/* A certificate of the client's own or authorities make the connection one with TLS. */
TEST(certificates) {
    char text[512];
    answer(&(struct spex_link_options){.url = "nats://far:4222", .authorities = "/nothing"}, text);
    assert_string_equal(text, SAFE "far");
    answer(&(struct spex_link_options){.url = "nats://localhost", .authorities = "/nothing"}, text);
    assert_int_equal(strncmp(text, "--tls-ca: ", 10), 0);
    answer(&(struct spex_link_options){.url = "nats://far:4222",
                                       .certificate = "/nothing",
                                       .key = "/nothing"},
           text);
    assert_int_equal(strncmp(text, "--tls-cert: ", 12), 0);
    const struct spex_link_options some[] = {{.url = NULL},
                                             {.url = "x", .certificate = "c"},
                                             {.url = "x", .key = "k"},
                                             {.url = "x", .certificate = "c", .key = "k"},
                                             {.url = "x"}};
    assert_string_equal(spex_link_missing(&some[0]), "--nats was expected");
    assert_string_equal(spex_link_missing(&some[1]),
                        "--tls-cert and --tls-key were expected together");
    assert_string_equal(spex_link_missing(&some[2]),
                        "--tls-cert and --tls-key were expected together");
    assert_null(spex_link_missing(&some[3]));
    assert_null(spex_link_missing(&some[4]));
}

TEST(names) {
    char name[80] = "";
    static const char *const bad[] = {"",    "a.b", "a b", "a*", "a>", "\xc3\xa4",
                                      "a/b", "a:",  "@",   "[",  "`",  "{"};
    for (size_t b = 0; b < COUNT_OF(bad); b++)
        assert_false(spex_link_is_name(bad[b]));
    assert_true(spex_link_is_name("azAZ09-_"));
    for (size_t bytes = 1; bytes < sizeof(name); bytes++) {
        name[bytes - 1] = 'x';
        assert_int_equal(spex_link_is_name(name), bytes <= 63);
    }
}

static int begin(void **state) {
    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/secret", directory);
    return 0;
}

static int end(void **state) {
    (void)state;
    nats_Close();
    return rmdir(directory);
}

int main(void) {
    return tests_run(begin, end);
}
