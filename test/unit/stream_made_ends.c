/* SPDX-License-Identifier: MIT */
/* How streams begin and end: attached ones, those of the program, and those of children of forks. */
#define _GNU_SOURCE
#include "stream_made.h"

TEST_WITH(a_reader_that_has_gone_leaves_its_place, setup, teardown) {
    const struct spex_stream_dump dump = {.ticks = 9, .why = "why"};
    assert_int_equal(attach(SPEX_LAT, true, spex_descriptor_of(pair_make())), 0); /* 0, and 1 */
    for (unsigned s = 1; s < SPEX_STREAMS_MAX; s++)
        assert_int_equal(attach(SPEX_LAT, s > 1, SPEX_NO_DESCRIPTOR), 0);
    assert_int_equal(world.added, SPEX_STREAMS_MAX);
    assert_int_equal(world.takers, SPEX_STREAMS_MAX - 1);
    assert_int_equal(attach(SPEX_LAT, true, SPEX_NO_DESCRIPTOR), -EUSERS);
    for (unsigned s = 0; s < SPEX_STREAMS_MAX; s++) {
        unsigned reader = s + 1;
        expect_frame(reader, SPEX_STREAM_HELLO, 0, 0);
        expect_sites(reader, 0, 2);
        world.sinks[s]->dump(world.sinks[s], &dump);
        if (s != 1) {
            expect_frame(reader, SPEX_STREAM_DUMP, 1, 0);
            assert_memory_equal(entries, &dump, sizeof(dump));
        }
        expect_nothing(reader);
    }
    /* A send finds that it has gone: all of its is closed. */
    world.error = EPIPE;
    assert_true(hand(world.sinks[0], SPEX_LAT, 5));
    world.error = 0;
    expect_end(1);
    expect_end(0);
    assert_int_equal(world.takers, SPEX_STREAMS_MAX - 2);
    world.sinks[0]->dump(world.sinks[0], &dump);
    world.flags = -1;
    assert_true(hand(world.sinks[0], SPEX_LAT, 5));
    assert_int_equal(world.flags, -1);
    assert_int_equal(attach(SPEX_LAT, true, SPEX_NO_DESCRIPTOR), 0);
    expect_frame(6, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(6, 0, 2);
    assert_true(hand(world.sinks[0], SPEX_LAT, 5));
    expect_packed(6, SPEX_LAT, 0, 5, 0);
    /* One that has sent nothing meanwhile does not notice. */
    close(world.readers[3]);
    world.readers[3] = -1;
    assert_int_equal(world.takers, SPEX_STREAMS_MAX - 1);
    assert_int_equal(attach(SPEX_LAT, false, SPEX_NO_DESCRIPTOR), 0);
    assert_int_equal(world.takers, SPEX_STREAMS_MAX - 2);
    expect_frame(7, SPEX_STREAM_HELLO, 0, 0);
    assert_true(hand(world.sinks[2], SPEX_LAT, 5));
    expect_sites(7, 0, 2);
    expect_packed(7, SPEX_LAT, 0, 5, 0);
}

static int open_stream(bool dumps, struct spex_sink **sink) {
    const struct spex_descriptor handover = {.number = 77};
    *sink = NULL;
    return spex_stream_open("/path", &handover, dumps, COLLECTORS, sink);
}

/* With the rings where they are in a file. A command that records is not prompt. */
TEST_WITH(the_stream_of_the_program_tells_its_rings, setup, teardown) {
    const struct spex_stream_rings *rings = entries;
    struct spex_sink *sink;
    spex_rings.bytes = 123456;
    spex_rings.cpus = 3;
    spex_rings.rseq[0].mask = 4095;
    for (int recorded = 0; recorded < 2; recorded++) {
        unsigned reader = world.opened;
        world.socket = pair_make();
        world.rings = recorded ? spex_descriptor_of(open("/dev/null", O_RDONLY | O_CLOEXEC))
                               : SPEX_NO_DESCRIPTOR;
        assert_int_equal(open_stream(recorded, &sink), 0);
        assert_int_equal(sink->prompt, !recorded);
        assert_int_equal(world.takers, recorded);
        expect_frame(reader, SPEX_STREAM_HELLO, 0, 0);
        if (recorded) {
            expect_frame(reader, SPEX_STREAM_RINGS, 1, 0);
            assert_int_equal(rings->bytes, 123456);
            assert_int_equal(rings->records, 4096);
            assert_int_equal(rings->cpus, 3);
            assert_int_equal(rings->types, SPEX_PROBE_TYPES);
        }
        expect_sites(reader, 0, 2);
        world.send_ns = 1000 * MS;
        for (int i = 0; i < 3; i++) { /* of any type; it is waited for */
            assert_true(hand(sink, SPEX_TPT, 5));
            expect_packed(reader, SPEX_TPT, 0, 5, 0);
            assert_int_equal(world.flags, MSG_NOSIGNAL);
        }
        world.send_ns = 0;
        assert_int_equal(world.takers, recorded);
        if (recorded) { /* it breaks, and gets no end */
            world.error = EAGAIN;
            assert_false(sink->pass(sink, 0, 1));
            assert_false(hand(sink, SPEX_TPT, 5));
            assert_int_equal(world.takers, 0);
            world.error = 0;
            sink->broken = true;
        }
        sink->finish(sink);
        if (!recorded)
            expect_frame(reader, SPEX_STREAM_END, 0, 0);
        expect_end(reader);
        spex_descriptor_close(&world.rings);
    }
}

TEST_WITH(a_stream_that_cannot_begin_is_told, setup, teardown) {
    struct spex_sink *sink;
    world.socket = -ECONNREFUSED;
    assert_int_equal(open_stream(true, &sink), -ECONNREFUSED);
    assert_null(sink);
    assert_string_equal(world.message, "SPEX_OUT: cannot connect to unix:/path: Connection "
                                       "refused; the probes stay off");
    for (unsigned sent = 0; sent < 3; sent++) {
        world.socket = pair_make();
        world.rings = spex_descriptor_of(open("/dev/null", O_RDONLY | O_CLOEXEC));
        world.error = EPIPE;
        world.succeed = sent;
        assert_int_equal(open_stream(true, &sink), -EPIPE);
        assert_null(sink);
        assert_string_equal(world.message,
                            "SPEX_OUT: cannot send to /path: Broken pipe; the probes stay off");
        assert_int_equal(world.takers, 0);
        spex_descriptor_close(&world.rings);
        while (frame_read(sent))
            continue;
        expect_end(sent);
    }
}

/* What the child of a fork has of a stream of its parent's, over a new pair of sockets. Returns the
 * number of the reader that children's sockets go to. */
static unsigned abandon(bool dumps) {
    unsigned children = world.opened;
    attach(SPEX_LAT, dumps, spex_descriptor_of(pair_make()));
    assert_int_equal(world.added, 1);
    assert_int_equal(world.takers, dumps);
    world.added = 0;
    world.sinks[0]->abandon(world.sinks[0]);
    free(world.sinks[0]);
    expect_frame(children + 1, SPEX_STREAM_HELLO, 0, 0);
    expect_sites(children + 1, 0, 2);
    expect_end(children + 1);
    assert_int_equal(world.takers, 0);
    return children;
}

/* A command that has gone is no error to tell of. */
TEST_WITH(children_that_cannot_follow, setup, teardown) {
    static const int errors[] = {-EPIPE, -EBADF, -EMFILE};
    for (size_t e = 0; e < COUNT_OF(errors); e++) {
        char expected[200] = "";
        assert_false(spex_streams_followed());
        unsigned children = abandon(true);
        assert_true(spex_streams_followed());
        world.asked = 0;
        world.handed[0] = errors[e];
        spex_streams_follow(COLLECTORS);
        assert_int_equal(world.asked, 1);
        if (errors[e] == -EMFILE)
            snprintf(expected, sizeof(expected),
                     "process %d is not recorded, as its parent is: Too many open files",
                     (int)getpid());
        assert_string_equal(world.message, expected);
        assert_int_equal(world.added, 0);
        expect_end(children);
    }
    /* Nobody has the other end, or the child collects nothing. */
    for (int gone = 0; gone < 2; gone++) {
        unsigned children = world.opened;
        attach(SPEX_LAT, false, spex_descriptor_of(pair_make()));
        if (gone) {
            close(world.readers[children]);
            world.readers[children] = -1;
        }
        world.sinks[0]->abandon(world.sinks[0]);
        free(world.sinks[0]);
        world.added = 0;
        assert_int_equal(spex_streams_followed(), !gone);
        spex_streams_forget();
        assert_false(spex_streams_followed());
        if (!gone)
            expect_end(children);
    }
}

/* Each of the streams; the first over descriptor 0, where no high number is free. */
TEST_WITH(children_follow, setup, teardown) {
    struct rlimit numbers, few;
    int saved = dup(STDIN_FILENO);
    unsigned first = abandon(true), second = abandon(false);
    int given = pair_make();
    assert_int_equal(dup2(given, STDIN_FILENO), STDIN_FILENO);
    close(given);
    world.handed[0] = -EAGAIN; /* there is room for it at once */
    world.handed[1] = STDIN_FILENO;
    world.handed[2] = pair_make();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &numbers), 0);
    few = (struct rlimit){.rlim_cur = 1, .rlim_max = numbers.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    spex_streams_follow(COLLECTORS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &numbers), 0);
    assert_int_equal(world.asked, 3);
    assert_string_equal(world.message, "");
    assert_false(spex_streams_followed());
    assert_int_equal(world.added, 2);
    assert_int_equal(world.takers, 1);
    for (unsigned s = 0; s < 2; s++) {
        unsigned reader = world.opened - 2 + s;
        expect_frame(reader, SPEX_STREAM_HELLO, 0, 0);
        expect_sites(reader, 0, 2);
        assert_true(hand(world.sinks[s], SPEX_LAT, 5));
        expect_packed(reader, SPEX_LAT, 0, 5, 0);
        assert_true(hand(world.sinks[s], SPEX_TPT, 5));
        expect_nothing(reader);
    }
    expect_nothing(first); /* it is there for children of theirs */
    expect_nothing(second);
    teardown(NULL);
    world.added = world.opened = 0;
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    dup2(saved, STDIN_FILENO);
    close(saved);
}
