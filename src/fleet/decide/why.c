/* SPDX-License-Identifier: MIT */
#include "fleet/decide/why.h"

#include <math.h>
#include <stdio.h>

#include "text/quantity.h"

const char *spex_fleet_mode_name(enum spex_fleet_mode mode) {
    static const char *const names[] = {"none", "partial", "full"};
    return names[mode];
}

const char *spex_fleet_action_name(enum spex_fleet_action action) {
    static const char *const names[] = {"hold",           "instrument", "revert", "add",
                                        "revert and add", "remove",     "stuck"};
    return names[action];
}

const char *spex_fleet_cause_name(enum spex_fleet_cause cause) {
    static const char *const names[] = {"new",   "room",    "cover",   "cost",
                                        "share", "removed", "adopted", "dear"};
    return names[cause];
}

/* A decision's action in words. */
static void action_text(const struct spex_fleet_decision *d, char *text, size_t size) {
    switch (d->action) {
    case SPEX_FLEET_INSTRUMENT:
        snprintf(text, size, "instruments %zu: there is room for them", d->instrument);
        break;
    case SPEX_FLEET_REVERT:
        snprintf(text, size, "reverts %zu to no instrumentation", d->revert);
        break;
    case SPEX_FLEET_ADD:
        snprintf(text, size, "adds %zu", d->add);
        break;
    case SPEX_FLEET_REVERT_AND_ADD:
        snprintf(text, size, "reverts %zu to no instrumentation, which is not enough; adds %zu",
                 d->revert, d->add);
        break;
    case SPEX_FLEET_REMOVE:
        snprintf(text, size, "removes %zu: fewer are enough, or the cost allows no more",
                 d->remove);
        break;
    case SPEX_FLEET_STUCK:
        snprintf(text, size,
                 "nothing can be done: no instance is instrumented, and no more of them are "
                 "allowed");
        break;
    case SPEX_FLEET_HOLD:
        snprintf(text, size, "nothing is to be done");
    }
}

void spex_fleet_decision_text(const struct spex_fleet_decision *d, char *text, size_t size) {
    char action[192], capacity[32], asked[32], response[32], most[32] = "";
    action_text(d, action, sizeof(action));
    spex_quantity_text(d->capacity, NAN, "/s", capacity, sizeof(capacity));
    spex_quantity_text(d->p_t, NAN, "/s", asked, sizeof(asked));
    spex_quantity_text(d->response, NAN, "s", response, sizeof(response));
    if (d->most < SPEX_FLEET_INSTANCES_MAX)
        snprintf(most, sizeof(most), " of at most %zu", d->most);
    snprintf(text, size,
             "%.0f s: %s; before: %zu instances%s, %zu starting, %zu instrumented; response %s; "
             "can serve %s, asked for %s",
             d->time, action, d->instances, most, d->starting, d->instrumented, response, capacity,
             asked);
}

static const char *cause_text(enum spex_fleet_cause cause) {
    static const char *const texts[] = {
        "it is new: instances begin without probes",
        "inequality (1) held with the margin, so there was room for it",
        "no other instance recorded some of its probes",
        "inequality (1) did not hold, and another instance would have broken (2), the cost",
        "more instances were instrumented than the policy's share",
        "it is to be removed: fewer instances are enough, or the cost allows no more",
        "the master before this one had decided it",
        "its probes had become dearer than its budget"};
    return texts[cause];
}

void spex_fleet_instance_text(const struct spex_fleet_map *map,
                              const struct spex_fleet_instance *instance, const char *name,
                              char *text, size_t size) {
    snprintf(text, size,
             "instance %s: %s since %.0f s, before %s (%u changes): %s; %zu of %zu probes, %.2f%% "
             "of its time of at most %.2f%%",
             name, spex_fleet_mode_name(instance->mode), instance->since,
             spex_fleet_mode_name(instance->before), instance->changes, cause_text(instance->cause),
             instance->probe_count, map->count, 100 * instance->spent, 100 * instance->budget);
}
