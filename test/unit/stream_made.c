/* SPDX-License-Identifier: MIT */
/* Frames that streams send, when they wait and what they leave out. */
#define _GNU_SOURCE
#include "stream_made.h"

/* A socket of the control thread, which does not block, waits a little as a stream's. */
TEST_WITH(an_attached_stream_begins_with_all_sites, setup, teardown) {
    struct timeval limit;
    socklen_t size = sizeof(limit);
    world.sites = 150;
    int fd = pair_make(), flags = fcntl(fd, F_GETFL);
    const struct spex_stream_asked asked = {
        .socket = spex_descriptor_of(fd), .children = SPEX_NO_DESCRIPTOR, .dumps = true};
    assert_int_equal(spex_stream_attach(&asked, COLLECTORS), 0);
    assert_int_equal(fcntl(asked.socket.number, F_GETFL), flags & ~O_NONBLOCK);
    assert_int_equal(getsockopt(asked.socket.number, SOL_SOCKET, SO_SNDTIMEO, &limit, &size), 0);
    assert_int_equal(limit.tv_sec, 0);
    assert_in_range(limit.tv_usec, 15000, 30000); /* in jiffies */
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 150);
    expect_nothing(0);
    assert_int_equal(world.takers, 1);
    assert_int_equal(world.flags, MSG_NOSIGNAL);
    assert_int_equal(world.added, 1);
    assert_false(world.sinks[0]->prompt);
    /* Others precede the first records behind them. */
    world.sites = 151;
    assert_true(world.sinks[0]->pass(world.sinks[0], 2, 12345));
    const struct spex_stream_header *pass = expect_frame(0, SPEX_STREAM_PASS, 0, 0);
    assert_int_equal(pass->collector, 2);
    assert_int_equal(pass->watermark, 12345);
    assert_true(hand(world.sinks[0], SPEX_LAT, 1));
    expect_nothing(0); /* it wants no type */
}

TEST_WITH(records_are_sent_as_they_lie_in_rings, setup, teardown) {
    const uint32_t most = SPEX_STREAM_PACKED_MAX(WORDS);
    attach(SPEX_LAT | SPEX_CNT, false, SPEX_NO_DESCRIPTOR);
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 2);
    world.sites = 3;
    assert_true(hand(world.sinks[0], SPEX_TPT, 1));
    expect_nothing(0);
    assert_true(hand(world.sinks[0], SPEX_LAT, 1));
    expect_sites(0, 2, 3);
    expect_packed(0, SPEX_LAT, 0, 1, 0);
    assert_true(hand(world.sinks[0], SPEX_CNT, most));
    expect_packed(0, SPEX_CNT, 0, most, 0);
    expect_nothing(0);
    assert_true(most < MOST && hand(world.sinks[0], SPEX_CNT, most + 1));
    expect_packed(0, SPEX_CNT, 0, most, 0);
    expect_packed(0, SPEX_CNT, most, 1, 0);
    world.interrupted = 3;
    assert_true(hand(world.sinks[0], SPEX_LAT, 2));
    expect_packed(0, SPEX_LAT, 0, 2, 0);
    expect_nothing(0);
    world.sinks[0]->finish(world.sinks[0]);
    world.added = 0;
    expect_frame(0, SPEX_STREAM_END, 0, 0);
    expect_end(0);
}

/* In frames that have room for another path, before the records. */
TEST_WITH(contexts_precede_records_of_kernels, setup, teardown) {
    enum { KERNELS = 5, PATH = 40 };
    const struct spex_stream_context *contexts = entries;
    static const uint32_t counts[] = {PATH + PATH, PATH + PATH, PATH};
    attach(SPEX_LAT | SPEX_KERNEL, false, SPEX_NO_DESCRIPTOR);
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 2);
    world.path = PATH;
    for (size_t r = 0; r < KERNELS; r++)
        records[r].fields[1] = 1000 + 100 * r;
    assert_true(hand(world.sinks[0], SPEX_LAT, KERNELS));
    expect_packed(0, SPEX_LAT, 0, KERNELS, 0);
    /* Without room none of them has been told. */
    for (unsigned before = 0; before < COUNT_OF(counts); before++) {
        world.error = EAGAIN;
        world.succeed = before ? 1 : 0;
        assert_true(hand(world.sinks[0], SPEX_KERNEL, KERNELS));
        world.error = 0;
        for (unsigned f = 0; f < (before ? 1 : 0); f++) {
            expect_frame(0, SPEX_STREAM_CONTEXTS, counts[before - 1], KERNELS * before);
            assert_int_equal(contexts[0].number, 1000 + 200 * (before - 1));
            assert_int_equal(contexts[PATH].number, 1100 + 200 * (before - 1));
            assert_int_equal(contexts[2 * PATH - 1].number, 1101 + 200 * (before - 1) - PATH);
        }
        expect_nothing(0);
    }
    assert_true(hand(world.sinks[0], SPEX_KERNEL, KERNELS));
    expect_frame(0, SPEX_STREAM_CONTEXTS, PATH, 3 * KERNELS);
    assert_int_equal(contexts[0].number, 1400);
    expect_packed(0, SPEX_KERNEL, 0, KERNELS, 3 * KERNELS);
    assert_true(hand(world.sinks[0], SPEX_KERNEL, KERNELS));
    expect_packed(0, SPEX_KERNEL, 0, KERNELS, 3 * KERNELS);
    expect_nothing(0);
    /* Records behind those of the batch are none of it. */
    assert_true(hand(world.sinks[0], SPEX_KERNEL, KERNELS + 1));
    expect_frame(0, SPEX_STREAM_CONTEXTS, KERNELS + 1, 3 * KERNELS);
    assert_int_equal(contexts[0].number, KERNELS + 1);
    expect_packed(0, SPEX_KERNEL, 0, KERNELS + 1, 3 * KERNELS);
    expect_nothing(0);
}

/* A frame with 64 contexts gets another path. */
TEST_WITH(a_frame_of_contexts_is_full, setup, teardown) {
    attach(SPEX_KERNEL, false, SPEX_NO_DESCRIPTOR);
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 2);
    records[0].fields[1] = 200;
    records[1].probe_type = SPEX_LAT;
    assert_true(hand(world.sinks[0], SPEX_KERNEL, 1));
    expect_frame(0, SPEX_STREAM_CONTEXTS, 1, 0);
    expect_packed(0, SPEX_KERNEL, 0, 1, 0);
    for (world.path = 64; world.path <= 65; world.path++) {
        for (size_t r = 0; r < 3; r++)
            records[r].fields[1] = 1000 * (world.path - 60) + 100 * r;
        assert_true(hand(world.sinks[0], SPEX_KERNEL, 3));
        if (world.path > 64)
            expect_frame(0, SPEX_STREAM_CONTEXTS, 65, 0);
        expect_frame(0, SPEX_STREAM_CONTEXTS, world.path > 64 ? 65 : 2 * 64, 0);
        expect_frame(0, SPEX_STREAM_CONTEXTS, world.path, 0);
        expect_packed(0, SPEX_KERNEL, 0, 3, 0);
        expect_nothing(0);
    }
}

/* Each once, in as many frames as are needed, and again where one has not been sent. */
TEST_WITH(threads_precede_their_records, setup, teardown) {
    enum { THREADS = 100, FRAME = 64 };
    const struct spex_stream_thread *threads = entries;
    attach(SPEX_LAT, false, SPEX_NO_DESCRIPTOR);
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 2);
    world.threads = THREADS;
    world.error = EAGAIN;
    world.succeed = 1;
    assert_true(hand(world.sinks[0], SPEX_LAT, THREADS + 1));
    expect_frame(0, SPEX_STREAM_THREADS, FRAME, 0);
    assert_int_equal(threads[FRAME - 1].thread_id, 1000 + FRAME - 1);
    expect_nothing(0);
    world.error = 0;
    assert_true(hand(world.sinks[0], SPEX_LAT, THREADS + 1));
    expect_frame(0, SPEX_STREAM_THREADS, THREADS - FRAME, THREADS + 1);
    assert_int_equal(threads[0].number, FRAME);
    expect_packed(0, SPEX_LAT, 0, THREADS + 1, THREADS + 1);
    assert_true(hand(world.sinks[0], SPEX_LAT, 1));
    expect_packed(0, SPEX_LAT, 0, 1, THREADS + 1);
    expect_nothing(0);
}

/* What has no room is left out and counted, also a part of a batch; sites are sent again. */
TEST_WITH(a_full_reader_loses_records, setup, teardown) {
    static const int errors[] = {EAGAIN, ENOBUFS, ENOMEM};
    const uint32_t most = SPEX_STREAM_PACKED_MAX(WORDS);
    const struct spex_stream_dump dump = {.ticks = 9};
    uint64_t dropped = 0;
    attach(SPEX_LAT, true, SPEX_NO_DESCRIPTOR);
    expect_frame(0, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(0, 0, 2);
    for (size_t e = 0; e < COUNT_OF(errors); e++) {
        world.error = errors[e];
        world.sites++;
        assert_true(hand(world.sinks[0], SPEX_LAT, 7)); /* no room for its site */
        dropped += 7;
        assert_true(world.sinks[0]->pass(world.sinks[0], 0, 1));
        world.sinks[0]->dump(world.sinks[0], &dump);
        expect_nothing(0);
        world.succeed = 2;
        assert_true(hand(world.sinks[0], SPEX_LAT, most + 9));
        expect_frame(0, SPEX_STREAM_SITES, 1, dropped);
        assert_int_equal(((const struct spex_stream_site *)entries)->index, world.sites - 1);
        expect_packed(0, SPEX_LAT, 0, most, dropped);
        dropped += 9;
        world.error = 0;
    }
    assert_true(world.sinks[0]->pass(world.sinks[0], 0, 1));
    expect_frame(0, SPEX_STREAM_PASS, 0, dropped);
    /* The next reader begins anew. */
    close(world.readers[0]);
    world.readers[0] = -1;
    assert_int_equal(attach(SPEX_LAT, false, SPEX_NO_DESCRIPTOR), 0);
    assert_int_equal(world.added, 1);
    expect_frame(1, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(1, 0, 5);
}

/* A tenth of the time, and 20 ms at once, are given to a reader. */
TEST_WITH(a_slow_reader_is_waited_for_a_little, setup, teardown) {
    static const struct {
        uint64_t after_ms, wait_ms;
        bool waits;
    } sends[] = {
        {0, 19, true},    {0, 10, true}, {0, 0, false},   {50, 0, false},
        {10, 0, false},   {2, 0, true},  {1000, 0, true}, {0, 23, true},
        {0, 0, false},    {6, 0, false}, {2, 1, true},    {0, 0, false},
        {10000, 5, true}, {0, 14, true}, {0, 6, true},    {0, 0, false},
    };
    attach(SPEX_LAT, false, SPEX_NO_DESCRIPTOR);
    for (size_t s = 0; s < COUNT_OF(sends); s++) {
        while (frame_read(0))
            continue;
        world.now_ns += sends[s].after_ms * MS;
        world.send_ns = sends[s].wait_ms * MS;
        assert_true(hand(world.sinks[0], SPEX_LAT, 1));
        if (world.flags != (sends[s].waits ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT))
            fail_msg("send %zu", s);
    }
}

/* What a wait leaves of 20 ms, with the tenth of it that is given: 1 ns, or none. */
TEST_WITH(to_the_nanosecond, setup, teardown) {
    for (uint64_t left = 0; left < 2; left++) {
        unsigned reader = world.opened, sink = world.added;
        attach(SPEX_LAT, false, SPEX_NO_DESCRIPTOR);
        world.send_ns = 22222222 - left;
        assert_true(hand(world.sinks[sink], SPEX_LAT, 1));
        world.send_ns = 0;
        assert_int_equal(world.flags, MSG_NOSIGNAL);
        assert_true(hand(world.sinks[sink], SPEX_LAT, 1));
        assert_int_equal(world.flags, left ? MSG_NOSIGNAL : MSG_NOSIGNAL | MSG_DONTWAIT);
        assert_non_null(frame_read(reader));
    }
}
