/* SPDX-License-Identifier: MIT */
/* What clients ask, and what becomes of those that misbehave. */
#include "serving.h"

#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <sys/resource.h>

#include "kernels/frames.h"
#include "kernels/sampling_plan.h"
#include "profile/confidence.h"
#include "serve/own_profile.h"

enum { WORK = 90, FLICKER, PLACES = 16 };

SPEX_PROBE_NAME(WORK, "request.work");

__attribute__((noinline)) static void work(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(WORK, 1);
        __asm__ volatile("" ::: "memory");
        LAT_PROBE_END(WORK);
    }
}

static struct spex_control_request request_of(uint16_t kind) {
    return (struct spex_control_request){
        .magic = SPEX_CONTROL_MAGIC, .version = SPEX_CONTROL_VERSION, .kind = kind, .number = 7};
}

/* The answer to any packet that gets one. */
static int answer_to(const void *packet, size_t bytes, char *text, size_t size) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_true(caller_send_bytes(fd, packet, bytes));
    assert_int_equal(caller_receive(fd, &reader), 1);
    snprintf(text, size, "%s", reader.text);
    int answer = reader.status;
    /* It goes on being served. */
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_true(reader.complete);
    spex_profile_reader_free(&reader);
    close(fd);
    return answer;
}

static void a_selection_is_made(void **state) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    (void)state;
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "request.*", &reader), 1);
    assert_int_equal(serving_status().sites_on, 1);
    assert_string_equal(reader.text, "");
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "nobody.*", &reader), 0);
    assert_non_null(strstr(reader.text, "no probe matches"));
    assert_int_equal(serving_status().sites_on, 0);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "request.work:lat@", &reader), -EINVAL);
    assert_non_null(strstr(reader.text, "probe selection"));
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "", &reader), 0);
    spex_profile_reader_free(&reader);
    close(fd);
}

/* The control thread has set it. */
static const struct spex_sampling_plan *plan_now(void) {
    return __atomic_load_n(&spex_samples_plan, __ATOMIC_ACQUIRE);
}

/* What cannot be gone by leaves what is gone by as it was. */
static void models_are_gone_by(void **state) {
    static const char *const wrong[] = {"10",       "10 0 a/file", "0 0 /file", "10 2 /file",
                                        "ten 0 /f", "10 x /file",  "10 -1 /f",  "nan 0 /file"};
    struct spex_profile_reader reader = {0};
    char path[] = "/tmp/spex-models-XXXXXX", text[64];
    int fd = caller_connect(), file = mkstemp(path);
    (void)state;
    assert_true(dprintf(file, "spex-models 1\nend 0\n") > 0 && close(file) == 0);
    snprintf(text, sizeof(text), "2.5 0.01 %s", path);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, text, &reader), 0);
    assert_null(plan_now()); /* nothing is collected yet */
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "request.*", &reader), 1);
    const struct spex_sampling_plan *plan = plan_now();
    assert_true(plan && plan->samples == 2.5);
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, wrong[w], &reader), -EINVAL);
        assert_non_null(strstr(reader.text, "samples, a share and a path were expected"));
    }
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, "10 0 /nowhere", &reader), -ENOENT);
    assert_ptr_equal(plan_now(), plan);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, "", &reader), 0);
    assert_null(plan_now());
    spex_profile_reader_free(&reader);
    unlink(path);
    close(fd);
}

static void many_requests_go_over_one_connection(void **state) {
    int fd = caller_connect();
    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(caller_select(fd, i % 2 ? "" : "request.work"), i % 2 ? 0 : 1);
    close(fd);
}

/* In the order in which they were sent, each with its number. */
static void requests_may_be_sent_ahead(void **state) {
    struct spex_control_frame frame;
    char buffer[SPEX_CONTROL_FRAME_BYTES];
    int fd = caller_connect();
    (void)state;
    for (uint32_t n = 0; n < 5; n++) {
        struct spex_control_request request = request_of(SPEX_CONTROL_SELECT);
        request.number = n;
        assert_true(caller_send_bytes(fd, &request, sizeof(request)));
    }
    for (uint32_t n = 0; n < 5; n++) {
        assert_true(recv(fd, buffer, sizeof(buffer), 0) >= (ssize_t)sizeof(frame));
        memcpy(&frame, buffer, sizeof(frame));
        assert_int_equal(frame.number, n);
        assert_int_equal(frame.kind, SPEX_CONTROL_DONE);
    }
    close(fd);
}

static void a_profile_holds_what_was_recorded(void **state) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    (void)state;
    assert_int_equal(caller_select(fd, "request.work"), 1);
    uint64_t before = serving_status().consumed;
    work(100);
    WAIT_UNTIL(serving_status().consumed - before == 100);
    /* What is consumed may still be on its way to the metrics. */
    do
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    while (reader.profile.row_count == 1 && reader.profile.rows[0].probe.records < 100);
    assert_int_equal(reader.profile.process.process_id, getpid());
    assert_int_equal(reader.profile.process.produced, 100);
    assert_int_equal(reader.profile.process.consumed, 100);
    assert_int_equal(reader.profile.process.sites_on, 1);
    assert_string_equal(reader.profile.process.selection, "request.work");
    assert_int_equal(reader.profile.site_count, serving_status().sites);
    assert_int_equal(reader.profile.row_count, 1);
    const struct spex_profile_row *row = &reader.profile.rows[0];
    assert_int_equal(row->probe.probe_id, WORK);
    assert_int_equal(row->probe.records, 100);
    assert_true(row->probe.count == 100);
    assert_string_equal(row->probe.name, "request.work");
    assert_int_equal(row->probe.series, 1);
    assert_int_equal(row->values[0]->histogram.total, 100);
    assert_true(row->values[0]->weight == 100);
    spex_profile_reader_free(&reader);
    close(fd);
}

/* Of samples of several rates, chosen singly and in bursts. */
static void margins_are_those_that_the_program_has(void **state) {
    static const char *const selections[] = {"request.work@3", "request.work@~30",
                                             "request.work@10x4"};
    struct spex_profile_reader reader = {0};
    struct spex_profile own;
    double low, high, own_low, own_high;
    int fd = caller_connect();
    (void)state;
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        assert_int_equal(caller_select(fd, selections[s]), 1);
        work(3000);
    }
    WAIT_UNTIL(serving_status().consumed == serving_status().produced);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    assert_int_equal(spex_profile_now(&own), 0);
    const struct spex_profile_row *row = &reader.profile.rows[0], *own_row = &own.rows[0];
    double margin = spex_mean_margin(&own_row->probe, own_row->values[0]);
    assert_true(margin > 0);
    assert_true(fabs(spex_mean_margin(&row->probe, row->values[0]) - margin) <= margin * 1e-9);
    for (double q = 0.5; q < 0.95; q += 0.4) {
        assert_true(spex_quantile_bounds(&row->probe, row->values[0], q, &low, &high));
        assert_true(
            spex_quantile_bounds(&own_row->probe, own_row->values[0], q, &own_low, &own_high));
        assert_true(low == own_low && high == own_high);
    }
    assert_memory_equal(row->values[0]->spread.rows, own_row->values[0]->spread.rows,
                        sizeof(row->values[0]->spread.rows));
    spex_profile_now_free(&own);
    spex_profile_reader_free(&reader);
    close(fd);
}

static void what_cannot_be_understood_is_refused(void **state) {
    char text[SPEX_CONTROL_ANSWER_BYTES];
    struct spex_control_request request = request_of(99);
    struct {
        struct spex_control_request head;
        char text[SPEX_CONTROL_TEXT_BYTES + 1];
    } longer = {.head = request_of(SPEX_CONTROL_SELECT)};
    (void)state;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -ENOSYS);
    request = request_of(SPEX_CONTROL_PROFILE);
    request.version++;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EPROTONOSUPPORT);
    assert_non_null(strstr(text, "version"));
    request = request_of(SPEX_CONTROL_SUBSCRIBE);
    request.interval_ms = SPEX_CONTROL_INTERVAL_MIN_MS - 1;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EINVAL);
    request.interval_ms = UINT32_MAX;
    assert_int_equal(answer_to(&request, sizeof(request), text, sizeof(text)), -EINVAL);
    memset(longer.text, 'a', sizeof(longer.text));
    assert_int_equal(answer_to(&longer, sizeof(longer), text, sizeof(text)), -E2BIG);
    longer.text[10] = '\0';
    assert_int_equal(answer_to(&longer, sizeof(longer.head) + 20, text, sizeof(text)), -EINVAL);
    /* The longest there may be is looked at, and has no probe. */
    longer.text[10] = 'a';
    assert_int_equal(answer_to(&longer, sizeof(longer) - 4, text, sizeof(text)), 0);
}

static void who_does_not_speak_the_protocol_is_left(void **state) {
    static char huge[SPEX_CONTROL_FRAME_BYTES + 1];
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    (void)state;
    memcpy(huge, &request, sizeof(request));
    request.magic++;
    const struct {
        const void *bytes;
        size_t length;
    } packets[] = {{"x", 1},
                   {&request, sizeof(request) - 1},
                   {&request, sizeof(request)},
                   {huge, sizeof(huge)}};
    for (size_t p = 0; p < COUNT_OF(packets); p++) {
        int fd = caller_connect();
        assert_true(caller_send_bytes(fd, packets[p].bytes, packets[p].length));
        assert_true(caller_is_dropped(fd));
        close(fd);
    }
}

static void who_has_said_all_gets_the_answer(void **state) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    (void)state;
    assert_true(caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL));
    shutdown(fd, SHUT_WR);
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_true(reader.complete);
    assert_true(caller_is_dropped(fd));
    spex_profile_reader_free(&reader);
    close(fd);
}

static void descriptors_that_come_along_are_closed(void **state) {
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    struct spex_profile_reader reader = {0};
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct iovec part = {&request, sizeof(request)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    int fd = caller_connect(), ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    memcpy(CMSG_DATA(&control.head), &ends[1], sizeof(int));
    assert_int_equal(sendmsg(fd, &message, 0), sizeof(request));
    close(ends[1]);
    assert_int_equal(caller_receive(fd, &reader), 1);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0); /* nobody has the other end */
    close(ends[0]);
    spex_profile_reader_free(&reader);
    close(fd);
}

static size_t allocated(void) {
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* Sends until nothing more is taken. */
static void stuff(int fd) {
    struct spex_control_request request = request_of(SPEX_CONTROL_PROFILE);
    while (send(fd, &request, sizeof(request), MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

static void slow_readers_cost_no_memory(void **state) {
    int slow[PLACES - 1], fd = caller_connect();
    (void)state;
    assert_int_equal(caller_select(fd, "request.work"), 1);
    size_t before = allocated();
    for (size_t s = 0; s < COUNT_OF(slow); s++)
        stuff(slow[s] = caller_connect());
    for (int i = 0; i < 100; i++) {
        for (size_t s = 0; s < COUNT_OF(slow); s++)
            stuff(slow[s]);
        assert_int_equal(caller_select(fd, "request.work"), 1);
    }
#ifndef __SANITIZE_ADDRESS__
    assert_true(allocated() <= before + 65536);
#endif
    (void)before;
    for (size_t s = 0; s < COUNT_OF(slow); s++)
        close(slow[s]);
    close(fd);
}

/* However many come and go. */
static void a_thousand_callers_leave_nothing_behind(void **state) {
    (void)state;
    int first = dup(0);
    close(first);
    for (int i = 0; i < 1000; i++) {
        int fd = caller_connect();
        if (i % 3 == 0)
            assert_int_equal(caller_select(fd, ""), 0);
        else if (i % 3 == 1)
            assert_true(caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL));
        close(fd);
    }
    int fd = caller_connect(), last;
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
    last = dup(0);
    close(last);
    assert_int_equal(last, first);
}

/* Fewer than wait at a door at once, more than there are places. */
static void silent_clients_make_way(void **state) {
    int silent[PLACES + 8];
    (void)state;
    for (size_t s = 0; s < COUNT_OF(silent); s++)
        silent[s] = caller_connect();
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    assert_true(caller_is_dropped(silent[0]));
    for (size_t s = 0; s < COUNT_OF(silent); s++)
        close(silent[s]);
    close(fd);
}

static void a_burst_of_callers_is_served_to_the_last(void **state) {
    int callers[PLACES * 2];
    (void)state;
    for (size_t c = 0; c < COUNT_OF(callers); c++) {
        callers[c] = caller_connect();
        assert_true(caller_send(callers[c], SPEX_CONTROL_SELECT, 0, ""));
    }
    for (size_t c = 0; c < COUNT_OF(callers); c++) {
        struct spex_profile_reader reader = {0};
        assert_int_equal(caller_receive(callers[c], &reader), 1);
        close(callers[c]);
    }
}

static void who_subscribes_keeps_his_place(void **state) {
    struct spex_profile_reader reader = {0};
    int subscribers[PLACES];
    (void)state;
    for (size_t s = 0; s < COUNT_OF(subscribers); s++) {
        subscribers[s] = caller_connect();
        assert_true(caller_send(subscribers[s], SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
        assert_int_equal(caller_receive(subscribers[s], &reader), 1);
    }
    int fd = caller_connect();
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_int_equal(reader.status, -EBUSY);
    assert_non_null(strstr(reader.text, "too many"));
    assert_true(caller_is_dropped(fd));
    close(fd);
    /* One that ends his subscription makes way. */
    assert_true(caller_send(subscribers[3], SPEX_CONTROL_SUBSCRIBE, 0, NULL));
    assert_int_equal(caller_receive(subscribers[3], &reader), 1);
    fd = caller_connect();
    assert_int_equal(caller_select(fd, ""), 0);
    close(fd);
    for (size_t s = 0; s < COUNT_OF(subscribers); s++)
        close(subscribers[s]);
    spex_profile_reader_free(&reader);
}

static void a_subscriber_may_ask_as_well(void **state) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    (void)state;
    assert_true(caller_send(fd, SPEX_CONTROL_SUBSCRIBE, SPEX_CONTROL_INTERVAL_MIN_MS, NULL));
    assert_int_equal(caller_receive(fd, &reader),
                     1); /* nothing collects: a profile of sites alone */
    assert_true(reader.profile.process.seconds == 0);
    assert_true(caller_send(fd, SPEX_CONTROL_SELECT, 0, "request.work"));
    do
        assert_int_equal(caller_receive(fd, &reader), 1);
    while (reader.status != 1);
    work(10);
    do
        assert_int_equal(caller_receive(fd, &reader), 1);
    while (reader.profile.process.consumed != 10);
    assert_false(reader.final);
    spex_profile_reader_free(&reader);
    close(fd);
}

static void the_last_report_comes_at_the_stop(void **state) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect(), other = caller_connect();
    (void)state;
    assert_int_equal(caller_select(other, "request.work"), 1);
    assert_true(caller_send(fd, SPEX_CONTROL_SUBSCRIBE, SPEX_CONTROL_INTERVAL_MAX_MS, NULL));
    assert_int_equal(caller_receive(fd, &reader), 1);
    work(1000);
    spex_stop();
    assert_int_equal(caller_receive(fd, &reader), 1);
    assert_true(reader.final);
    assert_int_equal(reader.profile.process.produced, 1000);
    assert_int_equal(reader.profile.process.consumed + reader.profile.process.lost, 1000);
    assert_int_equal(reader.profile.process.sites_on, 0);
    assert_int_equal(caller_receive(fd, &reader), -ECONNRESET);
    assert_true(caller_is_dropped(other));
    spex_profile_reader_free(&reader);
    close(fd);
    close(other);
}

/* Whose queue is full: the stop waits for him, but not for ever. */
static void a_stop_does_not_wait_for_ever(void **state) {
    int fd = caller_connect();
    (void)state;
    stuff(fd);
    spex_stop();
    close(fd);
}

static void the_program_and_a_command_select_in_turn(void **state) {
    int fd = caller_connect();
    (void)state;
    for (int i = 0; i < 50; i++) {
        assert_int_equal(spex_set("request.work"), 1);
        assert_int_equal(serving_status().sites_on, 1);
        assert_int_equal(caller_select(fd, "-request.work"), 0);
        assert_int_equal(serving_status().sites_on, 0);
        assert_int_equal(spex_set(""), 0);
        assert_int_equal(caller_select(fd, "request.work"), 1);
        assert_int_equal(serving_status().sites_on, 1);
    }
    close(fd);
}

static bool enough; /* requests have been answered */

static void *ask_and_ask(void *arg) {
    struct spex_profile_reader reader = {0};
    int *answers = arg;
    while (!spex_load_relaxed(&enough)) {
        int fd = caller_connect_to(getpid());
        if (fd < 0)
            continue;
        while (!spex_load_relaxed(&enough) &&
               caller_send(fd, SPEX_CONTROL_SELECT, 0, "request.work") &&
               caller_receive(fd, &reader) == 1 && caller_send(fd, SPEX_CONTROL_PROFILE, 0, NULL) &&
               caller_receive(fd, &reader) == 1)
            spex_fetch_add_relaxed(answers, 1);
        close(fd);
    }
    spex_profile_reader_free(&reader);
    return NULL;
}

/* Requests meet every moment of a start and a stop. */
static void starts_and_stops_do_not_mind_requests(void **state) {
    pthread_t threads[2];
    int answers = 0;
    (void)state;
    enough = false;
    for (size_t t = 0; t < COUNT_OF(threads); t++)
        assert_int_equal(pthread_create(&threads[t], NULL, ask_and_ask, &answers), 0);
    for (int i = 0; i < 100; i++) {
        int seen = spex_load_relaxed(&answers);
        if (i % 2)
            WAIT_UNTIL(spex_load_relaxed(&answers) > seen);
        assert_int_equal(spex_set("request.work"), 1);
        work(10);
        spex_stop();
        assert_int_equal(serving_start(i % 3 ? NULL : "request.work"), 0);
    }
    spex_store_relaxed(&enough, true);
    for (size_t t = 0; t < COUNT_OF(threads); t++)
        pthread_join(threads[t], NULL);
    spex_stop();
    struct spex_status now = serving_status();
    assert_int_equal(now.produced, now.consumed + now.lost);
}

/* The program may have no more than `limit` descriptors, and has them. */
static void descriptors_run_out(rlim_t limit, const struct rlimit *before, int filling[64]) {
    struct rlimit none = {.rlim_cur = limit, .rlim_max = before->rlim_max};
    for (int f = 0; f < 64; f++)
        filling[f] = dup(0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_int_equal(dup(0), -1);
}

/* Callers whom it can give no descriptor wait at the door, and are let in when there is one. */
static void callers_wait_for_descriptors(rlim_t limit) {
    struct spex_profile_reader reader = {0};
    char name[SPEX_CONTROL_NAME_BYTES];
    int filling[64], waiting = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int place = open(serving_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct rlimit before;
    spex_control_name(name);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    descriptors_run_out(limit, &before, filling);
    assert_int_equal(spex_control_connect_at(waiting, place, name), 0);
    assert_true(caller_send(waiting, SPEX_CONTROL_SELECT, 0, ""));
    setrlimit(RLIMIT_NOFILE, &before);
    for (int f = 0; f < 64; f++)
        close(filling[f]);
    assert_int_equal(caller_receive(waiting, &reader), 1);
    close(place);
    close(waiting);
}

static void without_descriptors_callers_wait(void **state) {
    (void)state;
    callers_wait_for_descriptors(32);
    callers_wait_for_descriptors(0); /* where poll, too, is for none */
}

/* A client that says nothing goes after a while, one that subscribes does not. Last, since it takes ten seconds. */
static void who_is_silent_for_long_is_left(void **state) {
    struct spex_profile_reader reader = {0};
    int silent = caller_connect(), subscriber = caller_connect();
    (void)state;
    assert_true(caller_send(subscriber, SPEX_CONTROL_SUBSCRIBE, 60000, NULL));
    assert_int_equal(caller_receive(subscriber, &reader), 1);
    assert_true(caller_is_dropped(silent));
    assert_true(caller_send(subscriber, SPEX_CONTROL_PROFILE, 0, NULL));
    assert_int_equal(caller_receive(subscriber, &reader), 1);
    spex_profile_reader_free(&reader);
    close(silent);
    close(subscriber);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, serving_setup, serving_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_selection_is_made),
        TEST(models_are_gone_by),
        TEST(many_requests_go_over_one_connection),
        TEST(requests_may_be_sent_ahead),
        TEST(a_profile_holds_what_was_recorded),
        TEST(margins_are_those_that_the_program_has),
        TEST(what_cannot_be_understood_is_refused),
        TEST(who_does_not_speak_the_protocol_is_left),
        TEST(who_has_said_all_gets_the_answer),
        TEST(descriptors_that_come_along_are_closed),
        TEST(slow_readers_cost_no_memory),
        TEST(a_thousand_callers_leave_nothing_behind),
        TEST(silent_clients_make_way),
        TEST(a_burst_of_callers_is_served_to_the_last),
        TEST(who_subscribes_keeps_his_place),
        TEST(a_subscriber_may_ask_as_well),
        TEST(the_last_report_comes_at_the_stop),
        TEST(a_stop_does_not_wait_for_ever),
        TEST(the_program_and_a_command_select_in_turn),
        TEST(starts_and_stops_do_not_mind_requests),
        TEST(without_descriptors_callers_wait),
        TEST(who_is_silent_for_long_is_left),
    };
    serving_begin();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    serving_end();
    return failed;
}
