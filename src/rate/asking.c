/* SPDX-License-Identifier: MIT */
/* What executions and records cost in this program, and not in a calibrated loop, its own speed tells,
 * and no execution goes uncounted for it: for a moment nothing that is counted makes records; for
 * another one its executions call the library; and then there are no records again.
 *
 * Between independent reads of memory an execution costs several times what it does elsewhere, since
 * fewer of them are under way at once. Calls have more instructions and cost even more there. */
#include <math.h>

#include "rate/plan.h"

/* Without records, with calls, without records, and with records. */
enum { WITHOUT, CALLING, WITHOUT_AGAIN, RECORDING, PHASES };

/* A time without records, or with calls, and so many times as long with records. */
#define ASKING_SECONDS  0.05
#define RECORDING_TIMES 6

/* Where counting is trusted until it is known whether the program waits for memory, the first
 * questions come one after another, so long each: a program's speed drifts, and what lies close
 * together can be compared. Their steps have such a part of the budget, and so have calls. So it is
 * until there are so many answers, and so many times at most. */
#define SOON_SECONDS 0.01
#define SOON_SHARE   0.25
#define SOON_ANSWERS 8
#define SOON_TIMES   16

/* Where steps are so dear that it would have to be longer nothing is asked; and it is no longer where
 * they have become so. */
#define ASKING_SECONDS_MOST 0.1

/* Where it is known, or cannot be told, it is asked again after so many seconds; and it cannot be told
 * after so many times. */
#define AGAIN_SECONDS 10.0
#define TIMES_MOST    20

/* Calls have such a part of the budget. */
#define CALLS_SHARE 0.1

/* What may cost so much of the budget is worth to be known. */
#define WORTH 0.1

/* A standard error of a factor for which that is known. */
#define KNOWN_ERROR 0.3

/* What it may cost: executions, and records by calibration. */
static double cost_of(const struct spex_rate_known *known, const struct spex_rate_subject *of) {
    return known->most + spex_rate_records(known, of, known->rate) * spex_rate_record(known, of);
}

/* What is counted is asked, but what costs so little that its records are better made. */
static bool is_asked(const struct spex_rate *rate, const struct spex_rate_subject *of,
                     const struct spex_rate_room *room) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    return spex_rate_is(rate, of, SPEX_RATE_COUNTED) && of->cost.call > 0 &&
           cost_of(known, of) * room->on > WORTH * room->budget;
}

static bool is_known(const struct spex_rate *rate) {
    struct spex_rate_finding records = spex_rate_contrast_finding(&rate->asking.records);
    return spex_rate_waits(rate) && records.error < KNOWN_ERROR;
}

/* Whether what is asked may cost much of the budget. */
static bool is_worth(const struct spex_rate *rate, const struct spex_rate_in *in,
                     const struct spex_rate_room *room) {
    double sum = 0;
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        if (is_asked(rate, of, room))
            sum += cost_of(spex_rate_known(rate, of), of);
    }
    return sum > WORTH * room->budget;
}

/* What calls cost in a second of their phase. */
static double calls_cost(const struct spex_rate *rate, const struct spex_rate_in *in,
                         const struct spex_rate_room *room) {
    double sum = 0;
    for (size_t s = 0; s < in->count; s++)
        if (is_asked(rate, &in->subjects[s], room))
            sum += spex_rate_known(rate, &in->subjects[s])->rate * in->subjects[s].cost.call;
    return sum;
}

static bool is_soon(const struct spex_rate *rate, const struct spex_rate_room *room) {
    const struct spex_rate_asking *asking = &rate->asking;
    return room->counted_most > room->counting && asking->calls.count < SOON_ANSWERS &&
           asking->times < SOON_TIMES && !spex_rate_waits(rate);
}

static double phase_seconds(const struct spex_rate *rate, const struct spex_rate_room *room) {
    if (is_soon(rate, room))
        return fmax(SOON_SECONDS, rate->step / (SOON_SHARE * room->budget));
    return spex_rate_between(rate, room, ASKING_SECONDS);
}

/* For how long there are records between two questions: so long that they pay for the calls, and at
 * random where they come soon, so that they do not fall into step with the program. */
static double rest_seconds(const struct spex_rate *rate, const struct spex_rate_in *in,
                           const struct spex_rate_room *room) {
    double phase = phase_seconds(rate, room);
    double calls = phase * calls_cost(rate, in, room) / room->budget;
    bool seldom = is_known(rate) || rate->asking.times >= TIMES_MOST;
    if (is_soon(rate, room))
        return fmax(phase, calls / SOON_SHARE) * rate->asking.random;
    return fmax(fmax(RECORDING_TIMES * phase, seldom ? AGAIN_SECONDS : 0), calls / CALLS_SHARE);
}

static void phase_end(struct spex_rate *rate, const struct spex_rate_in *in) {
    struct spex_rate_asking *asking = &rate->asking;
    struct spex_rate_part part = {in->running - asking->running - asking->beside, asking->units,
                                  asking->cost};
    if (asking->counted != asking->counted_before || asking->threads != in->threads)
        part.seconds = 0;
    if (asking->phase != RECORDING)
        spex_rate_contrast_add(&asking->calls, asking->phase == CALLING, part);
    if (asking->phase != CALLING)
        spex_rate_contrast_add(&asking->records, asking->phase == RECORDING, part);
}

static void phase_begin(struct spex_rate *rate, const struct spex_rate_in *in,
                        const struct spex_rate_room *room) {
    struct spex_rate_asking *asking = &rate->asking;
    asking->since = in->now;
    asking->random = 0.5 + 2 * spex_rate_chance(rate);
    asking->running = in->running;
    asking->threads = in->threads;
    asking->units = asking->cost = asking->beside = 0;
    asking->counted_before = asking->counted;
    for (size_t s = 0; s < in->count; s++) {
        struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        bool asked =
            asking->phase == WITHOUT ? is_asked(rate, &in->subjects[s], room) : known->asked;
        known->asked = asked && asking->phase != RECORDING &&
                       spex_rate_is(rate, &in->subjects[s], SPEX_RATE_COUNTED);
        if (!known->asked)
            continue;
        known->period = asking->phase == CALLING ? SPEX_SITE_CALLED : SPEX_SITE_COUNTED;
        known->why = "counted alone for a moment, to learn what it costs";
    }
}

static double phase_lasts(const struct spex_rate *rate, const struct spex_rate_in *in,
                          const struct spex_rate_room *room) {
    return rate->asking.phase == RECORDING ? rest_seconds(rate, in, room)
                                           : fmin(phase_seconds(rate, room), ASKING_SECONDS_MOST);
}

void spex_rate_ask(struct spex_rate *rate, const struct spex_rate_in *in,
                   const struct spex_rate_room *room) {
    struct spex_rate_asking *asking = &rate->asking;
    bool rests = asking->phase == RECORDING;
    asking->counted = room->on;
    asking->due = INFINITY;
    if (in->overspends)
        return;
    if (rests && (phase_seconds(rate, room) > ASKING_SECONDS_MOST || !is_worth(rate, in, room)))
        return;
    if (in->now - asking->since >= phase_lasts(rate, in, room)) {
        phase_end(rate, in);
        asking->times += rests;
        asking->phase = (asking->phase + 1) % PHASES;
        phase_begin(rate, in, room);
    }
    if (asking->phase != RECORDING || is_soon(rate, room))
        asking->due = asking->since + phase_lasts(rate, in, room);
}
