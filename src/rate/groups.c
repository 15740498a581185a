/* SPDX-License-Identifier: MIT */
/* A group of probes that stand in regions (site/registry.h) is decided about as one probe, with the
 * index of a region's site. Its executions are the passes through its regions, the executions in
 * these, and those of its probes elsewhere; what one of them costs is the mean. So a region is held
 * off where its passes alone are too dear, though no probe executes in them. */
#include <math.h>

#include "collect/metrics.h"
#include "probe/regions.h"
#include "rate/accounts.h"
#include "rate/controller_state.h"
#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/registry.h"

/* Share of the former sums that is forgotten when executions are counted. */
#define FORGOTTEN 0.3

/* A pass within whose region's declared executions so many periods end calls the library in any
 * case. */
#define WEIGHT_MOST 65536.0

/* What has been executed since the last count, of all the group's regions and probes. */
struct fresh {
    double passes, inside, elsewhere;
    double ticks; /* without records, calls included */
    double calls; /* ticks that calls of the library would take in a period of all passes */
};

static struct spex_grouped *grouped_of(uint32_t group) {
    return &spex_controller.probes[group].grouped;
}

/* Adds to what the group has executed. */
static void fresh_add(uint32_t group, const struct fresh *fresh) {
    struct spex_grouped *grouped = grouped_of(group);
    grouped->fresh_units += fresh->passes + fresh->inside + fresh->elsewhere;
    grouped->fresh_recorded += fresh->inside + fresh->elsewhere;
    grouped->fresh_ticks += fresh->ticks;
    grouped->fresh_calls += fresh->calls;
    grouped->ticks += fresh->ticks;
}

static void region_count(uint32_t region, uint32_t group, uint64_t executions) {
    struct spex_grouped *last = grouped_of(region);
    const struct spex_region_passes now = spex_region_passes(region);
    const struct spex_region_cost cost = spex_cost_region();
    double weight = fmin(spex_site_info(region)->subsample, WEIGHT_MOST);
    double called = last->known ? (double)(now.calls - last->calls) : 0;
    struct fresh fresh = {.passes = last->known ? fmax(now.passes - last->passes, 0) : 0,
                          .inside = (double)spex_grown(last->executions, executions)};
    fresh.ticks = fresh.passes * cost.pass + fresh.inside * cost.execution;
    fresh.calls = fresh.passes * weight * cost.call;
    last->passes = now.passes;
    last->calls = now.calls;
    last->executions = executions;
    last->known = true;
    fresh_add(group, &fresh);
    grouped_of(group)->ticks += called * cost.call;
}

static void member_count(uint32_t first, uint32_t group, uint64_t executions) {
    struct spex_grouped *last = grouped_of(first);
    struct spex_cost cost = {0};
    struct fresh fresh = {.elsewhere = (double)spex_grown(last->executions, executions)};
    spex_cost_get(spex_site_info(first)->probe_type, &cost);
    fresh.ticks = fresh.elsewhere * cost.skip;
    last->executions = executions;
    last->weight = (double)executions + spex_metrics_in_regions(first) + 1;
    fresh_add(group, &fresh);
}

/* Older executions count less in the means. While the group is off, these stay. */
static void group_update(struct spex_grouped *grouped) {
    double kept = grouped->fresh_units > 0 ? 1 - FORGOTTEN : 1;
    grouped->units += grouped->fresh_units;
    grouped->mean_units = grouped->mean_units * kept + grouped->fresh_units;
    grouped->mean_recorded = grouped->mean_recorded * kept + grouped->fresh_recorded;
    grouped->mean_ticks = grouped->mean_ticks * kept + grouped->fresh_ticks;
    grouped->mean_calls = grouped->mean_calls * kept + grouped->fresh_calls;
    grouped->fresh_units = grouped->fresh_recorded = 0;
    grouped->fresh_ticks = grouped->fresh_calls = 0;
}

void spex_groups_count(uint64_t *executions) {
    uint32_t sites = spex_sites_count();
    if (spex_sites_of_probes() == sites)
        return;
    for (uint32_t i = 0; i < sites; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        uint32_t group =
            spex_site_is_region(info) || info->probe == i ? spex_probe_group(i) : SPEX_MAX_SITES;
        grouped_of(i)->group = group == SPEX_MAX_SITES ? 0 : group + 1;
        if (group != SPEX_MAX_SITES && spex_site_is_region(info))
            region_count(i, group, executions[i]);
        else if (group != SPEX_MAX_SITES)
            member_count(i, group, executions[i]);
    }
    for (uint32_t i = 0; i < sites; i++)
        if (spex_groups_is(i)) {
            group_update(grouped_of(i));
            executions[i] = (uint64_t)grouped_of(i)->units;
        }
}

double spex_groups_spent(uint32_t group) {
    struct spex_grouped *grouped = grouped_of(group);
    double ticks = grouped->ticks - grouped->booked;
    grouped->booked = grouped->ticks;
    return spex_controller.tick_rate > 0
               ? ticks / spex_controller.tick_rate *
                     spex_controlled_factor(&spex_controller.probes[group])
               : 0;
}

/* Ticks of a record beyond an execution: of one that chance chooses, as it does in a region, and as
 * calibrated for the type. */
static double report_of(uint32_t member, bool drawn) {
    uint32_t type = spex_site_info(member)->probe_type;
    struct spex_cost cost = {0};
    spex_cost_get(type, &cost);
    return fmax(fmax(cost.record, drawn ? spex_cost_drawn(type) : 0) - cost.skip, 0);
}

uint32_t spex_groups_next(uint32_t group, uint32_t index) {
    do
        index = spex_profile_next_probe(index);
    while (index < spex_sites_count() && grouped_of(index)->group != group + 1 && ++index);
    return index;
}

static double members_weight(uint32_t group) {
    double sum = 0;
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1))
        sum += grouped_of(m)->weight;
    return sum;
}

/* A record of a pass would have the cost of those that are made, by its share; it has that of the
 * calls by which passes find that it is due. */
bool spex_groups_costs(uint32_t group, double *skip, double *report) {
    const struct spex_grouped *grouped = grouped_of(group);
    const struct spex_region_cost cost = spex_cost_region();
    double rate = spex_controller.tick_rate, ticks = 0, all = members_weight(group);
    *skip = *report = 0;
    if (rate <= 0 || cost.pass <= 0)
        return false;
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1))
        ticks += report_of(m, true) * grouped_of(m)->weight / all;
    bool known = grouped->mean_units > 0;
    *skip = (known ? grouped->mean_ticks / grouped->mean_units : cost.pass) / rate;
    *report = (known ? (ticks * grouped->mean_recorded + grouped->mean_calls) / grouped->mean_units
                     : ticks + cost.call) /
              rate;
    return true;
}

double spex_groups_recorded(uint32_t index) {
    const struct spex_grouped *grouped = grouped_of(index);
    return grouped->mean_units > 0 ? grouped->mean_recorded / grouped->mean_units : 1;
}

void spex_groups_expect(uint32_t group, double records, double factor, double skipping,
                        struct spex_groups_expected *by_ring) {
    double all = members_weight(group);
    double made = records * spex_groups_recorded(group);
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1)) {
        uint32_t type = spex_site_info(m)->probe_type;
        struct spex_groups_expected *of = &by_ring[spex_probe_type_ring(type)];
        double share = grouped_of(m)->weight / all, of_type = report_of(m, false);
        of->records += made * share;
        of->sum += made * share * factor * (of_type > 0 ? report_of(m, true) / of_type : 1);
        of->skipping += skipping * share;
    }
}
