/* SPDX-License-Identifier: MIT */
/* Slices of the time, to the digit: what they tell of the executions in hold-offs, which is calculated
 * a second time here. */
#include "rate/slices.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"

enum { HOLD_OFFS = 40 };

static struct spex_random random_state;

/* Between `low` and `high`. */
static double between(double low, double high) {
    return low + (high - low) * (double)(spex_random_next(&random_state) >> 11) /
                     (double)(UINT64_C(1) << 53);
}

static void expect_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-9 * fmax(fabs(expected), 1)))
        fail_msg("%.12g instead of %.12g", found, expected);
}

/* Slices and the hold-offs after them. */
struct history {
    size_t count;
    double rates[HOLD_OFFS], lengths[HOLD_OFFS];
    struct spex_speedup speedups[HOLD_OFFS];
    struct spex_slices slices;
    struct spex_slices_reading now;
};

static double square(double x) {
    return x * x;
}

/* A hold-off has the rate of the slice after it, the last one that of the slice before. */
static struct spex_held_executions expected_of(const struct history *history,
                                               const struct spex_speedup *last) {
    double lengths = 0, squares = 0, before = 0, differences = 0, highest = 0;
    struct spex_speedup after = {0, 0, 0};
    size_t ended = history->count - 1;
    for (size_t h = 0; h < history->count; h++)
        highest = fmax(highest, history->rates[h] * history->speedups[h].likely);
    for (size_t h = 0; h < ended; h++) {
        double length = history->lengths[h], rate = history->rates[h + 1];
        double former = history->rates[h] * history->speedups[h].likely;
        lengths += length;
        squares += square(length);
        before += length * former;
        after.least += length * rate * history->speedups[h + 1].least;
        after.likely += length * rate * history->speedups[h + 1].likely;
        after.most += length * rate * history->speedups[h + 1].most;
        differences += square(length * (rate * history->speedups[h + 1].likely - former));
    }
    double rest = history->lengths[ended], held_at = rest * history->rates[ended];
    double worth = fmin(square(lengths + rest) / (squares + square(rest)), (double)history->count);
    if (worth < SPEX_HOLD_OFFS_LEAST)
        return (struct spex_held_executions){0, -1, 0};
    double drift = (before - after.likely) / 4;
    double least = after.least + held_at * last->least, most = after.most + held_at * last->most;
    double likely = after.likely + held_at * last->likely;
    double variance = differences / 2 + square(rest) * differences / squares;
    double chance = spex_student_95(square(lengths) / squares) * sqrt(variance) + 2 * fabs(drift);
    double unseen = (lengths + rest) * highest * fmin(3 / worth, 1);
    return (struct spex_held_executions){fmax(likely + drift, 0),
                                         fmax(chance, unseen) + fmax(most - likely, likely - least),
                                         fmax(least + drift - chance, 0)};
}

/* Some hold-offs follow another without a slice between. */
static void history_go_on(struct history *history, double spread, double trend) {
    double on = between(0.5, 2), held = between(1, spread);
    struct spex_speedup speedup = {between(0.8, 1), between(1, 1.2), between(1.2, 1.6)};
    if (history->count && between(0, 1) < 0.1) {
        on = 0;
    } else {
        double rate = fmax(between(50, 150) * exp(trend * (double)history->count) - 60, 0);
        history->rates[history->count] = rate;
        history->speedups[history->count++] = speedup;
        history->now.count += rate * on;
    }
    history->lengths[history->count - 1] += held;
    history->now.on += on;
    history->now.held += held;
    spex_slices_note(&history->slices, &history->now, &speedup);
}

TEST(hold_offs_are_estimated) {
    static const double spreads[] = {1, 5, 300}, trends[] = {0, 0.1, -0.1};
    unsigned known = 0, unknown = 0;
    spex_random_seed(&random_state, 1, 1);
    for (size_t run = 0; run < 90; run++) {
        struct history history = {.count = 0};
        while (history.count < HOLD_OFFS) {
            const struct spex_speedup last = {between(0.5, 1), 1.1, between(1.2, 2)};
            history_go_on(&history, spreads[run % 3], trends[run / 3 % 3]);
            struct spex_held_executions expected = expected_of(&history, &last);
            struct spex_held_executions found =
                spex_slices_estimate(&history.slices, &history.now, &last);
            expect_near(found.count, expected.count);
            expect_near(found.margin, expected.margin);
            expect_near(found.least, expected.least);
            known += found.margin >= 0;
            unknown += found.margin < 0;
        }
    }
    assert_true(known > 1000 && unknown > 100);
}

/* An estimate takes in the slice that has ended, and leaves the sums as they are. */
TEST(an_estimate_sees_what_is_not_noted) {
    const struct spex_speedup speedup = {0.9, 1, 1.3};
    struct history history = {.count = 0};
    spex_random_seed(&random_state, 2, 1);
    for (int slice = 0; slice < 20; slice++)
        history_go_on(&history, 3, 0);
    struct spex_slices before = history.slices;
    struct spex_slices_reading later = history.now;
    later.on += 2;
    later.held += 4;
    later.count += 200;
    struct spex_held_executions found = spex_slices_estimate(&history.slices, &later, &speedup);
    assert_memory_equal(&before, &history.slices, sizeof(before));
    history.rates[history.count] = 100;
    history.speedups[history.count] = speedup;
    history.lengths[history.count++] = 4;
    struct spex_held_executions expected = expected_of(&history, &speedup);
    expect_near(found.count, expected.count);
    expect_near(found.margin, expected.margin);
    expect_near(found.least, expected.least);

    struct spex_slices fewer = history.slices, none = history.slices;
    later.count = history.now.count - 1; /* which no rate below 0 follows from */
    spex_slices_note(&fewer, &later, &speedup);
    later.count = history.now.count;
    spex_slices_note(&none, &later, &speedup);
    expect_near(fewer.rate, 0);
    expect_near(fewer.after.likely, none.after.likely);
}

TEST(of_hold_offs_without_length_nothing_follows) {
    const struct spex_speedup speedup = {1, 1, 1};
    struct spex_slices slices = {.slices = 0};
    struct spex_slices_reading now = {0, 0, 0};
    for (int slice = 0; slice <= SPEX_HOLD_OFFS_LEAST; slice++) {
        struct spex_held_executions found = spex_slices_estimate(&slices, &now, &speedup);
        expect_near(found.count, 0);
        expect_near(found.margin, slice < SPEX_HOLD_OFFS_LEAST ? -1 : 0);
        now.on += 1;
        now.count += 10;
        spex_slices_note(&slices, &now, &speedup);
    }
}

/* Time counts by the CPUs that were used in it; where these are not known, by their mean. */
TEST(times_are_those_of_cpus) {
    struct spex_slices slices = {.slices = 0};
    struct spex_slices_reading at = spex_slices_read(&slices, 7, &(struct spex_slices_time){2, 3});
    expect_near(at.count, 7);
    expect_near(at.on, 2);
    expect_near(at.held, 3);
    spex_slices_pass(&slices, &(struct spex_slices_time){2, 4}, 0.5);
    spex_slices_pass(&slices, &(struct spex_slices_time){8, 6}, 3); /* 19 and 8 in 14 */
    spex_slices_pass(&slices, &(struct spex_slices_time){8, 6}, 0);
    at = spex_slices_read(&slices, 9, &(struct spex_slices_time){8, 6});
    expect_near(at.on, 19);
    expect_near(at.held, 8);
    at = spex_slices_read(&slices, 9, &(struct spex_slices_time){22, 13});
    expect_near(at.on, 19 + 27);
    expect_near(at.held, 8 + 13.5);
    at = spex_slices_read(&slices, 9, &(struct spex_slices_time){7, 5});
    expect_near(at.on, 19);
    expect_near(at.held, 8);
    spex_slices_pass(&slices, &(struct spex_slices_time){22, 13}, -1);
    spex_slices_pass(&slices, &(struct spex_slices_time){23, 14}, 0);
    at = spex_slices_read(&slices, 9, &(struct spex_slices_time){23, 14});
    expect_near(at.on, 46);
    expect_near(at.held, 21.5);
}
