/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "rate/plan.h"

/* The state after an event, in each state. IDLE in the place of another: the event changes
 * nothing. */
static const enum spex_rate_state next[SPEX_RATE_STATES][SPEX_RATE_EVENTS] = {
    [SPEX_RATE_IDLE] = {[SPEX_RATE_COMES] = SPEX_RATE_NEW},
    [SPEX_RATE_NEW] = {[SPEX_RATE_FITS] = SPEX_RATE_COUNTED, [SPEX_RATE_DEAR] = SPEX_RATE_SLICED},
    [SPEX_RATE_COUNTED] =
        {[SPEX_RATE_DEAR] = SPEX_RATE_SLICED, [SPEX_RATE_POLL] = SPEX_RATE_POLLED},
    [SPEX_RATE_SLICED] = {[SPEX_RATE_FITS] = SPEX_RATE_COUNTED},
    [SPEX_RATE_POLLED] = {[SPEX_RATE_RECOUNT] = SPEX_RATE_NEW},
};

/* How each state begins; the step changes the period later. */
static const struct {
    uint32_t period;
    const char *why;
} begins[SPEX_RATE_STATES] = {
    [SPEX_RATE_IDLE] = {SPEX_RATE_FIRST, NULL},
    [SPEX_RATE_NEW] = {SPEX_RATE_FIRST, NULL},
    [SPEX_RATE_COUNTED] = {SPEX_RATE_ALL, "all of it: it hardly executes"},
    [SPEX_RATE_SLICED] = {SPEX_SITE_HELD,
                          "in slices of the time: its executions alone may cost more than the "
                          "budget"},
    [SPEX_RATE_POLLED] = {SPEX_SITE_POLLED, NULL},
};

bool spex_rate_event(struct spex_rate_known *known, enum spex_rate_event event, double now) {
    enum spex_rate_state to = next[known->state][event];
    if (to == SPEX_RATE_IDLE && event != SPEX_RATE_GOES)
        return false;
    if (to == known->state)
        return false;
    if (to == SPEX_RATE_SLICED || to == SPEX_RATE_POLLED || to == SPEX_RATE_IDLE)
        known->rate_uncounted = fmax(known->rate_uncounted, known->rate);
    known->sliced &= to != SPEX_RATE_IDLE;
    known->asked = false;
    known->state = to;
    known->period = begins[to].period;
    known->why = begins[to].why;
    known->since = now;
    known->fresh = known->fresh_on = 0;
    return true;
}
