/* SPDX-License-Identifier: MIT */
/* Which rings each collector visits, what it hands over, its watermark, and how long it sleeps. */
#define _GNU_SOURCE
#include "collector_made.h"

static void pass(unsigned collector) {
    world.event_count = 0;
    pass_between_forks(&collectors.threads[collector]);
}

static void expect_event(size_t at, int kind, unsigned number, size_t count, uint64_t watermark) {
    const struct event *event = &world.events[at];
    assert_true(at < world.event_count);
    assert_int_equal(event->kind, kind);
    assert_int_equal(event->number, number);
    assert_int_equal(event->count, count);
    assert_int_equal(event->watermark, watermark);
}

/* A pass without a batch, which tells this watermark. */
static void expect_watermark(unsigned collector, uint64_t watermark) {
    pass(collector);
    expect_event(0, PASS, collector, 0, watermark);
}

/* ---- passes ---- */

/* Each ring in use has one collector, and those of a type are spread, as are those of a CPU. */
TEST_WITH(rings_are_spread_over_collectors, setup, teardown) {
    for (unsigned count = 1; count <= 5; count++) {
        unsigned owners[RINGS] = {0}, owner[RINGS];
        begin(count, 8);
        world.used = count == 1 ? 1u << 3 | 1u << (SPEX_PROBE_TYPES - 1) : 0x2d & world.used;
        for (unsigned c = 0; c < count; c++) {
            for (unsigned r = 0; r < RINGS; r++)
                world.pending[r] = 1;
            pass(c);
            for (size_t e = 0; world.events[e].kind == BATCH; e++) {
                assert_true(e == 0 || world.events[e].number > world.events[e - 1].number);
                owners[world.events[e].number]++;
                owner[world.events[e].number] = c;
            }
        }
        for (unsigned r = 0; r < RINGS; r++)
            assert_int_equal(owners[r], world.used >> r % SPEX_PROBE_TYPES & 1);
        for (unsigned r = 0; r + SPEX_PROBE_TYPES < RINGS; r++)
            if (owners[r] && count > 1)
                assert_int_not_equal(owner[r], owner[r + SPEX_PROBE_TYPES]);
        if (count > 1)
            assert_int_not_equal(owner[2], owner[3]);
        setup(NULL);
        spex_collectors_stop();
    }
}

TEST_WITH(chores_follow_the_passes_of_the_first, setup, teardown) {
    begin(2, 8);
    world.pending[0] = 3;
    pass(0);
    assert_int_equal(world.event_count, 5);
    expect_event(0, BATCH, 0, 3, 0);
    expect_event(1, PASS, 0, 0, 1000);
    expect_event(2, CHORE, 0, 0, 0);
    expect_event(3, CHORE, 1, 0, 0);
    expect_event(4, CHORE, 0, 0, 0);
    pass(1);
    assert_int_equal(world.event_count, 1);
    expect_event(0, PASS, 1, 0, 1000);
}

/* What has been read up to: now, unless records are left in a ring. */
TEST_WITH(watermarks_are_before_what_is_left, setup, teardown) {
    begin(1, 8);
    world.times[4] = 500;
    world.pending[4] = 7;
    pass(0);
    expect_event(0, BATCH, 4, 7, 0);
    expect_event(1, PASS, 0, 0, 1000);
    /* A batch: the last record's time, if it is later. */
    world.ticks = 2000;
    world.times[4] = 1500;
    world.pending[4] = 17;
    pass(0);
    expect_event(0, BATCH, 4, 8, 0);
    expect_event(1, PASS, 0, 0, 1507);
    pass(0);
    expect_event(1, PASS, 0, 0, 1515);
    world.times[4] = 1300;
    world.pending[4] = 8;
    pass(0);
    expect_event(1, PASS, 0, 0, 1515);
    /* A record that is being written: as before, or the last one's. */
    world.stuck[5] = true;
    expect_watermark(0, 1515);
    world.times[5] = 1600;
    world.pending[5] = 2;
    pass(0);
    expect_event(0, BATCH, 5, 2, 0);
    expect_event(1, PASS, 0, 0, 1601);
    world.times[5] = 1700;
    world.pending[5] = 1;
    pass(0);
    expect_event(1, PASS, 0, 0, 1700);
    world.stuck[5] = false;
    expect_watermark(0, 2000);
    world.ticks = 1900;
    expect_watermark(0, 2000);
    /* The earlier of two rings'. */
    world.ticks = 3000;
    world.times[2] = 2500;
    world.times[7] = 2400;
    world.pending[2] = world.pending[7] = 8;
    pass(0);
    expect_event(2, PASS, 0, 0, 2407);
}

/* 768 at most of a ring with atomic commits. */
TEST_WITH(batches_have_a_limit, setup, teardown) {
    static const unsigned batches[] = {767, 768, 769, 4096};
    for (unsigned atomic = 0; atomic < 2; atomic++)
        for (size_t b = 0; b < COUNT_OF(batches); b++) {
            setup(NULL);
            begin(1, batches[b]);
            size_t most = atomic && batches[b] > 768 ? 768 : batches[b];
            world.commit = atomic ? SPEX_COMMIT_ATOMIC : SPEX_COMMIT_RSEQ;
            world.ticks = 10000;
            world.pending[0] = 5000;
            world.times[0] = 10;
            struct pass_result result = collector_pass(&collectors.threads[0]);
            expect_event(0, BATCH, 0, most, 0);
            expect_event(1, PASS, 0, 0, 9 + most);
            assert_true(result.backlog);
            assert_int_equal(result.taken, most);
            world.pending[0] = most - 1;
            result = collector_pass(&collectors.threads[0]);
            assert_false(result.backlog);
            assert_int_equal(result.taken, most - 1);
            spex_collectors_stop();
        }
}

/* ---- sleeps ---- */

/* What the pass of this number finds: fills, records of one ring, and whether somebody waits. */
static double fullest_at(size_t pass_number) {
    return fmax((double)(pass_number % 7) / 10, (double)(pass_number % 3) / 10);
}

static size_t records_at(size_t pass_number) {
    return pass_number % 5 == 0 ? 8 : pass_number % 5 == 1 ? 3 : 0;
}

static bool prompt_at(size_t pass_number) {
    return pass_number / 40 % 2;
}

static void fill_next(void) {
    size_t next = ++world.passes;
    world.fills[3] = (double)(next % 7) / 10;
    world.fills[9] = (double)(next % 3) / 10;
    world.pending[3] = records_at(next);
    world.prompt = prompt_at(next - 1); /* it is asked after the pass */
    collectors.stopping = next == PASSES;
}

/* Fills and records of all passes since the last sleep count. A whole batch is followed by another
 * pass at once. */
static void check_sleeps(uint64_t rest_ns) {
    uint64_t ns = SPEX_SLEEP_SHORTEST_NS, longest = 0;
    double fullest = 0;
    bool any = false;
    size_t rest = 0;
    begin(1, 8);
    spex_collectors_rest(rest_ns);
    world.at_pass = fill_next;
    world.pending[3] = records_at(0);
    collector_run(&collectors.threads[0]);
    for (size_t n = 0; n < PASSES; n++) {
        fullest = fmax(fullest, fullest_at(n));
        any |= records_at(n) > 0;
        if (records_at(n) == 8)
            continue;
        ns = spex_sleep_next(ns, fullest, any, spex_sleep_longest(prompt_at(n), rest_ns));
        fullest = 0;
        any = false;
        if (!ns)
            continue;
        assert_true(rest < world.rest_count);
        assert_int_equal(world.rests[rest].ns, ns);
        assert_false(world.rests[rest++].idle);
        longest = ns > longest ? ns : longest;
    }
    assert_int_equal(rest, world.rest_count);
    assert_true(longest <= (rest_ns > SPEX_SLEEP_IDLE_NS ? rest_ns : SPEX_SLEEP_IDLE_NS));
}

TEST_WITH(sleeps_follow_fills_and_records, setup, teardown) {
    check_sleeps(0);
}

TEST_WITH(sleeps_are_as_long_as_a_budget_asks, setup, teardown) {
    check_sleeps(UINT64_C(1000000000));
}

/* Only where they rest for longer than usual. */
TEST_WITH(who_rests_can_be_hurried, setup, teardown) {
    begin(1, 8);
    spex_collectors_rest(SPEX_SLEEP_LONGEST_NS);
    assert_false(spex_collectors_hurry());
    assert_int_equal(world.alarms, 0);
    spex_collectors_rest(2 * SPEX_SLEEP_LONGEST_NS);
    assert_true(spex_collectors_hurry());
    assert_int_equal(world.alarms, 1);
    spex_collectors_rest(0);
}

/* The next chore that is due is waited for; while no site is on, those alone that are timed. */
TEST_WITH(chores_are_waited_for, setup, teardown) {
    static const struct {
        uint64_t first, second;
        bool on, holds;
        uint64_t ns;
        bool idle;
    } cases[] = {
        {UINT64_MAX, UINT64_MAX, true, false, 100000, false},
        {70000, UINT64_MAX, true, false, 70000, false},
        {UINT64_MAX, 60000, true, false, 60000, false},
        {60001, 60000, true, false, 60000, false},
        {1, 60000, true, false, 1, false},
        {UINT64_MAX, UINT64_MAX, false, false, UINT64_MAX, true},
        {UINT64_MAX, 60000, false, false, UINT64_MAX, true},
        {70000, 60000, false, false, 70000, true},
        {900000000, 60000, false, false, 900000000, true},
        {UINT64_MAX, UINT64_MAX, false, true, 100000, false},
        {70000, 60000, false, true, 60000, false},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        setup(NULL);
        begin(2, 8);
        world.due_ns[0] = cases[c].first;
        world.due_ns[1] = cases[c].second;
        world.sites_on = cases[c].on;
        world.holds = cases[c].holds;
        world.stop_after = 1;
        collector_run(&collectors.threads[0]);
        assert_int_equal(world.rest_count, 1);
        assert_int_equal(world.rests[0].ns, cases[c].ns);
        assert_int_equal(world.rests[0].idle, cases[c].idle);
        /* The second has no chores. */
        collectors.stopping = false;
        world.rest_count = 0;
        collector_run(&collectors.threads[1]);
        assert_int_equal(world.rests[0].ns, cases[c].on ? 100000 : UINT64_MAX);
        assert_int_equal(world.rests[0].idle, !cases[c].on);
        spex_collectors_stop();
    }
    /* What has been read keeps it awake, and what is due at once lets it not sleep. */
    setup(NULL);
    begin(1, 8);
    world.sites_on = 0;
    world.pending[0] = 1;
    world.stop_after = 2;
    collector_run(&collectors.threads[0]);
    assert_false(world.rests[0].idle);
    assert_true(world.rests[1].idle);
}

static void come(void) {
    if (world.rest_count == 2)
        spex_collectors_begin(chores, 0);
}

/* Without sinks nothing is read, not even at the end. */
TEST_WITH(nothing_is_read_before_the_beginning, setup, teardown) {
    assert_int_equal(spex_collectors_start(1, 8), 0);
    world.pending[0] = 3;
    world.stop_after = 2;
    assert_null(collector_run(&collectors.threads[0]));
    assert_int_equal(world.rest_count, 2);
    for (size_t r = 0; r < 2; r++)
        assert_true(world.rests[r].ns == UINT64_MAX && world.rests[r].idle);
    assert_int_equal(world.event_count, 0);
    assert_int_equal(world.notes, 0);
    collectors.stopping = false;
    world.rest_count = 0;
    world.stop_after = 3;
    world.at_rest = come;
    collector_run(&collectors.threads[0]);
    expect_event(0, BATCH, 0, 3, 0);
    assert_int_equal(world.rests[2].ns, 100000);
}
