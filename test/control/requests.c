/* SPDX-License-Identifier: MIT */
/* Requests over the control socket and their answers, also while spex starts and stops. */
#include "../interrupted_calls.h"

#include "serving.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "collect/metrics.h"
#include "kernels/frames.h"
#include "kernels/sampling_plan.h"
#include "observe/profile_sum.h"
#include "profile/confidence.h"
#include "profile/figures.h"
#include "requesting.h"
#include "ring/rings.h"
#include "serve/own_profile.h"
#include "site/registry.h"

TEST_WITH(a_selection_is_made, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "request.*", &reader), 1);
    assert_int_equal(status_now().sites_on, 1);
    assert_string_equal(reader.text, "");
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_SELECT, "nobody.*", &reader), 0);
    assert_non_null(strstr(reader.text, "no probe matches"));
    assert_int_equal(status_now().sites_on, 0);
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
TEST_WITH(models_are_gone_by, serving_setup, serving_teardown) {
    static const char *const wrong[] = {"10",       "10 0 a/file", "0 0 /file", "10 2 /file",
                                        "ten 0 /f", "10 x /file",  "10 -1 /f",  "nan 0 /file"};
    struct spex_profile_reader reader = {0};
    char path[] = "/tmp/spex-models-XXXXXX", text[64];
    int fd = caller_connect(), file = mkstemp(path);
    assert_true(dprintf(file, "spex-models 3\nend 0\n") > 0 && close(file) == 0);
    snprintf(text, sizeof(text), "2.5 0.01 %s", path);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, text, &reader), 0);
    assert_int_equal(caller_ask(fd, SPEX_CONTROL_MODELS, "10 0 /nowhere", &reader), -ENOENT);
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

TEST_WITH(many_requests_go_over_one_connection, serving_setup, serving_teardown) {
    int fd = caller_connect();
    for (int i = 0; i < 1000; i++)
        assert_int_equal(caller_select(fd, i % 2 ? "" : "request.work"), i % 2 ? 0 : 1);
    close(fd);
}

/* In the order in which they were sent, each with its number. */
TEST_WITH(requests_may_be_sent_ahead, serving_setup, serving_teardown) {
    struct spex_control_frame frame;
    char buffer[SPEX_CONTROL_FRAME_BYTES];
    int fd = caller_connect();
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

TEST_WITH(a_profile_holds_what_was_recorded, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "request.work"), 1);
    uint64_t before = status_now().consumed;
    work(100);
    WAIT_UNTIL(status_now().consumed - before == 100);
    /* What is consumed may still be on its way to the metrics. */
    do
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
    while (reader.profile.row_count == 1 && reader.profile.rows[0].probe.records < 100);
    assert_int_equal(reader.profile.process.process_id, getpid());
    assert_int_equal(reader.profile.process.produced, 100);
    assert_int_equal(reader.profile.process.consumed, 100);
    assert_int_equal(reader.profile.process.sites_on, 1);
    assert_string_equal(reader.profile.process.selection, "request.work");
    assert_int_equal(reader.profile.site_count, status_now().sites);
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

/* As a stream whose reader has gone. */
static bool take_nothing(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    (void)batch;
    return false;
}

static void sink_leave(struct spex_sink *sink) {
    (void)sink;
}

/* Since the start: what another start has not delivered does not count. */
TEST_WITH(what_was_not_delivered_is_told, serving_setup, serving_teardown) {
    for (unsigned start = 0; start < 2; start++) {
        struct spex_sink sink = {
            .records = take_nothing, .finish = sink_leave, .abandon = sink_leave};
        struct spex_profile_reader reader = {0};
        spex_sinks_add(&sink);
        int fd = caller_connect();
        assert_int_equal(caller_select(fd, "request.work"), 1);
        work(100);
        do /* records come to the metrics after the first sink */
            assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
        while (reader.profile.row_count < 1 || reader.profile.rows[0].probe.records < 100);
        /* Once more: an answer begins with the process, and ends with the rows. */
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, &reader), 0);
        assert_int_equal(reader.profile.process.undelivered, 100);
        spex_profile_reader_free(&reader);
        close(fd);
        spex_stop();
        assert_int_equal(serving_start(NULL), 0);
    }
}

/* The profile of another process's view, once all records are in it and it knows the clock. */
static void ask_for_all(int fd, struct spex_profile_reader *reader) {
    uint64_t records;
    do {
        records = 0;
        assert_int_equal(caller_ask(fd, SPEX_CONTROL_PROFILE, NULL, reader), 0);
        for (size_t r = 0; r < reader->profile.row_count; r++)
            records += reader->profile.rows[r].probe.records;
    } while (records < reader->profile.process.produced - reader->profile.process.lost ||
             reader->profile.process.ticks_per_second <= 0);
}

/* Of samples of several rates, chosen singly and in bursts. */
TEST_WITH(margins_are_those_that_the_program_has, serving_setup, serving_teardown) {
    static const char *const selections[] = {"request.work@3", "request.work@~30",
                                             "request.work@10x4"};
    struct spex_profile_reader reader = {0};
    struct spex_profile own;
    double low, high, own_low, own_high;
    int fd = caller_connect();
    for (size_t s = 0; s < COUNT_OF(selections); s++) {
        assert_int_equal(caller_select(fd, selections[s]), 1);
        work(3000);
    }
    WAIT_UNTIL(status_now().consumed == status_now().produced);
    ask_for_all(fd, &reader);
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

enum { EARLY = 93, LATE };

SPEX_PROBE_NAME(EARLY, "early");
SPEX_PROBE_NAME(LATE, "late");

COMPILED_ONCE static void execute_early(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(EARLY, 1);
        LAT_PROBE_END(EARLY);
    }
}

COMPILED_ONCE static void execute_late(unsigned executions) {
    for (unsigned i = 0; i < executions; i++) {
        LAT_PROBE_BEGIN(LATE, 1);
        LAT_PROBE_END(LATE);
    }
}

/* How full the fullest ring is, 0 to 1. */
static double fullest(void) {
    double most = 0;
    for (unsigned r = 0; r < spex_rings_count(); r++) {
        struct spex_ring ring = spex_rings_at(&spex_rings, r);
        most = fmax(most, spex_ring_fill(&ring));
    }
    return most;
}

/* 5000 of the 8192 records of a ring, and until the collector has a batch of them in its hands: one
 * that got a processor only later would take others. It may have waited for the lock before, with
 * empty hands: then it takes none. */
static void work_until_collector_waits(void) {
    work(5000);
    for (int i = 0; i < 1000 && fullest() >= 0.6; i++)
        poll(NULL, 0, 1);
}

/* Fills the ring of one CPU several times while the collector waits: of what was executed before,
 * the records are lost, and of what is executed at last, none. */
static void lose_records(void) {
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    spex_metrics_lock();
    work_until_collector_waits();
    execute_early(6);
    work(30000);
    execute_early(1);
    execute_late(3);
    spex_metrics_unlock();
    sched_setaffinity(0, sizeof(before), &before);
    WAIT_UNTIL(status_now().consumed + status_now().lost == status_now().produced);
}

/* The row of a probe, or NULL. */
static const struct spex_profile_row *row_of_probe(const struct spex_profile *profile,
                                                   uint16_t id) {
    for (size_t r = 0; r < profile->row_count; r++)
        if (profile->rows[r].probe.probe_id == id)
            return &profile->rows[r];
    return NULL;
}

/* A ring does not say whose records it has lost; the counts of executions do. */
TEST_WITH(losses_are_those_of_each_probe, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    struct spex_figures early, late, busy;
    double lost = 0;
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "request.work,early,late"), 3);
    lose_records();
    ask_for_all(fd, &reader);
    const struct spex_profile *profile = &reader.profile;
    for (size_t r = 0; r < profile->row_count; r++) {
        const struct spex_profile_probe *probe = &profile->rows[r].probe;
        assert_true(probe->lost == probe->count - (double)probe->records);
        assert_true(spex_profile_one_in(probe) == 1);
        assert_false(probe->lost_shared);
        lost += probe->lost;
    }
    assert_true(lost > 0 && lost == (double)profile->process.lost);
    spex_figures_of(profile, row_of_probe(profile, WORK), 0, &busy);
    assert_true(busy.sampled && busy.mean >= busy.min && busy.mean <= busy.max);
    assert_true(row_of_probe(profile, EARLY)->probe.lost == 6);
    spex_figures_of(profile, row_of_probe(profile, EARLY), 0, &early);
    assert_true(early.mean_margin < 0 && isnan(early.total) && !early.quantiles[0].told);
    assert_true(row_of_probe(profile, LATE)->probe.lost == 0);
    spex_figures_of(profile, row_of_probe(profile, LATE), 0, &late);
    assert_true(!late.sampled && late.mean_margin == 0);
    assert_true(late.mean == row_of_probe(profile, LATE)->values[0]->mean);
    spex_profile_reader_free(&reader);
    close(fd);
}

/* An interval's figures are weighed by what was lost in it. */
TEST_WITH(losses_are_those_of_an_interval, serving_setup, serving_teardown) {
    struct spex_profile_reader first = {0}, second = {0};
    struct spex_profile since;
    struct spex_figures busy;
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "request.work,early,late"), 3);
    work(1000);
    ask_for_all(fd, &first);
    lose_records();
    ask_for_all(fd, &second);
    assert_int_equal(spex_profile_since(&second.profile, &first.profile, &since), 0);
    const struct spex_profile_row *row = row_of_probe(&since, WORK);
    assert_true(row->losses[0] && row->losses[0]->weight > 0);
    assert_true(row->probe.lost == row->probe.count - (double)row->probe.records);
    spex_figures_of(&since, row, 0, &busy);
    assert_true(busy.sampled && busy.mean >= busy.min && busy.mean <= busy.max);
    spex_profile_free(&since);
    spex_profile_reader_free(&first);
    spex_profile_reader_free(&second);
    close(fd);
}

/* The index of a probe's first site. */
static uint32_t first_site_of(uint16_t id) {
    for (uint32_t i = 0; i < spex_sites_count(); i++)
        if (spex_site_info(i)->probe_id == id)
            return spex_site_info(i)->probe;
    abort();
}

TEST_WITH(sites_tell_the_ids_that_they_were_given, serving_setup, serving_teardown) {
    struct spex_profile_site site;
    spex_profile_site_now(first_site_of(WORK), &site);
    assert_int_equal(site.probe_id, WORK);
    assert_int_equal(site.declared, WORK + 1);
}

/* What the budget holds off is not counted; the margin says so, for as long as it was selected. */
TEST_WITH(margins_hold_what_was_not_counted, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
    assert_int_equal(caller_select(fd, "request.work,early"), 2);
    work(100);
    execute_early(100);
    spex_probe_throttle(first_site_of(WORK), SPEX_SITE_HELD);
    work(1000);
    spex_probe_throttle(first_site_of(WORK), 0);
    ask_for_all(fd, &reader);
    const struct spex_profile_probe *held = &row_of_probe(&reader.profile, WORK)->probe;
    const struct spex_profile_probe *early = &row_of_probe(&reader.profile, EARLY)->probe;
    assert_true(held->count == 100 && held->held_seconds > 0);
    assert_true(spex_count_margin(held) >= spex_profile_rate(held) * held->held_seconds);
    assert_true(spex_counted_margin(held) == 0);
    assert_true(early->held_seconds == 0 && spex_count_margin(early) == 0);
    double before = held->held_seconds;
    assert_int_equal(caller_select(fd, "early"), 1);
    spex_probe_throttle(first_site_of(WORK), SPEX_SITE_HELD); /* not selected: not held, either */
    work(1000);
    spex_probe_throttle(first_site_of(WORK), 0);
    ask_for_all(fd, &reader);
    /* But for what the clock's rate is known better by now. */
    held = &row_of_probe(&reader.profile, WORK)->probe;
    assert_true(fabs(held->held_seconds - before) < 0.1 * before);
    spex_profile_reader_free(&reader);
    close(fd);
}

TEST_WITH(a_subscriber_may_ask_as_well, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect();
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

TEST_WITH(the_last_report_comes_at_the_stop, serving_setup, serving_teardown) {
    struct spex_profile_reader reader = {0};
    int fd = caller_connect(), other = caller_connect();
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

TEST_WITH(the_program_and_a_command_select_in_turn, serving_setup, serving_teardown) {
    int fd = caller_connect();
    for (int i = 0; i < 50; i++) {
        assert_int_equal(spex_set("request.work"), 1);
        assert_int_equal(status_now().sites_on, 1);
        assert_int_equal(caller_select(fd, "-request.work"), 0);
        assert_int_equal(status_now().sites_on, 0);
        assert_int_equal(spex_set(""), 0);
        assert_int_equal(caller_select(fd, "request.work"), 1);
        assert_int_equal(status_now().sites_on, 1);
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
TEST_WITH(starts_and_stops_do_not_mind_requests, serving_setup, serving_teardown) {
    pthread_t threads[2];
    int answers = 0;
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
    struct spex_status now = status_now();
    assert_int_equal(now.produced, now.consumed + now.lost);
}

static unsigned waits_begun, waits_in_vain;

int __real_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout);

/* Notes the waits that last until their time is up. */
int __wrap_spex_wait_ready(struct pollfd *fds, nfds_t count, int timeout) {
    uint64_t until_ns = spex_clock_ns(CLOCK_MONOTONIC) + (uint64_t)timeout * 1000000;
    spex_fetch_add_relaxed(&waits_begun, fds != NULL);
    int ready = __real_spex_wait_ready(fds, count, timeout);
    spex_fetch_add_relaxed(&waits_in_vain,
                           fds && timeout > 0 && spex_clock_ns(CLOCK_MONOTONIC) >= until_ns);
    return ready;
}

/* The machine may stand still for the second that a wait lasts, now and then. */
TEST_WITH(a_stop_ends_the_first_wait, serving_setup, serving_teardown) {
    spex_stop();
    spex_store_relaxed(&waits_in_vain, 0);
    int descriptors = serving_count("/proc/self/fd");
    for (int n = 0; n < 20; n++) {
        unsigned begun = spex_load_relaxed(&waits_begun);
        assert_int_equal(serving_start(NULL), 0);
        WAIT_UNTIL(spex_load_relaxed(&waits_begun) > begun);
        assert_int_equal(serving_count("/proc/self/fd"), descriptors + 1);
        spex_stop();
    }
    assert_int_equal(serving_count("/proc/self/fd"), descriptors);
    assert_true(spex_load_relaxed(&waits_in_vain) < 5);
}

int main(void) {
    return tests_run(serving_begin, serving_end);
}
