/* SPDX-License-Identifier: MIT */
/* The clock of a trace by two moments, against what whole numbers say, and the moments themselves
 * against other readings of the clocks. */
#include <time.h>

#include <spex/ticks.h>

#include "../check.h"
#include "base/clock.h"
#include "trace/clock_anchor.h"

#define SECOND_NS INT64_C(1000000000)

/* How much less than `than_ns` the clock says of a moment in ticks, in thousandths of a
 * nanosecond. */
static int64_t behind_ps(struct spex_trace_clock clock, uint64_t ticks, uint64_t than_ns) {
    uint64_t rate = clock.ticks_per_second;
    uint64_t seconds = (ticks + clock.ticks) / rate,
             rest = (ticks + clock.ticks) % rate * SECOND_NS;
    int64_t ns = (clock.seconds + (int64_t)seconds) * SECOND_NS + (int64_t)(rest / rate);
    return ((int64_t)than_ns - ns) * 1000 - (int64_t)(rest % rate * 1000 / rate);
}

/* Half a tick and half a nanosecond of rounding, and the errors of doubles. */
TEST(the_clock_is_right_at_the_first_moment) {
    static const uint64_t rates[] = {1000000,    24000000,   999999999,
                                     1000000000, 2999999997, 5000000000};
    uint64_t seed = 1;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t rate = rates[i % COUNT_OF(rates)];
        struct spex_journal_clock first = {.ticks = random_next(&seed) >> (8 + i % 40),
                                           .realtime_ns = UINT64_C(1700000000) * SECOND_NS +
                                                          random_below(&seed, 1u << 30),
                                           .monotonic_ns = random_next(&seed) >> 4};
        if (i % 7 == 0) /* a wall clock that has not been set */
            first.realtime_ns = random_below(&seed, 1u << 30);
        unsigned seconds = 1 + i % 100;
        struct spex_journal_clock later = {.ticks = first.ticks + rate * seconds,
                                           .realtime_ns = random_next(&seed),
                                           .monotonic_ns =
                                               first.monotonic_ns + seconds * (uint64_t)SECOND_NS};
        struct spex_trace_clock clock = spex_trace_clock(first, later);
        assert_int_equal(clock.ticks_per_second, rate);
        assert_true(clock.ticks <= rate);
        int64_t ps = behind_ps(clock, first.ticks, first.realtime_ns);
        int64_t most = 510 + (int64_t)(510 * (SECOND_NS / 1000) / (int64_t)(rate / 1000 + 1));
        if (ps > most || ps < -most)
            fail_msg("rate %llu: %lld ps, at most %lld", (unsigned long long)rate, (long long)ps,
                     (long long)most);
    }
}

TEST(rates_are_rounded_to_the_nearest) {
    static const struct {
        uint64_t ticks, ns, rate;
    } cases[] = {
        {3000, 1000, 3000000000},
        {2, 3, 666666667},
        {1, 3, 333333333},
        {1, SECOND_NS, 1},
        {1, 3 * SECOND_NS, 0},
        /* What is no time between two moments tells no rate. */
        {0, 5, SECOND_NS},
        {5, 0, SECOND_NS},
        {UINT64_MAX, 5, SECOND_NS},
        {5, UINT64_MAX, SECOND_NS},
    };
    const struct spex_journal_clock first = {
        .ticks = 1 << 20, .realtime_ns = 5000, .monotonic_ns = 1 << 20};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_journal_clock later = {.ticks = first.ticks + cases[c].ticks,
                                           .monotonic_ns = first.monotonic_ns + cases[c].ns};
        struct spex_trace_clock clock = spex_trace_clock(first, later);
        assert_int_equal(clock.ticks_per_second, cases[c].rate);
        if (!cases[c].rate) /* as if each tick were a second */
            assert_int_equal(clock.seconds, -(1 << 20));
    }
}

/* Each clock of a reading lies between what it says before and behind. */
TEST(a_reading_is_of_now) {
    for (unsigned i = 0; i < 100; i++) {
        uint64_t ticks = spex_ticks(), monotonic = spex_clock_ns(CLOCK_MONOTONIC);
        uint64_t realtime = spex_clock_ns(CLOCK_REALTIME);
        struct spex_journal_clock now = spex_clock_anchor_now();
        assert_in_range(now.ticks, ticks, spex_ticks());
        assert_in_range(now.monotonic_ns, monotonic, spex_clock_ns(CLOCK_MONOTONIC));
        assert_in_range(now.realtime_ns, realtime, spex_clock_ns(CLOCK_REALTIME));
        assert_int_equal(now.whole, 0);
    }
}
