/* SPDX-License-Identifier: MIT */
/* A connection of the control socket alone, at one end of a pair of sockets: what it asks the program
 * for by each request, what it answers, and when its reports are due. */
#include "serving.h"

#include "../open_descriptors.h"

#include "collect/collector.h"
#include "requesting.h"
#include "serve/clients.h"
#include "serve/connection.h"
#include "serve/report.h"

enum { DAY_MS = 86400000 };
#define MS UINT64_C(1000000)

/* What the program was asked for last, and what it answers. */
static struct asked {
    const char *what;
    char text[SPEX_CONTROL_TEXT_BYTES + 1];
    bool follow;
    struct spex_lease lease;
    double budget, samples, share;
    uint32_t types;
    bool dumps;
    int children;
} asked;
static int status;
static bool matches_none;

static int select_asked(const struct spex_control_selection *selection, char *answer, size_t size) {
    asked = (struct asked){.what = "select",
                           .follow = selection->follow,
                           .lease = selection->lease,
                           .budget = selection->budget};
    strcpy(asked.text, selection->probes);
    *selection->unmatched = matches_none;
    snprintf(answer, size, "selected");
    return status;
}

static int stream_asked(const struct spex_stream_asked *stream, char *answer, size_t size) {
    asked = (struct asked){.what = "stream",
                           .types = stream->types,
                           .dumps = stream->dumps,
                           .children = stream->children.number};
    snprintf(answer, size, "streamed");
    if (!status) {
        close(stream->socket.number);
        if (stream->children.number >= 0)
            close(stream->children.number);
    }
    return status;
}

static int models_asked(const char *path, double samples, double share, char *answer, size_t size) {
    asked = (struct asked){.what = "models", .samples = samples, .share = share};
    strcpy(asked.text, path ? path : "none");
    snprintf(answer, size, "modelled");
    return status;
}

static int budget_asked(double share, char *answer, size_t size) {
    asked = (struct asked){.what = "budget", .budget = share};
    snprintf(answer, size, "kept");
    return status;
}

static const struct spex_control_requests requests = {
    .select = select_asked, .budget = budget_asked, .stream = stream_asked, .models = models_asked};

static struct spex_connection connection;
static char connection_text[SPEX_CONTROL_TEXT_BYTES + 1], buffer[SPEX_CONNECTION_BUFFER_BYTES];
static int client;

static int begin(void **state) {
    int ends[2];
    (void)state;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    client = ends[0];
    memset(&connection, 0, sizeof(connection));
    connection.text = connection_text;
    spex_connection_open(&connection, spex_descriptor_of(ends[1]), false);
    status = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_connection_close(&connection);
    close(client);
    return 0;
}

/* Sends a request, and has it read. */
static enum spex_connection_end request(uint16_t kind, uint32_t number, uint32_t interval_ms,
                                        const char *text) {
    struct spex_error error;
    const struct spex_client_request one = {
        .kind = kind, .number = number, .interval_ms = interval_ms, .text = text};
    asked = (struct asked){.what = "nothing"};
    assert_int_equal(spex_client_send_request(client, &one, &error), 0);
    return spex_connection_read(&connection, &requests, buffer);
}

/* The status of the answer, which is written and received; its text is in `answered`. */
static char answered[SPEX_CONTROL_ANSWER_BYTES];
static bool answered_unmatched;

static int answer(uint32_t number) {
    struct spex_profile_reader reader = {0};
    assert_true(spex_connection_busy(&connection));
    assert_int_equal(spex_connection_write(&connection, buffer), SPEX_CONNECTION_STAYS);
    assert_false(spex_connection_busy(&connection));
    const struct spex_control_frame *head = (const void *)buffer;
    assert_int_equal(head->number, number);
    assert_int_equal(caller_receive(client, &reader), 1);
    snprintf(answered, sizeof(answered), "%s", reader.text);
    answered_unmatched = reader.unmatched;
    int got = reader.status;
    spex_profile_reader_free(&reader);
    return got;
}

static int answer_to(uint16_t kind, uint32_t number, uint32_t interval_ms, const char *text) {
    assert_int_equal(request(kind, number, interval_ms, text), SPEX_CONNECTION_STAYS);
    return answer(number);
}

static void expect_selected(const char *probes, bool follow, uint32_t ms, uint32_t holder,
                            double budget) {
    assert_string_equal(asked.what, "select");
    assert_string_equal(asked.text, probes);
    assert_int_equal(asked.follow, follow);
    assert_int_equal(asked.lease.ms, ms);
    assert_int_equal(asked.lease.holder, holder);
    assert_true(asked.budget == budget);
    assert_string_equal(answered, "selected");
}

TEST_WITH(selections, begin, end) {
    status = 3;
    assert_int_equal(answer_to(SPEX_CONTROL_SELECT, 5, 0, "a,b"), 3);
    expect_selected("a,b", false, 0, 0, 0);
    assert_int_equal(answer_to(SPEX_CONTROL_FOLLOW, 6, 77, ""), 3);
    expect_selected("", true, 0, 0, 0);
    assert_int_equal(answer_to(SPEX_CONTROL_LEASE, 7, 50, "c"), 3);
    expect_selected("c", false, 50, 7, 0);
    assert_int_equal(answer_to(SPEX_CONTROL_LEASE_FOLLOW, 8, DAY_MS, "d"), 3);
    expect_selected("d", true, DAY_MS, 8, 0);
    assert_int_equal(answer_to(SPEX_CONTROL_LEASE_BUDGET, 9, 1000, "0.25 +e f"), 3);
    expect_selected("+e f", false, 1000, 9, 0.25);
    assert_int_equal(answer_to(SPEX_CONTROL_LEASE_BUDGET, 9, 1000, "1 g"), 3);
    expect_selected("g", false, 1000, 9, 1);
    status = -EINVAL;
    assert_int_equal(answer_to(SPEX_CONTROL_SELECT, 5, 0, "h"), -EINVAL);
    expect_selected("h", false, 0, 0, 0);
}

TEST_WITH(a_selection_that_matches_none, begin, end) {
    matches_none = true;
    assert_int_equal(answer_to(SPEX_CONTROL_SELECT, 5, 0, "a"), 0);
    assert_true(answered_unmatched);
    matches_none = false;
    assert_int_equal(answer_to(SPEX_CONTROL_SELECT, 6, 0, "a"), 0);
    assert_false(answered_unmatched);
}

/* What a profile begins with, and nothing that takes time for each probe. A reader that expects a
 * whole profile takes none from it. */
TEST_WITH(the_status_has_no_frame_for_probes, begin, end) {
    struct spex_profile_reader readers[] = {{.of_process = true}, {.of_process = false}};
    for (size_t r = 0; r < COUNT_OF(readers); r++) {
        struct spex_profile_reader *reader = &readers[r];
        assert_int_equal(request(SPEX_CONTROL_STATUS, 7, 0, ""), SPEX_CONNECTION_STAYS);
        assert_int_equal(spex_connection_write(&connection, buffer), SPEX_CONNECTION_STAYS);
        assert_int_equal(caller_receive(client, reader), 1);
        assert_int_equal(reader->number, 7);
        assert_int_equal(reader->complete, reader->of_process);
        assert_int_equal(reader->profile.process.process_id, reader->of_process ? getpid() : 0);
        assert_null(reader->profile.types);
        assert_int_equal(reader->profile.site_count + reader->profile.row_count, 0);
        spex_profile_reader_free(reader);
    }
}

TEST_WITH(budgets, begin, end) {
    static const char *const wrong[] = {"", "x", "-0.1", "1.01", "nan", "0.1 a"};
    assert_int_equal(answer_to(SPEX_CONTROL_BUDGET, 5, 0, "0.02"), 0);
    assert_string_equal(asked.what, "budget");
    assert_true(asked.budget == 0.02);
    assert_string_equal(answered, "kept");
    assert_int_equal(answer_to(SPEX_CONTROL_BUDGET, 6, 0, "0"), 0);
    assert_true(asked.budget == 0);
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        assert_int_equal(answer_to(SPEX_CONTROL_BUDGET, 7, 0, wrong[w]), -EINVAL);
        assert_string_equal(asked.what, "nothing");
    }
}

static void expect_refused(const char *why) {
    assert_string_equal(asked.what, "nothing");
    assert_string_equal(answered, why);
}

TEST_WITH(what_is_asked_must_be_possible, begin, end) {
    static const char lease[] = "a lease of 50 ms to a day was expected",
                      interval[] = "an interval of 50 ms to a day was expected",
                      budget[] = "a holder, a share and a selection were expected";
    static const struct {
        uint16_t kind;
        uint32_t number, interval_ms;
        const char *text, *why;
    } cases[] = {
        {SPEX_CONTROL_LEASE, 1, 0, "a", lease},
        {SPEX_CONTROL_LEASE, 1, 49, "a", lease},
        {SPEX_CONTROL_LEASE_FOLLOW, 1, DAY_MS + 1, "a", lease},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 49, "0.1 a", lease},
        {SPEX_CONTROL_RENEW, 1, 49, "", lease},
        {SPEX_CONTROL_RENEW, 1, DAY_MS + 1, "", lease},
        {SPEX_CONTROL_LEASE_BUDGET, 0, 50, "0.1 a", budget},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 50, "0 a", budget},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 50, "1.01 a", budget},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 50, "x a", budget},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 50, "0.5", budget},
        {SPEX_CONTROL_LEASE_BUDGET, 1, 50, "", budget},
        {SPEX_CONTROL_SUBSCRIBE, 1, 49, "", interval},
        {SPEX_CONTROL_SUBSCRIBE, 1, DAY_MS + 1, "", interval},
        {SPEX_CONTROL_STREAM_FOLLOW, 1, 0, "", "a socket for the streams of children was expected"},
        {SPEX_CONTROL_STREAM, 1, 0, "lat,bad",
         "types of probes were expected for a stream, not \"lat,bad\""},
        {SPEX_CONTROL_MODELS, 1, 0, "0.009 0 /a",
         "samples, a share and a path were expected, not \"0.009 0 /a\""},
        {SPEX_CONTROL_MODELS, 1, 0, "1 1.1 /a",
         "samples, a share and a path were expected, not \"1 1.1 /a\""},
        {SPEX_CONTROL_MODELS, 1, 0, "1000001 1 /a",
         "samples, a share and a path were expected, not \"1000001 1 /a\""},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        assert_int_equal(
            answer_to(cases[c].kind, cases[c].number, cases[c].interval_ms, cases[c].text),
            -EINVAL);
        expect_refused(cases[c].why);
        assert_false(connection.reports);
    }
    assert_int_equal(answer_to(0, 2, 0, ""), -ENOSYS);
    expect_refused("this program's spex does not know such a request");
    assert_int_equal(answer_to(SPEX_CONTROL_RENEW, 2, 50, ""), -ENOENT);
    expect_refused("there is no such lease any more");
    assert_int_equal(answer_to(SPEX_CONTROL_DUMP, 2, 0, "why"), -ENOENT);
    expect_refused("nobody records this program: spex record --flight was expected");
}

TEST_WITH(models, begin, end) {
    assert_int_equal(answer_to(SPEX_CONTROL_MODELS, 1, 0, "0.01 0 /a file"), 0);
    assert_string_equal(asked.what, "models");
    assert_string_equal(asked.text, "/a file");
    assert_true(asked.samples == 0.01 && asked.share == 0);
    assert_string_equal(answered, "modelled");
    assert_int_equal(answer_to(SPEX_CONTROL_MODELS, 1, 0, "1000000  1  /"), 0);
    assert_true(asked.samples == 1e6 && asked.share == 1);
    assert_int_equal(answer_to(SPEX_CONTROL_MODELS, 1, 0, ""), 0);
    assert_string_equal(asked.text, "none");
}

/* A stream takes the socket; where it does not, the connection stays. */
TEST_WITH(streams, begin, end) {
    status = -EUSERS;
    assert_int_equal(answer_to(SPEX_CONTROL_STREAM, 4, 0, "lat, kernel"), -EUSERS);
    assert_string_equal(answered, "streamed");
    assert_int_equal(asked.types, SPEX_LAT | SPEX_KERNEL);
    assert_false(asked.dumps);
    assert_int_equal(asked.children, -1);
    assert_int_equal(answer_to(SPEX_CONTROL_STREAM, 4, SPEX_CONTROL_STREAM_DUMPS, ""), -EUSERS);
    assert_int_equal(asked.types, (1u << SPEX_PROBE_TYPES) - 1);
    assert_true(asked.dumps);
    connection.reports = true;
    assert_int_equal(answer_to(SPEX_CONTROL_STREAM, 4, 0, ""), -EINVAL);
    expect_refused("a connection of its own was expected for a stream");
    connection.reports = false;
    connection.ours = true;
    assert_int_equal(answer_to(SPEX_CONTROL_STREAM, 4, 0, ""), -EINVAL);
    expect_refused("a connection of its own was expected for a stream");
    connection.ours = false;
    status = 0;
    assert_int_equal(request(SPEX_CONTROL_STREAM, 4, 0, "llc"), SPEX_CONNECTION_STAYS);
    assert_string_equal(asked.what, "stream");
    assert_int_equal(asked.types, SPEX_LLC);
    assert_false(spex_connection_there(&connection));
    assert_false(spex_connection_busy(&connection));
    assert_true(caller_is_dropped(client));
}

TEST_WITH(streams_of_children, begin, end) {
    int pair[2];
    struct spex_error error;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    const struct spex_client_request one = {
        .kind = SPEX_CONTROL_STREAM_FOLLOW, .number = 4, .descriptor = &pair[1]};
    assert_int_equal(spex_client_send_request(client, &one, &error), 0);
    close(pair[1]);
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_STAYS);
    assert_string_equal(asked.what, "stream");
    assert_true(asked.children >= 0);
    assert_false(spex_connection_there(&connection));
    /* And that is all that there was of it. */
    assert_true(caller_is_dropped(pair[0]));
    close(pair[0]);
}

/* A request waits while another thread starts or stops spex, and is carried out when it can be. */
TEST_WITH(a_request_waits, begin, end) {
    spex_connection_retry(&connection, &requests);
    status = -EBUSY;
    assert_int_equal(request(SPEX_CONTROL_LEASE, 12, 60, "a"), SPEX_CONNECTION_STAYS);
    for (int n = 0; n < 2; n++) {
        assert_string_equal(asked.what, "select");
        assert_true(connection.waits && spex_connection_busy(&connection));
        assert_int_equal(connection.reply.next, 0);
        asked = (struct asked){.what = "nothing"};
        spex_connection_retry(&connection, &requests);
    }
    status = 2;
    spex_connection_retry(&connection, &requests);
    assert_false(connection.waits);
    assert_int_equal(answer(12), 2);
    expect_selected("a", false, 60, 12, 0);
    asked = (struct asked){.what = "nothing"};
    spex_connection_retry(&connection, &requests);
    assert_string_equal(asked.what, "nothing");
}

/* Due at once, then each time that the interval has passed; a report that was missed is left out. */
TEST_WITH(reports, begin, end) {
    assert_int_equal(request(SPEX_CONTROL_SUBSCRIBE, 21, 50, ""), SPEX_CONNECTION_STAYS);
    assert_true(connection.reports);
    assert_false(spex_connection_busy(&connection));
    uint64_t due = connection.due_ns;
    spex_report_begin(&connection, due - 1, false);
    assert_false(spex_connection_busy(&connection));
    spex_report_begin(&connection, due, false);
    assert_true(spex_connection_busy(&connection));
    assert_int_equal(connection.due_ns, due + 50 * MS);
    spex_report_begin(&connection, due + 60 * MS, false); /* the one before is under way */
    assert_int_equal(connection.due_ns, due + 50 * MS);
    assert_int_equal(answer(21), 0);
    spex_report_begin(&connection, due + 70 * MS, false);
    assert_int_equal(connection.due_ns, due + 100 * MS);
    assert_int_equal(answer(21), 0);
    spex_report_begin(&connection, due + 170 * MS, false);
    assert_int_equal(connection.due_ns, due + 220 * MS);
    assert_int_equal(answer(21), 0);
    spex_report_begin(&connection, due + 171 * MS, true); /* the last one is always due */
    assert_int_equal(connection.reply.flags, SPEX_CONTROL_FINAL);
    assert_int_equal(answer(21), 0);
    assert_int_equal(answer_to(SPEX_CONTROL_SUBSCRIBE, 22, 0, ""), 0);
    assert_false(connection.reports);
    spex_report_begin(&connection, due + 1000 * MS, true);
    assert_false(spex_connection_busy(&connection));
}

/* Where collectors rest, a report waits for what they take in; the ones after it come no later by that. */
TEST_WITH(collectors_that_rest_come_before_a_report, begin, end) {
    assert_int_equal(request(SPEX_CONTROL_SUBSCRIBE, 21, 50, ""), SPEX_CONNECTION_STAYS);
    uint64_t due = connection.due_ns;
    spex_collectors_rest(UINT64_C(1000000000));
    for (unsigned n = 0; n < 3; n++, due += 50 * MS) {
        spex_report_begin(&connection, due, false);
        assert_false(spex_connection_busy(&connection));
        assert_true(connection.due_ns > due && connection.due_ns < due + 50 * MS);
        spex_report_begin(&connection, connection.due_ns, false);
        assert_int_equal(answer(21), 0);
        assert_int_equal(connection.due_ns, due + 50 * MS);
    }
    spex_report_begin(&connection, due, false);
    spex_report_begin(&connection, due + 1, true); /* the last one waits for nothing */
    assert_int_equal(answer(21), 0);
    spex_collectors_rest(0);
    assert_int_equal(answer_to(SPEX_CONTROL_SUBSCRIBE, 22, 0, ""), 0);
}

/* Distances of the first reports of a program that has called double, up to the interval. */
TEST_WITH(early_reports, begin, end) {
    static const unsigned distances[] = {10, 20, 40, 80, 100, 100};
    connection.reports = true;
    connection.interval_ms = 100;
    connection.due_ns = 1000 * MS;
    connection.early_ns = 10 * MS;
    for (size_t d = 0; d < COUNT_OF(distances); d++) {
        uint64_t due = connection.due_ns;
        spex_report_begin(&connection, due, false);
        connection.reply.next = 0;
        assert_int_equal(connection.due_ns, due + distances[d] * MS);
    }
}

TEST_WITH(what_is_no_request, begin, end) {
    struct spex_control_request head = request_of(SPEX_CONTROL_PROFILE);
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_WAITS);
    assert_true(caller_send_bytes(client, &head, sizeof(head) - 1));
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_GONE);
    head.magic++;
    assert_true(caller_send_bytes(client, &head, sizeof(head)));
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_GONE);
    head.magic--;
    head.version = 9;
    assert_true(caller_send_bytes(client, &head, sizeof(head)));
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_STAYS);
    assert_int_equal(answer(7), -EPROTONOSUPPORT);
    char why[96];
    snprintf(why, sizeof(why),
             "this program's spex speaks version %d of the control protocol, not 9",
             SPEX_CONTROL_VERSION);
    expect_refused(why);
    shutdown(client, SHUT_WR);
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_GONE);
    close(client);
    spex_reply_done(&connection.reply, 1, 0);
    assert_int_equal(spex_connection_write(&connection, buffer), SPEX_CONNECTION_GONE);
    client = dup(0);
}

/* Text of each length around the longest that is taken, and packets that are longer than a frame:
 * these end the connection. Of requests of each way in which packets are received. */
TEST_WITH(requests_of_each_length, begin, end) {
    static const uint16_t kinds[] = {SPEX_CONTROL_SELECT, SPEX_CONTROL_STREAM_FOLLOW};
    static char packet[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_control_request head;
    const size_t most = sizeof(head) + SPEX_CONTROL_TEXT_BYTES;
    memset(packet, 'a', sizeof(packet));
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        head = request_of(kinds[k]);
        memcpy(packet, &head, sizeof(head));
        asked = (struct asked){.what = "nothing"};
        assert_true(caller_send_bytes(client, packet, most));
        assert_int_equal(spex_connection_read(&connection, &requests, buffer),
                         SPEX_CONNECTION_STAYS);
        assert_int_equal(answer(7), k ? -EINVAL : 0);
        assert_int_equal(strlen(connection.text), SPEX_CONTROL_TEXT_BYTES);
        assert_int_equal(strlen(asked.text), k ? 0 : SPEX_CONTROL_TEXT_BYTES);
        asked = (struct asked){.what = "nothing"};
        const size_t longer[] = {most + 1, SPEX_CONTROL_FRAME_BYTES};
        for (size_t l = 0; l < COUNT_OF(longer); l++) {
            assert_true(caller_send_bytes(client, packet, longer[l]));
            assert_int_equal(spex_connection_read(&connection, &requests, buffer),
                             SPEX_CONNECTION_STAYS);
            assert_int_equal(answer(7), -E2BIG);
            expect_refused("the request is too long");
        }
        assert_true(caller_send_bytes(client, packet, sizeof(packet)));
        assert_int_equal(spex_connection_read(&connection, &requests, buffer),
                         SPEX_CONNECTION_GONE);
        assert_string_equal(asked.what, "nothing");
    }
    packet[most - 1] = '\0';
    assert_true(caller_send_bytes(client, packet, most));
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_STAYS);
    assert_int_equal(answer(7), -EINVAL);
    expect_refused("the request's text holds a 0");
}

/* A socket that was passed with a request, and not taken, is closed with the next one; it is not
 * inherited by other programs. */
TEST_WITH(what_was_passed_is_closed, begin, end) {
    struct spex_error error;
    int pair[2];
    status = -EUSERS;
    size_t open = open_descriptors();
    for (int n = 0; n < 2; n++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        const struct spex_client_request one = {
            .kind = SPEX_CONTROL_STREAM_FOLLOW, .number = 4, .descriptor = &pair[1]};
        assert_int_equal(spex_client_send_request(client, &one, &error), 0);
        close(pair[1]);
        assert_int_equal(spex_connection_read(&connection, &requests, buffer),
                         SPEX_CONNECTION_STAYS);
        assert_true(asked.children >= 0);
        assert_int_equal(fcntl(asked.children, F_GETFD), FD_CLOEXEC);
        assert_int_equal(answer(4), -EUSERS);
        assert_int_equal(open_descriptors(), open + 2);
        if (n)
            spex_connection_close(&connection);
        else
            assert_int_equal(answer_to(SPEX_CONTROL_SELECT, 5, 0, "a"), -EUSERS);
        assert_true(caller_is_dropped(pair[0]));
        close(pair[0]);
    }
    assert_int_equal(open_descriptors(), open - 1);
}

/* A connection that is closed in the middle of everything is as if there had been none. */
TEST_WITH(a_closed_connection_is_as_new, begin, end) {
    size_t open = open_descriptors();
    status = -EBUSY;
    assert_int_equal(request(SPEX_CONTROL_LEASE, 12, 60, "a"), SPEX_CONNECTION_STAYS);
    connection.reports = true;
    spex_reply_done(&connection.reply, 1, 0);
    spex_connection_close(&connection);
    assert_int_equal(open_descriptors(), open - 1);
    assert_false(connection.waits || connection.reports || connection.reply.next);
    assert_false(spex_connection_there(&connection) || spex_connection_busy(&connection));
    assert_int_equal(connection.passed.number, -1);
    assert_true(caller_is_dropped(client));
    asked = (struct asked){.what = "nothing"};
    spex_connection_retry(&connection, &requests);
    assert_string_equal(asked.what, "nothing");
    spex_connection_close(&connection);
    assert_int_equal(open_descriptors(), open - 1);
}

/* Whoever does not read waits, and gets all of it later. */
TEST_WITH(a_slow_reader, begin, end) {
    for (uint32_t number = 0;; number++) {
        spex_reply_done(&connection.reply, number, 0);
        enum spex_connection_end written = spex_connection_write(&connection, buffer);
        if (written == SPEX_CONNECTION_WAITS)
            break;
        assert_int_equal(written, SPEX_CONNECTION_STAYS);
        assert_in_range(number, 0, 100000);
    }
    uint32_t waits = connection.reply.number;
    for (uint32_t number = 0; number < waits; number++) {
        struct spex_control_frame head;
        assert_true(recv(client, &head, sizeof(head), MSG_DONTWAIT) > 0);
        assert_int_equal(head.number, number);
    }
    assert_int_equal(answer(waits), 0);
}

TEST_WITH(nobody_is_let_in, begin, end) {
    struct spex_profile_reader reader = {0};
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    spex_connection_turn_away(spex_descriptor_of(ends[1]), buffer);
    assert_int_equal(caller_receive(ends[0], &reader), 1);
    assert_int_equal(reader.status, -EBUSY);
    assert_string_equal(reader.text, "too many commands are connected to this program");
    assert_true(caller_is_dropped(ends[0]));
    spex_profile_reader_free(&reader);
    close(ends[0]);
}

/* How long who is let in may say nothing. */
TEST_WITH(quiet_clients, begin, end) {
    const uint64_t silent = 10000 * MS, stuck = 30000 * MS;
    uint64_t active = connection.active_ns;
    assert_int_equal(spex_clients_quiet_most(&connection), silent);
    assert_false(spex_clients_expired(&connection, active - 1));
    assert_false(spex_clients_expired(&connection, active + silent));
    assert_true(spex_clients_expired(&connection, active + silent + 1));
    spex_reply_done(&connection.reply, 1, 0);
    assert_int_equal(spex_clients_quiet_most(&connection), stuck);
    assert_false(spex_clients_expired(&connection, active + stuck));
    assert_true(spex_clients_expired(&connection, active + stuck + 1));
    connection.reports = true;
    assert_true(spex_clients_expired(&connection, active + stuck + 1));
    connection.reply.next = 0;
    assert_false(spex_clients_expired(&connection, UINT64_MAX));
    connection.reports = false;
    connection.ours = true;
    assert_false(spex_clients_expired(&connection, UINT64_MAX));
    close(connection.socket.number);
    assert_int_equal(spex_connection_read(&connection, &requests, buffer), SPEX_CONNECTION_GONE);
}
