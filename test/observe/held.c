/* SPDX-License-Identifier: MIT */
/* What was executed between two moments while a budget held a probe off: cases, and runs in which
 * the truth is known, with the estimates that programs make. */
#include "profile/held.h"

#include <math.h>

#include "../check.h"
#include "rate/slices.h"

/* So far: seconds held off, the estimate, and how far it may be off. */
struct so_far {
    double seconds, count, uncounted;
};

static struct spex_profile_probe probe_of(const struct so_far *is) {
    return (struct spex_profile_probe){
        .held_seconds = is->seconds, .held_count = is->count, .uncounted = is->uncounted};
}

static void expect_held(const struct spex_profile_probe *probe, double count, double uncounted) {
    if (!(fabs(probe->held_count - count) < 1e-9 && fabs(probe->uncounted - uncounted) < 1e-9))
        fail_msg("%g with %g, not %g with %g", probe->held_count, probe->uncounted, count,
                 uncounted);
}

TEST(differences) {
    static const struct {
        struct so_far before, now;
        double count, uncounted;
    } cases[] = {
        {{0, 0, 0}, {4, 100, 20}, 100, 20}, /* all of it */
        {{1, 20, 12}, {4, 100, 20}, 80, 20 * 0.8660254037844386},
        {{1, 20, 12}, {4, 100, 13}, 80, 13 * 0.8660254037844386},
        {{3, 90, 3}, {4, 100, 20}, 0, 29.77371993328519},  /* no estimate */
        {{3, 110, 3}, {4, 100, 20}, 0, 19.77371993328519}, /* known better since */
        {{1, 0, 5000}, {4, 100, 20}, 0, 120},              /* it may all be of either time */
        {{1, 0, 30}, {4, 100, 20}, 100, 50},
        {{1, 0, 1000}, {4, 0, 4000}, 0, 3000}, /* bounds */
        {{1, 20, 12}, {4, 0, 4000}, 0, 3000},
        {{4, 50, 10}, {4, 100, 20}, 0, 0}, /* it was on */
        {{0, 0, 0}, {0, 0, 0}, 0, 0},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct spex_profile_probe before = probe_of(&cases[c].before);
        struct spex_profile_probe now = probe_of(&cases[c].now);
        spex_held_since(&now, &before);
        expect_held(&now, cases[c].count, cases[c].uncounted);
    }
}

TEST(moments) {
    static const struct {
        struct so_far first, last;
        double part, count, uncounted;
    } cases[] = {
        {{1, 20, 12}, {2, 40, 16}, 0.25, 25, 12},    {{1, 20, 12}, {2, 40, 16}, 0.81, 36.2, 14.4},
        {{0, 0, 0}, {2, 40, 16}, 0.25, 10, 8},       {{1, 0, 5000}, {2, 40, 16}, 0.25, 0, 5000},
        {{1, 0, 50}, {2, 40, 16}, 0.25, 0, 56},      {{1, 20, 12}, {2, 0, 5000}, 0.25, 0, 5000},
        {{1, 0, 1000}, {2, 0, 3000}, 0.25, 0, 1500}, {{0, 0, 0}, {2, 0, 3000}, 0.5, 0, 1500},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct spex_profile_probe first = probe_of(&cases[c].first);
        struct spex_profile_probe at = probe_of(&cases[c].last);
        spex_held_between(&at, &first, cases[c].part);
        expect_held(&at, cases[c].count, cases[c].uncounted);
    }
}

/* ---- runs ---- */

enum { RUNS = 400, PROFILES = 8 };

/* A program in virtual time, in seconds: what it executes a second changes at chance, by up to
 * `uneven` times. */
struct run {
    uint64_t seed;
    double uneven, rate, until;
    double now, on, held, counted, truth;
    struct spex_slices slices;
    struct spex_profile_probe profiles[PROFILES];
    double truths[PROFILES];
    unsigned taken;
};

static const struct spex_speedup no_faster = {1, 1, 1};

static struct spex_slices_reading reading_of(const struct run *run) {
    return (struct spex_slices_reading){run->counted, run->on, run->held};
}

static void profile_take(struct run *run) {
    const struct spex_slices_reading now = reading_of(run);
    struct spex_held_executions held = spex_slices_estimate(&run->slices, &now, &no_faster);
    if (held.margin < 0)
        held = (struct spex_held_executions){0, 1e9 * run->held, 0};
    run->truths[run->taken] = run->truth;
    run->profiles[run->taken++] = (struct spex_profile_probe){.count = run->counted,
                                                              .held_seconds = run->held,
                                                              .held_count = held.count,
                                                              .uncounted = held.margin};
}

/* A profile each half second, also within a hold-off. */
static void pass(struct run *run, double seconds, bool on) {
    while (seconds > 0) {
        double step = fmin(seconds, 0.001);
        if (run->now >= run->until) {
            run->rate = 1e6 * pow(run->uneven, random_part(&run->seed));
            run->until = run->now + 0.3 * random_part(&run->seed);
        }
        run->truth += run->rate * step;
        run->counted += on ? run->rate * step : 0;
        *(on ? &run->on : &run->held) += step;
        run->now += step;
        seconds -= step;
        if (run->taken < PROFILES && run->now >= 0.5 * (run->taken + 1))
            profile_take(run);
    }
}

static void run_make(struct run *run, double uneven, uint64_t seed) {
    *run = (struct run){.seed = seed, .uneven = uneven};
    while (run->taken < PROFILES) {
        pass(run, 0.002 + 0.003 * random_part(&run->seed), true);
        pass(run, 0.02 + 0.06 * random_part(&run->seed), false);
        const struct spex_slices_reading now = reading_of(run);
        spex_slices_note(&run->slices, &now, &no_faster);
    }
}

/* Between any two of its profiles: whether the margin holds the truth; what is told at least is no
 * more than that. */
static bool holds(const struct run *run, unsigned from, unsigned to, bool *known) {
    struct spex_profile_probe probe = run->profiles[to];
    double counted = probe.count - run->profiles[from].count;
    double truth = run->truths[to] - run->truths[from];
    spex_held_since(&probe, &run->profiles[from]);
    *known = probe.uncounted <= counted + probe.held_count;
    return *known ? fabs(counted + probe.held_count - truth) <= probe.uncounted
                  : counted <= truth * (1 + 1e-9) &&
                        counted + probe.held_count + probe.uncounted >= truth;
}

TEST(margins_hold_the_truth) {
    static const double uneven[] = {1, 3, 30};
    for (size_t u = 0; u < COUNT_OF(uneven); u++) {
        unsigned all = 0, wrong = 0, told = 0;
        for (uint64_t seed = 1; seed <= RUNS; seed++) {
            struct run run;
            run_make(&run, uneven[u], seed);
            for (unsigned to = 1; to < PROFILES; to++)
                for (unsigned from = 0; from < to; from++) {
                    bool known;
                    wrong += !holds(&run, from, to, &known);
                    told += known;
                    all++;
                }
        }
        if (!(wrong <= 0.05 * all && told >= 0.5 * all))
            fail_msg("uneven %g: of %u differences %u are wrong, %u are told", uneven[u], all,
                     wrong, told);
    }
}

/* What is told of a probe in a process: the truth is within the margin, or is a bound or more. */
static double draw_told(uint64_t *seed, struct spex_profile_probe *probe) {
    double held = 100 * random_part(seed), margin = 300 * random_part(seed);
    *probe = (struct spex_profile_probe){.count = 100 * random_part(seed), .uncounted = margin};
    bool bound = margin > probe->count + held;
    if (random_part(seed) < 0.8)
        probe->held_count = held;
    double least = bound ? probe->held_count : fmax(probe->held_count - margin, 0);
    return probe->count + least + (probe->held_count + margin - least) * random_part(seed);
}

TEST(sums_hold_the_truth) {
    unsigned bounds = 0, estimates = 0;
    uint64_t seed = 1;
    for (int n = 0; n < 2000; n++) {
        struct spex_profile_probe sum, more;
        double truth = draw_told(&seed, &sum) + draw_told(&seed, &more);
        spex_held_add(&sum, &more);
        sum.count += more.count;
        bool bound = spex_profile_held_is_bound(&sum);
        assert_true(spex_profile_executions_least(&sum) <= truth || !bound);
        assert_true(truth <= spex_profile_executions(&sum) + sum.uncounted + 1e-9);
        assert_true(truth >= spex_profile_executions(&sum) - sum.uncounted - 1e-9);
        bounds += bound;
        estimates += !bound && sum.held_count > 0;
    }
    assert_true(bounds > 100 && estimates > 100);
}
