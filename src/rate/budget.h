/* SPDX-License-Identifier: MIT */
/* A budget: the share of its time that a program lets probes have, as a bucket of tokens. What
 * is not spent is saved, up to a burst, so that there is something for what happens after a
 * quiet time. A token is a second of one CPU. Pure: time is told to it. */
#ifndef SPEX_RATE_BUDGET_H
#define SPEX_RATE_BUDGET_H

#include <stdbool.h>

struct spex_budget {
    double share;  /* of the time of each thread that runs; 0: there is no budget */
    double tokens; /* may be negative: spent in advance */
};

/* "2%", "0.5 %": more than 0, at most 100. False: it is none. */
bool spex_budget_parse(const char *text, double *share);

void spex_budget_begin(struct spex_budget *budget, double share);

/* `seconds` have gone by, in which the program kept `cpus` CPUs busy (at least one is counted,
 * since a thread that mostly waits is slowed down, too, when it runs) and `spent` seconds went
 * into probes. */
void spex_budget_advance(struct spex_budget *budget, double seconds, double cpus, double spent);

/* How many seconds a second may be spent in the long run. */
double spex_budget_steady(const struct spex_budget *budget, double cpus);

/* How many seconds a second may be spent from now on by intent: the steady rate, or less, so
 * that what is owed is paid back soon. What is saved is for what nobody foresaw: it would be
 * gone when that comes. Always more than 0. */
double spex_budget_rate(const struct spex_budget *budget, double cpus);

#endif
