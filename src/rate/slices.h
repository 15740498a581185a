/* SPDX-License-Identifier: MIT */
/* How often a probe was executed while it was held off, by what was counted in the slices before
 * and after each hold-off. Pure; times are in ticks of the caller's clock. */
#ifndef SPEX_RATE_SLICES_H
#define SPEX_RATE_SLICES_H

#include <stdbool.h>

/* With fewer hold-offs, were they equally long, nothing tells how rates differ: of a program whose
 * first moment is slow, or that executes in bursts, slices may have seen nothing else. */
#define SPEX_HOLD_OFFS_LEAST 10

/* Time for which executions were counted, and for which the probe was held off. */
struct spex_slices_time {
    double on, held;
};

/* A probe so far: executions that were counted, and CPU time. */
struct spex_slices_reading {
    double count, on, held;
};

/* How many times as often the program executes the probe while it is held off as while it is on:
 * the least, the likely and the most. The probe's own cost slows the program down. */
struct spex_speedup {
    double least, likely, most;
};

/* Sums over hold-offs. All zero: there was none. */
struct spex_slices {
    /* Time that has gone by, and CPU time of the program's threads in it. */
    struct spex_slices_time passed, used;
    struct spex_slices_reading last;
    /* Rate in the last slice, that with the likely speed-up, and the length of the hold-off after
     * it. */
    double rate, rate_faster, length;
    /* The highest of the rates with the likely speed-up. */
    double highest;
    unsigned slices;
    /* Executions by the rate of the slice before, with the speed-up, and of the slice after. */
    double before;
    struct spex_speedup after;
    /* Sums of lengths, of their squares, and of the squares of executions by the difference of the
     * two rates. */
    double lengths, squares, differences;
};

/* An estimate, and how far it may be off: in 95 % of cases less. Negative: there were too few
 * slices to tell, or one hold-off is most of the time. `least`: at least so many, in 97.5 % of
 * cases; it tells more than the margin where the program may be many times as fast while the probe
 * is off. */
struct spex_held_executions {
    double count, margin, least;
};

/* Notes the times so far. Since the last note the program's threads have used `cpus` CPUs;
 * negative: not known, as many as before. */
void spex_slices_pass(struct spex_slices *slices, const struct spex_slices_time *passed,
                      double cpus);

/* Returns the reading at a time soon after the last note. */
struct spex_slices_reading spex_slices_read(const struct spex_slices *slices, double count,
                                            const struct spex_slices_time *passed);

/* Whether so much CPU time was a slice, and no rounding. */
bool spex_slices_is(const struct spex_slices_reading *now, double on);

/* Notes that a hold-off is over, and with it what the slice before it has counted. */
void spex_slices_note(struct spex_slices *slices, const struct spex_slices_reading *now,
                      const struct spex_speedup *speedup);

/* Estimates the executions in all hold-offs up to now. */
struct spex_held_executions spex_slices_estimate(const struct spex_slices *slices,
                                                 const struct spex_slices_reading *now,
                                                 const struct spex_speedup *speedup);

#endif
