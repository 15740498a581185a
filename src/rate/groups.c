/* SPDX-License-Identifier: MIT */
#include "rate/groups.h"

#include <math.h>

#include "base/grown.h"
#include "collect/metrics.h"
#include "probe/regions.h"
#include "ring/probe_type.h"
#include "site/cost.h"
#include "site/probe_state.h"
#include "site/registry.h"

/* Share of the former sums that is forgotten when executions are counted. */
#define FORGOTTEN 0.3

/* A pass within whose region's declared executions so many periods end calls the library in any
 * case. */
#define WEIGHT_MOST 65536.0

/* Of a group, of a region and of a member, by their indices. A group has that of one of its
 * regions. */
struct spex_grouped {
    /* Of a region or member: its group + 1; 0: it is in none. */
    uint32_t group;
    /* A region or member when it was last counted. */
    uint64_t executions;
    double passes;
    bool known;
    /* A member's executions so far, and 1. */
    double weight;
    /* The rest is of the group: passes and executions so far; sums since the last count, and sums in
     * which older counts have less weight: passes and executions, the latter alone, ticks that they
     * took, and ticks that calls of the library would take in a period of all passes. */
    double units;
    double fresh_units, fresh_recorded, fresh_ticks, fresh_calls;
    double mean_units, mean_recorded, mean_ticks, mean_calls;
};

static struct spex_grouped *grouped;

size_t spex_groups_bytes(void) {
    return SPEX_MAX_SITES * sizeof(*grouped);
}

void spex_groups_begin(struct spex_grouped *memory) {
    grouped = memory;
}

bool spex_groups_is(uint32_t index) {
    return spex_site_is_region(spex_site_info(index)) && grouped[index].group == index + 1;
}

uint32_t spex_groups_by(uint32_t first) {
    return grouped[first].group ? grouped[first].group - 1 : first;
}

/* What has been executed since the last count, of all the group's regions and probes. */
struct fresh {
    double passes, inside, elsewhere;
    double ticks; /* without records */
    double calls; /* ticks that calls of the library would take in a period of all passes */
};

/* Adds to what the group has executed. */
static void fresh_add(uint32_t group, const struct fresh *fresh) {
    struct spex_grouped *of = &grouped[group];
    of->fresh_units += fresh->passes + fresh->inside + fresh->elsewhere;
    of->fresh_recorded += fresh->inside + fresh->elsewhere;
    of->fresh_ticks += fresh->ticks;
    of->fresh_calls += fresh->calls;
}

static void region_count(uint32_t region, uint32_t group, uint64_t executions) {
    struct spex_grouped *last = &grouped[region];
    const struct spex_region_passes now = spex_region_passes(region);
    const struct spex_region_cost cost = spex_cost_region();
    double weight = fmin(spex_site_info(region)->subsample, WEIGHT_MOST);
    struct fresh fresh = {.passes = last->known ? fmax(now.passes - last->passes, 0) : 0,
                          .inside = (double)spex_grown(last->executions, executions)};
    fresh.ticks = fresh.passes * cost.pass + fresh.inside * cost.execution;
    fresh.calls = fresh.passes * weight * cost.call;
    last->passes = now.passes;
    last->executions = executions;
    last->known = true;
    fresh_add(group, &fresh);
}

static void member_count(uint32_t first, uint32_t group, uint64_t executions) {
    struct spex_grouped *last = &grouped[first];
    struct spex_cost cost = {0};
    struct fresh fresh = {.elsewhere = (double)spex_grown(last->executions, executions)};
    spex_cost_get(spex_site_info(first)->probe_type, &cost);
    fresh.ticks = fresh.elsewhere * cost.skip;
    last->executions = executions;
    last->weight = (double)executions + spex_metrics_in_regions(first) + 1;
    fresh_add(group, &fresh);
}

/* Older executions count less in the means. While the group is off, these stay. */
static void group_update(struct spex_grouped *of) {
    double kept = of->fresh_units > 0 ? 1 - FORGOTTEN : 1;
    of->units += of->fresh_units;
    of->mean_units = of->mean_units * kept + of->fresh_units;
    of->mean_recorded = of->mean_recorded * kept + of->fresh_recorded;
    of->mean_ticks = of->mean_ticks * kept + of->fresh_ticks;
    of->mean_calls = of->mean_calls * kept + of->fresh_calls;
    of->fresh_units = of->fresh_recorded = 0;
    of->fresh_ticks = of->fresh_calls = 0;
}

void spex_groups_count(uint64_t *executions) {
    uint32_t sites = spex_sites_count();
    if (spex_sites_of_probes() == sites)
        return;
    for (uint32_t i = 0; i < sites; i++) {
        const struct spex_site_info *info = spex_site_info(i);
        uint32_t group =
            spex_site_is_region(info) || info->probe == i ? spex_probe_group(i) : SPEX_MAX_SITES;
        grouped[i].group = group == SPEX_MAX_SITES ? 0 : group + 1;
        if (group != SPEX_MAX_SITES && spex_site_is_region(info))
            region_count(i, group, executions[i]);
        else if (group != SPEX_MAX_SITES)
            member_count(i, group, executions[i]);
    }
    for (uint32_t i = 0; i < sites; i++)
        if (spex_groups_is(i)) {
            group_update(&grouped[i]);
            executions[i] = (uint64_t)grouped[i].units;
        }
}

/* Ticks of a record beyond an execution: of one that chance chooses, as it does in a region. */
static double report_of(uint32_t member) {
    uint32_t type = spex_site_info(member)->probe_type;
    struct spex_cost cost = {0};
    spex_cost_get(type, &cost);
    return fmax(fmax(cost.record, spex_cost_drawn(type)) - cost.skip, 0);
}

uint32_t spex_groups_next(uint32_t group, uint32_t index) {
    do
        index = spex_profile_next_probe(index);
    while (index < spex_sites_count() && grouped[index].group != group + 1 && ++index);
    return index;
}

static double members_weight(uint32_t group) {
    double sum = 0;
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1))
        sum += grouped[m].weight;
    return sum;
}

/* A record of a pass would have the cost of those that are made, by its share; it has that of the
 * calls by which passes find that it is due. */
struct spex_rate_costs spex_groups_costs(uint32_t group, double tick_rate) {
    const struct spex_grouped *of = &grouped[group];
    const struct spex_region_cost cost = spex_cost_region();
    double ticks = 0, all = members_weight(group);
    if (tick_rate <= 0 || cost.pass <= 0)
        return (struct spex_rate_costs){.skip = 0};
    for (uint32_t m = spex_groups_next(group, 0); m < spex_sites_count();
         m = spex_groups_next(group, m + 1))
        ticks += report_of(m) * grouped[m].weight / all;
    bool known = of->mean_units > 0;
    double skip = known ? of->mean_ticks / of->mean_units : cost.pass;
    double record = known && of->mean_recorded > 0 ? ticks + of->mean_calls / of->mean_recorded
                                                   : ticks + cost.call;
    return (struct spex_rate_costs){
        .skip = skip / tick_rate, .record = record / tick_rate, .drawn = record / tick_rate};
}

double spex_groups_recorded(uint32_t group) {
    const struct spex_grouped *of = &grouped[group];
    return of->mean_units > 0 ? of->mean_recorded / of->mean_units : 1;
}
