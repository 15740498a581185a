/* SPDX-License-Identifier: MIT */
/* What counting and slices leave of the budget is for records of what is counted: a policy divides
 * it. */
#include <math.h>

#include "rate/plan.h"

/* A debt is paid back in so many seconds, by fewer records. */
#define DEBT_SECONDS 1.0

/* Records and looks at what is polled have such a part of the budget, whatever is owed: something is to
 * be known. */
#define LEFT_LEAST 0.05

/* Policies keep this part of a budget at most for detection. */
#define DETECTION_MOST 0.94

/* A period stays while it is so little too short, or too long: whole numbers that are small lie far
 * apart. */
#define TOO_SHORT 1.05
#define TOO_LONG  1.15

/* A whole period may be so much shorter than the exact one. */
#define ROUNDED 1.04

/* Looks a second that what is polled needs. */
#define LOOKS_LEAST 10.0

/* Means need records in proportion to the spread of values; quantiles do not, and spread is known
 * badly where few values are much greater than the others. */
#define WEIGHT_LEAST 0.1
#define WEIGHT_MOST  10.0

/* What is polled is counted again after so many seconds, and after twice as long each time that it
 * is polled again. */
#define POLLED_SECONDS      1.0
#define POLLED_SECONDS_MOST 16.0

static uint32_t period_for(uint32_t before, double frequency, double records) {
    double most = SPEX_CONTROL_PERIOD_MAX;
    double exact = records > 0 ? fmin(frequency / records, most) : most;
    double rounded = ceil(exact / ROUNDED);
    bool stays = exact <= before * TOO_SHORT && before <= rounded * TOO_LONG;
    return exact <= 1 ? SPEX_RATE_ALL : stays ? before : (uint32_t)rounded;
}

/* Policies take what is polled for free: it costs something, which is taken out of the problem. */
static void without_polling(struct spex_rate_class *class, double polled, double *budget) {
    double more = class->detect_cost - polled;
    *budget -= class->frequency * polled;
    class->detect_cost = fmax(more, 0);
    class->report_cost = fmax(class->report_cost + fmin(more, 0), 0);
}

static double weight_of(const struct spex_rate_subject *of) {
    return isnan(of->spread) ? 1 : fmin(fmax(of->spread, WEIGHT_LEAST), WEIGHT_MOST);
}

static struct spex_rate_class class_of(const struct spex_rate *rate, const struct spex_rate_in *in,
                                       const struct spex_rate_subject *of, double record) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    return (struct spex_rate_class){
        .weight = weight_of(of),
        .frequency = known->rate,
        .share = in->polls ? of->share : 0,
        .wanted = known->rate / of->selected,
        .min_frequency = in->polls ? LOOKS_LEAST : SPEX_RATE_RECORDS_LEAST,
        .detect_cost = spex_rate_skip(rate, known, of),
        .report_cost =
            of->recorded * (spex_rate_record(known, of) * spex_rate_record_factor(rate) + record)};
}

static void poll(struct spex_rate_known *known, double now) {
    spex_rate_event(known, SPEX_RATE_POLL, now);
    known->polled_for = fmin(fmax(2 * known->polled_for, POLLED_SECONDS), POLLED_SECONDS_MOST);
    known->polled_until = now + known->polled_for;
}

/* A policy may switch off what it has no budget for: it is counted all the same, which the budget
 * pays for. */
static void apply(struct spex_rate *rate, const struct spex_rate_subject *of,
                  const struct spex_rate_decision *decision) {
    struct spex_rate_known *known = spex_rate_known(rate, of);
    bool polled = decision->mode == SPEX_RATE_PROBED && of->pollable;
    if (polled)
        poll(known, rate->now);
    else if (decision->mode == SPEX_RATE_TRACED)
        known->period = SPEX_RATE_ALL;
    else
        known->period = period_for(known->period, known->rate,
                                   decision->mode == SPEX_RATE_SAMPLED ? decision->frequency : 0);
    if (!polled)
        known->polled_for = 0;
    known->why = decision->reason;
}

/* The classes of all that are counted and execute. */
static size_t classes_make(struct spex_rate *rate, const struct spex_rate_in *in, double record,
                           double *detection) {
    size_t count = 0;
    for (size_t s = 0; s < in->count; s++) {
        const struct spex_rate_subject *of = &in->subjects[s];
        if (!spex_rate_is(rate, of, SPEX_RATE_COUNTED) || spex_rate_known(rate, of)->asked ||
            !(spex_rate_known(rate, of)->rate > 0))
            continue;
        rate->classes[count] = class_of(rate, in, of, record);
        *detection += rate->classes[count].frequency * rate->classes[count].detect_cost;
        rate->order[count++] = of->index;
    }
    return count;
}

/* What is new, or is counted again, has few records until its rate is known. */
static void begin_anew(struct spex_rate *rate, const struct spex_rate_in *in) {
    for (size_t s = 0; s < in->count; s++) {
        struct spex_rate_known *known = spex_rate_known(rate, &in->subjects[s]);
        if (known->state == SPEX_RATE_POLLED && known->polled_until <= in->now)
            spex_rate_event(known, SPEX_RATE_RECOUNT, in->now);
        if (known->state != SPEX_RATE_NEW)
            continue;
        double seen = known->fresh_on > 0 ? known->fresh / known->fresh_on : known->rate;
        if (seen > 0)
            known->period = period_for(0, seen, SPEX_RATE_RECORDS_LEAST);
    }
}

int spex_rate_divide(struct spex_rate *rate, const struct spex_rate_in *in,
                     const struct spex_rate_room *room, struct spex_rate_out *out) {
    double detection = 0;
    begin_anew(rate, in);
    size_t count = classes_make(rate, in, room->record, &detection);
    double debt = fmax(-rate->tokens, 0) / DEBT_SECONDS;
    double left =
        room->budget - room->collecting - room->repaid - debt - room->sliced_part * room->sliced;
    double least = LEFT_LEAST * room->budget;
    struct spex_rate_problem problem = {.size = sizeof(problem),
                                        .budget = fmax(left, detection / DETECTION_MOST + least),
                                        .sample_cost = in->look,
                                        .class_count = count,
                                        .classes = rate->classes};
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = rate->decisions};
    for (size_t c = 0; c < count && in->polls; c++)
        without_polling(&rate->classes[c], spex_rate_find(rate, in, rate->order[c])->cost.polled,
                        &problem.budget);
    problem.budget = fmax(problem.budget, least);
    int err = count ? in->policy->decide(&problem, in->workspace, &plan) : 0;
    for (size_t c = 0; c < count && !err; c++)
        apply(rate, spex_rate_find(rate, in, rate->order[c]), &rate->decisions[c]);
    for (size_t s = 0; s < in->count; s++)
        if (spex_rate_is(rate, &in->subjects[s], SPEX_RATE_POLLED))
            out->looks = fmax(plan.probing_frequency, 1);
    return err;
}

bool spex_rate_overspends(const struct spex_rate_policy_ops *policy, void *workspace) {
    const struct spex_rate_class class = {
        .weight = 1, .frequency = 1, .detect_cost = 1, .report_cost = 1, .wanted = 1};
    const struct spex_rate_problem problem = {
        .size = sizeof(problem), .class_count = 1, .classes = &class};
    struct spex_rate_decision decision = {.mode = SPEX_RATE_OFF};
    struct spex_rate_plan plan = {.size = sizeof(plan), .decisions = &decision};
    return policy->decide(&problem, workspace, &plan) == 0 &&
           (decision.mode == SPEX_RATE_TRACED || decision.mode == SPEX_RATE_SAMPLED);
}
