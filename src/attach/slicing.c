/* SPDX-License-Identifier: MIT */
/* What fits into the budget together is on all the time: the cheapest functions first. If not all do,
 * half of the budget is left for slices of the others, which share it. */
#include "attach/attached.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/quantity.h"

/* A slice that is shorter tells too little beside what switching takes, and one that is longer would cost
 * too much if the function is executed more often by then. */
static const double slice_least = 0.0005, slice_most = 0.01;

/* For how long an attachment is meant to last, if that is not said: a figure within this time is of use. */
static const double patience = 60;

enum { TEXT = 48, DIGITS = 3 };

/* What is said of a function that is not on all the time. */
static void say_cost(struct spex_attachment *attachment, size_t f, const char *what) {
    const struct spex_attached_function *one = &attachment->of[f];
    char rate[TEXT], cost[TEXT], share[TEXT], line[512];
    double cpus = attachment->cpus, per_second = one->rate * cpus;
    double seconds = one->rate > 0 ? one->share / one->rate : 0;
    const char *bound = one->at_least ? "at least " : "";
    spex_quantity_digits(per_second, DIGITS, false, "/s", rate, sizeof(rate));
    spex_quantity_digits(seconds, DIGITS, false, "s", cost, sizeof(cost));
    spex_percent_text(one->share * cpus, DIGITS, share, sizeof(share));
    snprintf(line, sizeof(line), "%s: %s%s × %s = %s%s of a CPU: %s",
             attachment->functions.items[f].name, bound, rate, cost, bound, share, what);
    attachment->options.say(line);
}

/* Looks at a function that is on, unless that was done just now. */
static void look(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    struct spex_attached_time now = spex_attached_time(attachment);
    if (now.wall - fmax(one->looked.wall, one->since.wall) >= slice_least)
        spex_attached_look(one, &now, spex_attached_executions(attachment, one));
}

/* All that are on. */
static void look_at_all(struct spex_attachment *attachment) {
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_ON)
            look(attachment, f);
}

/* What of the budget one function in slices has. */
static double share_for_slices(const struct spex_attachment *attachment) {
    double on = 0;
    size_t sliced = 0;
    for (size_t f = 0; f < attachment->count; f++) {
        on += attachment->of[f].state == SPEX_ATTACHED_ON ? attachment->of[f].share : 0;
        sliced += attachment->of[f].state == SPEX_ATTACHED_SLICED;
    }
    double left = fmax(attachment->options.budget - on, attachment->options.budget / 4);
    return sliced ? left / (double)sliced : 0;
}

/* What a slice costs of CPU time. */
static double slice_cost(const struct spex_attachment *attachment,
                         const struct spex_attached_function *one, double cpus) {
    return one->taken * cpus * one->length + attachment->costs.switching / 1e9 * one->sites;
}

static double unit(struct spex_random *random) {
    return (double)(spex_random_next(random) >> 11) / (double)(UINT64_C(1) << 53);
}

/* As long as switching costs, so that neither is most of it. The next one is at a random time. */
static void plan_slice(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    double cpus = attachment->cpus, a_second = one->taken * cpus;
    double switching = attachment->costs.switching / 1e9 * one->sites;
    one->length = a_second > 0 ? switching / a_second : slice_most;
    one->length = fmin(fmax(one->length, slice_least), slice_most);
    double granted = share_for_slices(attachment) * cpus;
    double period = granted > 0 ? slice_cost(attachment, one, cpus) / granted : 1;
    one->due = spex_attached_now() + fmax(period, slice_most) * (0.5 + unit(&attachment->random));
}

/* Whether so few slices can be had that they would tell nothing. */
static bool is_hopeless(struct spex_attachment *attachment,
                        const struct spex_attached_function *one) {
    double seconds = fmin(attachment->options.seconds, patience), cpus = attachment->cpus;
    double granted = share_for_slices(attachment) * cpus * seconds;
    return slice_cost(attachment, one, cpus) * SPEX_HOLD_OFFS_LEAST > granted;
}

static void begin_slices(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    look(attachment, f);
    spex_attached_switch_off(attachment, f);
    spex_attached_take_records(attachment);
    one->state = SPEX_ATTACHED_SLICED;
    plan_slice(attachment, f);
}

/* Of those that are on. */
static size_t costliest(const struct spex_attachment *attachment) {
    size_t found = attachment->count;
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_ON &&
            (found == attachment->count || attachment->of[f].share > attachment->of[found].share))
            found = f;
    return found;
}

/* For so long a function is watched at least before what it has cost is a rate. */
static const double watch_seconds = 0.01;

/* What was spent on a function since it was switched on, for each second of CPU time since then. */
static double spent_since_on(const struct spex_attachment *attachment,
                             const struct spex_attached_function *one) {
    struct spex_attached_time now = spex_attached_time(attachment);
    uint64_t count = spex_attached_executions(attachment, one) - one->count_since;
    double cpu = fmax(now.cpu - one->since.cpu, watch_seconds * attachment->cpus);
    return cpu > 0 ? one->cost[SPEX_COST_LIKELY] * (double)count / cpu : 0;
}

void spex_attached_trim(struct spex_attachment *attachment) {
    double sum, most;
    do {
        size_t dear = attachment->count;
        sum = most = 0;
        for (size_t f = 0; f < attachment->count; f++) {
            const struct spex_attached_function *one = &attachment->of[f];
            double spent = one->state == SPEX_ATTACHED_ON ? spent_since_on(attachment, one) : 0;
            sum += spent;
            dear = spent > most ? f : dear;
            most = fmax(most, spent);
        }
        if (sum <= attachment->options.budget || attachment->options.budget >= 1)
            return;
        begin_slices(attachment, dear);
    } while (sum - most > attachment->options.budget);
}

static double share_on(const struct spex_attachment *attachment) {
    double sum = 0;
    for (size_t f = 0; f < attachment->count; f++)
        sum += attachment->of[f].state == SPEX_ATTACHED_ON ? attachment->of[f].share : 0;
    return sum;
}

static bool any_sliced(const struct spex_attachment *attachment) {
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_SLICED)
            return true;
    return false;
}

/* Those that are in slices, or can be in none. */
static void say_sliced(struct spex_attachment *attachment) {
    char budget[TEXT], line[96];
    spex_percent_text(attachment->options.budget, 3, budget, sizeof(budget));
    for (size_t f = 0; f < attachment->count; f++) {
        struct spex_attached_function *one = &attachment->of[f];
        if (one->state != SPEX_ATTACHED_SLICED || one->said)
            continue;
        one->said = true;
        plan_slice(attachment, f);
        bool hopeless = is_hopeless(attachment, one);
        one->state = hopeless ? SPEX_ATTACHED_REFUSED : one->state;
        snprintf(line, sizeof(line),
                 hopeless ? "too much for slices of %s of the program's CPU time, too"
                          : "in slices, for %s of the program's CPU time",
                 budget);
        say_cost(attachment, f, line);
    }
}

void spex_attached_settle(struct spex_attachment *attachment) {
    double budget = attachment->options.budget;
    look_at_all(attachment);
    while (budget < 1 && share_on(attachment) > (any_sliced(attachment) ? budget / 2 : budget))
        begin_slices(attachment, costliest(attachment));
    say_sliced(attachment);
    attachment->settled = true;
}

/* What records of a slice stand for: all executions in the time since the last one. */
static void begin_unit(struct spex_attachment *attachment, size_t f) {
    const struct spex_attached_function *one = &attachment->of[f];
    size_t at = spex_tracer_find(attachment->tracer, (uint16_t)f, SPEX_LAT);
    double all = one->sum.on + one->sum.held;
    if (spex_attached_is_timed(one) && at < spex_tracer_probes(attachment->tracer) &&
        one->sum.on > 0)
        spex_tracer_slice(attachment->tracer, at, fmax(all / one->sum.on, 1));
}

static void take_slice(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    struct spex_error error;
    begin_unit(attachment, f);
    if (spex_attached_take_slice(attachment, f, &error) != 0) {
        one->state = SPEX_ATTACHED_REFUSED;
        attachment->options.say(error.text);
        return;
    }
    spex_attached_take_records(attachment);
    spex_pairing_forget_function(attachment->pairing, f);
    plan_slice(attachment, f);
}

/* What may be spent more than was granted so far, and what is kept of what was not spent, in what is
 * granted in so many seconds. After as many there is a look at what is on all the time. */
static const double ahead_seconds = 0.25;

/* Takes in what was granted and spent since. */
static void reckon(struct spex_attachment *attachment) {
    double budget = attachment->options.budget, cpu = spex_attached_time(attachment).cpu;
    double spent = spex_attached_spent_all(attachment);
    double cost = spent - attachment->spent_reckoned;
    attachment->tokens += budget * fmax(cpu - attachment->cpu_reckoned - cost, 0) - cost;
    attachment->tokens = fmin(attachment->tokens, budget * ahead_seconds);
    attachment->cpu_reckoned = cpu;
    attachment->spent_reckoned = spent;
}

/* The one that is due first; `count`: none is. */
static size_t first_due(const struct spex_attachment *attachment) {
    double now = spex_attached_now();
    size_t first = attachment->count;
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_SLICED && attachment->of[f].due <= now &&
            (first == attachment->count || attachment->of[f].due < attachment->of[first].due))
            first = f;
    return first;
}

/* More is spent than is granted: a function that is on all the time is executed more often than it was. */
static void slice_costliest(struct spex_attachment *attachment) {
    size_t dear = costliest(attachment);
    if (dear == attachment->count)
        return;
    begin_slices(attachment, dear);
    attachment->of[dear].said = true;
    say_cost(attachment, dear, "it has become more: in slices from now on");
    attachment->tokens = 0;
}

/* One slice at a time, so that none lasts longer than it should for another. */
void spex_attached_pass_slices(struct spex_attachment *attachment) {
    size_t due = first_due(attachment);
    double budget = attachment->options.budget;
    spex_attached_ask(attachment, false);
    reckon(attachment);
    if (spex_attached_now() - attachment->looked_on >= ahead_seconds) {
        attachment->looked_on = spex_attached_now();
        look_at_all(attachment);
    }
    if (due < attachment->count && attachment->tokens > 0)
        take_slice(attachment, due);
    if (budget < 1 && attachment->tokens < -budget * ahead_seconds && share_on(attachment) > budget)
        slice_costliest(attachment);
}

/* It waits for its time, and until it may cost something. */
double spex_attached_next_slice(const struct spex_attachment *attachment) {
    double granted = attachment->options.budget * attachment->cpus, next = INFINITY;
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_SLICED)
            next = fmin(next, attachment->of[f].due - spex_attached_now());
    double owed = fmax(-attachment->tokens, 0);
    return fmax(next, granted > 0 ? owed / granted : INFINITY);
}
