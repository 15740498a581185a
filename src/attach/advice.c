/* SPDX-License-Identifier: MIT */
/* What would tell more of functions of which only a bound is known, by what their slices have cost. */
#include "attach/attached.h"

#include <math.h>
#include <stdio.h>

enum { TEXT = 48 };

/* Functions of which more slices would tell more, the one that lacks most, and by how many times there were too few; and
 * functions of which they would not, and one of them. */
struct lacking {
    size_t more, worst, never, unbounded;
    double times;
};

/* By how many times as many slices it would be told; 0: it is told; INFINITY: by none. */
static double lacks(const struct spex_attachment *attachment,
                    const struct spex_attached_function *one) {
    const struct spex_speedup none = {1, 1, 1}, speedup = spex_attached_speedup(one);
    struct spex_held_executions held = spex_slices_estimate(&one->slices, &one->sum, &none);
    double slower = fmax(speedup.most - 1, 1 - speedup.least);
    if (one->held_seconds <= 0)
        return 0;
    double now = spex_attached_now() - attachment->begin.wall;
    if (held.margin < 0)
        return fmax(spex_attached_slices_seconds(attachment, one) / now, 1);
    if (slower >= 1)
        return INFINITY;
    double times = held.count > 0 ? held.margin / (held.count * (1 - slower)) : 0;
    return times > 1 ? times * times : 0;
}

static struct lacking find_lacking(const struct spex_attachment *attachment) {
    struct lacking lacking = {.times = 0};
    for (size_t f = 0; f < attachment->count; f++) {
        const struct spex_attached_function *one = &attachment->of[f];
        double times = one->sites ? lacks(attachment, one) : 0;
        if (isinf(times)) {
            lacking.never++;
            lacking.unbounded = f;
        } else if (times > 0) {
            lacking.more++;
            lacking.worst = times > lacking.times ? f : lacking.worst;
            lacking.times = fmax(times, lacking.times);
        }
    }
    return lacking;
}

/* "malloc and 3 others" */
static void name(const struct spex_attachment *attachment, size_t f, size_t count, char *text,
                 size_t size) {
    snprintf(text, size, count > 1 ? "%.60s and %zu other%s" : "%.60s",
             attachment->functions.items[f].name, count - 1, count == 2 ? "" : "s");
}

static void say_more(const struct spex_attachment *attachment, const struct lacking *lacking,
                     void (*say)(const char *line)) {
    char line[384], names[96], budget[TEXT] = "";
    double seconds = spex_attached_now() - attachment->begin.wall;
    double more = ceil(100 * attachment->options.budget * lacking->times) / 100;
    name(attachment, lacking->worst, lacking->more, names, sizeof(names));
    if (more < 1)
        snprintf(budget, sizeof(budget), "-b %.0f%% or ", more * 100);
    snprintf(line, sizeof(line),
             "%s: slices were too few, as they cost: %s--for %.0fs would tell more", names, budget,
             ceil(seconds * lacking->times));
    say(line);
}

/* Another way to count it, which costs next to nothing: all executions, or else calls from other objects. */
static void say_cheaper(const struct spex_attachment *attachment, size_t f,
                        void (*say)(const char *line)) {
    const struct spex_process_function *function = &attachment->functions.items[f];
    bool patch = !function->placement.patch.refused;
    enum spex_hit hit = patch ? SPEX_HIT_PATCH : SPEX_HIT_SLOT;
    double cost = spex_hit_cost_ns(&attachment->costs.of[hit][SPEX_SITE_COUNTS]);
    char line[384];
    if (function->timed || function->arguments.count || function->site_count || *function->rung ||
        cost <= 0)
        return;
    snprintf(line, sizeof(line), "%.60s: func:%.60s:%s would count its %s, for %.2g ns each",
             function->name, function->name, patch ? "patch" : "slots",
             patch ? "executions" : "calls from other objects", cost);
    say(line);
}

void spex_attached_advise(const struct spex_attachment *attachment, void (*say)(const char *line)) {
    struct lacking lacking = find_lacking(attachment);
    char line[384], names[96];
    if (lacking.more) {
        say_more(attachment, &lacking, say);
        say_cheaper(attachment, lacking.worst, say);
    }
    if (!lacking.never)
        return;
    name(attachment, lacking.unbounded, lacking.never, names, sizeof(names));
    snprintf(
        line, sizeof(line),
        "%s: hits took most of the time in slices, so that no more is known of the rate than a "
        "bound",
        names);
    say(line);
    say_cheaper(attachment, lacking.unbounded, say);
}
