/* SPDX-License-Identifier: MIT */
/* Slices of the time, to the digit: what they tell of the executions in hold-offs, and of the cost
 * of a probe. Both are calculated a second time here. */
#include "rate/slices.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "base/random.h"
#include "base/student.h"
#include "rate/experiment/sliced.h"
#include "trimmed.h"

enum { HOLD_OFFS = 40, PARTS = 400, WITNESS = 3, OTHER_WITNESS = 4, SUBJECT = 1, INDICES = 5 };

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
    if (worth < 5)
        return (struct spex_held_executions){0, -1};
    double drift = (before - after.likely) / 4;
    double least = after.least + held_at * last->least, most = after.most + held_at * last->most;
    double likely = after.likely + held_at * last->likely;
    double variance = differences / 2 + square(rest) * differences / squares;
    double chance = spex_student_95(square(lengths) / squares) * sqrt(variance);
    double unseen = (lengths + rest) * highest * fmin(3 / worth, 1);
    return (struct spex_held_executions){fmax(likely + drift, 0),
                                         fmax(chance + 2 * fabs(drift), unseen) +
                                             fmax(most - likely, likely - least)};
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

static void hold_offs_are_estimated(void **state) {
    static const double spreads[] = {1, 5, 300}, trends[] = {0, 0.1, -0.1};
    unsigned known = 0, unknown = 0;
    (void)state;
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
            known += found.margin >= 0;
            unknown += found.margin < 0;
        }
    }
    assert_true(known > 1000 && unknown > 100);
}

/* An estimate takes in the slice that has ended, and leaves the sums as they are. */
static void an_estimate_sees_what_is_not_noted(void **state) {
    const struct spex_speedup speedup = {0.9, 1, 1.3};
    struct history history = {.count = 0};
    (void)state;
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

    struct spex_slices fewer = history.slices, none = history.slices;
    later.count = history.now.count - 1; /* which no rate below 0 follows from */
    spex_slices_note(&fewer, &later, &speedup);
    later.count = history.now.count;
    spex_slices_note(&none, &later, &speedup);
    expect_near(fewer.rate, 0);
    expect_near(fewer.after.likely, none.after.likely);
}

static void of_hold_offs_without_length_nothing_follows(void **state) {
    const struct spex_speedup speedup = {1, 1, 1};
    struct spex_slices slices = {.slices = 0};
    struct spex_slices_reading now = {0, 0, 0};
    (void)state;
    for (int slice = 1; slice <= 6; slice++) {
        struct spex_held_executions found = spex_slices_estimate(&slices, &now, &speedup);
        expect_near(found.count, 0);
        expect_near(found.margin, slice < 6 ? -1 : 0);
        now.on += 1;
        now.count += 10;
        spex_slices_note(&slices, &now, &speedup);
    }
}

/* Time counts by the CPUs that were used in it; where these are not known, by their mean. */
static void times_are_those_of_cpus(void **state) {
    struct spex_slices slices = {.slices = 0};
    (void)state;
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

/* A probe in slices: its parts, and the figures that follow. */
struct sliced {
    struct spex_sliced sliced;
    uint64_t executions[INDICES], cpu_ns, threads;
    struct spex_slice_part before, within;
    double figures[PARTS];
    size_t count;
    /* Of all but the new figures. */
    double weight, sum;
};

static const struct spex_subject subject = {.first = SUBJECT, .on = {0, 50e-9}};

/* Whether the new figures, up to 20, make a finding with the former ones, which have less weight with
 * each 20. */
static bool finding_of(struct sliced *of, double *factor, double *error) {
    size_t n = of->count % 20 ? of->count % 20 : 20;
    double mean;
    if (n < 4)
        return false;
    trimmed(of->figures + of->count - n, n, &mean, error);
    *error = fmax(*error * spex_student_95((double)n - 1) / SPEX_NORMAL_95, 0.01);
    double weight = of->weight * 0.85 + 1 / square(*error);
    double sum = of->sum * 0.85 + mean / square(*error);
    *factor = fmin(fmax((sum + 0.25) / (weight + 0.25), 0.5), 50);
    *error = sqrt(1 / weight);
    if (n < 20)
        return *error < 0.15 * *factor;
    of->weight = weight;
    of->sum = sum;
    return true;
}

/* Ends a part. Whether it tells something: true in most cases. */
static bool part_ends(struct sliced *of, enum spex_slice_over over, double truth, double noise,
                      bool known, uint32_t witness, struct spex_finding *finding) {
    uint64_t witnessed = (uint64_t)between(30, 300);
    uint64_t executed =
        (uint64_t)(over == SPEX_SLICE_DEAR ? between(20000, 40000) : between(0, 2000));
    double seconds = (double)witnessed * 4e-5 * (1 + noise * between(-0.5, 0.5)) +
                     (double)executed * subject.on.cost * truth;
    if (!known && between(0, 1) < 0.5)
        of->threads++;
    else if (!known)
        witnessed = 29;
    uint64_t ns = (uint64_t)(seconds * 1e9);
    of->cpu_ns += ns;
    of->executions[witness] += witnessed;
    of->executions[SUBJECT] += executed;
    const struct spex_progress progress = {1, of->cpu_ns, of->threads, of->executions};
    bool found = spex_experiment_sliced(&of->sliced, &subject, witness, over, &progress, finding);
    const struct spex_slice_part part = {known ? (double)ns / 1e9 / (double)witnessed : NAN,
                                         (double)executed * subject.on.cost / (double)witnessed};
    bool added = false;
    if (over == SPEX_SLICE_DEAR)
        of->within = part;
    if (over == SPEX_SLICE_CHEAP) {
        double longer = of->within.time - (of->before.time + part.time) / 2;
        double dearer = of->within.cost - (of->before.cost + part.cost) / 2;
        added = isfinite(longer) && dearer > 0;
        if (added)
            of->figures[of->count++] = longer / dearer;
        of->before = part;
        of->within.time = NAN;
    }
    double factor = 0, error = 0;
    bool expected = added && finding_of(of, &factor, &error);
    assert_int_equal(found, expected);
    if (found) {
        assert_int_equal(finding->count, 1);
        expect_near(finding->factor, factor);
        expect_near(finding->error, error);
    }
    return found;
}

static struct sliced sliced_begin(void) {
    struct sliced of = {.before = {NAN, 0}, .within = {NAN, 0}};
    struct spex_finding finding;
    of.cpu_ns = 1000;
    const struct spex_progress progress = {1, of.cpu_ns, of.threads, of.executions};
    assert_false(spex_experiment_sliced(&of.sliced, &subject, WITNESS, SPEX_SLICE_CHEAP, &progress,
                                        &finding));
    return of;
}

static void slices_tell_the_cost(void **state) {
    static const double truths[] = {1, 0.2, 3, 80, 1.5}, noises[] = {0.05, 1, 0.3, 0.1, 1.9};
    (void)state;
    spex_random_seed(&random_state, 3, 1);
    for (size_t t = 0; t < COUNT_OF(truths); t++) {
        struct sliced of = sliced_begin();
        struct spex_finding finding;
        unsigned found = 0;
        for (int part = 0; part < PARTS; part++) {
            double kind = between(0, 1);
            enum spex_slice_over over = kind < 0.05  ? SPEX_SLICE_NEITHER
                                        : kind < 0.1 ? SPEX_SLICE_DEAR
                                        : part % 2   ? SPEX_SLICE_CHEAP
                                                     : SPEX_SLICE_DEAR;
            found +=
                part_ends(&of, over, truths[t], noises[t], between(0, 1) < 0.95, WITNESS, &finding);
        }
        assert_true(of.count > 100 && found >= 5);
    }
}

/* Parts by another witness are not compared. */
static void another_witness_begins_anew(void **state) {
    struct spex_finding finding;
    (void)state;
    struct sliced of = sliced_begin();
    part_ends(&of, SPEX_SLICE_CHEAP, 1, 0.1, true, WITNESS, &finding);
    part_ends(&of, SPEX_SLICE_DEAR, 1, 0.1, true, WITNESS, &finding);
    part_ends(&of, SPEX_SLICE_CHEAP, 1, 0.1, true, WITNESS, &finding);
    assert_int_equal(of.sliced.count, 1);
    part_ends(&of, SPEX_SLICE_DEAR, 1, 0.1, true, WITNESS, &finding);
    of.within.time = of.before.time = NAN;
    part_ends(&of, SPEX_SLICE_NEITHER, 1, 0.1, true, OTHER_WITNESS, &finding);
    part_ends(&of, SPEX_SLICE_CHEAP, 1, 0.1, true, OTHER_WITNESS, &finding);
    part_ends(&of, SPEX_SLICE_DEAR, 1, 0.1, true, OTHER_WITNESS, &finding);
    part_ends(&of, SPEX_SLICE_CHEAP, 1, 0.1, true, OTHER_WITNESS, &finding);
    assert_int_equal(of.sliced.count, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hold_offs_are_estimated),
        cmocka_unit_test(an_estimate_sees_what_is_not_noted),
        cmocka_unit_test(of_hold_offs_without_length_nothing_follows),
        cmocka_unit_test(times_are_those_of_cpus),
        cmocka_unit_test(slices_tell_the_cost),
        cmocka_unit_test(another_witness_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
