/* SPDX-License-Identifier: MIT */
/* Each mode sets the period of a probe, the reason that users read, and how long the mode lasts at
 * least. Times in a mode grow by spex_hold_off while the same decision is made again. */
#include "rate/modes.h"

#include "rate/period.h"
#include "ring/doorbell.h"
#include "ring/probe_type.h"
#include "site/registry.h"

/* Executions of a polled probe are not counted. So it is recorded for a moment after
 * POLLED_SECONDS, and after twice as long each time that the decision is the same, up to
 * POLLED_SECONDS_MAX. */
#define POLLED_SECONDS     1.0
#define POLLED_SECONDS_MAX 16.0

void spex_mode_count_again(uint32_t first, struct spex_controlled *probe) {
    probe->trying = spex_controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, SPEX_RECORDS_LEAST);
    probe->why = "recorded for a moment, as executions that are polled are not counted";
    spex_probe_throttle(first, probe->period);
}

void spex_mode_record_all(uint32_t first, struct spex_controlled *probe) {
    probe->trying = false;
    probe->period = 0;
    probe->why = "traced: it hardly executes";
    spex_probe_throttle(first, 0);
}

void spex_mode_hold(struct spex_controlled *probe, const char *why) {
    spex_controlled_uncounted(probe);
    spex_hold_off(&probe->held, spex_controller.now, SPEX_HOLD_OFF_SECONDS,
                  SPEX_HOLD_OFF_SECONDS_MAX);
    probe->period = SPEX_SITE_HELD;
    spex_controller.holding = true;
    probe->why = why;
}

/* Switches a probe on after it was held off, with few records, so that the trial costs little. */
static void probe_try_again(struct spex_controlled *probe) {
    probe->held.until = 0;
    probe->trying = spex_controller.trying = true;
    probe->period = spex_period_whole(probe->frequency, SPEX_RECORDS_LEAST);
    probe->why = "tried again";
}

/* Sets the period for the records that the decision allows. A period that is nearly right stays
 * (period.h). The next time that the probe is held off, or polled, begins at the shortest again. */
static void probe_set_period(struct spex_controlled *probe, const struct spex_rate_class *class,
                             const struct spex_rate_decision *decision) {
    bool all = decision->frequency >= spex_rate_most(class);
    double exact = all ? 1 : spex_period_exact(class->frequency, decision->frequency);
    if (spex_period_differs(probe->period, exact))
        probe->period = all ? 0 : spex_period_whole(class->frequency, decision->frequency);
    probe->held.length = 0;
    probe->polled.length = 0;
    probe->why = decision->reason;
}

/* Has a probe polled. The time until it is recorded again for a moment grows only if it was
 * recorded in between. */
static void probe_poll(struct spex_controlled *probe, const char *why) {
    spex_controlled_uncounted(probe);
    if (probe->period != SPEX_SITE_POLLED)
        spex_hold_off(&probe->polled, spex_controller.now, POLLED_SECONDS, POLLED_SECONDS_MAX);
    probe->period = SPEX_SITE_POLLED;
    probe->held.length = 0;
    probe->why = why;
}

void spex_mode_apply(uint32_t first, const struct spex_rate_class *class,
                     const struct spex_rate_decision *decision) {
    struct spex_controlled *probe = &spex_controller.probes[first];
    uint32_t before = probe->period;
    if (probe->held.until > 0)
        probe_try_again(probe);
    else if (decision->mode == SPEX_RATE_OFF)
        spex_mode_hold(probe, decision->reason);
    else if (decision->mode == SPEX_RATE_PROBED &&
             !spex_probe_type_lasts(spex_site_info(first)->probe_type))
        spex_mode_hold(probe,
                       "held off: it is not worth its records, and takes no time to be polled");
    else if (decision->mode == SPEX_RATE_PROBED)
        probe_poll(probe, decision->reason);
    /* A polled probe stays polled until its executions are counted again. */
    else if (probe->period != SPEX_SITE_POLLED)
        probe_set_period(probe, class, decision);
    spex_probe_throttle(first, probe->period);
    if (before == SPEX_SITE_HELD && probe->period != SPEX_SITE_HELD)
        spex_doorbell_ring();
}
