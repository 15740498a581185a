/* SPDX-License-Identifier: MIT */
/* Requests for a dump: one at a time, while somebody takes them, with their time and as much of
 * their reason as there is room for. */
#include <errno.h>

#include <spex/spex.h>
#include <spex/ticks.h>

#include "../check.h"
#include "collect/dump_request.h"
#include "collect/sinks.h"

static struct spex_stream_dump taken;
static unsigned count;

static bool take_records(struct spex_sink *sink, const struct spex_batch *batch) {
    (void)sink;
    (void)batch;
    return true;
}

static void take_dump(struct spex_sink *sink, const struct spex_stream_dump *dump) {
    (void)sink;
    taken = *dump;
    count++;
}

static void nothing(struct spex_sink *sink) {
    (void)sink;
}

static struct spex_sink others = {.records = take_records, .finish = nothing, .abandon = nothing};
static struct spex_sink sink = {
    .records = take_records, .dump = take_dump, .finish = nothing, .abandon = nothing};

static void expect_taken(const char *why, const char *text) {
    uint64_t begin = spex_ticks();
    count = 0;
    memset(&taken, 0xff, sizeof(taken));
    assert_int_equal(spex_dump(why), 0);
    uint64_t end = spex_ticks();
    assert_int_equal(spex_dump("one more"), -EBUSY);
    assert_int_equal(count, 0);
    spex_dump_request_pass();
    assert_int_equal(count, 1);
    assert_string_equal(taken.why, text);
    assert_in_range(taken.ticks, begin, end);
    spex_dump_request_pass(); /* there is none */
    assert_int_equal(count, 1);
}

TEST(requests_are_taken_one_at_a_time) {
    char many[2 * SPEX_STREAM_TEXT_BYTES], most[SPEX_STREAM_TEXT_BYTES];
    spex_sinks_add(&others);
    spex_sinks_add(&sink);
    assert_int_equal(spex_dump("nobody takes it"), -ENOENT);
    spex_dump_request_pass();
    assert_int_equal(count, 0);
    spex_dump_takers_add(1);
    expect_taken("a reason", "a reason");
    expect_taken(NULL, "");
    expect_taken("", "");
    memset(many, 'x', sizeof(many));
    many[sizeof(many) - 1] = '\0';
    memset(most, 'x', sizeof(most));
    most[sizeof(most) - 1] = '\0';
    expect_taken(many, most);
    expect_taken(most, most);
    spex_dump_takers_add(1);
    spex_dump_takers_add(-1);
    expect_taken("for the one that is left", "for the one that is left");
}

/* As in the child of a fork. */
TEST(a_request_is_forgotten) {
    count = 0;
    assert_int_equal(spex_dump("forgotten"), 0);
    spex_dump_request_forget();
    spex_dump_request_pass();
    assert_int_equal(count, 0);
    expect_taken("anew", "anew");
    sink.broken = true;
    assert_int_equal(spex_dump("not for a broken sink"), 0);
    spex_dump_request_pass();
    assert_int_equal(count, 1);
    spex_dump_takers_add(-1);
    assert_int_equal(spex_dump("nobody takes it"), -ENOENT);
    spex_sinks_finish();
}
