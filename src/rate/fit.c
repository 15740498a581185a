/* SPDX-License-Identifier: MIT */
/* Counting comes first: the cheapest subjects are counted, as long as all of them cost what the
 * budget pays for, whatever the program does with its caches; or so little by calibration that it
 * pays for what the dearest of programs makes of it for a while. Others are on in slices. */
#include <math.h>
#include <stdlib.h>

#include "base/memory/memory.h"
#include "rate/plan.h"

/* Counting that costs such a part of the budget by calibration is done without more ado: a program
 * that waits for memory, where it costs several times as much, is found out (asking.c). */
#define TRUSTED (1 / 3.0)

/* What is in slices is counted again where it costs so many times less than it may; and is trusted
 * where it does by so much: rates that were measured in slices are those of moments. */
#define HYSTERESIS       1.25
#define HYSTERESIS_TRUST 2.0

double spex_rate_chance(struct spex_rate *rate) {
    return (double)(spex_random_next(&rate->random) >> 11) * 0x1p-53;
}

const struct spex_rate_subject *spex_rate_find(const struct spex_rate *rate,
                                               const struct spex_rate_in *in, uint32_t index) {
    if (index == SPEX_RATE_NONE)
        return NULL;
    uint32_t at = rate->known[index].at;
    return at < in->count && in->subjects[at].index == index ? &in->subjects[at] : NULL;
}

static bool is_on(const struct spex_rate *rate, const struct spex_rate_subject *of) {
    return spex_rate_is(rate, of, SPEX_RATE_COUNTED) || spex_rate_is(rate, of, SPEX_RATE_SLICED) ||
           (spex_rate_is(rate, of, SPEX_RATE_NEW) &&
            (spex_rate_known(rate, of)->rate > 0 ||
             rate->now - spex_rate_known(rate, of)->since >= SPEX_RATE_STEP_SECONDS));
}

static const struct spex_rate_known *ordered;

/* One that is counted comes before others that are about as dear, so that they do not take turns. */
static double place(const struct spex_rate_known *known) {
    return known->likely * (known->state == SPEX_RATE_SLICED ? HYSTERESIS : 1);
}

/* Equals keep their order, so that they are not in slices in turn. */
static int by_cost(const void *a, const void *b) {
    uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
    double one = place(&ordered[first]), other = place(&ordered[second]);
    int order = (one > other) - (one < other);
    return order ? order : (first > second) - (first < second);
}

/* Sets what each costs, and sorts those that are on by it. Returns how many there are. */
static size_t order_make(struct spex_rate *rate, const struct spex_rate_in *in) {
    size_t count = 0;
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        struct spex_rate_known *known = spex_rate_known(rate, of);
        if (!is_on(rate, of))
            continue;
        known->each_likely = spex_rate_skip(rate, known, of);
        known->each_most = spex_rate_skip_most(rate, known, of);
        known->hot = known->rate * of->cost.skip;
        known->likely = known->rate * known->each_likely;
        known->most = known->rate * known->each_most;
        rate->order[count++] = of->index;
    }
    ordered = rate->known;
    spex_sort(rate->order, count, sizeof(*rate->order), by_cost);
    return count;
}

static void sliced_begin(struct spex_rate *rate, struct spex_rate_known *known) {
    known->sliced = true;
    known->off_since = rate->now;
    known->off = 0;
    known->owed = spex_rate_chance(rate);
}

/* What counting it costs, for sure or as far as that is trusted. Adds to what is trusted. */
static double cost_of(const struct spex_rate_known *known, const struct spex_rate_room *room,
                      double *trusted) {
    double times = known->state == SPEX_RATE_SLICED ? HYSTERESIS_TRUST : 1;
    if ((*trusted + known->hot) * times > TRUSTED * room->budget)
        return known->most;
    *trusted += known->hot;
    return known->likely;
}

/* Chooses those that are counted, as long as counting takes no more than `most`. Returns how many are
 * not. */
static unsigned choose(struct spex_rate *rate, const struct spex_rate_in *in,
                       struct spex_rate_room *room, size_t count, double most) {
    double trusted = spex_rate_waits(rate) > 0 ? INFINITY : 0;
    room->counted = room->counted_most = 0;
    room->on = 0;
    for (size_t o = 0; o < count; o++) {
        struct spex_rate_known *known = &rate->known[rate->order[o]];
        double times = known->state == SPEX_RATE_SLICED ? HYSTERESIS : 1;
        double cost = cost_of(known, room, &trusted);
        known->fits = in->overspends || room->counted + cost * times <= most;
        if (!known->fits)
            continue;
        room->counted += cost;
        room->counted_most += known->most;
        room->on++;
    }
    return (unsigned)count - room->on;
}

void spex_rate_fit(struct spex_rate *rate, const struct spex_rate_in *in,
                   struct spex_rate_room *room) {
    size_t count = order_make(rate, in);
    room->sliced = choose(rate, in, room, count, room->counting);
    if (room->sliced)
        room->sliced = choose(rate, in, room, count, room->counting - room->slicing);
    for (size_t o = 0; o < count; o++) {
        struct spex_rate_known *known = &rate->known[rate->order[o]];
        bool changes =
            spex_rate_event(known, known->fits ? SPEX_RATE_FITS : SPEX_RATE_DEAR, rate->now);
        if (changes && !known->fits)
            sliced_begin(rate, known);
    }
}
