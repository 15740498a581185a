/* SPDX-License-Identifier: MIT */
/* A budget: the share of the program's CPU time that probes may take, as a token bucket. A token is
 * a second of one CPU. Unspent tokens are saved up to a burst, for a burst of executions after a
 * quiet time. The functions are pure: the caller passes the time. */
#ifndef SPEX_RATE_BUDGET_H
#define SPEX_RATE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct spex_budget {
    double share;  /* of the CPU time of the program; 0: there is no budget */
    double tokens; /* may be negative: spent in advance */
};

/* Parses a percentage such as "2%" or "0.5 %", above 0 and at most 100. False: `text` is none. */
bool spex_budget_parse(const char *text, double *share);

/* Begins with an empty bucket, so that a short program keeps its budget, too. */
void spex_budget_begin(struct spex_budget *budget, double share);

/* Earns tokens for `used` seconds of CPU time of a program that keeps so many CPUs busy on average,
 * and pays `spent` seconds that probes took. */
void spex_budget_advance(struct spex_budget *budget, double used, double cpus, double spent);

/* Seconds a second that may be spent in the long run. */
double spex_budget_steady(const struct spex_budget *budget, double cpus);

/* Seconds a second that may be planned from now on: the steady rate, or less while tokens are owed,
 * so that the debt is paid back soon. Saved tokens are not planned; they are for unforeseen bursts.
 * Always above 0. */
double spex_budget_rate(const struct spex_budget *budget, double cpus);

/* Budgets that others ask for, each for a while, beside the process's own. The least holds. */
enum { SPEX_BUDGETS_ASKED = 16 };

struct spex_budgets_asked {
    struct {
        uint32_t holder; /* a number that is not 0; 0: the place is free */
        double share;
        uint64_t until_ns;
    } places[SPEX_BUDGETS_ASKED];
};

/* Holds a share until a time, in place of what the holder held. 0; -EUSERS: there are too many. */
int spex_budgets_hold(struct spex_budgets_asked *asked, uint32_t holder, double share,
                      uint64_t until_ns);

/* Has what the holder holds last until a time; 0: ends it. */
void spex_budgets_renew(struct spex_budgets_asked *asked, uint32_t holder, uint64_t until_ns);

/* The least of those that hold now and of `own`; where 0 is none. *any: whether others hold one. */
double spex_budgets_least(struct spex_budgets_asked *asked, double own, uint64_t now_ns, bool *any);

#endif
