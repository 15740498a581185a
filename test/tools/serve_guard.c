/* SPDX-License-Identifier: MIT */
/* Whom the server of `spex serve` answers, and how long it waits for them: by time that this test
 * makes. */
#include "../check.h"
#include "tools/serve/guard.h"
#include "tools/serve/pace.h"

#define SECOND 1000000000ull

static unsigned asked(const char *host, const char *origin, const char *authorization) {
    const struct spex_guard guard = {.host = "spex.example"};
    const struct spex_guard_headers headers = {
        .host = host, .origin = origin, .authorization = authorization};
    const char *why = "";
    unsigned status = spex_guard_check(&guard, &headers, false, &why);
    assert_true(!status == !*why);
    return status;
}

TEST(names_of_this_server_are_taken) {
    static const char *const names[] = {"localhost",    "localhost:9797",    "LocalHost:1",
                                        "127.0.0.1",    "127.0.0.1:80",      "[::1]",
                                        "[::1]:9797",   "192.168.1.2:12345", "[fe80::1]:1",
                                        "spex.example", "SPEX.example:443"};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        assert_int_equal(asked(names[n], NULL, NULL), 0);
}

/* A page of evil.example may make its name mean this server, but not another name. */
TEST(other_names_are_refused) {
    static const char *const names[] = {"evil.example",
                                        "localhost.evil.example",
                                        "127.0.0.1.evil.example",
                                        "evil.example:80",
                                        "localhost:",
                                        "localhost:x",
                                        "localhost:123456",
                                        "",
                                        ":80",
                                        "[::1",
                                        "[::1]x",
                                        "[::1]:",
                                        "[localhost]",
                                        "[",
                                        "127.1",
                                        "2130706433",
                                        "localhost@evil",
                                        "127.0.0.1:80:80",
                                        "[::1]:99999999",
                                        "spex.example."};
    for (size_t n = 0; n < COUNT_OF(names); n++)
        assert_int_equal(asked(names[n], NULL, NULL), 421);
    char longest[5000];
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(asked(longest, NULL, NULL), 421);
    longest[0] = '[';
    assert_int_equal(asked(longest, NULL, NULL), 421);
    assert_int_equal(asked(NULL, NULL, NULL), 400);
}

TEST(pages_of_other_servers_are_refused) {
    assert_int_equal(asked("localhost:1", "http://localhost:1", NULL), 0);
    assert_int_equal(asked("spex.example", "https://spex.example", NULL), 0);
    static const char *const origins[] = {
        "null",        "",        "http://localhost:2",  "http://localhost", "http://evil.example",
        "localhost:1", "file://", "http://localhost:1/", "ftp://localhost:1"};
    for (size_t o = 0; o < COUNT_OF(origins); o++)
        assert_int_equal(asked("localhost:1", origins[o], NULL), 403);
}

static unsigned with_token(const char *authorization, bool changes) {
    const struct spex_guard guard = {.token = "0123456789abcdef"};
    const struct spex_guard_headers headers = {.host = "localhost", .authorization = authorization};
    const char *why;
    return spex_guard_check(&guard, &headers, changes, &why);
}

TEST(the_token_is_whole_and_in_its_header) {
    static const char *const wrong[] = {NULL,
                                        "",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer 0123456789abcde",
                                        "Bearer 0123456789abcdef0",
                                        "Bearer 0123456789abcdeF",
                                        "Bearer 0123456789abcdef0123456789abcdef",
                                        "Basic 0123456789abcdef",
                                        "0123456789abcdef"};
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        assert_int_equal(with_token(wrong[w], false), 401);
        assert_int_equal(with_token(wrong[w], true), 401);
    }
    assert_int_equal(with_token("Bearer 0123456789abcdef", false), 0);
    assert_int_equal(with_token("bearer 0123456789abcdef", true), 0);
}

/* What is no secret is kept from other sites alone. */
TEST(the_page_needs_no_token) {
    const struct spex_guard guard = {.token = "0123456789abcdef"};
    const struct {
        struct spex_guard_headers headers;
        unsigned status;
    } cases[] = {{{.host = "localhost"}, 0},
                 {{"localhost", "http://localhost", "Bearer wrong", "cross-site"}, 0},
                 {{.host = NULL}, 400},
                 {{.host = "evil.example"}, 421},
                 {{.host = "localhost", .origin = "http://evil.example"}, 403}};
    const char *why;
    for (size_t c = 0; c < COUNT_OF(cases); c++)
        assert_int_equal(spex_guard_check_open(&guard, &cases[c].headers, &why), cases[c].status);
}

/* A picture or a link of another site's page: it names no origin. */
TEST(other_sites_are_refused_by_their_browsers_word) {
    const struct spex_guard guard = {.token = NULL};
    const struct {
        const char *site;
        unsigned status;
    } cases[] = {{"same-origin", 0}, {"none", 0},         {NULL, 0},
                 {"same-site", 403}, {"cross-site", 403}, {"", 403}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct spex_guard_headers headers = {.host = "localhost", .site = cases[c].site};
        const char *why;
        assert_int_equal(spex_guard_check(&guard, &headers, false, &why), cases[c].status);
    }
}

TEST(without_a_token_nothing_changes) {
    const struct spex_guard guard = {.token = NULL};
    const struct spex_guard_headers headers = {.host = "localhost", .authorization = "Bearer "};
    const char *why;
    assert_int_equal(spex_guard_check(&guard, &headers, true, &why), 403);
}

/* Sockets that were dropped. */
static int dropped[2 * SPEX_PACE_CONNECTIONS];
static unsigned dropped_count;

static void note_drop(int socket) {
    dropped[dropped_count++] = socket;
}

static int begin_pace(void **state) {
    static struct spex_pace pace;
    memset(&pace, 0, sizeof(pace));
    dropped_count = 0;
    *state = &pace;
    return 0;
}

TEST_WITH(a_request_that_never_ends_is_dropped, begin_pace, NULL) {
    struct spex_pace *pace = *state;
    spex_pace_open(pace, 7, SECOND);
    uint64_t end = SECOND + SPEX_PACE_REQUEST_NS;
    assert_int_equal(spex_pace_drop(pace, end - 1, note_drop), end);
    assert_int_equal(dropped_count, 0);
    spex_pace_drop(pace, end, note_drop);
    assert_int_equal(dropped_count, 1);
    assert_int_equal(dropped[0], 7);
    spex_pace_drop(pace, end + 1, note_drop);
    assert_int_equal(dropped_count, 1);
}

TEST_WITH(an_answer_has_more_time_and_the_next_request_its_own, begin_pace, NULL) {
    struct spex_pace *pace = *state;
    struct spex_pace_connection *connection = spex_pace_open(pace, 7, 0);
    spex_pace_enter(connection, SPEX_PACE_ANSWER, SECOND);
    assert_int_equal(spex_pace_drop(pace, SPEX_PACE_ANSWER_NS, note_drop),
                     SECOND + SPEX_PACE_ANSWER_NS);
    spex_pace_enter(connection, SPEX_PACE_REQUEST, SPEX_PACE_ANSWER_NS);
    assert_int_equal(spex_pace_drop(pace, SPEX_PACE_ANSWER_NS + 1, note_drop),
                     SPEX_PACE_ANSWER_NS + SPEX_PACE_REQUEST_NS);
    assert_int_equal(dropped_count, 0);
    spex_pace_close(pace, connection);
    assert_int_equal(spex_pace_drop(pace, 1000 * SECOND, note_drop), UINT64_MAX);
    assert_int_equal(dropped_count, 0);
}

/* Whatever trickles in, a place is free again within the short time. */
TEST_WITH(slow_requests_give_up_their_places_where_these_are_scarce, begin_pace, NULL) {
    struct spex_pace *pace = *state;
    for (int c = 0; c < SPEX_PACE_CONNECTIONS - 1; c++)
        assert_non_null(spex_pace_open(pace, c, 0));
    assert_int_equal(spex_pace_drop(pace, SPEX_PACE_SCARCE_NS - 1, note_drop), SPEX_PACE_SCARCE_NS);
    spex_pace_drop(pace, SPEX_PACE_SCARCE_NS, note_drop);
    assert_int_equal(dropped_count, SPEX_PACE_CONNECTIONS - 1);
}

/* Who takes all places, again and again, keeps others waiting no longer than a place's time. */
TEST_WITH(all_places_change_hands_soon, begin_pace, NULL) {
    struct spex_pace *pace = *state;
    struct spex_pace_connection *answered = spex_pace_open(pace, 0, 0);
    spex_pace_enter(answered, SPEX_PACE_ANSWER, 0);
    for (int c = 1; c < SPEX_PACE_CONNECTIONS; c++)
        assert_non_null(spex_pace_open(pace, c, 0));
    assert_null(spex_pace_open(pace, 1000, 0));
    assert_int_equal(spex_pace_drop(pace, SPEX_PACE_FULL_NS - 1, note_drop), SPEX_PACE_FULL_NS);
    assert_int_equal(dropped_count, 0);
    spex_pace_drop(pace, SPEX_PACE_FULL_NS, note_drop);
    assert_int_equal(dropped_count, SPEX_PACE_CONNECTIONS - 1);
    spex_pace_close(pace, &pace->connections[5]);
    assert_ptr_equal(spex_pace_open(pace, 1000, SECOND), &pace->connections[5]);
}
