/* SPDX-License-Identifier: MIT */
/* What has happened since the last step, and what it has cost. */
#include <math.h>

#include "rate/plan.h"

/* Savings and debts are at most so many seconds' worth of the budget. */
#define SAVED_SECONDS 0.4
#define OWED_SECONDS  5.0

/* A program that waits most of the time is taken to use so many: to look at it once in a while costs more than a
 * part of what it does. */
#define CPUS_LEAST 0.01

/* The number of CPUs is a mean over about so many seconds. */
#define CPUS_SECONDS 0.5

/* A rate is measured by so many executions, or in a step's time; one that falls is believed by and
 * by. */
#define EXECUTIONS_LEAST 30.0
#define SECONDS_LEAST    200e-6
#define FALLS            0.3

/* A call that costs over so many times what was calibrated tells that the program waits for memory:
 * by more instructions alone it would cost what was calibrated. */
#define WAITS_TIMES 2.0

/* The standard deviation of what a finding is weighed against: before anything is known, executions
 * and records may cost as much more as they cost. */
#define GUESS 1.0

/* The standard deviation of what may be anything in a range, by the range. */
#define UNIFORM 0.28867513459481287 /* 1 / sqrt(12) */

/* Of a true value 99 % are below what was found and so many standard errors: it is asked again and
 * again. */
#define ONE_SIDED_99 2.33

/* What steps may take of the budget, but there is one in so many seconds: the budget is the program's CPU time, and a
 * program that waits most of the time has hardly any. */
#define STEPS_SHARE       0.1
#define STEP_SECONDS_MOST 10.0

double spex_rate_between(const struct spex_rate *rate, const struct spex_rate_room *room,
                         double seconds) {
    return fmin(fmax(seconds, rate->step / (STEPS_SHARE * room->budget)), STEP_SECONDS_MOST);
}

double spex_rate_budget(const struct spex_rate *rate, double share) {
    return share * fmax(rate->cpus, CPUS_LEAST);
}

double spex_rate_records(const struct spex_rate_known *known, const struct spex_rate_subject *of,
                         double executions) {
    if (known->period >= SPEX_SITE_COUNTED)
        return 0;
    if (known->period == SPEX_RATE_FIRST)
        return of->first > 0 ? fmin(executions, of->first) : executions * of->recorded;
    return executions * of->recorded / fmax(fmax(known->period, of->selected), 1);
}

double spex_rate_record(const struct spex_rate_known *known, const struct spex_rate_subject *of) {
    bool drawn = known->period > of->selected && known->period > 1;
    return drawn ? of->cost.drawn : of->cost.record;
}

/* By what was found: more than so many times what was calibrated for sure, less, or not known. What was
 * known `before` stays while the finding itself does not contradict it. */
static int exceeds(struct spex_rate_finding found, int before) {
    double error = ONE_SIDED_99 * found.error;
    if (found.factor - error > WAITS_TIMES)
        return 1;
    if (found.factor + error < WAITS_TIMES)
        return -1;
    return (before > 0) == (found.factor > WAITS_TIMES) ? before : 0;
}

int spex_rate_waits(const struct spex_rate *rate) {
    return exceeds(spex_rate_contrast_finding(&rate->slices.found), 0) > 0
               ? 1
               : exceeds(spex_rate_contrast_finding(&rate->asking.calls), rate->waits);
}

/* Before anything is known a record may cost as many times more as executions in slices do. */
double spex_rate_record_factor(const struct spex_rate *rate) {
    struct spex_rate_finding found = spex_rate_contrast_finding(&rate->asking.records);
    double weight = isfinite(found.error) ? 1 / (found.error * found.error) : 0;
    double guess = 1 / (GUESS * GUESS), all = guess + weight;
    double sliced = spex_rate_contrast_finding(&rate->slices.found).factor;
    double usual = spex_rate_waits(rate) > 0 ? fmax(sliced, 1) : 1;
    return fmax((guess * usual + weight * found.factor) / all + 1 / sqrt(all), 1);
}

/* How often each thread executes it: the program keeps so many CPUs busy. */
static double rate_of_thread(const struct spex_rate *rate, const struct spex_rate_known *known) {
    return known->rate / fmax(rate->cpus, 1);
}

/* The bound for the rate of each thread; without the part for what waits for memory, if the program does
 * not. */
static double bound_of(const struct spex_rate *rate, const struct spex_rate_known *known,
                       const struct spex_rate_subject *of) {
    struct spex_rate_caches caches = rate->caches;
    if (spex_rate_waits(rate) < 0)
        caches.window = 0;
    return spex_rate_bound(&caches, of->cost.skip, rate_of_thread(rate, known));
}

/* What an execution costs, and the standard error of that; INFINITY: nothing was found. A finding is
 * weighed against what was calibrated; where the program waits for memory it may be anything up to the
 * bound. Slices tell what those that are on in them cost together: little about one that is a small part
 * of them, as others may cost more or less. So this is the mean, and the variance, of a normal variable
 * of which a weighted sum with another one was observed. */
static struct spex_rate_finding execution(const struct spex_rate *rate,
                                          const struct spex_rate_known *known,
                                          const struct spex_rate_subject *of) {
    double mean = spex_rate_likely(&rate->caches, of->cost.skip, rate_of_thread(rate, known));
    double deviation = GUESS * mean;
    if (spex_rate_waits(rate) > 0) {
        double range = fmax(bound_of(rate, known, of) - mean, 0);
        deviation = fmax(range * UNIFORM, deviation);
        mean += range / 2;
    }
    double share = known->share, others = 1 - share, variance = deviation * deviation;
    double found = known->found.factor * of->cost.skip, error = known->found.error * of->cost.skip;
    if (!(share > 0) || !isfinite(error))
        return (struct spex_rate_finding){mean, INFINITY};
    double observed = (share * share + others * others) * variance + error * error;
    double gain = share * variance / observed;
    return (struct spex_rate_finding){fmax(mean + gain * (found - mean), of->cost.skip),
                                      sqrt(variance * (1 - gain * share))};
}

double spex_rate_skip(const struct spex_rate *rate, const struct spex_rate_known *known,
                      const struct spex_rate_subject *of) {
    if (known->sliced || spex_rate_waits(rate) > 0)
        return execution(rate, known, of).factor;
    return spex_rate_likely(&rate->caches, of->cost.skip, rate_of_thread(rate, known));
}

double spex_rate_skip_most(const struct spex_rate *rate, const struct spex_rate_known *known,
                           const struct spex_rate_subject *of) {
    struct spex_rate_finding cost = execution(rate, known, of);
    return fmin(bound_of(rate, known, of), cost.factor + SPEX_RATE_ONE_SIDED_95 * cost.error);
}

void spex_rate_measure(struct spex_rate_known *known) {
    bool enough = known->fresh >= EXECUTIONS_LEAST && known->fresh_on >= SECONDS_LEAST;
    if (!enough && known->fresh_on < SPEX_RATE_STEP_SECONDS)
        return;
    double fresh = known->fresh / known->fresh_on;
    known->rate = fresh > known->rate ? fresh : known->rate + FALLS * (fresh - known->rate);
    known->fresh = known->fresh_on = 0;
}

/* Returns what it has cost. Of a time in which it was left alone only the last step counts for its
 * rate. */
static double observe(struct spex_rate *rate, const struct spex_rate_subject *now, double seconds) {
    struct spex_rate_known *known = spex_rate_known(rate, now);
    double executions = fmax(now->executions - known->executions, 0);
    double records = spex_rate_records(known, now, executions);
    double recorded = records * spex_rate_record(known, now);
    double cost =
        executions * spex_rate_skip(rate, known, now) + recorded * spex_rate_record_factor(rate);
    if (known->period == SPEX_SITE_CALLED)
        cost += executions * now->cost.call;
    if (known->period == SPEX_SITE_POLLED)
        cost += known->rate * seconds * now->cost.polled;
    if (known->state == SPEX_RATE_COUNTED) {
        rate->asking.units += executions;
        rate->asking.cost +=
            known->period == SPEX_SITE_CALLED ? executions * now->cost.call : recorded;
    }
    if (known->state == SPEX_RATE_SLICED) {
        known->slice_cost += executions * now->cost.skip + recorded;
        rate->slices.cost += executions * now->cost.skip + recorded;
        rate->slices.likely += executions * spex_rate_skip(rate, known, now);
        rate->asking.beside += cost;
    }
    /* At first it is not known how long a tick is, and so for how long it was on. */
    if (now->on > known->on) {
        known->fresh += executions;
        known->fresh_on += fmin(now->on - known->on, seconds);
    }
    known->executions = now->executions;
    known->on = now->on;
    return cost;
}

/* A start costs what it costs, and tells nothing of what follows: what is owed in the first moments is
 * paid back by a part of what comes in. A pause that pays for it at once would be most of what there
 * is to be told of a short run. */
static void lend(struct spex_rate *rate, double most) {
    rate->lent = fmin(rate->lent - fmin(rate->tokens, 0), most);
    rate->tokens = fmax(rate->tokens, 0);
}

static double repay(struct spex_rate *rate, double income) {
    double part = fmin(rate->repaid * income, rate->lent);
    rate->lent -= part;
    return part;
}

void spex_rate_account(struct spex_rate *rate, const struct spex_rate_in *in) {
    double seconds = fmax(in->now - rate->now, 0), used = fmax(in->used - rate->used, 0);
    double own = fmax(in->own - rate->own, 0), spent = own + in->charged;
    for (uint32_t s = 0; s < in->count; s++) {
        spex_rate_known(rate, &in->subjects[s])->at = s;
        spent += observe(rate, &in->subjects[s], seconds);
    }
    if (seconds > 0)
        rate->cpus += (used / seconds - rate->cpus) * (1 - exp(-seconds / CPUS_SECONDS));
    double budget = spex_rate_budget(rate, in->share), worked = fmax(used, CPUS_LEAST * seconds);
    rate->worked += worked;
    rate->tokens += in->share * worked - spent - repay(rate, in->share * worked);
    rate->began = rate->began > 0 ? rate->began : in->now;
    if (in->now - rate->began < SPEX_RATE_STEP_SECONDS)
        lend(rate, OWED_SECONDS * budget);
    else
        spex_rate_collecting_add(&rate->collecting, seconds, fmax(in->records - rate->records, 0),
                                 own);
    rate->tokens = fmin(fmax(rate->tokens, -OWED_SECONDS * budget), SAVED_SECONDS * budget);
    rate->spent += spent;
    rate->now = in->now;
    rate->used = fmax(in->used, rate->used);
    rate->own = fmax(in->own, rate->own);
    rate->records = in->records;
}
