/* SPDX-License-Identifier: MIT */
/* Spans in a running program: what is recorded, and what has become of those without a record. */
#define _GNU_SOURCE
#include <pthread.h>

#include <spex/atomic.h>
#include <spex/probe.h>
#include <spex/spex.h>

#include "../children.h"
#include "../status.h"
#include "probe/open_spans.h"
#include "seen.h"
#include "site/registry.h"

enum { REQUEST = 3, OTHER = 4 };

SPEX_PROBE_NAME(REQUEST, "spans.request");

#define ALONE __attribute__((noinline)) static void

ALONE request_begin(uint64_t key) {
    SPEX_SPAN_BEGIN(REQUEST, key);
}

ALONE request_end(uint64_t key) {
    SPEX_SPAN_END(REQUEST, key);
}

ALONE other_begin(uint64_t key) {
    SPEX_SPAN_BEGIN(OTHER, key);
}

ALONE other_end(uint64_t key) {
    SPEX_SPAN_END(OTHER, key);
}

static void start_again(const char *probes) {
    const struct spex_options options = {
        .size = sizeof(options), .probes = probes, .out = "/dev/null", .ring_records = 65536};
    assert_int_equal(spex_start(&options), 0);
}

static void start(const char *probes) {
    seen_start();
    start_again(probes);
}

static const struct spex_site_info *first_of(uint16_t probe_id) {
    uint32_t i = 0;
    while (spex_site_info(i)->probe_type != SPEX_SPAN || spex_site_info(i)->probe_id != probe_id)
        assert_true(++i < spex_sites_count());
    return spex_site_info(i);
}

static struct spex_span_sums sums(void) {
    spex_open_spans_count(&spex_open_spans);
    return spex_open_spans_sums(&spex_open_spans, first_of(REQUEST)->probe);
}

static void assert_sums(uint64_t open, uint64_t abandoned, uint64_t unmatched, uint64_t refused) {
    struct spex_span_sums now = sums();
    assert_int_equal(now.open, open);
    assert_int_equal(now.counts.abandoned, abandoned);
    assert_int_equal(now.counts.unmatched, unmatched);
    assert_int_equal(now.counts.refused, refused);
}

static void *end_one(void *arg) {
    uint32_t *thread = arg;
    *thread = (uint32_t)gettid();
    request_end(77);
    return NULL;
}

TEST(a_span_ends_in_another_thread) {
    pthread_t thread;
    uint32_t ended_by = 0;
    start("spans.request");
    uint64_t before = spex_ticks();
    request_begin(77);
    assert_sums(1, 0, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, end_one, &ended_by), 0);
    pthread_join(thread, NULL);
    assert_sums(0, 0, 0, 0);
    uint64_t after = spex_ticks();
    spex_stop();
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].probe_type, SPEX_SPAN);
    assert_int_equal(seen[0].probe_id, REQUEST);
    assert_int_equal(seen[0].thread_id, ended_by);
    assert_int_equal(seen[0].weight, 1);
    assert_int_equal(seen[0].field_count, 2);
    assert_int_equal(seen[0].fields[1], 77);
    assert_true(seen[0].timestamp <= after && seen[0].timestamp >= before);
    assert_true(seen[0].timestamp - seen[0].fields[0] >= before);
}

/* How many spans of the table a BEGIN or END may look for. */
static uint64_t hashed_spans(void) {
    uint64_t hashed = 0;
    for (uint32_t b = 0; b < SPEX_SPAN_BUCKETS; b++)
        hashed += spex_load_relaxed(&spex_open_spans.hashed[b]);
    return hashed;
}

/* Those whose probe has been off are looked for until the next count. Their ENDs had a BEGIN. */
TEST(spans_from_before_a_probe_was_off_expire) {
    start("spans.request");
    for (uint64_t key = 0; key < 500; key++)
        request_begin(key);
    assert_sums(500, 0, 0, 0);
    assert_int_equal(hashed_spans(), 500);
    assert_int_equal(spex_set("off"), 0);
    assert_true(spex_set("spans.request") > 0);
    request_begin(1000);
    assert_sums(1, 0, 0, 0);
    assert_int_equal(hashed_spans(), 1);
    for (uint64_t key = 0; key < 500; key++)
        request_end(key);
    request_end(1000);
    assert_sums(0, 0, 0, 0);
    assert_int_equal(hashed_spans(), 0);
    spex_stop();
    assert_int_equal(seen_count, 1);
}

static void look_away(const struct spex_record *record, void *context) {
    (void)record;
    (void)context;
}

static bool switching;

/* Few keys, which other threads begin and end as well. */
static void *begin_and_end(void *arg) {
    uint64_t random = (uint64_t)(uintptr_t)arg;
    while (spex_load_relaxed(&switching)) {
        request_begin(random_below(&random, 64));
        request_end(random_below(&random, 64));
    }
    return NULL;
}

/* While a probe is switched and spans are counted and expire, none is taken twice or forgotten. */
TEST(spans_of_threads_expire_once) {
    enum { THREADS = 3, TURNS = 300 };
    pthread_t threads[THREADS];
    capture_start(look_away, NULL);
    start_again("spans.request");
    spex_store_relaxed(&switching, true);
    for (uintptr_t t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&threads[t], NULL, begin_and_end, (void *)(t + 1)), 0);
    for (unsigned turn = 0; turn < TURNS; turn++) {
        assert_true(spex_set(turn % 2 ? "spans.request" : "off") >= 0);
        sums();
        assert_in_range(hashed_spans(), 0, 64 + THREADS);
    }
    spex_store_relaxed(&switching, false);
    for (unsigned t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    assert_int_equal(spex_set("off"), 0);
    assert_true(spex_set("spans.request") > 0);
    assert_sums(0, sums().counts.abandoned, sums().counts.unmatched, 0);
    assert_int_equal(hashed_spans(), 0);
    spex_stop();
}

/* A stop gives the memory back, and leaves nothing to look for. */
TEST(a_stop_leaves_no_span) {
    start("spans.request");
    for (uint64_t key = 0; key < 500; key++)
        request_begin(key);
    spex_stop();
    assert_int_equal(hashed_spans(), 0);
    start("spans.request");
    assert_sums(0, 0, 0, 0);
    request_end(1);
    assert_sums(0, 0, 1, 0);
    spex_stop();
}

static void *begin_one(void *arg) {
    (void)arg;
    request_begin(5);
    return NULL;
}

TEST(a_span_outlives_the_thread_that_began_it) {
    pthread_t thread;
    start("*");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&thread, NULL, begin_one, NULL), 0);
        pthread_join(thread, NULL);
        request_end(5);
    }
    spex_stop();
    assert_int_equal(seen_count, 3);
}

/* Probes and keys are told apart, in whatever order the ENDs come. */
TEST(spans_overlap) {
    start("*");
    for (uint64_t k = 0; k < 100; k++) {
        request_begin(k);
        other_begin(k);
    }
    assert_sums(100, 0, 0, 0);
    for (uint64_t k = 100; k-- > 0;)
        request_end(k);
    assert_sums(0, 0, 0, 0);
    for (uint64_t k = 0; k < 100; k++)
        other_end(k);
    spex_stop();
    assert_int_equal(seen_count, 200);
    for (size_t r = 0; r < 200; r++) {
        bool other = seen[r].probe_id == OTHER;
        assert_int_equal(seen[r].fields[1], other ? r - 100 : 99 - r);
    }
}

TEST(what_does_not_match_is_counted) {
    start("*");
    request_end(1);
    request_begin(1);
    request_begin(1); /* the former one never ends */
    request_begin(2);
    request_end(1);
    request_end(1);
    assert_sums(1, 1, 2, 0);
    spex_stop();
    assert_int_equal(seen_count, 1);
}

/* Executions are counted and chosen at BEGIN. A BEGIN that is not chosen takes the key all the
 * same. */
TEST(some_are_chosen) {
    start("*@3");
    for (uint64_t k = 1; k <= 30; k++)
        request_begin(k);
    assert_sums(10, 0, 0, 0);
    request_begin(3);
    assert_sums(9, 1, 0, 0);
    for (uint64_t k = 1; k <= 30; k++)
        request_end(k);
    assert_sums(0, 1, 0, 0);
    assert_true(sums().partial);
    spex_stop();
    assert_int_equal(seen_count, 9);
    for (size_t r = 0; r < seen_count; r++) {
        assert_int_equal(seen[r].fields[1] % 3, 0);
        assert_int_equal(seen[r].weight, 3);
    }
}

TEST(chance_chooses) {
    double weight = 0;
    start("*@~4");
    for (uint64_t k = 1; k <= 4000; k++) {
        request_begin(k);
        request_end(k);
    }
    spex_stop();
    for (size_t r = 0; r < seen_count; r++) {
        assert_int_equal(seen[r].marks & SPEX_MARK_DRAWN, SPEX_MARK_DRAWN);
        weight += seen[r].weight;
    }
    assert_in_range(weight, 3000, 5000);
}

/* Its execution belongs to the time before. */
TEST(a_span_across_a_switch_makes_no_record) {
    start("*");
    request_begin(1);
    assert_true(spex_set("off") == 0);
    assert_sums(1, 0, 0, 0); /* it was open when the probe went off */
    assert_true(spex_set("*") > 0);
    assert_sums(0, 0, 0, 0);
    request_end(1);
    request_begin(2);
    spex_set("off");
    request_end(2);
    spex_set("*");
    request_begin(2); /* not abandoned: the former one may have ended */
    request_end(2);
    assert_sums(0, 0, 0, 0);
    spex_stop();
    assert_int_equal(seen_count, 1);
    start("*");
    request_end(1);
    assert_sums(0, 0, 1, 0);
    spex_stop();
    assert_int_equal(seen_count, 0);
}

/* Another period, and so another generation, while it was on all the time. */
TEST(a_span_across_a_change_of_the_period_keeps_its_weight) {
    start("*");
    request_begin(1);
    assert_true(spex_set("*@~9") > 0);
    assert_true(spex_set("*@5") > 0);
    request_end(1);
    spex_stop();
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].weight, 1);
}

TEST(the_child_of_a_fork_ends_no_span_of_its_parent) {
    start("*");
    request_begin(1);
    pid_t child = fork();
    if (child == 0) {
        request_end(1);
        _exit(sums().open != 0 || status_now().produced != 0);
    }
    assert_int_equal(child_exit_status(child), 0);
    request_end(1);
    spex_stop();
    assert_int_equal(seen_count, 1);
}

TEST(a_full_table_is_told) {
    enum { MANY = SPEX_SPANS_OPEN + 1000 };
    start("*");
    for (uint64_t k = 0; k < MANY; k++)
        request_begin(k);
    struct spex_span_sums now = sums();
    assert_int_equal(now.open + now.counts.refused, MANY);
    assert_true(now.counts.refused >= 1000 && now.open > SPEX_SPANS_OPEN * 9 / 10);
    assert_int_equal(status_now().unrecorded, now.counts.refused);
    for (uint64_t k = MANY; k-- > RECORDS_MAX;)
        request_begin(k); /* nothing of them was chosen twice */
    spex_stop();
}

/* Each count forgets the places that it has found empty, and no other. */
TEST(spans_that_stay_open_are_counted_each_time) {
    enum { OPEN = 300 };
    start("*");
    for (uint64_t k = 0; k < OPEN; k++)
        request_begin(k);
    assert_int_equal(sums().open, OPEN);
    for (uint64_t k = 0; k < OPEN; k += 3)
        request_end(k);
    assert_int_equal(sums().open, OPEN * 2 / 3);
    assert_int_equal(sums().open, OPEN * 2 / 3);
    for (uint64_t k = 0; k < OPEN; k += 3)
        request_begin(k);
    assert_int_equal(sums().open, OPEN);
    spex_stop();
}

/* BEGIN and END of one probe in two files: a selection by one of them is one of both. */
TEST(an_end_is_on_with_its_begin) {
    static const char *const files[] = {"a.c", "b.c"};
    static struct spex_site sites[2];
    for (unsigned s = 0; s < 2; s++)
        sites[s] = (struct spex_site){
            .subsample = 4,
            .line = 1,
            .probe_id = 900,
            .type_number = (uint8_t)SPEX_TYPE_NUMBER_(SPEX_SPAN),
            .detail = (uint8_t)s,
            .file_offset = (int64_t)((intptr_t)files[s] - (intptr_t)&sites[s].file_offset)};
    spex_module_register(sites, sites + 2, NULL, NULL);
    start("file=a.c");
    bool loaded;
    assert_true(sites[0].control && sites[1].control);
    assert_int_equal(spex_site_sampling(sites[1].index, &loaded).period, 4);
    assert_int_equal(spex_probe_state(first_of(900)->probe, 0).sampling.period, 4);
    spex_set("file=b.c");
    assert_true(!sites[0].control && !sites[1].control);
    spex_set("900@7");
    assert_true(sites[0].control && sites[1].control);
    spex_probe_throttle(first_of(900)->probe, SPEX_SITE_HELD);
    assert_true(!sites[0].control && !sites[1].control);
    spex_probe_throttle(first_of(900)->probe, 0);
    assert_true(sites[0].control && sites[1].control);
    spex_set("900@poll");
    assert_true(!sites[0].control && !sites[1].control);
    spex_stop();
    spex_module_unregister(sites);
}
