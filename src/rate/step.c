/* SPDX-License-Identifier: MIT */
/* A step in the order in which it decides: what has happened is accounted for and measured; what is
 * to be counted is, or is in slices; and records have the rest. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascending.h"
#include "base/memory/memory.h"
#include "rate/plan.h"

/* What is switched off and on again within so many seconds goes on where it was: who selects again
 * and again has one budget. */
#define KEPT_SECONDS 10.0

/* What a step costs before one was measured, with its pass. */
#define STEP_COST 30e-6

/* What counting may take of the budget: the rest is for slices, records and steps. */
#define COUNTED_MOST 0.9

/* Where not all can be counted, slices have this part of the budget at least: something is to be known of
 * each. */
#define SLICES_LEAST 0.25

/* Of what counting and collectors leave, such a part pays back what the start has cost. */
#define REPAID (2 / 3.0)

static void select_again(const struct spex_rate_in *in, const struct spex_rate_subject *of,
                         struct spex_rate_known *known) {
    if (of->selected) {
        known->gone = 0;
        spex_rate_event(known, SPEX_RATE_COMES, in->now);
        return;
    }
    known->gone = known->gone > 0 ? known->gone : in->now;
    if (in->now - known->gone >= KEPT_SECONDS)
        spex_rate_event(known, SPEX_RATE_GOES, in->now);
}

static void measure_all(struct spex_rate *rate, const struct spex_rate_in *in) {
    for (size_t s = 0; s < in->count; s++) {
        struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        select_again(in, &in->subjects[s], known);
        if (known->state == SPEX_RATE_COUNTED || known->state == SPEX_RATE_NEW)
            spex_rate_measure(known);
    }
}

/* One that is nearly as frequent stays: two may execute equally often. */
static void witness_choose(struct spex_rate *rate, const struct spex_rate_in *in) {
    uint32_t before = rate->witness;
    double most = 0;
    rate->witness = SPEX_RATE_NONE;
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        double weight = spex_rate_known(rate, of)->rate * (of->index == before ? 2 : 1);
        if (!spex_rate_is(rate, of, SPEX_RATE_COUNTED) || weight <= most)
            continue;
        most = weight;
        rate->witness = of->index;
    }
}

static struct spex_rate_room room_make(const struct spex_rate *rate,
                                       const struct spex_rate_in *in) {
    const struct spex_rate_collecting_cost collecting =
        spex_rate_collecting_cost(&rate->collecting);
    struct spex_rate_room room = {.budget = spex_rate_budget(rate, in->share),
                                  .record = collecting.record};
    room.collecting = fmin(collecting.second, room.budget);
    room.counting = COUNTED_MOST * room.budget;
    room.slicing = SLICES_LEAST * room.budget;
    return room;
}

static void repay(struct spex_rate *rate, struct spex_rate_room *room) {
    double left = fmax(room->budget - room->counted - room->collecting, 0);
    room->repaid = rate->lent > 0 ? REPAID * left : 0;
    rate->repaid = room->repaid / room->budget;
}

static double due_at(const struct spex_rate *rate, const struct spex_rate_in *in,
                     const struct spex_rate_room *room) {
    double due = in->now + spex_rate_between(rate, room, SPEX_RATE_STEP_SECONDS);
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        if (spex_rate_is(rate, &in->subjects[s], SPEX_RATE_NEW))
            due = fmin(due, in->now + fmax(in->now - known->since, SPEX_RATE_FIRST_SECONDS));
    }
    due = fmin(due, rate->asking.due);
    return room->sliced ? fmin(due, rate->slices.until) : due;
}

/* A pass costs about what a step does, so passes are as rare. What is new is looked at as usual. */
static double rest_between(const struct spex_rate *rate, const struct spex_rate_in *in,
                           const struct spex_rate_room *room) {
    for (size_t s = 0; s < in->count; s++)
        if (spex_rate_is(rate, &in->subjects[s], SPEX_RATE_NEW))
            return 0;
    return spex_rate_between(rate, room, 0);
}

int spex_rate_step(struct spex_rate *rate, const struct spex_rate_in *in,
                   struct spex_rate_out *out) {
    spex_rate_account(rate, in);
    rate->waits = spex_rate_waits(rate);
    struct spex_rate_room room = room_make(rate, in);
    *out = (struct spex_rate_out){.looks = 0};
    measure_all(rate, in);
    spex_rate_fit(rate, in, &room);
    repay(rate, &room);
    witness_choose(rate, in);
    spex_rate_slice(rate, in, &room);
    spex_rate_ask(rate, in, &room);
    int err = spex_rate_divide(rate, in, &room, out);
    out->due = due_at(rate, in, &room);
    out->rest = rest_between(rate, in, &room);
    return err;
}

void spex_rate_note_step(struct spex_rate *rate, double cost) {
    double sorted[SPEX_RATE_STEPS_KEPT], *last = rate->step_costs;
    unsigned before = rate->steps < SPEX_RATE_STEPS_KEPT ? rate->steps : SPEX_RATE_STEPS_KEPT - 1;
    memmove(last + 1, last, before * sizeof(*last));
    last[0] = cost;
    rate->steps = before + 1;
    memcpy(sorted, last, rate->steps * sizeof(*last));
    spex_sort(sorted, rate->steps, sizeof(*sorted), spex_ascending);
    rate->step = sorted[before / 2];
}

void spex_rate_begin(struct spex_rate *rate, uint64_t seed) {
    rate->step = STEP_COST;
    rate->cpus = 1;
    rate->witness = SPEX_RATE_NONE;
    rate->asking.phase = 3;
    spex_random_seed(&rate->random, seed, 0);
}
