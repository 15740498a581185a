/* SPDX-License-Identifier: MIT */
#include "fleet/lead/lead_status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/why.h"
#include "fleet/lead/overlap.h"

static json_t *number_json(double number) {
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *count_json(size_t count) {
    return json_integer((json_int_t)count);
}

static size_t count_set(const struct spex_fleet_set *set, size_t count) {
    size_t sum = 0;
    for (size_t p = 0; p < count; p++)
        sum += spex_fleet_set_has(set, p);
    return sum;
}

static json_t *decision_json(const struct spex_fleet_decision *d) {
    char text[512];
    spex_fleet_decision_text(d, text, sizeof(text));
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "time",
                     number_json(d->time), "action", spex_fleet_action_name(d->action), "add",
                     count_json(d->add), "remove", count_json(d->remove), "instrument",
                     count_json(d->instrument), "revert", count_json(d->revert), "p",
                     number_json(d->p), "p_inst", number_json(d->p_inst), "p_t",
                     number_json(d->p_t), "capacity", number_json(d->capacity), "response",
                     number_json(d->response), "cost", number_json(d->cost), "text", text);
}

static json_t *modes_json(const struct spex_fleet_state *state) {
    size_t modes[3] = {0};
    for (size_t i = 0; i < state->count; i++)
        modes[state->instances[i].mode] += !state->instances[i].leaving;
    return json_pack("{s:o, s:o, s:o}", "none", count_json(modes[SPEX_FLEET_NONE]), "partial",
                     count_json(modes[SPEX_FLEET_PARTIAL]), "full",
                     count_json(modes[SPEX_FLEET_FULL]));
}

/* The policy's requirement; null: there is none. */
static json_t *targets_json(const struct spex_fleet_policy *policy) {
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "probe", policy->response.probe, "metric",
                     policy->response.metric, "response", number_json(policy->response.bound),
                     "cost", number_json(policy->cost_most), "throughput",
                     policy->throughput > 0 ? json_real(policy->throughput) : json_null());
}

/* Instances are desired to record a probe (`on`); `cost` is null where it was never on. */
static json_t *probes_json(const struct spex_lead *lead) {
    json_t *json = json_array();
    for (size_t p = 0; json && p < lead->map.count; p++) {
        bool known = spex_fleet_set_has(&lead->measured, p);
        json_array_append_new(json, json_pack("{s:s, s:o, s:o}", "probe", lead->texts.items[p],
                                              "on", count_json(lead->state.cover[p]), "cost",
                                              known ? json_real(lead->map.cost[p]) : json_null()));
    }
    return json;
}

/* Nothing is decided of an instance that has come since the last decision. */
static json_t *instance_json(const struct spex_lead *lead, const struct spex_lead_place *place) {
    const struct spex_fleet_instance *instance = spex_fleet_instance_find(&lead->state, place->id);
    const struct spex_fleet_reported *reported = place->reported;
    size_t count = place->host->report.probes.count;
    char name[SPEX_LEAD_NAME_BYTES];
    spex_lead_name(place, name, sizeof(name));
    return json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s}", "instance", name, "program",
        reported->program, "mode", spex_fleet_mode_name(instance ? instance->mode : 0), "cause",
        spex_fleet_cause_name(instance ? instance->cause : 0), "desired",
        count_json(instance ? instance->probe_count : 0), "on",
        count_json(count_set(&reported->on, count)), "map", count_json(lead->map.count), "response",
        number_json(reported->response), "throughput", number_json(reported->throughput), "spent",
        number_json(instance ? instance->spent : NAN), "leaving",
        instance && instance->leaving ? 1 : 0, "why", reported->why);
}

static json_t *instances_json(const struct spex_lead *lead, size_t from, size_t to) {
    json_t *json = json_array();
    for (size_t p = from; json && p < to; p++)
        json_array_append_new(json, instance_json(lead, &lead->places[p]));
    return json;
}

/* The rates of an instance by the map's numbers; false: it is not one of those that record. */
static bool take_rates(const struct spex_lead *lead, const struct spex_lead_place *place,
                       float *rates) {
    const struct spex_fleet_instance *instance = spex_fleet_instance_find(&lead->state, place->id);
    const struct spex_lead_host *host = place->host;
    bool any = false;
    for (size_t p = 0; p < lead->map.count; p++)
        rates[p] = -1;
    if (!instance || !instance->probe_count)
        return false;
    for (size_t p = 0; p < host->report.probes.count; p++) {
        bool on = spex_fleet_set_has(&place->reported->on, p) && host->numbers[p] >= 0;
        if (on)
            rates[host->numbers[p]] = place->reported->rates[p];
        any |= on && place->reported->rates[p] >= 0;
    }
    return any;
}

/* null: it is not known. */
static json_t *overlap_json(const struct spex_lead *lead) {
    size_t count = 0, probes = lead->map.count;
    struct spex_overlap overlap;
    float *rates = malloc((lead->place_count * probes + 1) * sizeof(*rates));
    if (!rates)
        return NULL;
    for (size_t p = 0; p < lead->place_count; p++)
        count += take_rates(lead, &lead->places[p], rates + count * probes);
    const struct spex_overlap_rates all = {rates, count, probes, lead->place_count};
    int known = spex_overlap_estimate(&all, &overlap);
    free(rates);
    if (known < 0)
        return NULL;
    return known ? json_pack("{s:f, s:f, s:f, s:o}", "share", overlap.share, "low", overlap.low,
                             "high", overlap.high, "instances", count_json(count))
                 : json_null();
}

json_t *spex_lead_status(struct spex_lead *lead, size_t from) {
    if (spex_lead_look(lead) != 0)
        return NULL;
    size_t count = lead->place_count;
    from = from < count ? from : count;
    size_t to =
        count - from > SPEX_LEAD_STATUS_INSTANCES ? from + SPEX_LEAD_STATUS_INSTANCES : count;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, "
        "s:o, "
        "s:o, s:o}",
        "policy", lead->policy->name, "targets", targets_json(lead->policy), "hosts",
        count_json(lead->host_count), "count", count_json(count), "modes", modes_json(&lead->state),
        "map", count_json(lead->map.count), "covered", count_json(lead->decision.covered),
        "recorded", count_json(count_set(&lead->recorded, lead->map.count)), "reports",
        count_json(lead->reports), "refused", count_json(lead->refused), "probes_left_out",
        count_json(lead->probes_left_out), "instances_left_out",
        count_json(lead->instances_left_out), "now", decision_json(&lead->decision), "last",
        lead->decisions ? decision_json(&lead->acted) : json_null(), "elastic",
        lead->elastic ? 1 : 0, "decisions", count_json(lead->decisions), "probes",
        from ? json_array() : probes_json(lead), "instances", instances_json(lead, from, to),
        "overlap", from ? json_null() : overlap_json(lead), "next",
        to < count ? count_json(to) : json_null());
}

json_t *spex_lead_why(struct spex_lead *lead, const char *name) {
    char text[512] = "it has come since the last decision";
    if (spex_lead_look(lead) != 0)
        return NULL;
    const struct spex_lead_place *place = spex_lead_find(lead, name);
    if (!place)
        return json_pack("{s:s}", "error",
                         "there is no such instance; spex fleet status lists them");
    const struct spex_fleet_instance *instance = spex_fleet_instance_find(&lead->state, place->id);
    if (instance)
        spex_fleet_instance_text(&lead->map, instance, name, text, sizeof(text));
    return json_pack("{s:o, s:s, s:o, s:o}", "instance", instance_json(lead, place), "text", text,
                     "now", decision_json(&lead->decision), "last",
                     lead->decisions ? decision_json(&lead->acted) : json_null());
}
