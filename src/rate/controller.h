/* SPDX-License-Identifier: MIT */
/* The controller: keeps what probes cost within the user's budget, by the periods of their
 * sites. It runs in the first collector, which tells it after each pass. */
#ifndef SPEX_RATE_CONTROLLER_H
#define SPEX_RATE_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/rate_policy.h>

/* What it thinks of a probe. */
struct spex_controller_view {
    double frequency; /* executions a second, lately */
    uint32_t period;  /* 0: as selected; SPEX_SITE_HELD: none */
    const char *why;  /* a constant; NULL: it has not looked yet */
};

/* A collection begins; `share` as in struct spex_budget, 0: nothing is controlled; `policy`
 * decides how it is spent, until spex_controller_end. 0 or -ENOMEM. Before the metrics begin,
 * and not with them locked. */
int spex_controller_begin(double share, const struct spex_rate_policy_ops *policy);

/* No collector runs, and nobody will ask any more what it thought of their probes; or in the
 * child of a fork. */
void spex_controller_end(void);

/* The first collector has been around. */
void spex_controller_pass(void);

/* The metrics have ended: what is left is accounted for, and nothing is decided. `end_ns`: when
 * no collector ran any more, CLOCK_MONOTONIC. */
void spex_controller_close_accounts(uint64_t end_ns);

/* When it wants to be told again, at the latest: in so many nanoseconds from the last pass. For
 * the first collector alone, as is the next. */
uint64_t spex_controller_due_ns(void);

/* Whether it keeps a probe off that is to be tried again, so that it must go on being told. */
bool spex_controller_holds(void);

/* Under the metrics' lock. `first`: the probe's first site. */
struct spex_controller_view spex_controller_look(uint32_t first);

/* Its policy's name, NULL: nothing is controlled; its budget's share, 0: none; and, in seconds
 * since it began, the time that the program had, on all CPUs that it kept busy, and what probes
 * and collectors took, as it believes. Under the metrics' lock. */
struct spex_controller_totals {
    const char *policy; /* as long-lived as the collection */
    double share;
    double seconds;
    double spent;
};

struct spex_controller_totals spex_controller_totals(void);

#endif
