/* SPDX-License-Identifier: MIT */
/* When slices are taken, and how long they are, by what they cost: switching a function on and off, and its hits. */
#include "attach/attached.h"

#include <math.h>

/* For how long an attachment is meant to last, if that is not said: a figure within this time is of use. */
static const double patience = 60;

/* How often there is a look at records and rates. */
static const double pass_seconds_least = 0.05, pass_seconds_least_without_budget = 0.01,
                    pass_seconds_most = 1;

double spex_attached_pass_cost(const struct spex_attachment *attachment) {
    return attachment->passes ? attachment->passes_cost / (double)attachment->passes : 0;
}

/* A pass lasts from one call of it to the next, which waiting takes some of, too. */
void spex_attached_note_pass(struct spex_attachment *attachment) {
    double own = spex_attached_own(attachment);
    if (attachment->own_last > 0 && attachment->switchings == attachment->switchings_last) {
        attachment->passes_cost += own - attachment->own_last;
        attachment->passes++;
    } else if (attachment->own_last > 0) {
        double beyond = own - attachment->own_last - spex_attached_pass_cost(attachment);
        attachment->switchings_cost += fmax(beyond, 0);
        attachment->switchings_seen += attachment->switchings - attachment->switchings_last;
    }
    attachment->own_last = own;
    attachment->switchings_last = attachment->switchings;
}

double spex_attached_seconds_between(const struct spex_attachment *attachment, double cost,
                                     double least, double most) {
    double granted = attachment->options.budget * attachment->cpus / 10;
    double bearable = granted > 0 ? cost / granted : least;
    return fmin(fmax(bearable, least), most);
}

/* There is one a second at least: a function that was called seldom may be called more. */
double spex_attached_pass_seconds(const struct spex_attachment *attachment) {
    double least =
        attachment->options.budget < 1 ? pass_seconds_least : pass_seconds_least_without_budget;
    return spex_attached_seconds_between(attachment, spex_attached_pass_cost(attachment), least,
                                         pass_seconds_most);
}

double spex_attached_pass_share(const struct spex_attachment *attachment) {
    double a_second = spex_attached_pass_cost(attachment) / spex_attached_pass_seconds(attachment);
    return attachment->cpus > 0 ? a_second / attachment->cpus : 0;
}

double spex_attached_lasts(const struct spex_attachment *attachment) {
    return fmin(attachment->options.seconds, patience);
}

bool spex_attached_may_last(double seconds) {
    return seconds <= patience;
}

/* A program that has used nothing yet has not begun. */
double spex_attached_granted_at_first(const struct spex_attachment *attachment) {
    double cpus = attachment->cpus > 0 ? attachment->cpus : 1;
    return attachment->options.budget / 2 * cpus * spex_attached_lasts(attachment);
}

/* What of the budget one function in slices has: what passes leave of it. */
static double share_for_slices(const struct spex_attachment *attachment) {
    double on = spex_attached_pass_share(attachment);
    size_t sliced = 0;
    for (size_t f = 0; f < attachment->count; f++) {
        on += attachment->of[f].state == SPEX_ATTACHED_ON ? attachment->of[f].share : 0;
        sliced += attachment->of[f].state == SPEX_ATTACHED_SLICED;
    }
    double left = fmax(attachment->options.budget - on, attachment->options.budget / 4);
    return left / (double)(sliced ? sliced : 1);
}

/* With caches that are used for something else it takes more than was measured at the begin. Slots, and the bytes of
 * trampolines, are written in next to no time: what the thread takes that does it is seen. */
double spex_attached_switching(const struct spex_attachment *attachment,
                               const struct spex_attached_function *one) {
    double measured = one->stubs ? 0 : attachment->costs.switching / 1e9 * one->sites;
    uint64_t seen = attachment->switchings_seen;
    return seen ? fmax(2 * attachment->switchings_cost / (double)seen, measured) : measured;
}

/* What hits take at most of the time, as a part of it, that is reckoned with. */
static const double taken_most = 0.99;

/* CPU time that hits take for each second in which the program would have been on without them: by the last slice, or by
 * all if there were fewer in that one. */
static double hits_cost(const struct spex_attachment *attachment,
                        const struct spex_attached_function *one) {
    double mean = one->gross > 0 ? one->slices_cost / one->gross : 0;
    double taken = fmin(fmax(one->taken, mean), taken_most);
    return taken / (1 - taken) * attachment->cpus;
}

/* The time from one slice to the next, if there are so many that they tell something: times between them that differ by
 * half of their mean tell as much as a twelfth fewer would; and what is before the first and behind the last one counts
 * for none. */
static const double periods = SPEX_HOLD_OFFS_LEAST * (1 + 1. / 12) + 2;

static double period_most(const struct spex_attachment *attachment) {
    return spex_attached_lasts(attachment) / periods;
}

/* CPU time that may be spent in this time. */
static double granted_for_each(const struct spex_attachment *attachment) {
    return share_for_slices(attachment) * attachment->cpus * period_most(attachment);
}

static double slice_most(const struct spex_attachment *attachment,
                         const struct spex_attached_function *one) {
    double switching = spex_attached_switching(attachment, one);
    return fmax(granted_for_each(attachment) - switching, 4 * switching);
}

/* By what slices have cost, or will at least. */
double spex_attached_slices_seconds(const struct spex_attachment *attachment,
                                    const struct spex_attached_function *one) {
    double granted = share_for_slices(attachment) * attachment->cpus;
    double switching = spex_attached_switching(attachment, one);
    double hits = one->slices_taken ? one->slices_cost / one->slices_taken : switching;
    return granted > 0 ? periods * (switching + hits) / granted : 0;
}

/* As long as its hits cost what switching does, so that neither is most of it; and shorter, where there would be too few
 * of these. Times have their ends looked for after each slice, for which the main thread waits; and calls through slots wake
 * nobody when they cost too much. */
static double length_of(const struct spex_attachment *attachment,
                        const struct spex_attached_function *one) {
    double switching = spex_attached_switching(attachment, one);
    double a_second = hits_cost(attachment, one);
    bool waited = spex_attached_is_timed(one) || one->stubs;
    double most = waited ? SPEX_SLICE_WAITED : period_most(attachment) / 2;
    double left = granted_for_each(attachment) - switching;
    double worth = left > 0 ? fmin(switching, left) : switching;
    return fmin(fmax(a_second > 0 ? worth / a_second : most, SPEX_SLICE_LEAST), most);
}

static double unit(struct spex_random *random) {
    return (double)(spex_random_next(random) >> 11) / (double)(UINT64_C(1) << 53);
}

/* The next one is at a random time. */
void spex_attached_plan(struct spex_attachment *attachment, size_t f) {
    struct spex_attached_function *one = &attachment->of[f];
    double granted = share_for_slices(attachment) * attachment->cpus;
    one->length = length_of(attachment, one);
    one->most = slice_most(attachment, one);
    double hits = fmin(hits_cost(attachment, one) * one->length, one->most);
    double cost = spex_attached_switching(attachment, one) + hits;
    double lasts = attachment->cpus > 0 ? one->length + hits / attachment->cpus : one->length;
    double off = granted > 0 ? cost / granted - lasts : 1;
    one->due =
        spex_attached_now() + fmax(off, SPEX_SLICE_WAITED) * (0.5 + unit(&attachment->random));
}

/* Slices that end before their time tell a bound, at least. */
bool spex_attached_is_hopeless(const struct spex_attachment *attachment,
                               const struct spex_attached_function *one) {
    double switching = spex_attached_switching(attachment, one);
    return switching + fmin(hits_cost(attachment, one) * one->length, switching) >
           granted_for_each(attachment);
}
