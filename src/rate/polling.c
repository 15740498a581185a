/* SPDX-License-Identifier: MIT */
/* Policies assume that a polled execution costs nothing. It costs a little, as it is published
 * for the sampler. So the budget and the costs that a policy gets are those beyond polling all
 * classes. */
#include "rate/polling.h"

#include "collect/metrics.h"
#include "rate/occupancy_sampler.h"
#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry.h"

/* A measurement of this many looks replaces the former share completely; one of fewer moves it
 * in proportion. */
#define LOOKS_RENEW 64.0

/* The same number for records. */
#define RECORDS_RENEW 64.0

double spex_polling_execution_cost(void) {
    double rate = spex_metrics_tick_rate();
    return rate > 0 ? spex_cost_polled() / rate : 0;
}

/* Moves `value` towards `fresh` by the share `part` of the distance, at most to it. */
static void value_renew(double *value, double fresh, double part) {
    *value += (fresh - *value) * (part < 1 ? part : 1);
}

/* Updates the share of a polled probe from the looks since the last update. */
static void share_from_looks(struct spex_polling_share *share, uint32_t first) {
    struct spex_occupancy now = spex_occupancy_sampler_occupancy(first), fresh = now;
    spex_occupancy_subtract(&fresh, &share->activity);
    share->activity = now;
    if (fresh.looks > 0)
        value_renew(&share->share, spex_occupancy_threads(&fresh),
                    (double)fresh.looks / LOOKS_RENEW);
}

/* The paper's EventTime / EventPeriod: frequency times mean duration of the records since the last
 * update. */
static void share_from_records(struct spex_polling_share *share, uint32_t first, double frequency) {
    const struct spex_site_info *info = spex_site_info(first);
    double weight = 0, ticks = 0, rate = spex_metrics_tick_rate();
    spex_metrics_sums(info->probe_id, info->probe_type, &weight, &ticks);
    double records = weight - share->weight, mean = (ticks - share->ticks) / records;
    if (records > 0 && rate > 0 && mean >= 0)
        value_renew(&share->share, frequency * mean / rate, records / RECORDS_RENEW);
    share->weight = weight;
    share->ticks = ticks;
}

void spex_polling_measure(struct spex_polling_share *share, uint32_t first, bool polled,
                          double frequency) {
    if (polled)
        share_from_looks(share, first);
    else if (spex_probe_type_ticks(spex_site_info(first)->probe_type))
        share_from_records(share, first, frequency);
}

double spex_polling_base(const struct spex_rate_class *classes, size_t count) {
    double sum = 0, cost = spex_polling_execution_cost();
    for (size_t c = 0; c < count; c++)
        sum += classes[c].frequency * cost;
    return sum;
}

void spex_polling_without_base(struct spex_rate_problem *problem, struct spex_rate_class *classes) {
    double cost = spex_polling_execution_cost();
    double left = problem->budget - spex_polling_base(classes, problem->class_count);
    problem->budget = left > 0 ? left : 0;
    for (size_t c = 0; c < problem->class_count; c++) {
        double more = classes[c].detect_cost - cost;
        /* Counting an execution may cost less than publishing it. */
        if (more < 0)
            classes[c].report_cost += more;
        classes[c].detect_cost = more > 0 ? more : 0;
        if (classes[c].report_cost < 0)
            classes[c].report_cost = 0;
    }
}

size_t spex_polling_dearest(const struct spex_rate_class *classes, size_t count) {
    size_t dearest = 0;
    for (size_t c = 1; c < count; c++)
        if (classes[c].frequency > classes[dearest].frequency)
            dearest = c;
    return dearest;
}

void spex_polling_apply(const struct spex_rate_plan *plan, size_t count) {
    double frequency = 0;
    for (size_t c = 0; c < count; c++)
        if (plan->decisions[c].mode == SPEX_RATE_PROBED)
            frequency = plan->probing_frequency > 1 ? plan->probing_frequency : 1;
    spex_occupancy_sampler_set(frequency < SPEX_POLLING_HZ_MAX ? frequency : SPEX_POLLING_HZ_MAX);
}
