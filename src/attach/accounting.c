/* SPDX-License-Identifier: MIT */
/* What was counted while functions were on, and the program's own CPU time meanwhile. A slice lasts until the program has had
 * as much time for itself as without hits. If it ended by the clock, one that meets a burst would end within it: what follows
 * the burst, when nothing is called, would be in no slice, and slices that start between bursts, as most do, would have
 * met parts of them. */
#include "attach/attached.h"

#include <math.h>
#include <unistd.h>

/* Sites that linger cost the program while they are switched off, without being counted. */
static double lingering_cost(const struct spex_attachment *attachment,
                             const struct spex_attached_function *one, double executions,
                             double since) {
    double wall = since - one->since.wall;
    double lingers = attachment->options.kind->linger(attachment->sites);
    return wall > 0 ? executions / wall * one->cost[SPEX_COST_LIKELY] * lingers : 0;
}

void spex_attached_note_held(struct spex_attached_function *one,
                             const struct spex_attached_time *until) {
    const struct spex_speedup none = {1, 1, 1};
    double held = fmax(until->cpu - one->since.cpu, 0);
    one->held_seconds += until->wall - one->since.wall;
    one->sum.held += held;
    one->slowed_sum.held += held;
    spex_slices_note(&one->slices, &one->sum, &none);
    spex_slices_note(&one->slowed, &one->slowed_sum, &none);
    one->since = *until;
}

/* Less is not told apart from nothing. */
static const double left_least = 0.01;

/* Whether nearly all the time all its threads run, or all CPUs do: what probes take, the program lacks.
 * Otherwise it may only wait less. */
static bool is_busy(const struct spex_attachment *attachment) {
    double threads = (double)spex_program_threads(attachment->program);
    double most = fmin(threads, (double)sysconf(_SC_NPROCESSORS_ONLN));
    return attachment->cpus >= 0.9 * most;
}

/* Without a meter the program's CPU time in a slice is that of others, too, in which hits took nothing. */
static void note_slice(const struct spex_attachment *attachment, struct spex_attached_function *one,
                       double executions, double gross, bool metered) {
    double own = fmax(gross - executions * one->cost[SPEX_COST_LIKELY], left_least * gross);
    double rate = own > 0 ? executions / own : 0;
    one->gross += gross;
    one->slices_taken++;
    one->slices_cost += executions * one->cost[SPEX_COST_LIKELY];
    one->weighted += rate * gross;
    for (unsigned g = 0; g < SPEX_COST_GUESSES; g++)
        one->own[g] += rate * (gross - executions * one->cost[g]);
    if (!metered && !is_busy(attachment))
        one->own[SPEX_COST_LEAST] += rate * executions * one->cost[SPEX_COST_LEAST];
    one->own[SPEX_COST_LEAST] += rate * one->beyond;
}

/* Of 95 in 100 slices it is known what the program does in its own time. */
static const double cuts_most = 0.05;

struct spex_speedup spex_attached_speedup(const struct spex_attached_function *one) {
    if (one->weighted <= 0)
        return (struct spex_speedup){1, 1, 1};
    double least = left_least * one->weighted, likely = fmax(one->own[SPEX_COST_LIKELY], least);
    bool bounded = one->own[SPEX_COST_MOST] > least && one->cuts <= cuts_most * one->slices_taken;
    return (struct spex_speedup){likely / fmax(one->own[SPEX_COST_LEAST], likely), 1,
                                 bounded ? likely / fmin(one->own[SPEX_COST_MOST], likely)
                                         : INFINITY};
}

void spex_attached_note_off(struct spex_attachment *attachment, size_t f,
                            const struct spex_attached_time *time, uint64_t count, double used) {
    struct spex_attached_function *one = &attachment->of[f];
    double executions = (double)(count - one->count_since);
    double gross = used < 0 ? fmax(time->cpu - one->since.cpu, 0) : used;
    attachment->lingered += lingering_cost(attachment, one, executions, time->wall);
    one->sum.count += executions;
    one->slowed_sum.count += executions;
    one->sum.on += fmax(gross - executions * one->cost[SPEX_COST_LIKELY], left_least * gross);
    one->slowed_sum.on += gross;
    if (one->state == SPEX_ATTACHED_SLICED)
        note_slice(attachment, one, executions, gross, used >= 0);
    one->on_seconds += time->wall - one->since.wall;
    one->since = *time;
    one->count_since = count;
    one->on = false;
    if (!one->over_ns)
        one->over_ns = (uint64_t)(time->wall * 1e9);
}

/* Where less than such a part of the CPU time is left to the program, what it would do without the probe
 * depends on the guess of the cost too much: it is at least what was seen. */
static const double certain_least = 0.5;

void spex_attached_look(struct spex_attached_function *one, const struct spex_attached_time *now,
                        uint64_t count) {
    bool again = one->looked.wall > one->since.wall;
    double since = again ? one->looked.cpu : one->since.cpu, gross = now->cpu - since;
    double executions = (double)(count - (again ? one->count_looked : one->count_since));
    double cost = executions * one->cost[SPEX_COST_LIKELY];
    one->looked = *now;
    one->count_looked = count;
    one->at_least = cost > certain_least * gross;
    one->taken = gross > 0 ? fmin(cost / gross, 1) : 0;
    one->rate = gross > 0 ? executions / (one->at_least ? gross : gross - cost) : 0;
    one->share = one->rate * one->cost[SPEX_COST_LIKELY];
}
