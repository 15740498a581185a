/* SPDX-License-Identifier: MIT */
/* What the controller asks that the simulated process (plant.h) has nothing of: it polls nothing,
 * and samples no kernels. */
#include "../check.h"
#include "collect/collector.h"
#include "collect/metrics.h"
#include "kernels/sampling_budget.h"
#include "rate/occupancy_sampler.h"
#include "ring/doorbell.h"
#include "site/cost.h"
#include "text/message.h"

void spex_metrics_lock(void) {
}

void spex_metrics_unlock(void) {
}

uint64_t spex_sampling_budget_spent_ns(void) {
    return 0;
}

void spex_doorbell_ring(void) {
}

unsigned spex_collectors_running(void) {
    return 1;
}

double spex_cost_polled(void) {
    return 0;
}

double spex_occupancy_sampler_cost(void) {
    return 0;
}

void spex_occupancy_sampler_set(double frequency) {
    (void)frequency;
}

struct spex_occupancy spex_occupancy_sampler_occupancy(uint32_t first) {
    (void)first;
    return (struct spex_occupancy){0};
}

void spex_message(const char *format, ...) {
    (void)format;
    fail_msg("the controller has something to tell: %s", format);
}
