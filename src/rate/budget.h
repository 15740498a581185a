/* SPDX-License-Identifier: MIT */
/* Budgets as users ask for them: shares of the program's CPU time that probes may take. The functions
 * are pure: the caller passes the time. */
#ifndef SPEX_RATE_BUDGET_H
#define SPEX_RATE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Parses a percentage such as "2%" or "0.5 %", above 0 and at most 100. False: `text` is none. */
bool spex_budget_parse(const char *text, double *share);

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
