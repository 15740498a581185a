/* SPDX-License-Identifier: MIT */
/* What an execution that makes no record costs at most. */
#ifndef SPEX_RATE_BOUND_H
#define SPEX_RATE_BOUND_H

/* Of this machine, in seconds. */
struct spex_rate_caches {
    /* A line that was touched is still in the first, second and last cache after such a time: so
     * long it takes to fill these from the next one. */
    double keep[3];
    /* What a line takes from the second and the last cache and from memory. */
    double latency[3];
    /* The share of the processor's window of instructions that an execution takes. */
    double window;
};

/* Of a probe that a thread executes `rate` times a second, and that takes `skip` seconds where all
 * is in the first cache. Its code, and its counts, may each have to come from where the program can
 * have driven them in the meantime. Where the program waits for memory, several reads at a time
 * are under way, as many as there are in the window of instructions: fewer by the share of it that
 * the execution takes. And no execution takes longer than the time between two. */
double spex_rate_bound(const struct spex_rate_caches *caches, double skip, double rate);

/* What it costs most likely: of what is executed seldom, code and counts come from the second cache. */
double spex_rate_likely(const struct spex_rate_caches *caches, double skip, double rate);

#endif
