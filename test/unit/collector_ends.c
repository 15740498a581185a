/* SPDX-License-Identifier: MIT */
/* How collectors start and end, also around forks, and the CPU time that they account for. */
#define _GNU_SOURCE
#include "collector_made.h"

/* ---- the end ---- */

static size_t passes_so_far(void) {
    size_t passes = 0;
    for (size_t e = 0; e < world.event_count; e++)
        passes += world.events[e].kind == PASS;
    return passes;
}

/* All that is in the rings is read; what stays unfinished is visited 256 times. */
TEST_WITH(rings_are_read_empty_at_the_end, setup, teardown) {
    begin(1, 8);
    collectors.stopping = true;
    collector_run(&collectors.threads[0]);
    assert_int_equal(world.event_count, 0);
    assert_int_equal(world.notes, 1);
    world.undrained[7] = true;
    world.pending[7] = 100;
    collector_run(&collectors.threads[0]);
    assert_int_equal(world.pending[7], 0);
    assert_int_equal(passes_so_far(), 13 + 256);
    assert_int_equal(world.rest_count, 0);
    /* Those of others are not looked at. */
    spex_collectors_stop();
    begin(2, 8);
    world.event_count = 0;
    collectors.stopping = true;
    collector_run(&collectors.threads[0]); /* 7 is odd */
    assert_int_equal(world.event_count, 0);
}

/* ---- CPU time ---- */

static void use_cpu(void) {
    world.cpu_ns += 1000;
}

/* Every 16 passes, 4096 records, or before a long sleep. */
TEST_WITH(cpu_time_is_noted_now_and_then, setup, teardown) {
    struct collector *self = &collectors.threads[0];
    begin(1, 4096);
    for (unsigned p = 1; p <= 48; p++) {
        note_cpu_now_and_then(self, 10, SPEX_SLEEP_PROMPT_NS - 1);
        assert_int_equal(world.notes, p / 16);
    }
    world.notes = 0;
    note_cpu_now_and_then(self, 4000, 1);
    note_cpu_now_and_then(self, 95, 1);
    assert_int_equal(world.notes, 0);
    note_cpu_now_and_then(self, 1, 1);
    assert_int_equal(world.notes, 1);
    note_cpu_now_and_then(self, 4095, 1);
    assert_int_equal(world.notes, 1);
    note_cpu_now_and_then(self, 0, SPEX_SLEEP_PROMPT_NS);
    assert_int_equal(world.notes, 2);
    /* Those of all collectors, also when they have ended. */
    spex_collectors_stop();
    begin(3, 8);
    world.at_rest = use_cpu;
    for (unsigned c = 0; c < 3; c++) {
        collectors.stopping = false;
        world.rest_count = 0;
        world.cpu_ns = 0;
        world.stop_after = 1 + c;
        collector_run(&collectors.threads[c]);
    }
    assert_int_equal(spex_collectors_cpu_ns(), 6000);
    spex_collectors_stop();
    assert_int_equal(spex_collectors_cpu_ns(), 6000);
    begin(2, 8);
    assert_int_equal(spex_collectors_cpu_ns(), 6000);
    world.cpu_ns = 500;
    note_cpu(&collectors.threads[1]);
    assert_int_equal(spex_collectors_cpu_ns(), 6500);
    assert_int_equal(collectors.threads[1].watermark, 0);
}

/* ---- starts, stops and forks ---- */

TEST_WITH(a_start_that_fails_leaves_nothing, setup, teardown) {
    world.prepare_error = -ENOMEM;
    assert_int_equal(spex_collectors_start(3, 8), -ENOMEM);
    world.prepare_error = 0;
    for (int allocations = 0; allocations < 6; allocations++) {
        world.allocations_left = allocations;
        assert_int_equal(spex_collectors_start(3, 8), -ENOMEM);
        assert_int_equal(spex_collectors_running(), 0);
        assert_int_equal(joined, 0);
    }
    for (unsigned threads = 0; threads < 3; threads++) {
        world.allocations_left = 6;
        world.threads_left = threads;
        world.started = joined = world.rung = 0;
        assert_int_equal(spex_collectors_start(3, 8), -EAGAIN);
        assert_int_equal(joined, threads);
        assert_int_equal(world.rung, 1);
        assert_true(collectors.stopping);
        assert_int_equal(spex_collectors_running(), 0);
        for (unsigned c = 0; c < 3; c++)
            assert_true(!collectors.threads[c].records && !collectors.threads[c].scratch);
    }
    world.threads_left = 3;
    world.started = joined = world.rung = 0;
    world.allocations_left = 6;
    begin(3, 8);
    assert_int_equal(spex_collectors_running(), 3);
    assert_int_equal(world.started, 3);
    assert_int_equal(world.rung, 1);
    assert_true(collectors.begun && !collectors.stopping);
    spex_collectors_stop();
    assert_int_equal(joined, 3);
    assert_int_equal(world.rung, 2);
    spex_collectors_stop();
    assert_int_equal(joined, 3);
}

/* A fork has both locks, or, where a pass lasts longer than it may wait, none. */
TEST_WITH(a_fork_keeps_passes_out, setup, teardown) {
    struct spex_patience long_one = spex_patience_for(3600000000000), none = {0};
    begin(2, 8);
    spex_collectors_fork_prepare(&long_one);
    assert_int_equal(pthread_mutex_trylock(&pass_turn), EBUSY);
    assert_int_equal(pthread_rwlock_tryrdlock(&pass_lock), EBUSY);
    spex_collectors_fork_parent();
    for (int turn = 0; turn < 2; turn++) {
        if (turn)
            assert_int_equal(pthread_mutex_lock(&pass_turn), 0);
        else
            assert_int_equal(pthread_rwlock_rdlock(&pass_lock), 0);
        spex_collectors_fork_prepare(&none);
        assert_int_equal(pthread_mutex_trylock(&pass_turn), turn ? EBUSY : 0);
        spex_collectors_fork_parent();
        assert_int_equal(pthread_mutex_unlock(&pass_turn), 0);
        assert_int_equal(turn ? 0 : pthread_rwlock_unlock(&pass_lock), 0);
        assert_int_equal(pthread_rwlock_trywrlock(&pass_lock), 0);
        assert_int_equal(pthread_rwlock_unlock(&pass_lock), 0);
    }
    /* The child has neither the locks nor collectors nor what they have used. */
    world.cpu_ns = 700;
    note_cpu(&collectors.threads[0]);
    collectors.former_cpu_ns = 100;
    spex_collectors_fork_prepare(&long_one);
    spex_collectors_fork_child();
    assert_int_equal(world.forgotten, 1);
    assert_int_equal(spex_collectors_running(), 0);
    assert_int_equal(spex_collectors_cpu_ns(), 0);
    assert_null(collectors.threads[0].records);
    assert_int_equal(pthread_mutex_trylock(&pass_turn), 0);
    assert_int_equal(pthread_rwlock_trywrlock(&pass_lock), 0);
    spex_collectors_fork_child();
}
