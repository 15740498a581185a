/* SPDX-License-Identifier: MIT */
/* Processes that are followed, of which the test is each one's other end, at a time that it makes:
 * when they are looked for, asked again and given up, and what stays of those that are gone. */
#include "serving.h"

#include <signal.h>

#include "../open_descriptors.h"
#include "base/clock.h"
#include "observe/profile_sum.h"
#include "observe/worker_feed.h"

#define MS UINT64_C(1000000)

enum { PROCESSES = 4, INTERVAL = 250 };

/* ---- the system ---- */

/* A reading takes a while, so that time passes. */
static uint64_t now, reading_ns;

uint64_t __wrap_spex_clock_ns(clockid_t clock);
uint64_t __wrap_spex_clock_ns(clockid_t clock) {
    (void)clock;
    return now += reading_ns;
}

/* Which there are, what connecting to one gives, whether it has ended, and our end of it. */
static bool there[PROCESSES], ended[PROCESSES];
static int connect_error[PROCESSES], ends[PROCESSES];
static unsigned searches, connects;
static long search_error;
static pid_t known_last[PROCESSES];
static long known_count;

static int number_of(pid_t process) {
    assert_in_range(process, 1000, 1000 + PROCESSES - 1);
    return process - 1000;
}

long __wrap_spex_workers_find(const struct spex_workers_of *of, const pid_t *known, long count,
                              pid_t **processes);
long __wrap_spex_workers_find(const struct spex_workers_of *of, const pid_t *known, long count,
                              pid_t **processes) {
    long found = 0;
    assert_string_equal(of->name, "program");
    searches++;
    memcpy(known_last, known, (size_t)count * sizeof(*known));
    known_count = count;
    *processes = NULL;
    if (search_error)
        return search_error;
    for (int p = 0; p < PROCESSES; p++)
        if (there[p]) {
            *processes = realloc(*processes, (size_t)(found + 1) * sizeof(**processes));
            (*processes)[found++] = 1000 + p;
        }
    return found;
}

int __wrap_spex_client_connect(pid_t process, int timeout_ms, struct spex_error *error);
int __wrap_spex_client_connect(pid_t process, int timeout_ms, struct spex_error *error) {
    int p = number_of(process), pair[2];
    assert_int_equal(timeout_ms, 0);
    connects++;
    if (connect_error[p] == -EPIPE) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
        close(pair[1]);
        return pair[0];
    }
    if (connect_error[p])
        return spex_fail(error, connect_error[p], "no");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair),
                     0);
    if (ends[p] >= 0)
        close(ends[p]);
    ends[p] = pair[1];
    return pair[0];
}

int __wrap_kill(pid_t process, int number);
int __wrap_kill(pid_t process, int number) {
    assert_int_equal(number, 0);
    errno = ended[number_of(process)] ? ESRCH : EPERM;
    return -1;
}

/* ---- a process's reports ---- */

static void send_frame(int p, uint16_t kind, const void *entry, size_t bytes, int32_t status,
                       uint32_t flags) {
    char packet[sizeof(struct spex_control_frame) + sizeof(struct spex_profile_process)];
    struct spex_control_frame head = {.magic = SPEX_CONTROL_MAGIC,
                                      .version = SPEX_CONTROL_VERSION,
                                      .kind = kind,
                                      .number = 0,
                                      .entry_bytes = bytes ? (uint32_t)bytes : 1,
                                      .count = bytes != 0,
                                      .status = status,
                                      .flags = flags};
    memcpy(packet, &head, sizeof(head));
    if (bytes)
        memcpy(packet + sizeof(head), entry, bytes);
    assert_true(caller_send_bytes(ends[p], packet, sizeof(head) + bytes));
}

/* So many records in so many seconds, of a program that was loaded at that time. */
static void report(int p, uint64_t records, double seconds, uint64_t loaded_ns, uint32_t flags) {
    const struct spex_profile_type type = {.probe_type = SPEX_LAT};
    struct spex_profile_process process = {.process_id = 1000 + (uint32_t)p,
                                           .seconds = seconds,
                                           .loaded_ns = loaded_ns,
                                           .produced = records,
                                           .sites = 7,
                                           .sites_on = 3,
                                           .sites_refused = 2,
                                           .threads = 5,
                                           .ring_bytes = 1000,
                                           .lease_seconds = 9,
                                           .selection = "a",
                                           .leased = "b",
                                           .rate_policy = "c"};
    send_frame(p, SPEX_CONTROL_PROCESS, &process, sizeof(process), 0, 0);
    send_frame(p, SPEX_CONTROL_TYPES, &type, sizeof(type), 0, 0);
    send_frame(p, SPEX_CONTROL_DONE, NULL, 0, 0, flags);
}

static void expect_subscribed(int p) {
    struct spex_control_request request;
    assert_int_equal(recv(ends[p], &request, sizeof(request), MSG_DONTWAIT), sizeof(request));
    assert_int_equal(request.kind, SPEX_CONTROL_SUBSCRIBE);
    assert_int_equal(request.interval_ms, INTERVAL);
    assert_int_equal(recv(ends[p], &request, sizeof(request), MSG_DONTWAIT), -1);
}

static struct spex_worker_feed feed;
static size_t descriptors;

static void look(void) {
    struct spex_error error;
    assert_int_equal(spex_worker_feed_look(&feed, &error), 0);
}

/* All that has been sent. */
static void take(void) {
    reading_ns = MS;
    assert_int_equal(spex_worker_feed_take(&feed, now + 8 * MS, SPEX_WORKERS_TIME), 0);
    reading_ns = 0;
}

static struct spex_profile_process sum_of(size_t expected) {
    struct spex_profile sum;
    size_t reporting;
    assert_int_equal(spex_worker_feed_sum(&feed, &sum, &reporting), 0);
    assert_int_equal(reporting, expected);
    struct spex_profile_process process = sum.process;
    spex_profile_free(&sum);
    return process;
}

static void expect_sum(size_t reporting, uint64_t records) {
    const struct spex_profile_process sum = sum_of(reporting);
    assert_int_equal(sum.produced, records);
    assert_int_equal(sum.sites, 7 * reporting);
    assert_int_equal(sum.sites_on, 3 * reporting);
    assert_int_equal(sum.sites_refused, 2 * reporting);
    assert_int_equal(sum.threads, 5 * reporting);
    assert_int_equal(sum.ring_bytes, 1000 * reporting);
    assert_true(sum.lease_seconds == (reporting ? 9 : 0));
    assert_string_equal(sum.selection, reporting ? "a" : "");
    assert_string_equal(sum.leased, reporting ? "b" : "");
    assert_string_equal(sum.rate_policy, reporting ? "c" : "");
}

static int begin(void **state) {
    (void)state;
    now = 1000000 * MS;
    reading_ns = 0;
    searches = connects = 0;
    search_error = 0;
    for (int p = 0; p < PROCESSES; p++) {
        there[p] = ended[p] = false;
        connect_error[p] = 0;
        ends[p] = -1;
    }
    descriptors = open_descriptors();
    spex_worker_feed_open(&feed, &(struct spex_workers_of){.name = "program"}, INTERVAL);
    return 0;
}

static int end(void **state) {
    (void)state;
    spex_worker_feed_close(&feed);
    assert_true(feed.count == 0 && !feed.workers);
    for (int p = 0; p < PROCESSES; p++)
        if (ends[p] >= 0)
            close(ends[p]);
    return open_descriptors() == descriptors ? 0 : -1;
}

/* Begins with processes 0 and 1. */
static void begin_two(void) {
    there[0] = there[1] = true;
    look();
    assert_int_equal(feed.count, 2);
    expect_subscribed(0);
    expect_subscribed(1);
}

static void begin_two_at_work(void) {
    begin_two();
    report(0, 10, 2, 5, 0);
    report(1, 100, 2, 5, 0);
    take();
}

/* ---- tests ---- */

TEST_WITH(processes_are_looked_for_twice_a_second, begin, end) {
    struct spex_error error;
    look();
    assert_true(searches == 1 && feed.count == 0 && known_count == 0);
    there[2] = true;
    now += 500 * MS - 1;
    look();
    assert_true(searches == 1 && feed.count == 0);
    now++;
    look();
    assert_true(searches == 2 && feed.count == 1 && connects == 1);
    assert_int_equal(feed.workers[0].process, 1002);
    assert_int_equal(feed.workers[0].heard_ns, now);
    expect_subscribed(2);
    there[0] = true;
    now += 600 * MS;
    look();
    assert_true(searches == 3 && feed.count == 2 && connects == 2);
    assert_true(known_count == 1 && known_last[0] == 1002);
    expect_subscribed(0);
    now += 500 * MS;
    search_error = -EMFILE;
    assert_int_equal(spex_worker_feed_look(&feed, &error), -EMFILE);
    assert_string_equal(error.text, "programs cannot be looked for: Too many open files");
    assert_true(known_count == 2 && known_last[1] == 1000 && feed.count == 2);
    search_error = 0;
    look();
    assert_int_equal(searches, 4); /* the failed one counts */
    now += 500 * MS;
    look();
    assert_true(searches == 5 && feed.count == 2 && connects == 2);
}

TEST_WITH(reports_are_summed, begin, end) {
    begin_two();
    expect_sum(0, 0);
    report(0, 10, 2, 5, 0);
    take();
    expect_sum(1, 10);
    assert_true(feed.workers[0].has_now && !feed.workers[1].has_now);
    assert_int_equal(feed.begin_ns, feed.workers[0].heard_ns - 2000 * MS);
    uint64_t before = feed.begin_ns;
    report(1, 100, 1, 6, 0); /* begun later */
    take();
    expect_sum(2, 110);
    assert_int_equal(feed.begin_ns, before);
    report(1, 120, 60, 6, 0);
    take();
    assert_int_equal(feed.begin_ns, feed.workers[1].heard_ns - 60000 * MS);
    /* Of several the last one counts. */
    report(0, 11, 3, 5, 0);
    report(0, 12, 4, 5, 0);
    take();
    expect_sum(2, 132);
    /* Begun before the clock. */
    report(0, 13, 1e9, 5, 0);
    take();
    assert_int_equal(feed.begin_ns, 1);
}

/* Of a collection that has ended, or another program, what it had done stays. */
TEST_WITH(what_begins_anew_adds, begin, end) {
    begin_two_at_work();
    report(0, 3, 1, 5, 0);
    take();
    expect_sum(2, 113);
    report(0, 4, 1, 5, 0);
    take();
    expect_sum(2, 114);
    report(0, 2, 9, 6, 0);
    take();
    expect_sum(2, 116);
    report(1, 200, 3, 5, 0);
    take();
    expect_sum(2, 216);
}

TEST_WITH(who_is_silent, begin, end) {
    begin_two();
    const struct spex_worker *worker = &feed.workers[0];
    uint64_t heard = worker->heard_ns;
    now = heard + 2000 * MS;
    assert_false(spex_worker_is_silent(&feed, worker));
    now++;
    assert_true(spex_worker_is_silent(&feed, worker));
    report(0, 1, 1, 1, 0);
    take();
    heard = worker->heard_ns;
    now = heard + (2000 + INTERVAL) * MS;
    assert_false(spex_worker_is_silent(&feed, worker));
    now++;
    assert_true(spex_worker_is_silent(&feed, worker));
}

static void expect_lost(size_t w, bool lost) {
    assert_int_equal(feed.workers[w].socket < 0, lost);
}

/* By its last report, by one that is refused or malformed, or by its end. */
TEST_WITH(a_connection_is_lost, begin, end) {
    for (int how = 0; how < 4; how++) {
        there[how] = true;
        now += 500 * MS;
        look();
        expect_subscribed(how);
    }
    report(0, 10, 1, 1, SPEX_CONTROL_FINAL);
    report(0, 99, 2, 1, 0); /* nothing comes behind the last one */
    send_frame(1, SPEX_CONTROL_DONE, NULL, 0, -EINVAL, 0);
    assert_true(caller_send_bytes(ends[2], "?", 1));
    shutdown(ends[3], SHUT_RDWR);
    uint64_t before = now;
    take();
    for (size_t w = 0; w < 4; w++) {
        expect_lost(w, true);
        assert_in_range(feed.workers[w].lost_ns, before, now);
    }
    expect_sum(1, 10);
    assert_int_equal(connects, 4);
    look(); /* all are tried again, and none is forgotten */
    assert_int_equal(connects, 8);
    for (int w = 0; w < 4; w++) {
        expect_lost((size_t)w, false);
        expect_subscribed(w);
        assert_int_equal(feed.workers[w].heard_ns, now);
    }
}

/* At once when it has ended, otherwise after three seconds. */
TEST_WITH(who_is_gone_is_forgotten, begin, end) {
    begin_two_at_work();
    shutdown(ends[0], SHUT_RDWR);
    take();
    there[0] = false;
    expect_lost(0, true);
    connect_error[0] = -ENOENT;
    uint64_t lost = feed.workers[0].lost_ns;
    now = lost + 3000 * MS;
    unsigned tries = connects;
    look();
    assert_int_equal(feed.count, 2);
    assert_int_equal(connects, tries + 1);
    expect_lost(0, true);
    assert_int_equal(feed.workers[0].lost_ns, lost);
    expect_sum(2, 110);
    now++;
    look();
    assert_int_equal(feed.count, 1);
    assert_int_equal(feed.workers[0].process, 1001);
    expect_sum(1, 110);
    /* One that has ended and whose reports are still to be taken is not. */
    there[1] = false;
    ended[1] = true;
    report(1, 105, 3, 5, 0);
    look();
    assert_int_equal(feed.count, 1);
    take();
    shutdown(ends[1], SHUT_RDWR);
    take();
    connect_error[1] = -ENOENT;
    look();
    assert_int_equal(feed.count, 0);
    expect_sum(0, 115);
    there[2] = true;
    now += 1000 * MS;
    look();
    expect_subscribed(2);
    report(2, 1, 1, 1, 0);
    take();
    expect_sum(1, 116);
}

/* The process is there, and its socket is not, or nobody listens at it. */
TEST_WITH(connecting_fails, begin, end) {
    there[0] = there[1] = true;
    connect_error[0] = -ECONNREFUSED;
    connect_error[1] = -EPIPE;
    look();
    assert_int_equal(feed.count, 2);
    expect_lost(0, true);
    expect_lost(1, true);
    assert_int_equal(open_descriptors(), descriptors);
    connect_error[0] = connect_error[1] = 0;
    look();
    expect_lost(0, false);
    expect_lost(1, false);
    expect_subscribed(0);
    expect_subscribed(1);
}

/* Until each has sent one, or is silent; and no longer than it may take. */
TEST_WITH(first_reports_are_waited_for, begin, end) {
    begin_two();
    report(0, 1, 1, 1, 0);
    report(1, 1, 1, 1, 0);
    reading_ns = 1;
    uint64_t begun = now;
    assert_int_equal(spex_worker_feed_take(&feed, now + 3600000 * MS, SPEX_WORKERS_FIRST), 0);
    assert_true(now - begun < MS);
    expect_sum(2, 2);
    begun = now;
    assert_int_equal(spex_worker_feed_take(&feed, now, SPEX_WORKERS_FIRST), 0);
    there[2] = true;
    now += 500 * MS;
    look();
    now += 2001 * MS; /* silent */
    begun = now;
    assert_int_equal(spex_worker_feed_take(&feed, now + 3600000 * MS, SPEX_WORKERS_FIRST), 0);
    assert_true(now - begun < MS);
}

/* A report that comes late is waited for: without it nothing would have happened since the last one.
 * Not from one that is silent. */
TEST_WITH(a_report_of_each_is_waited_for, begin, end) {
    begin_two();
    report(0, 1, 1, 1, 0);
    report(1, 1, 1, 1, 0);
    take();
    report(0, 3, 2, 1, 0);
    report(1, 4, 2, 1, 0);
    assert_int_equal(spex_worker_feed_take(&feed, now, SPEX_WORKERS_EACH), 0);
    expect_sum(2, 7);
    report(0, 5, 3, 1, 0);
    reading_ns = 300 * MS;
    uint64_t begun = now;
    assert_int_equal(spex_worker_feed_take(&feed, now, SPEX_WORKERS_EACH), 0);
    assert_true(now - begun > 2000 * MS);
    expect_sum(2, 9);
}
