/* SPDX-License-Identifier: MIT */
/* Every figure of the sum of two profiles, and of the difference of two, against a table of what is
 * to become of it. */
#include <math.h>

#include "../check.h"
#include "observe/profile_reader.h"
#include "observe/profile_sum.h"
#include "profile/held.h"

enum { ROUNDS = 50 };

/* How a figure is stored. */
enum kind { U16, U32, U64, REAL, FLOAT };

/* What a figure of a sum is: that of the profile that was first, the sum, the greatest, whether one of
 * the two is not 0, or the least that is not 0. */
enum sum { FIRST, ADDED, GREATEST, ANY, LEAST };

/* What a figure of a difference is: the later one, the difference, or the difference but not below
 * 0. */
enum since { LATER, LESS, GROWN };

struct figure {
    const char *name;
    size_t offset;
    enum kind kind;
    enum sum sum;
    enum since since;
};

#define FIGURE(structure, member, kind, sum, since)                                                \
    { #member, offsetof(struct structure, member), kind, sum, since }
#define PROCESS(member, ...) FIGURE(spex_profile_process, member, __VA_ARGS__)
#define TYPE(member, ...)    FIGURE(spex_profile_type, member, __VA_ARGS__)
#define PROBE(member, ...)   FIGURE(spex_profile_probe, member, __VA_ARGS__)

static const struct figure of_process[] = {
    PROCESS(process_id, U32, FIRST, LATER),
    PROCESS(commit, U32, FIRST, LATER),
    PROCESS(ring_cpus, U32, FIRST, LATER),
    PROCESS(threads, U32, ADDED, LATER),
    PROCESS(ring_bytes, U64, ADDED, LATER),
    PROCESS(ticks_per_second, REAL, FIRST, LATER),
    PROCESS(seconds, REAL, GREATEST, LESS),
    PROCESS(program_seconds, REAL, ADDED, LESS),
    PROCESS(collector_seconds, REAL, ADDED, LESS),
    PROCESS(produced, U64, ADDED, GROWN),
    PROCESS(consumed, U64, ADDED, GROWN),
    PROCESS(lost, U64, ADDED, GROWN),
    PROCESS(undelivered, U64, ADDED, GROWN),
    PROCESS(unrecorded, U64, ADDED, GROWN),
    PROCESS(unfollowed, U64, ADDED, GROWN),
    PROCESS(ring_records, U32, FIRST, LATER),
    PROCESS(sites, U32, ADDED, LATER),
    PROCESS(sites_on, U32, ADDED, LATER),
    PROCESS(sites_refused, U32, ADDED, LATER),
    PROCESS(elsewhere, U32, ANY, LATER),
    PROCESS(loaded_ns, U64, FIRST, LATER),
    PROCESS(budget, REAL, GREATEST, LATER),
    PROCESS(budget_seconds, REAL, ADDED, LESS),
    PROCESS(budget_spent, REAL, ADDED, LESS),
    PROCESS(lease_seconds, REAL, GREATEST, LATER),
};

static const struct figure of_type[] = {
    TYPE(used, U32, ANY, LATER),       TYPE(measured, U32, FIRST, LATER),
    TYPE(test, REAL, FIRST, LATER),    TYPE(skip, REAL, FIRST, LATER),
    TYPE(record, REAL, FIRST, LATER),  TYPE(polled, REAL, FIRST, LATER),
    TYPE(empty, REAL, FIRST, LATER),   TYPE(drawn, REAL, FIRST, LATER),
    TYPE(produced, U64, ADDED, GROWN), TYPE(lost, U64, ADDED, GROWN),
};

static const struct figure of_probe[] = {
    PROBE(probe_type, U32, FIRST, LATER),
    PROBE(probe_id, U16, FIRST, LATER),
    PROBE(sites, U32, ADDED, LATER),
    PROBE(sites_on, U32, ADDED, LATER),
    PROBE(period, U32, LEAST, LATER),
    PROBE(period_last, U32, LEAST, LATER),
    PROBE(lost_shared, U32, ANY, LATER),
    PROBE(refused, U32, ANY, LATER),
    PROBE(on_seconds, REAL, ADDED, LESS),
    PROBE(polled_seconds, REAL, ADDED, LESS),
    PROBE(held_seconds, REAL, ADDED, GROWN),
    PROBE(count, REAL, ADDED, GROWN),
    PROBE(count_variance, REAL, ADDED, GROWN),
    PROBE(weight, REAL, ADDED, LESS),
    PROBE(weight_squares, REAL, ADDED, LESS),
    PROBE(lost, REAL, ADDED, GROWN),
    PROBE(records, U64, ADDED, LESS),
    PROBE(marked[0], U64, ADDED, LESS),
    PROBE(marked[SPEX_MARKS - 1], U64, ADDED, LESS),
    PROBE(cost_factor, FLOAT, GREATEST, LATER),
    PROBE(spans_open, U64, ADDED, LATER),
    PROBE(spans_abandoned, U64, ADDED, GROWN),
    PROBE(spans_refused, U64, ADDED, GROWN),
    PROBE(spans_unmatched, U64, ADDED, GROWN),
    PROBE(spans_partial, U32, ANY, LATER),
    PROBE(nested.count, REAL, ADDED, LATER),
    PROBE(nested.x, REAL, ADDED, LATER),
    PROBE(nested.y, REAL, ADDED, LATER),
    PROBE(nested.xx, REAL, ADDED, LATER),
    PROBE(nested.xy, REAL, ADDED, LATER),
    PROBE(nested.yy, REAL, ADDED, LATER),
};

/* The looks of an interval are those of the later profile less the earlier one's, or none at all
 * where they cannot be so. */
static const struct figure of_looks[] = {
    PROBE(activity.looks, U64, ADDED, GROWN),
    PROBE(activity.active, U64, ADDED, GROWN),
    PROBE(activity.threads, U64, ADDED, GROWN),
    PROBE(activity.thread_squares, U64, ADDED, GROWN),
    PROBE(activity.pairs, U64, ADDED, GROWN),
    PROBE(activity.active_pairs, U64, ADDED, GROWN),
    PROBE(activity.thread_pairs, U64, ADDED, GROWN),
};

static double get(const void *of, const struct figure *figure) {
    const char *at = (const char *)of + figure->offset;
    switch (figure->kind) {
    case U16:
        return *(const uint16_t *)(const void *)at;
    case U32:
        return *(const uint32_t *)(const void *)at;
    case U64: /* what has become negative */
        return (double)*(const int64_t *)(const void *)at;
    case FLOAT:
        return (double)*(const float *)(const void *)at;
    default:
        return *(const double *)(const void *)at;
    }
}

static void set(void *of, const struct figure *figure, double value) {
    char *at = (char *)of + figure->offset;
    switch (figure->kind) {
    case U16:
        *(uint16_t *)(void *)at = (uint16_t)value;
        break;
    case U32:
        *(uint32_t *)(void *)at = (uint32_t)value;
        break;
    case U64:
        *(uint64_t *)(void *)at = (uint64_t)value;
        break;
    case FLOAT:
        *(float *)(void *)at = (float)value;
        break;
    default:
        *(double *)(void *)at = value;
    }
}

/* What the sum has of two figures. */
static double summed(const struct figure *figure, double one, double other) {
    switch (figure->sum) {
    case FIRST:
        return one;
    case ADDED:
        return one + other;
    case GREATEST:
        return one > other ? one : other;
    case ANY:
        return one != 0 || other != 0;
    default:
        return one != 0 && (other == 0 || one < other) ? one : other;
    }
}

static double differing(const struct figure *figure, double before, double now) {
    if (figure->since == LATER)
        return now;
    return figure->since == GROWN && now < before ? 0 : now - before;
}

struct made {
    struct spex_profile_type types[2];
    struct spex_profile_row row;
    struct spex_profile profile;
};

static void draw_figures(void *of, const struct figure *figures, size_t count, uint64_t *random) {
    for (size_t f = 0; f < count; f++)
        set(of, &figures[f],
            (double)(figures[f].sum == ANY ? random_below(random, 2)
                                           : random_below(random, 4) * random_below(random, 1000)));
}

/* A process with a probe and two types, with figures at random. */
static void draw(struct made *made, uint64_t *random) {
    struct spex_profile_probe *probe = &made->row.probe;
    memset(made, 0, sizeof(*made));
    draw_figures(&made->profile.process, of_process, COUNT_OF(of_process), random);
    for (unsigned t = 0; t < 2; t++) {
        draw_figures(&made->types[t], of_type, COUNT_OF(of_type), random);
        made->types[t].probe_type = SPEX_PERFCNTR;
        made->types[t].pcid = t;
        made->types[t].measured = made->types[t].measured != 0;
    }
    draw_figures(probe, of_probe, COUNT_OF(of_probe), random);
    probe->probe_type = SPEX_PERFCNTR;
    probe->probe_id = 9;
    probe->declared = 10;
    probe->kind = probe->period_last % 3;
    probe->burst = probe->period_last % 7;
    probe->held_count = (double)random_below(random, 100);
    probe->uncounted = (double)random_below(random, 100);
    probe->slowest.ticks = random_below(random, 100);
    probe->slowest.thread_id = (uint32_t)probe->slowest.ticks + 1;
    probe->activity = (struct spex_occupancy){.looks = 100 + random_below(random, 50),
                                              .active = 10 + random_below(random, 10),
                                              .threads = 20 + random_below(random, 10),
                                              .thread_squares = 30 + random_below(random, 10),
                                              .pairs = 60 + random_below(random, 30),
                                              .active_pairs = random_below(random, 50),
                                              .thread_pairs = random_below(random, 50)};
    made->profile.types = made->types;
    made->profile.type_count = 2;
    made->profile.rows = &made->row;
    made->profile.row_count = 1;
}

static void expect(const char *what, const struct figure *figure, double value, double expected) {
    if (value != expected)
        fail_msg("%s %s is %g, not %g", what, figure->name, value, expected);
}

static void expect_sums(const char *what, const struct figure *figures, size_t count,
                        const void *sum, const void *one, const void *other) {
    for (size_t f = 0; f < count; f++)
        expect(what, &figures[f], get(sum, &figures[f]),
               summed(&figures[f], get(one, &figures[f]), get(other, &figures[f])));
}

static void expect_differences(const char *what, const struct figure *figures, size_t count,
                               const void *difference, const void *before, const void *now) {
    for (size_t f = 0; f < count; f++)
        expect(what, &figures[f], get(difference, &figures[f]),
               differing(&figures[f], get(before, &figures[f]), get(now, &figures[f])));
}

/* Costs are of the first that has measured them, whole; what is counted is added all the same. */
static void expect_type(const struct spex_profile_type *sum, const struct spex_profile_type *one,
                        const struct spex_profile_type *other) {
    struct spex_profile_type costs = !one->measured && other->measured ? *other : *one;
    costs.produced = one->produced;
    costs.lost = one->lost;
    costs.used = one->used;
    assert_int_equal(sum->pcid, one->pcid);
    expect_sums("a type's", of_type, COUNT_OF(of_type), sum, &costs, other);
}

TEST(a_sum_has_all_figures) {
    static struct made one, other;
    uint64_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct spex_profile sum = {0};
        draw(&one, &random);
        draw(&other, &random);
        /* Times are told as by one length of a tick: profile_since.c has others. */
        other.profile.process.ticks_per_second = ++one.profile.process.ticks_per_second;
        strcpy(one.profile.process.selection, "same");
        strcpy(other.profile.process.selection, "same");
        strcpy(one.profile.process.leased, "one");
        strcpy(other.profile.process.leased, "other");
        strcpy(one.profile.process.rate_policy, round % 2 ? "fixed" : "hybrid");
        strcpy(other.profile.process.rate_policy, "hybrid");
        strcpy(one.row.probe.why, "why");
        strcpy(other.row.probe.why, round % 2 ? "why not" : "why");
        assert_int_equal(spex_profile_add(&sum, &one.profile), 0);
        assert_int_equal(spex_profile_add(&sum, &other.profile), 0);
        assert_int_equal(sum.type_count, 2);
        assert_int_equal(sum.row_count, 1);
        expect_sums("the process's", of_process, COUNT_OF(of_process), &sum.process,
                    &one.profile.process, &other.profile.process);
        assert_string_equal(sum.process.selection, "same");
        assert_string_equal(sum.process.leased, "");
        assert_string_equal(sum.process.rate_policy, round % 2 ? "" : "hybrid");
        for (unsigned t = 0; t < 2; t++)
            expect_type(&sum.types[t], &one.types[t], &other.types[t]);
        const struct spex_profile_probe *probe = &sum.rows[0].probe, *a = &one.row.probe,
                                        *b = &other.row.probe;
        expect_sums("the probe's", of_probe, COUNT_OF(of_probe), probe, a, b);
        expect_sums("the probe's", of_looks, COUNT_OF(of_looks), probe, a, b);
        assert_true(probe->uncounted == a->uncounted + b->uncounted);
        assert_true(probe->held_count == a->held_count + b->held_count);
        assert_string_equal(probe->why, round % 2 ? "" : "why");
        assert_int_equal(probe->slowest.ticks,
                         a->slowest.ticks > b->slowest.ticks ? a->slowest.ticks : b->slowest.ticks);
        assert_int_equal(probe->slowest.thread_id,
                         probe->slowest.ticks ? probe->slowest.ticks + 1 : 0);
        assert_int_equal(probe->kind, probe->period_last % 3);
        assert_int_equal(probe->burst, probe->period_last % 7);
        spex_profile_free(&sum);
    }
}

/* Between two profiles, of which the second one's figures may also be less. */
TEST(a_difference_has_all_figures) {
    static struct made before, now;
    uint64_t random = 2;
    for (int round = 0; round < ROUNDS; round++) {
        struct spex_profile difference;
        draw(&before, &random);
        draw(&now, &random);
        now.profile.process.ticks_per_second = ++before.profile.process.ticks_per_second;
        for (size_t f = 0; f < COUNT_OF(of_looks) && round % 2; f++)
            set(&now.row.probe, &of_looks[f],
                get(&now.row.probe, &of_looks[f]) + get(&before.row.probe, &of_looks[f]));
        assert_int_equal(spex_profile_since(&now.profile, &before.profile, &difference), 0);
        assert_int_equal(difference.type_count, 2);
        assert_int_equal(difference.row_count, 1);
        expect_differences("the process's", of_process, COUNT_OF(of_process), &difference.process,
                           &before.profile.process, &now.profile.process);
        for (unsigned t = 0; t < 2; t++)
            expect_differences("a type's", of_type, COUNT_OF(of_type), &difference.types[t],
                               &before.types[t], &now.types[t]);
        const struct spex_profile_probe *probe = &difference.rows[0].probe, *a = &before.row.probe,
                                        *b = &now.row.probe;
        expect_differences("the probe's", of_probe, COUNT_OF(of_probe), probe, a, b);
        if (round % 2)
            expect_differences("the probe's", of_looks, COUNT_OF(of_looks), probe, a, b);
        struct spex_profile_probe held = *b;
        spex_held_since(&held, a);
        assert_true(probe->held_count == held.held_count && probe->uncounted == held.uncounted);
        spex_profile_free(&difference);
    }
}

/* What has no partner before is as it is: a probe, and a type that is another one. */
TEST(what_is_new_is_whole) {
    static struct made before, now;
    struct spex_profile difference;
    uint64_t random = 3;
    draw(&before, &random);
    draw(&now, &random);
    before.row.probe.probe_id = 8;
    before.types[0].pcid = 5;
    before.types[1].probe_type = SPEX_LLC;
    assert_int_equal(spex_profile_since(&now.profile, &before.profile, &difference), 0);
    assert_memory_equal(&difference.rows[0].probe, &now.row.probe, sizeof(now.row.probe));
    assert_memory_equal(difference.types, now.types, sizeof(now.types));
    spex_profile_free(&difference);
    before.profile.type_count = 0;
    before.profile.row_count = 0;
    now.profile.type_count = 1;
    assert_int_equal(spex_profile_since(&now.profile, &before.profile, &difference), 0);
    assert_int_equal(difference.type_count, 1);
    assert_memory_equal(difference.types, now.types, sizeof(now.types[0]));
    spex_profile_free(&difference);
}

/* No probe was on for longer than the program, and its times keep their parts. */
TEST(times_are_within_those_of_the_program) {
    struct spex_profile_row rows[] = {
        {.probe = {.on_seconds = 6, .polled_seconds = 3, .held_seconds = 10}},
        {.probe = {.on_seconds = 3, .polled_seconds = 1, .held_seconds = 1}},
        {.probe = {.on_seconds = 0}}};
    struct spex_profile sum = {.rows = rows, .row_count = 3};
    spex_profile_settle(&sum, 4);
    assert_true(sum.process.seconds == 4);
    assert_true(rows[0].probe.on_seconds == 1.5 && rows[0].probe.polled_seconds == 0.75 &&
                rows[0].probe.held_seconds == 2.5);
    assert_true(rows[1].probe.on_seconds == 3 && rows[1].probe.polled_seconds == 1 &&
                rows[1].probe.held_seconds == 1);
    assert_true(rows[2].probe.on_seconds == 0);
    spex_profile_settle(&sum, 0);
    assert_true(rows[1].probe.on_seconds == 0 && rows[1].probe.held_seconds == 0);
}
