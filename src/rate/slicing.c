/* SPDX-License-Identifier: MIT */
/* Slices of the time are the same for all subjects that are in slices, so that to begin and end them
 * costs the same for one as for a thousand. Of dear ones each is on in some of them, chosen so that
 * all cost alike. */
#include <math.h>

#include "rate/plan.h"

#define LENGTH_LEAST 200e-6
#define LENGTH_MOST  0.05
#define PAUSE_MOST   64.0

/* A slice costs so many times what it takes to begin and end it. */
#define SLICE_TIMES 2.0

/* Of what counting leaves, records of those that are counted get so much as if they were so many
 * more in slices. */
#define RECORDS_WORTH 0.2

/* Records in slices cost at most such a part of what executions do, and are no more than a ring holds. */
#define RECORDS_SHARE 0.5
#define RECORDS_MOST  1000.0

/* Fewer executions of the witness do not tell how much work a slice had. */
#define UNITS_LEAST 30.0

static uint32_t period_of(const struct spex_rate *rate, const struct spex_rate_subject *of,
                          const struct spex_rate_room *room) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    double dear = (of->cost.drawn + room->record) / (RECORDS_SHARE * of->cost.skip);
    double many = known->rate * rate->slices.length / RECORDS_MOST;
    double period = ceil(fmax(dear, many));
    return period < 1 ? SPEX_RATE_ALL : (uint32_t)fmin(period, SPEX_CONTROL_PERIOD_MAX);
}

/* What a subject in slices may cost a second while it is on. */
static double cost_of(const struct spex_rate *rate, const struct spex_rate_subject *of,
                      const struct spex_rate_room *room) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    double records = of->recorded / fmax(period_of(rate, of, room), 1);
    return known->rate *
           (spex_rate_skip_most(rate, known, of) +
            records * (of->cost.drawn * spex_rate_record_factor(rate) + room->record));
}

/* Sets the part of slices in which each is on. Returns what all cost in a second of slices, which is no
 * more than the program takes in all. */
static double parts_set(struct spex_rate *rate, const struct spex_rate_in *in,
                        const struct spex_rate_room *room) {
    double most = 0, sum = 0;
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        if (!spex_rate_is(rate, of, SPEX_RATE_SLICED))
            continue;
        double cost = fmax(cost_of(rate, of, room), 1e-9);
        spex_rate_known(rate, of)->part = 1 / cost;
        most = fmax(most, 1 / cost);
        sum++;
    }
    for (size_t s = 0; s < in->count; s++)
        if (spex_rate_is(rate, &in->subjects[s], SPEX_RATE_SLICED))
            spex_rate_known(rate, &in->subjects[s])->part /= most;
    return fmin(sum / most, fmax(rate->cpus, 1));
}

/* Those that are on in this slice. */
static void all_begin(struct spex_rate *rate, const struct spex_rate_in *in,
                      const struct spex_rate_room *room) {
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        struct spex_rate_known *known = spex_rate_known(rate, of);
        if (!spex_rate_is(rate, of, SPEX_RATE_SLICED))
            continue;
        known->slice_cost = 0;
        known->owed += known->part;
        if (known->owed < 1)
            continue;
        known->owed -= 1;
        known->off = in->now - known->off_since;
        known->period = known->slice_period = period_of(rate, of, room);
        known->slice_on = known->on;
    }
}

/* What executions have likely cost of the CPU time that the program had in the slice. Without clocks of
 * threads it has used as many CPUs as it mostly does. */
static double slowed_by(const struct spex_rate *rate, const struct spex_rate_in *in) {
    const struct spex_rate_slices *slices = &rate->slices;
    double running = in->running - slices->running;
    if (in->threads != slices->threads || !(running > 0))
        running = (in->now - slices->since) * fmax(rate->cpus, 1);
    return running > 0 ? slices->likely / running : 0;
}

/* Returns for how long the slice has been on. */
static double all_end(struct spex_rate *rate, const struct spex_rate_in *in) {
    double lasted = 0, slowed = slowed_by(rate, in);
    for (size_t s = 0; s < in->count; s++) {
        struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        if (known->state != SPEX_RATE_SLICED || known->period == SPEX_SITE_HELD)
            continue;
        spex_rate_measure(known);
        known->period = SPEX_SITE_HELD;
        known->off_since = in->now;
        known->slowed = slowed;
        lasted = fmax(lasted, known->on - known->slice_on);
    }
    return lasted;
}

/* A slice ends: which part of its cost, by calibration, each subject was. */
static void shares_add(struct spex_rate *rate, const struct spex_rate_in *in) {
    double weight = 1.0 / fmin(++rate->slices.ended, SPEX_RATE_FIGURES);
    for (size_t s = 0; s < in->count; s++) {
        struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        if (known->state != SPEX_RATE_SLICED)
            continue;
        known->share += (known->slice_cost / rate->slices.cost - known->share) * weight;
        known->found = spex_rate_contrast_finding(&rate->slices.found);
    }
}

/* The witness tells how much work the program has done in the slice or the pause. */
static void part_end(struct spex_rate *rate, const struct spex_rate_in *in) {
    struct spex_rate_slices *slices = &rate->slices;
    const struct spex_rate_subject *witness = spex_rate_find(rate, in, slices->witness);
    struct spex_rate_part part = {0, 0, 0};
    double units = witness ? witness->executions - slices->units : 0;
    if (slices->witness == rate->witness && slices->threads == in->threads && units >= UNITS_LEAST)
        part = (struct spex_rate_part){in->running - slices->running, units, slices->cost};
    spex_rate_contrast_add(&slices->found, slices->on, part);
    if (slices->on && slices->cost > 0)
        shares_add(rate, in);
}

static void part_begin(struct spex_rate *rate, const struct spex_rate_in *in) {
    struct spex_rate_slices *slices = &rate->slices;
    const struct spex_rate_subject *witness = spex_rate_find(rate, in, rate->witness);
    slices->since = in->now;
    slices->running = in->running;
    slices->threads = in->threads;
    slices->cost = slices->likely = 0;
    slices->witness = rate->witness;
    slices->units = witness ? witness->executions : 0;
}

/* A slice that has lasted longer than it should, since the collector came late, is paid for in several
 * pauses: by long ones alone little would be told. Each pays for so many slices at most. */
#define PAID_MOST 2.0

/* The pause after a slice is as long as pays for it, at random, so that slices do not fall into step
 * with the program. What steps cost, and what there is to pay with, may turn out in the pause to be
 * less, or more. */
static void pause_set(struct spex_rate *rate, double may_cost) {
    struct spex_rate_slices *slices = &rate->slices;
    double cost = slices->paid * slices->second + 2 * rate->step;
    double pause = (cost / may_cost - slices->paid) * slices->random;
    slices->until = slices->since + fmin(fmax(pause, slices->debt), PAUSE_MOST);
}

static void pause_begin(struct spex_rate *rate, const struct spex_rate_in *in,
                        const struct spex_rate_room *room) {
    struct spex_rate_slices *slices = &rate->slices;
    slices->unpaid += all_end(rate, in);
    slices->paid = fmin(slices->unpaid, PAID_MOST * slices->length);
    slices->unpaid -= slices->paid;
    slices->second = parts_set(rate, in, room);
    slices->random = 0.5 + spex_rate_chance(rate);
    slices->debt = fmax(-rate->tokens / room->budget, 0);
}

static double length_of(const struct spex_rate *rate, double second) {
    double length = 2 * SLICE_TIMES * rate->step / fmax(second, 1e-9);
    return fmin(fmax(length, LENGTH_LEAST), LENGTH_MOST);
}

static void slice_begin(struct spex_rate *rate, const struct spex_rate_in *in,
                        const struct spex_rate_room *room) {
    struct spex_rate_slices *slices = &rate->slices;
    bool first = slices->length <= 0;
    double second = parts_set(rate, in, room);
    slices->length = first ? LENGTH_LEAST : length_of(rate, second);
    all_begin(rate, in, room);
    slices->until = in->now + slices->length;
}

void spex_rate_slice(struct spex_rate *rate, const struct spex_rate_in *in,
                     struct spex_rate_room *room) {
    struct spex_rate_slices *slices = &rate->slices;
    /* A pause goes on where nothing is selected for a while. */
    slices->of = room->sliced;
    if (!room->sliced)
        return;
    double left = room->counting - room->counted - room->collecting - room->repaid;
    double may_cost = fmax(left, room->slicing);
    may_cost *= room->sliced / (room->sliced + (room->on ? RECORDS_WORTH : 0));
    room->sliced_part = may_cost / room->sliced;
    if (!slices->on)
        pause_set(rate, may_cost);
    if (slices->until > in->now)
        return;
    part_end(rate, in);
    if (slices->on)
        pause_begin(rate, in, room);
    else
        slice_begin(rate, in, room);
    slices->on = !slices->on;
    part_begin(rate, in);
    if (!slices->on)
        pause_set(rate, may_cost);
}
