/* SPDX-License-Identifier: MIT */
/* A hold-off has the rate of the slice after it, which its length does not depend on: the length
 * follows from what the slice before has cost, so that by the rate before, a program of bursts
 * would seem to execute more than it does. Where rates change slowly, the mean of both is better;
 * the estimate lies between, and half of what they differ by is in the margin.
 *
 * Rates are by CPU time: whether the program runs while the probe is on is chance on a busy
 * machine, and a slice lasts longer where the collector waits for the processor that the program
 * has. */
#include "rate/slices.h"

#include <math.h>

#include "base/student.h"

/* CPUs that the program has used on average; 1: it is not known. */
static double cpus_mean(const struct spex_slices *slices) {
    double passed = slices->passed.on + slices->passed.held;
    return passed > 0 ? (slices->used.on + slices->used.held) / passed : 1;
}

static struct spex_slices_time used_until(const struct spex_slices *slices,
                                          const struct spex_slices_time *passed, double cpus) {
    return (struct spex_slices_time){
        slices->used.on + cpus * fmax(passed->on - slices->passed.on, 0),
        slices->used.held + cpus * fmax(passed->held - slices->passed.held, 0)};
}

void spex_slices_pass(struct spex_slices *slices, const struct spex_slices_time *passed,
                      double cpus) {
    slices->used = used_until(slices, passed, cpus < 0 ? cpus_mean(slices) : cpus);
    slices->passed = *passed;
}

struct spex_slices_reading spex_slices_read(const struct spex_slices *slices, double count,
                                            const struct spex_slices_time *passed) {
    struct spex_slices_time used = used_until(slices, passed, cpus_mean(slices));
    return (struct spex_slices_reading){count, used.on, used.held};
}

/* Takes in a hold-off between a slice and one with the rate `after`. */
static void hold_off_add(struct spex_slices *slices, double after,
                         const struct spex_speedup *speedup) {
    double length = slices->length, executions = length * after;
    slices->before += length * slices->rate_faster;
    slices->after.least += executions * speedup->least;
    slices->after.likely += executions * speedup->likely;
    slices->after.most += executions * speedup->most;
    slices->lengths += length;
    slices->squares += length * length;
    slices->differences += pow(length * (after * speedup->likely - slices->rate_faster), 2);
}

/* A shorter one is such a part of all the time: what is left of sums that are rounded. */
#define ROUNDING 1e-6

bool spex_slices_is(const struct spex_slices_reading *now, double on) {
    return on > ROUNDING * (now->on + now->held);
}

void spex_slices_note(struct spex_slices *slices, const struct spex_slices_reading *now,
                      const struct spex_speedup *speedup) {
    double on = now->on - slices->last.on, held = now->held - slices->last.held;
    if (spex_slices_is(now, on)) {
        double rate = fmax(now->count - slices->last.count, 0) / on;
        if (slices->slices++)
            hold_off_add(slices, rate, speedup);
        slices->rate = rate;
        slices->rate_faster = rate * speedup->likely;
        slices->highest = fmax(slices->highest, slices->rate_faster);
        slices->length = 0;
    }
    slices->length += held;
    slices->last = *now;
}

/* The mean square of what the rates of two slices differ by, weighted by the hold-offs' squares. */
static double rate_variance(const struct spex_slices *slices) {
    return slices->squares > 0 ? slices->differences / slices->squares : 0;
}

/* The variance of the executions in all hold-offs. Of two independent slices, the square of the
 * difference is twice the variance. The hold-off that goes on has one slice only. */
static double executions_variance(const struct spex_slices *slices) {
    return slices->differences / 2 + slices->length * slices->length * rate_variance(slices);
}

/* Degrees of freedom by the spread of the lengths, after Satterthwaite. */
static double freedom(const struct spex_slices *slices) {
    return slices->squares > 0 ? slices->lengths * slices->lengths / slices->squares : 0;
}

/* So many hold-offs of the same length would tell as much as those that were. */
static double hold_offs(const struct spex_slices *slices) {
    double squares = slices->squares + slices->length * slices->length;
    double lengths = slices->lengths + slices->length;
    return squares > 0 ? fmin(lengths * lengths / squares, slices->slices) : slices->slices;
}

/* What may have been executed at times of which slices have met none, at the highest rate that they
 * have met. */
static double unseen(const struct spex_slices *slices) {
    return (slices->lengths + slices->length) * slices->highest *
           fmin(SPEX_UNSEEN_95 / hold_offs(slices), 1);
}

struct spex_held_executions spex_slices_estimate(const struct spex_slices *slices,
                                                 const struct spex_slices_reading *now,
                                                 const struct spex_speedup *speedup) {
    struct spex_slices sums = *slices;
    spex_slices_note(&sums, now, speedup);
    double rest = sums.length * sums.rate;
    if (hold_offs(&sums) < SPEX_HOLD_OFFS_LEAST)
        return (struct spex_held_executions){0, -1, 0};
    double least = sums.after.least + rest * speedup->least,
           likely = sums.after.likely + rest * speedup->likely,
           most = sums.after.most + rest * speedup->most;
    double drift = (sums.before - sums.after.likely) / 4;
    double count = fmax(likely + drift, 0);
    double slower = fmax(most - likely, likely - least);
    double chance =
        spex_student_95(freedom(&sums)) * sqrt(executions_variance(&sums)) + 2 * fabs(drift);
    return (struct spex_held_executions){count, fmax(chance, unseen(&sums)) + slower,
                                         fmax(least + drift - chance, 0)};
}
