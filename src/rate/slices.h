/* SPDX-License-Identifier: MIT */
/* How often a probe was executed while it was held off, by what was counted in the slices before
 * and after each hold-off. Pure; times are in ticks of the caller's clock. */
#ifndef SPEX_RATE_SLICES_H
#define SPEX_RATE_SLICES_H

/* A probe so far. */
struct spex_slices_reading {
    double count; /* executions that were counted */
    double on;    /* time for which they were */
    double held;  /* time for which the probe was held off */
};

/* How many times as often the program executes the probe while it is held off as while it is on:
 * the least, the likely and the most. The probe's own cost slows the program down. */
struct spex_speedup {
    double least, likely, most;
};

/* Sums over hold-offs. All zero: there was none. */
struct spex_slices {
    struct spex_slices_reading last;
    /* Rate in the last slice, that with the likely speed-up, and the length of the hold-off after
     * it. */
    double rate, rate_faster, length;
    unsigned slices;
    /* Executions by the rate of the slice before, with the speed-up, and of the slice after. */
    double before;
    struct spex_speedup after;
    /* Sums of lengths, of their squares, and of the squares of executions by the difference of the
     * two rates. */
    double lengths, squares, differences;
};

/* An estimate, and how far it may be off: in 95 % of cases less. Negative: there were too few
 * slices to tell. */
struct spex_held_executions {
    double count, margin;
};

/* Notes that a hold-off is over, and with it what the slice before it has counted. */
void spex_slices_note(struct spex_slices *slices, const struct spex_slices_reading *now,
                      const struct spex_speedup *speedup);

/* Estimates the executions in all hold-offs up to now. */
struct spex_held_executions spex_slices_estimate(const struct spex_slices *slices,
                                                 const struct spex_slices_reading *now,
                                                 const struct spex_speedup *speedup);

#endif
