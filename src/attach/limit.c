/* SPDX-License-Identifier: MIT */
/* Switching a function on costs before anything is known of it. Of those that globs choose, so many are switched on as cost half
 * of what may be spent in the time; a function that is named is, in any case. */
#include "attach/attached.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/quantity.h"

/* So many functions of globs are looked at in any case. */
enum { FEW = 16, TEXT = 48 };

/* What is known of new functions before they are switched on: what all of them would cost, and what those do that globs choose,
 * of which such a part is kept. */
struct limit {
    double granted, all, by_globs, part;
    size_t globs;
    bool *out;
    /* For each choice how many are left out, and how many it names. */
    size_t *left_out, *named;
};

static double cost_of(const struct spex_attachment *attachment,
                      const struct spex_process_function *function) {
    bool timed = function->timed && !function->placement.endless;
    const struct spex_attached_function one = {
        .sites = (function->site_count ? function->site_count : 1) +
                 (timed ? function->placement.end_count : 0)};
    return *function->refused ? 0 : spex_attached_switching(attachment, &one);
}

static void add_up(const struct spex_attachment *attachment, struct limit *limit) {
    for (size_t f = attachment->count; f < attachment->functions.count; f++) {
        const struct spex_process_function *function = &attachment->functions.items[f];
        double cost = cost_of(attachment, function);
        bool glob = spex_function_choice_is_glob(&attachment->choices->items[function->choice]);
        limit->all += cost;
        limit->by_globs += glob ? cost : 0;
        limit->globs += glob && cost > 0;
        limit->named[function->choice] += cost > 0;
    }
    double left = limit->granted - (limit->all - limit->by_globs);
    double least = limit->globs ? (double)FEW / (double)limit->globs : 1;
    limit->part = limit->by_globs > 0 ? fmax(left / limit->by_globs, least) : 1;
}

/* Spread over all addresses: neighbours have much in common. */
static void decide(const struct spex_attachment *attachment, struct limit *limit) {
    double due = 1;
    for (size_t f = attachment->count; f < attachment->functions.count; f++) {
        const struct spex_process_function *function = &attachment->functions.items[f];
        if (!spex_function_choice_is_glob(&attachment->choices->items[function->choice]) ||
            cost_of(attachment, function) <= 0)
            continue;
        bool kept = due >= 1;
        due += fmin(limit->part, 1) - kept;
        limit->left_out[function->choice] += !kept;
        limit->out[f - attachment->count] = !kept;
    }
}

/* What would have room for all: "-b 5% or --for 24s". */
static void say(const struct spex_attachment *attachment, const struct limit *limit, size_t c) {
    char cost[TEXT], granted[TEXT], line[512], more[TEXT] = "";
    double seconds = spex_attached_lasts(attachment);
    double times = limit->granted > 0 ? limit->all / limit->granted : INFINITY;
    double percent = fmin(ceil(100 * attachment->options.budget * times), 100);
    spex_quantity_digits(limit->all, 2, false, "s", cost, sizeof(cost));
    spex_quantity_digits(limit->granted, 2, false, "s", granted, sizeof(granted));
    if (spex_attached_may_last(seconds * times))
        snprintf(more, sizeof(more), " or --for %.0fs", ceil(seconds * times));
    snprintf(
        line, sizeof(line),
        "%.100s: %zu of %zu are left out, as switching all on costs %s of CPU time, and half of "
        "the budget for %.3gs is %s: -b %.0f%%%s has room for all",
        attachment->choices->items[c].text, limit->left_out[c], limit->named[c], cost, seconds,
        granted, percent, more);
    attachment->options.say(line);
}

static void apply(struct spex_attachment *attachment, struct limit *limit) {
    const struct spex_function_choices *choices = attachment->choices;
    add_up(attachment, limit);
    if (limit->part < 1)
        decide(attachment, limit);
    for (size_t c = 0; c < choices->count; c++)
        if (limit->left_out[c])
            say(attachment, limit, c);
    spex_process_functions_leave_out(&attachment->functions, attachment->count, limit->out);
}

void spex_attached_limit(struct spex_attachment *attachment) {
    size_t found = attachment->functions.count - attachment->count;
    size_t choices = attachment->choices->count;
    if (attachment->options.budget >= 1 || !found)
        return;
    struct limit limit = {.granted = spex_attached_granted_at_first(attachment),
                          .out = calloc(found, sizeof(bool)),
                          .left_out = calloc(choices, sizeof(size_t)),
                          .named = calloc(choices, sizeof(size_t))};
    if (limit.out && limit.left_out && limit.named)
        apply(attachment, &limit);
    free(limit.out);
    free(limit.left_out);
    free(limit.named);
}
