/* SPDX-License-Identifier: MIT */
/* An instance is taken for a queue whose executions have exponential times: R = k S / (1 - X S),
 * with R the response time, X the throughput, S the service time and k the metric's factor. So
 * S = R / (k + X R) can be had from what an instance tells under any load, and the throughput that
 * just keeps the response time R_t is P = 1/S - k/R_t. Where the model is wrong, response times
 * that are too long in spite of it are answered all the same (master.c). */
#include "fleet/decide/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How much of a new mean is taken over: service times belong to the program and change slowly. */
#define WEIGHT 0.3

/* A fleet that is so far above its target shows what it can do and not what is asked of it. That is
 * taken for more by this factor. */
#define SATURATED      2
#define SATURATED_LOAD 1.5

double spex_fleet_metric_factor(const char *metric) {
    if (metric[0] != 'p')
        return 1;
    double rest = 1 - strtod(metric + 1, NULL) / 100;
    return rest > 0 && rest < 1 ? -log(rest) : 1;
}

double spex_fleet_capacity(const struct spex_fleet_policy *policy, double service) {
    double factor = spex_fleet_metric_factor(policy->response.metric);
    double capacity = 1 / service - factor / policy->response.bound;
    return capacity > 0 ? capacity : 0;
}

struct mean {
    double sum, weight;
};

static void mean_add(struct mean *mean, double value, double weight) {
    mean->sum += value * weight;
    mean->weight += weight;
}

static double blend(double before, const struct mean *mean) {
    if (mean->weight <= 0)
        return before;
    double now = mean->sum / mean->weight;
    return isnan(before) ? now : before + WEIGHT * (now - before);
}

void spex_fleet_estimate(const struct spex_fleet_policy *policy, struct spex_fleet_state *state,
                         const struct spex_fleet_observations *observations) {
    double factor = spex_fleet_metric_factor(policy->response.metric);
    struct mean service = {0, 0}, service_inst = {0, 0}, response = {0, 0};
    state->load = 0;
    for (size_t i = 0; i < observations->count; i++) {
        const struct spex_fleet_observation *seen = &observations->items[i];
        double r = seen->response, x = seen->throughput;
        if (!isfinite(r) || r <= 0 || !isfinite(x) || x <= 0)
            continue;
        struct mean *mean = state->instances[i].probe_count ? &service_inst : &service;
        mean_add(mean, r / (factor + x * r), 1);
        mean_add(&response, r, x);
        state->load += x;
    }
    state->service = blend(state->service, &service);
    state->service_inst = blend(state->service_inst, &service_inst);
    state->response_before = state->response;
    state->response = response.weight > 0 ? response.sum / response.weight : NAN;
}

/* Both service times; of what has not been seen yet the budget tells. */
static void services(const struct spex_fleet_policy *policy, const struct spex_fleet_state *state,
                     double *plain, double *instrumented) {
    *plain = isnan(state->service) ? state->service_inst / (1 + policy->budget) : state->service;
    *instrumented =
        isnan(state->service_inst) ? *plain * (1 + policy->budget) : state->service_inst;
}

void spex_fleet_estimate_tell(const struct spex_fleet_policy *policy,
                              const struct spex_fleet_state *state,
                              struct spex_fleet_decision *decision) {
    double plain, instrumented, bound = policy->response.bound;
    services(policy, state, &plain, &instrumented);
    decision->response = state->response;
    decision->p = isnan(plain) ? NAN : spex_fleet_capacity(policy, plain);
    double taken = decision->p - spex_fleet_capacity(policy, instrumented);
    decision->p_inst = taken > 0 ? taken : 0;
    decision->p_t = state->load > policy->throughput ? state->load : policy->throughput;
    if (state->response > SATURATED * bound && !state->starting)
        decision->p_t = fmax(decision->p_t, SATURATED_LOAD * state->load);
    decision->capacity = (double)(decision->instances + decision->starting) * decision->p -
                         (double)decision->instrumented * decision->p_inst;
}
