/* SPDX-License-Identifier: MIT */
/* What a simulation has shown, as text and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <jansson.h>

#include "fleet/decide/why.h"
#include "text/quantity.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/fleet/fleet.h"

/* null for what is not known. */
static json_t *number_json(double number) {
    return isfinite(number) ? json_real(number) : json_null();
}

static json_t *count_json(size_t count) {
    return json_integer((json_int_t)count);
}

static json_t *decision_json(const struct spex_fleet_decision *d) {
    char text[512];
    spex_fleet_decision_text(d, text, sizeof(text));
    return json_pack(
        "{s:f, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:f, s:o, s:s}",
        "time", d->time, "action", spex_fleet_action_name(d->action), "add", count_json(d->add),
        "remove", count_json(d->remove), "instrument", count_json(d->instrument), "revert",
        count_json(d->revert), "instances", count_json(d->instances), "starting",
        count_json(d->starting), "instrumented", count_json(d->instrumented), "most",
        count_json(d->most), "p", number_json(d->p), "p_inst", number_json(d->p_inst), "p_t",
        number_json(d->p_t), "capacity", number_json(d->capacity), "response",
        number_json(d->response), "cost", d->cost, "covered", count_json(d->covered), "text", text);
}

static json_t *answer_json(const struct spex_simulation_answer *a) {
    return json_pack("{s:f, s:f, s:o, s:o, s:o, s:s}", "time", a->time, "load", a->share, "broken",
                     number_json(a->broken), "answered", number_json(a->answered), "kept",
                     number_json(a->kept), "action", spex_fleet_action_name(a->action));
}

static json_t *instance_json(const struct spex_fleet_map *map,
                             const struct spex_fleet_instance *instance) {
    char text[512], name[24];
    snprintf(name, sizeof(name), "%" PRIu64, instance->id);
    spex_fleet_instance_text(map, instance, name, text, sizeof(text));
    return json_pack("{s:I, s:s, s:s, s:s, s:f, s:i, s:o, s:f, s:f, s:s}", "instance",
                     (json_int_t)instance->id, "mode", spex_fleet_mode_name(instance->mode),
                     "before", spex_fleet_mode_name(instance->before), "cause",
                     spex_fleet_cause_name(instance->cause), "since", instance->since, "changes",
                     (int)instance->changes, "probes", count_json(instance->probe_count), "spent",
                     instance->spent, "budget", instance->budget, "text", text);
}

static void count_modes(const struct spex_fleet_state *state, size_t modes[3]) {
    for (size_t i = 0; i < state->count; i++)
        modes[state->instances[i].mode] += !state->instances[i].leaving;
}

static int print_json(const struct spex_fleet_map *map, const struct spex_simulation *s,
                      const struct spex_fleet_instance *why) {
    size_t modes[3] = {0};
    json_t *decisions = json_array(), *answers = json_array();
    bool err = !decisions || !answers;
    for (size_t d = 0; d < s->decision_count; d++)
        err |= json_array_append_new(decisions, decision_json(&s->decisions[d])) != 0;
    for (size_t a = 0; a < s->answer_count; a++)
        err |= json_array_append_new(answers, answer_json(&s->answers[a])) != 0;
    count_modes(&s->state, modes);
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:o, s:{s:o, s:o, s:o}, s:o}", "decisions",
        decisions, "answers", answers, "converged", number_json(s->converged), "changes",
        count_json(s->changes), "slow_seconds", count_json(s->slow_seconds), "dear_seconds",
        count_json(s->dear_seconds), "map", count_json(map->count), "cost", s->cost, "end",
        decision_json(&s->last), "modes", "none", count_json(modes[SPEX_FLEET_NONE]), "partial",
        count_json(modes[SPEX_FLEET_PARTIAL]), "full", count_json(modes[SPEX_FLEET_FULL]), "why",
        why ? instance_json(map, why) : json_null());
    return spex_json_print(spex_json_unless(err, json), stdout)
               ? spex_complain(SPEX_EXIT_FAILED, "out of memory")
               : SPEX_EXIT_OK;
}

static void print_answer(const struct spex_simulation_answer *a) {
    if (isnan(a->broken)) {
        printf("load       %g from %.0f s on: the response time was kept\n", a->share, a->time);
        return;
    }
    printf("load       %g from %.0f s on: the response time was broken at %.0f s, ", a->share,
           a->time, a->broken);
    if (isnan(a->answered))
        printf("not answered, ");
    else
        printf("answered (%s) after %.0f s, ", spex_fleet_action_name(a->action),
               a->answered - a->broken);
    if (isnan(a->kept))
        puts("and not kept again");
    else
        printf("kept again after %.0f s\n", a->kept - a->broken);
}

static void print_text(const struct spex_fleet_map *map, const struct spex_simulation *s) {
    size_t modes[3] = {0};
    char text[512], response[32];
    for (size_t d = 0; d < s->decision_count; d++) {
        spex_fleet_decision_text(&s->decisions[d], text, sizeof(text));
        puts(text);
    }
    for (size_t a = 0; a < s->answer_count; a++)
        print_answer(&s->answers[a]);
    count_modes(&s->state, modes);
    if (isnan(s->converged))
        puts("converged  no: at the end the response time, the cost or the coverage was not kept");
    else
        printf("converged  at %.0f s; %zu changes of instances' modes since\n", s->converged,
               s->changes);
    printf("coverage   %zu of %zu probes\n", s->last.covered, map->count);
    printf("instances  %zu: %zu none, %zu partial, %zu full; %zu starting\n",
           modes[0] + modes[1] + modes[2], modes[SPEX_FLEET_NONE], modes[SPEX_FLEET_PARTIAL],
           modes[SPEX_FLEET_FULL], s->state.starting);
    printf("response   %s; above the target for %zu s\n",
           spex_quantity_text(s->last.response, NAN, "s", response, sizeof(response)),
           s->slow_seconds);
    printf("cost       %g paid; %g an hour at the end; above the limit for %zu s\n", s->cost,
           s->last.cost, s->dear_seconds);
}

int spex_fleet_print_simulation(const struct spex_fleet_map *map,
                                const struct spex_simulation *simulation, uint64_t why, bool json) {
    char text[512], name[24];
    const struct spex_fleet_instance *instance =
        why ? spex_fleet_instance_find(&simulation->state, why) : NULL;
    if (why && !instance)
        return spex_complain(SPEX_EXIT_FAILED,
                             "--why: an instance that is there at the end was expected, not "
                             "%" PRIu64,
                             why);
    if (json)
        return print_json(map, simulation, instance);
    print_text(map, simulation);
    if (instance) {
        snprintf(name, sizeof(name), "%" PRIu64, why);
        spex_fleet_instance_text(map, instance, name, text, sizeof(text));
        puts(text);
    }
    return SPEX_EXIT_OK;
}
