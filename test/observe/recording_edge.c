/* SPDX-License-Identifier: MIT */
/* Profiles of a moment of a trace, of random profiles around it and random sums of records beside
 * it: every figure against a plain calculation. */
#include <math.h>

#include "../check.h"
#include "profile/held.h"
#include "trace/read/edge.h"

enum { CASES = 20000, ROWS = 3, CLASSES = 5, TYPES = 2 };

/* The profiles are in the memory of the test. */
struct around {
    struct spex_recording trace;
    struct spex_recording_process process;
    struct spex_recording_class classes[CLASSES];
    struct spex_edge edge;
    struct spex_edge_sums before[CLASSES], after[CLASSES];
    struct spex_profile_row first_rows[ROWS], last_rows[ROWS];
    struct spex_profile_type first_types[TYPES], last_types[TYPES];
};

static uint64_t state_of_chance = 1;

static uint64_t chance(uint64_t below) {
    return random_below(&state_of_chance, below);
}

static void make_row(struct spex_profile_probe *probe, unsigned id, unsigned scale) {
    *probe = (struct spex_profile_probe){
        .probe_type = SPEX_LAT,
        .probe_id = (uint16_t)id,
        .period = (uint32_t)chance(2),
        .count = (double)chance(100 * scale),
        .on_seconds = (double)chance(10 * scale),
        .polled_seconds = (double)chance(11 * scale),
        .held_seconds = (double)chance(12 * scale),
        .held_count = (double)chance(13 * scale),
        .uncounted = (double)chance(14 * scale),
        .lost = (double)chance(15 * scale),
        .spans_abandoned = chance(16 * scale),
        .spans_refused = chance(17 * scale),
        .spans_unmatched = chance(18 * scale),
    };
}

static void make_profile(struct spex_profile *profile, struct spex_profile_row *rows,
                         size_t row_count, struct spex_profile_type *types, unsigned scale) {
    *profile = (struct spex_profile){
        .rows = rows, .row_count = row_count, .types = types, .type_count = 1 + chance(TYPES)};
    profile->process = (struct spex_profile_process){
        .ticks_per_second = 1000,
        .seconds = (double)chance(10 * scale),
        .program_seconds = (double)chance(11 * scale),
        .collector_seconds = (double)chance(12 * scale),
        .budget_seconds = (double)chance(13 * scale),
        .budget_spent = (double)chance(14 * scale),
        .produced = chance(15 * scale),
        .consumed = chance(16 * scale),
        .lost = chance(17 * scale),
        .undelivered = chance(18 * scale),
        .unrecorded = chance(19 * scale),
    };
    memset(rows, 0, ROWS * sizeof(*rows));
    memset(types, 0, TYPES * sizeof(*types));
    for (unsigned r = 0; r < row_count; r++)
        make_row(&rows[r].probe, r + 1, scale);
    for (unsigned t = 0; t < TYPES; t++)
        types[t] = (struct spex_profile_type){
            .probe_type = t, .produced = chance(20 * scale), .lost = chance(21 * scale)};
}

/* Sums that are none, or whole: sometimes those of all executions. */
static void make_sums(struct spex_edge_sums *sums) {
    for (size_t c = 0; c < CLASSES; c++) {
        uint64_t records = chance(3) ? chance(10) : 0;
        sums[c] = (struct spex_edge_sums){.weight = (double)(records * (1 + chance(3))),
                                          .records = (double)records};
    }
}

static void make_around(struct around *a) {
    memset(a, 0, sizeof(*a));
    bool first = chance(3) > 0, last = chance(3) > 0;
    uint64_t from = 1000 + chance(3) * 500, at = from + chance(3) * 300, to = at + chance(3) * 400;
    for (unsigned c = 0; c < CLASSES; c++)
        a->classes[c] = (struct spex_recording_class){.known = c != 3,
                                                      .probe_id = (uint16_t)(1 + c % ROWS),
                                                      .probe_type = c == 4 ? SPEX_CNT : SPEX_LAT};
    a->process.journal.classes = a->classes;
    a->process.journal.class_count = CLASSES;
    a->trace.ticks_per_second = 1000;
    make_sums(a->before);
    make_sums(a->after);
    a->edge = (struct spex_edge){.trace = &a->trace,
                                 .process = &a->process,
                                 .at = at,
                                 .from = first ? from : at,
                                 .to = last ? to : at,
                                 .have_first = first,
                                 .have_last = last,
                                 .before = a->before,
                                 .after = a->after};
    if (first)
        make_profile(&a->edge.first, a->first_rows, chance(ROWS + 1), a->first_types, 3);
    if (last)
        make_profile(&a->edge.last, a->last_rows, ROWS, a->last_types, 6);
}

static void expect_near(const char *what, double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-9 * (1 + fabs(wanted))))
        fail_msg("%s: %g, and not %g", what, value, wanted);
}

#define EXPECT(is, member, wanted) expect_near(#member, (double)(is)->member, (double)(wanted))

/* What lies so far between the two: of times, and of numbers, which are never taken back. */
#define EXPECT_PART(is, first, last, member)                                                       \
    EXPECT(is, member, (double)(first)->member *(1 - part) + (double)(last)->member * part)
#define EXPECT_NUMBER(is, first, last, member)                                                     \
    EXPECT(is, member,                                                                             \
           (last)->member > (first)->member                                                        \
               ? (first)->member + (uint64_t)(part * (double)((last)->member - (first)->member))   \
               : (last)->member)

static double weight_of(const struct around *a, const struct spex_edge_sums *sums, unsigned id,
                        double *records) {
    double weight = 0;
    *records = 0;
    for (unsigned c = 0; c < CLASSES; c++) {
        bool ours = a->classes[c].known && a->classes[c].probe_id == id &&
                    a->classes[c].probe_type == SPEX_LAT;
        weight += ours ? sums[c].weight : 0;
        *records += ours ? sums[c].records : 0;
    }
    return weight;
}

/* Executions from the first profile, of so many up to the last; records of those that no other
 * stands for may have been lost, as far as the process has lost records of this period. */
static double executions_of(const struct around *a, unsigned id, double all, double part,
                            double period, double *variance) {
    double records, more;
    double before = weight_of(a, a->before, id, &records),
           after = weight_of(a, a->after, id, &more);
    *variance = 0;
    if (part == 0 || part == 1)
        return part * all;
    if (all == before + after)
        return before;
    double anywhere = all, share = part;
    if (before + after > 0) {
        share = before / (before + after);
        *variance = all * share * all * (1 - share) / (records + more);
        anywhere = 0;
        if (a->edge.last.process.lost > a->edge.first.process.lost)
            anywhere = (double)(a->edge.last.process.lost - a->edge.first.process.lost);
        anywhere = fmin(anywhere * fmax(period, 1), fmax(all - before - after, 0));
    }
    *variance += pow(anywhere * fmax(share, 1 - share) / 1.959964, 2);
    return all * share;
}

static void expect_row_between(const struct around *a, unsigned r,
                               const struct spex_profile_probe *is, double variance, double part) {
    static const struct spex_profile_probe none;
    const struct spex_profile_probe *last = &a->last_rows[r].probe, *first = &none;
    double wanted_variance;
    if (a->edge.first.row_count > r)
        first = &a->first_rows[r].probe;
    double all = last->count > first->count ? last->count - first->count : 0;
    EXPECT(is, count,
           first->count + executions_of(a, r + 1, all, part, last->period_last, &wanted_variance));
    expect_near("variance", variance, wanted_variance);
    EXPECT_PART(is, first, last, on_seconds);
    EXPECT_PART(is, first, last, polled_seconds);
    EXPECT_PART(is, first, last, held_seconds);
    struct spex_profile_probe held = *last;
    spex_held_between(&held, first, part);
    EXPECT(is, held_count, held.held_count);
    EXPECT(is, uncounted, held.uncounted);
    EXPECT_PART(is, first, last, lost);
    EXPECT_NUMBER(is, first, last, spans_abandoned);
    EXPECT_NUMBER(is, first, last, spans_refused);
    EXPECT_NUMBER(is, first, last, spans_unmatched);
}

static void expect_between(const struct around *a, const struct spex_profile *profile,
                           const double *variances) {
    const struct spex_edge *edge = &a->edge;
    double part = edge->to == edge->from
                      ? 0
                      : (double)(edge->at - edge->from) / (double)(edge->to - edge->from);
    const struct spex_profile_process *is = &profile->process, *first = &edge->first.process,
                                      *last = &edge->last.process;
    EXPECT_PART(is, first, last, seconds);
    EXPECT_PART(is, first, last, program_seconds);
    EXPECT_PART(is, first, last, collector_seconds);
    EXPECT_PART(is, first, last, budget_seconds);
    EXPECT_PART(is, first, last, budget_spent);
    EXPECT_NUMBER(is, first, last, produced);
    EXPECT_NUMBER(is, first, last, consumed);
    EXPECT_NUMBER(is, first, last, lost);
    EXPECT_NUMBER(is, first, last, undelivered);
    EXPECT_NUMBER(is, first, last, unrecorded);
    assert_int_equal(profile->type_count, edge->last.type_count);
    for (size_t t = 0; t < profile->type_count; t++) {
        static const struct spex_profile_type none;
        const struct spex_profile_type *earlier = &none;
        if (t < edge->first.type_count)
            earlier = &a->first_types[t];
        EXPECT_NUMBER(&profile->types[t], earlier, &a->last_types[t], produced);
        EXPECT_NUMBER(&profile->types[t], earlier, &a->last_types[t], lost);
    }
    for (unsigned r = 0; r < ROWS; r++)
        expect_row_between(a, r, &profile->rows[r].probe, variances[r], part);
}

static double at_least_0(double value) {
    return value > 0 ? value : 0;
}

/* One profile, and the moment after or before it. */
static void expect_beyond(const struct around *a, const struct spex_profile *profile,
                          const double *variances) {
    const struct spex_edge *edge = &a->edge;
    bool behind = edge->have_first;
    const struct spex_profile *from = behind ? &edge->first : &edge->last;
    double seconds =
        behind ? (double)(edge->at - edge->from) / 1000 : -(double)(edge->to - edge->at) / 1000;
    EXPECT(&profile->process, seconds, at_least_0(from->process.seconds + seconds));
    EXPECT(&profile->process, program_seconds, from->process.program_seconds);
    EXPECT(&profile->process, produced, from->process.produced);
    for (unsigned r = 0; r < from->row_count; r++) {
        const struct spex_profile_probe *is = &profile->rows[r].probe, *was = &from->rows[r].probe;
        double records;
        double weight = weight_of(a, behind ? a->before : a->after, r + 1, &records);
        EXPECT(is, count, at_least_0(was->count + (behind ? weight : -weight)));
        EXPECT(is, on_seconds,
               was->period ? at_least_0(was->on_seconds + seconds) : was->on_seconds);
        EXPECT(is, held_seconds, was->held_seconds);
        expect_near("variance", variances[r], 0);
    }
}

TEST(moments_are_as_calculated) {
    static struct around a;
    for (unsigned c = 0; c < CASES; c++) {
        struct spex_profile profile;
        double *variances;
        make_around(&a);
        assert_int_equal(spex_edge_profile(&a.edge, &profile, &variances), 0);
        const struct spex_profile *from = a.edge.have_last ? &a.edge.last : &a.edge.first;
        assert_int_equal(profile.row_count, from->row_count);
        if (a.edge.have_first && a.edge.have_last)
            expect_between(&a, &profile, variances);
        else if (a.edge.have_first || a.edge.have_last)
            expect_beyond(&a, &profile, variances);
        spex_profile_free(&profile);
        free(variances);
    }
}

/* A record belongs to the piece that its time is in, and to none outside. */
TEST(records_are_added_to_their_piece) {
    static struct around a;
    static struct spex_edge_sums before[CLASSES], after[CLASSES];
    for (unsigned c = 0; c < CASES / 100; c++) {
        make_around(&a);
        memcpy(before, a.before, sizeof(before));
        memcpy(after, a.after, sizeof(after));
        for (uint64_t ticks = a.edge.from - 2; ticks < a.edge.to + 3; ticks++) {
            unsigned class = chance(CLASSES), weight = 1 + chance(5);
            struct spex_recording_event event = {.process = &a.process,
                                                 .class = &a.classes[class],
                                                 .record = {.timestamp = ticks, .weight = weight}};
            spex_edge_add(&a.edge, &event);
            if (ticks < a.edge.from || ticks >= a.edge.to)
                continue;
            struct spex_edge_sums *sums = ticks < a.edge.at ? before : after;
            sums[class].weight += weight;
            sums[class].records += 1;
        }
        assert_memory_equal(a.before, before, sizeof(before));
        assert_memory_equal(a.after, after, sizeof(after));
    }
}
