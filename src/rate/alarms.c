/* SPDX-License-Identifier: MIT */
#include "rate/alarms.h"

#include <math.h>

#include "collect/metrics.h"
#include "rate/groups.h"
#include "rate/plan.h"
#include "rate/snapshot.h"
#include "ring/rings.h"

/* Records in a CPU's ring that cost so many seconds' worth of the budget alarm the collector. */
#define ALARM_SECONDS 0.05

/* A few records may stand for many executions by chance. */
#define RECORDS_LEAST 10

/* Of each type, a second. */
struct sums {
    double records[SPEX_PROBE_TYPES], costs[SPEX_PROBE_TYPES];
};

void spex_rate_alarms_clear(void) {
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++)
        spex_rings_alarm_at(t, INFINITY);
}

static void sums_add(struct sums *sums, const struct spex_rate *rate,
                     const struct spex_rate_subject *of, double collecting) {
    const struct spex_rate_known *known = spex_rate_known(rate, of);
    double made = spex_rate_records(known, of, known->rate);
    if (spex_groups_is(of->index) || !(made > 0))
        return;
    unsigned ring = spex_probe_type_ring(spex_site_info(of->index)->probe_type);
    sums->records[ring] += made;
    sums->costs[ring] += made * (spex_rate_record(known, of) + collecting) +
                         known->rate * spex_rate_skip(rate, known, of);
}

void spex_rate_alarms_set(struct spex_rate_alarms *alarms, const struct spex_rate *rate,
                          const struct spex_rate_in *in, double tick_rate) {
    struct sums sums = {{0}, {0}};
    double collecting = spex_rate_collecting_cost(&rate->collecting).record;
    for (size_t s = 0; s < in->count; s++)
        sums_add(&sums, rate, &in->subjects[s], collecting);
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        const struct spex_rate_costs of_type =
            spex_snapshot_costs(spex_probe_type_of_ring(t), tick_rate);
        alarms->produced[t] = (double)spex_metrics_totals(t).produced;
        /* Of a type that makes none now each execution may make one soon. */
        alarms->record_cost[t] = sums.records[t] > 0 ? sums.costs[t] / sums.records[t]
                                                     : of_type.skip + of_type.record + collecting;
        if (alarms->record_cost[t] > 0)
            spex_rings_alarm_at(t, ALARM_SECONDS * in->share / alarms->record_cost[t]);
    }
}

double spex_rate_alarms_cost(const struct spex_rate_alarms *alarms) {
    double cost = 0;
    for (unsigned t = 0; t < SPEX_PROBE_TYPES; t++) {
        double fresh = (double)spex_metrics_totals(t).produced - alarms->produced[t];
        cost += fresh >= RECORDS_LEAST ? fresh * alarms->record_cost[t] : 0;
    }
    return cost;
}
