/* SPDX-License-Identifier: MIT */
/* What fits into the budget together is on all the time: the cheapest functions first. If not all do,
 * half of the budget is left for slices of the others, which share it. */
#include "attach/attached.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/quantity.h"

enum { TEXT = 48, DIGITS = 3 };

/* A program that uses less than this of a CPU is told what a function costs by what it uses: the budget goes by that, and of
 * a CPU it is next to nothing. */
static const double idle_cpus = 0.5;

/* What is said of a function that is not on all the time. */
static void say_cost(struct spex_attachment *attachment, size_t f, const char *what) {
    const struct spex_attached_function *one = &attachment->of[f];
    char rate[TEXT], cost[TEXT], share[TEXT], line[512];
    double cpus = attachment->cpus, per_second = one->rate * cpus;
    double seconds = one->share / one->rate;
    const char *bound = one->at_least ? "at least " : "";
    spex_quantity_digits(per_second, DIGITS, false, "/s", rate, sizeof(rate));
    spex_quantity_digits(seconds, DIGITS, false, "s", cost, sizeof(cost));
    bool idle = cpus < idle_cpus;
    spex_percent_text(one->share * (idle ? 1 : cpus), DIGITS, share, sizeof(share));
    const char *name = attachment->functions.items[f].name;
    if (one->rate > 0)
        snprintf(line, sizeof(line), "%s: %s%s × %s = %s%s of %s: %s", name, bound, rate, cost,
                 bound, share, idle ? "the program's CPU time" : "a CPU", what);
    else
        snprintf(line, sizeof(line), "%s: %s", name, what);
    attachment->options.say(line);
}

/* Looks at a function that is on, unless that was done just now. */
static void look(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    struct spex_attached_time now = spex_attached_time(attachment);
    if (now.wall - fmax(one->looked.wall, one->since.wall) >= SPEX_SLICE_LEAST)
        spex_attached_look(one, &now, spex_attached_executions(attachment, one));
}

/* All that are on. */
static void look_at_all(struct spex_attachment *attachment) {
    for (size_t f = 0; f < attachment->count; f++)
        if (attachment->of[f].state == SPEX_ATTACHED_ON)
            look(attachment, f);
}

static void begin_slices(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    look(attachment, f);
    spex_attached_switch_off(attachment, f);
    spex_attached_take_records(attachment);
    one->state = SPEX_ATTACHED_SLICED;
    one->calm = 0;
    spex_attached_plan(attachment, f);
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

/* What was spent on a function since it was switched on. */
static double spent_since_on(const struct spex_attachment *attachment,
                             const struct spex_attached_function *one) {
    uint64_t count = spex_attached_executions(attachment, one) - one->count_since;
    return one->cost[SPEX_COST_LIKELY] * (double)count;
}

/* The same for each second of CPU time that was the program's since then. */
static double share_since_on(const struct spex_attachment *attachment,
                             const struct spex_attached_function *one) {
    struct spex_attached_time now = spex_attached_time(attachment);
    double cpu = fmax(now.cpu - one->since.cpu, watch_seconds * attachment->cpus);
    double spent = spent_since_on(attachment, one);
    return spent < cpu / 2 ? spent / (cpu - spent) : spent > 0;
}

/* What has cost less than switching it on and off does was seen too seldom to tell how much it will be; and to switch it
 * off now would have cost more. */
bool spex_attached_trim(struct spex_attachment *attachment) {
    double sum, most;
    do {
        size_t dear = attachment->count;
        sum = most = 0;
        for (size_t f = 0; f < attachment->count; f++) {
            const struct spex_attached_function *one = &attachment->of[f];
            double share = one->state == SPEX_ATTACHED_ON ? share_since_on(attachment, one) : 0;
            sum += share;
            dear = share > most ? f : dear;
            most = fmax(most, share);
        }
        if (sum <= attachment->options.budget || attachment->options.budget >= 1)
            return true;
        const struct spex_attached_function *one = &attachment->of[dear];
        if (spent_since_on(attachment, one) < spex_attached_switching(attachment, one))
            return false;
        begin_slices(attachment, dear);
    } while (sum - most > attachment->options.budget);
    return true;
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

/* So many functions are told one by one. */
enum { TOLD_MOST = 5 };

/* "malloc: … of a CPU: in slices" for the first ones, and how many others there are. */
static void say_decided(struct spex_attachment *attachment, size_t f, size_t before,
                        const char *what) {
    if (before < TOLD_MOST)
        say_cost(attachment, f, what);
}

static void say_others(struct spex_attachment *attachment, size_t count, const char *what) {
    char line[160];
    if (count <= TOLD_MOST)
        return;
    snprintf(line, sizeof(line), "%zu other%s: %s", count - TOLD_MOST,
             count == TOLD_MOST + 1 ? "" : "s", what);
    attachment->options.say(line);
}

/* Those that are in slices, or can be in none. */
static void say_sliced(struct spex_attachment *attachment) {
    char budget[TEXT], in[96], without[128];
    size_t sliced = 0, hopeless = 0;
    spex_percent_text(attachment->options.budget, 3, budget, sizeof(budget));
    snprintf(in, sizeof(in), "in slices, for %s of the program's CPU time", budget);
    snprintf(without, sizeof(without),
             "too much for slices of %s of the program's CPU time, as switching costs", budget);
    for (size_t f = 0; f < attachment->count; f++) {
        struct spex_attached_function *one = &attachment->of[f];
        if (one->state != SPEX_ATTACHED_SLICED || one->said)
            continue;
        one->said = true;
        spex_attached_plan(attachment, f);
        bool none = spex_attached_is_hopeless(attachment, one);
        one->state = none ? SPEX_ATTACHED_REFUSED : one->state;
        say_decided(attachment, f, none ? hopeless++ : sliced++, none ? without : in);
    }
    say_others(attachment, sliced, in);
    say_others(attachment, hopeless, without);
}

void spex_attached_settle(struct spex_attachment *attachment) {
    double budget = attachment->options.budget;
    look_at_all(attachment);
    while (budget < 1 && share_on(attachment) > (any_sliced(attachment) ? budget / 2 : budget))
        begin_slices(attachment, costliest(attachment));
    say_sliced(attachment);
    attachment->settled = true;
}

/* Slices that have to be calm until a function is on all the time again: as many as tell a rate, and twice as many each time
 * that this was too early. */
static unsigned calm_wanted(const struct spex_attached_function *one) {
    enum { DOUBLINGS = 16 };
    return SPEX_HOLD_OFFS_LEAST << (one->returns < DOUBLINGS ? one->returns : DOUBLINGS);
}

/* Whether a function in slices would fit, by the last one, into what others leave of the budget. */
static bool would_fit(const struct spex_attachment *attachment,
                      const struct spex_attached_function *one) {
    double budget = attachment->options.budget;
    size_t sliced = 0;
    for (size_t f = 0; f < attachment->count; f++)
        sliced += attachment->of[f].state == SPEX_ATTACHED_SLICED;
    double others = share_on(attachment) + spex_attached_pass_share(attachment);
    return !one->at_least && others + one->share <= (sliced > 1 ? budget / 2 : budget);
}

/* Counts the calm slices of a function, one of which is over, or was cut off. Whether there were enough. */
static bool note_calm(const struct spex_attachment *attachment, struct spex_attached_function *one,
                      bool cut) {
    one->calm = !cut && would_fit(attachment, one) ? one->calm + 1 : 0;
    return one->calm >= calm_wanted(one);
}

static void begin_unit_of(const struct spex_attachment *attachment, size_t f, uint32_t type,
                          double scale) {
    size_t at = spex_tracer_find(attachment->tracer, (uint16_t)f, type);
    if (at < spex_tracer_probes(attachment->tracer))
        spex_tracer_slice(attachment->tracer, at, scale);
}

/* What records of a slice stand for: all executions in the time since the last one. */
static void begin_unit(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    double all = one->sum.on + one->sum.held, on = one->length * attachment->cpus;
    double scale = one->sum.on > 0 ? fmax(all / one->sum.on, 1) : 1;
    double held = spex_attached_time(attachment).cpu - one->since.cpu;
    one->weight = on > 0 ? 1 + fmax(held, 0) / on : 1;
    begin_unit_of(attachment, f, SPEX_LAT, scale);
    begin_unit_of(attachment, f, SPEX_SNAPSHOT, scale);
}

/* It is on. From here on its records stand for one execution each. */
static void go_on(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    one->state = SPEX_ATTACHED_ON;
    one->returns++;
    one->weight = 1;
    begin_unit_of(attachment, f, SPEX_LAT, 1);
    begin_unit_of(attachment, f, SPEX_SNAPSHOT, 1);
    say_cost(attachment, f, "it has become less: on all the time again");
}

static void refuse_slices(struct spex_attachment *attachment, size_t f,
                          const struct spex_error *error) {
    attachment->of[f].state = SPEX_ATTACHED_REFUSED;
    attachment->options.say(error->text);
}

static void take_slice(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    struct spex_error error;
    unsigned cuts = one->cuts;
    begin_unit(attachment, f);
    if (one->length > SPEX_SLICE_WAITED) {
        if (spex_attached_begin_slice(attachment, f, &error) != 0)
            refuse_slices(attachment, f, &error);
        return;
    }
    if (spex_attached_take_slice(attachment, f, &error) != 0) {
        refuse_slices(attachment, f, &error);
        return;
    }
    spex_attached_take_records(attachment);
    spex_pairing_forget_function(attachment->pairing, f);
    if (!note_calm(attachment, one, one->cuts > cuts))
        spex_attached_plan(attachment, f);
    else if (spex_attached_begin_slice(attachment, f, &error) == 0)
        go_on(attachment, f);
    else
        refuse_slices(attachment, f, &error);
}

/* Ends long slices: when they have lasted for their time, or have cost all that they may. */
static void end_slices(struct spex_attachment *attachment) {
    for (size_t f = 0; f < attachment->count; f++) {
        struct spex_attached_function *one = &attachment->of[f];
        if (one->state != SPEX_ATTACHED_SLICED || !one->on)
            continue;
        uint64_t count = spex_attached_executions(attachment, one) - one->count_since;
        double cost = (double)count * one->cost[SPEX_COST_LIKELY];
        bool over = spex_attached_now() >= one->due;
        if (!over && cost < one->most)
            continue;
        one->cuts += !over;
        look(attachment, f);
        if (note_calm(attachment, one, !over)) {
            go_on(attachment, f);
            continue;
        }
        spex_attached_switch_off(attachment, f);
        spex_attached_plan(attachment, f);
    }
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
        if (attachment->of[f].state == SPEX_ATTACHED_SLICED && !attachment->of[f].on &&
            attachment->of[f].due <= now &&
            (first == attachment->count || attachment->of[f].due < attachment->of[first].due))
            first = f;
    return first;
}

/* More is spent than is granted: a function that is on all the time is executed more often than it was. One whose hits have
 * cost less than switching it off and on would is no reason: it may be the command itself, in a program that is mostly idle. */
static void slice_costliest(struct spex_attachment *attachment) {
    size_t dear = costliest(attachment);
    if (dear == attachment->count || spent_since_on(attachment, &attachment->of[dear]) <
                                         spex_attached_switching(attachment, &attachment->of[dear]))
        return;
    begin_slices(attachment, dear);
    attachment->of[dear].said = true;
    say_cost(attachment, dear, "it has become more: in slices from now on");
    attachment->tokens = 0;
}

/* What may be owed before a function is taken out of those that are on all the time: as much as that would cost. */
static double owed_most(const struct spex_attachment *attachment) {
    size_t dear = costliest(attachment);
    double granted = attachment->options.budget * attachment->cpus * ahead_seconds;
    return dear < attachment->count
               ? fmax(granted, spex_attached_switching(attachment, &attachment->of[dear]))
               : INFINITY;
}

/* Each may use all that is left. */
bool spex_attached_set_alarms(struct spex_attachment *attachment) {
    double bearable = owed_most(attachment) + fmax(attachment->tokens, 0);
    bool ahead = true;
    for (size_t f = 0; attachment->options.budget < 1 && f < attachment->count; f++) {
        const struct spex_attached_function *one = &attachment->of[f];
        double hits = fmin(fmax(bearable / one->cost[SPEX_COST_LIKELY], 1), 1e15);
        for (unsigned s = 0; one->on && s < one->counting; s++) {
            size_t site = one->site + s;
            uint64_t now = attachment->options.kind->executions(attachment->sites, site);
            uint64_t at = now + (uint64_t)hits;
            attachment->options.kind->set_alarm(attachment->sites, site, at);
            ahead &= attachment->options.kind->executions(attachment->sites, site) < at;
        }
    }
    return ahead;
}

/* One slice at a time, so that none lasts longer than it should for another. */
void spex_attached_pass_slices(struct spex_attachment *attachment) {
    double budget = attachment->options.budget;
    spex_attached_ask(attachment, false);
    reckon(attachment);
    end_slices(attachment);
    size_t due = first_due(attachment);
    bool owed = attachment->tokens < -owed_most(attachment);
    if (owed || spex_attached_now() - attachment->looked_on >= ahead_seconds) {
        attachment->looked_on = spex_attached_now();
        look_at_all(attachment);
    }
    if (due < attachment->count && attachment->tokens > 0)
        take_slice(attachment, due);
    if (budget < 1 && owed && share_on(attachment) + spex_attached_pass_share(attachment) > budget)
        slice_costliest(attachment);
}

/* It waits for its time, and until it may cost something: also the passes from here to there. A long one ends in time. */
double spex_attached_next_slice(const struct spex_attachment *attachment) {
    double granted = attachment->options.budget * attachment->cpus, next = INFINITY, end = INFINITY;
    double now = spex_attached_now();
    for (size_t f = 0; f < attachment->count; f++) {
        const struct spex_attached_function *one = &attachment->of[f];
        if (one->state == SPEX_ATTACHED_SLICED && one->on)
            end = fmin(end, one->due - now);
        else if (one->state == SPEX_ATTACHED_SLICED)
            next = fmin(next, one->due - now);
    }
    double owed =
        attachment->tokens < 0 ? 2 * spex_attached_pass_cost(attachment) - attachment->tokens : 0;
    return fmin(fmax(next, granted > 0 ? owed / granted : INFINITY), end);
}
