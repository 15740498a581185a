/* SPDX-License-Identifier: MIT */
/* The state machine of the paper's section 2.2, cost before performance:
 *
 * - (2) does not hold: instances are removed until it does.
 * - (1) does not hold: instances are added at the rate of ceil(alpha VM_inst P_inst / P), or as
 *   many as are lacking if these are more, since the paper's rate pays back what instrumentation
 *   takes and not a load that has grown. If (2) would not hold then, instrumented instances are
 *   reverted first, and only what that leaves is added.
 * - (1) holds with a margin: more instances are instrumented, up to the policy's share.
 * - (1) holds with twice the margin for longer, and instances cost something: some are removed.
 *
 * The margins are the hysteresis: what an answer leads to is not yet what the opposite answer
 * begins at. */
#include "fleet/decide/master.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/decide/estimate.h"
#include "fleet/decide/spread.h"

/* Seconds for which a condition has to last until it is answered. A broken target must be answered
 * within 5 s, which leaves the rest for the start of instances. */
#define BROKEN_SECONDS 1
#define ROOM_SECONDS   3
#define IDLE_SECONDS   30

/* Response times go on being too long while queues are emptied: an answer is waited for so long
 * before they alone, with (1) holding, are answered. */
#define QUEUE_SECONDS 5

/* Instances that were asked for and have not come are given up after this time. */
#define STARTING_SECONDS 60

/* The largest step of instrumenting and of removing, as a share of all instances. */
#define INSTRUMENT_STEP 0.2
#define REMOVE_STEP     0.05

/* More instrumented instances than the share are reverted only from this factor on: instances come
 * and go. */
#define SHARE_SLACK 1.1

/* Response times that are too long and fall so fast from one decision to the next: queues are being
 * emptied, during which instances tell of more executions than are asked of them. */
#define DRAINING 0.95

/* The least step where (1) holds by the model and response times contradict it. */
#define DISTRUST 0.05

struct step {
    const struct spex_fleet_policy *policy;
    const struct spex_fleet_map *map;
    struct spex_fleet_state *state;
    struct spex_fleet_decision *decision;
    double now;
};

void spex_fleet_state_init(struct spex_fleet_state *state) {
    *state = (struct spex_fleet_state){.service = NAN, .service_inst = NAN, .response = NAN};
    state->broken_since = state->room_since = state->idle_since = NAN;
    state->response_before = NAN;
    state->answered = -INFINITY;
}

void spex_fleet_state_free(struct spex_fleet_state *state) {
    free(state->instances);
    spex_fleet_state_init(state);
}

static int by_id(const void *key, const void *item) {
    uint64_t id = *(const uint64_t *)key;
    const struct spex_fleet_instance *instance = item;
    return id < instance->id ? -1 : id > instance->id;
}

const struct spex_fleet_instance *spex_fleet_instance_find(const struct spex_fleet_state *state,
                                                           uint64_t id) {
    return state->count
               ? bsearch(&id, state->instances, state->count, sizeof(*state->instances), by_id)
               : NULL;
}

/* Goes on with what an earlier master has switched on. */
static void adopt(const struct step *step, struct spex_fleet_instance *instance,
                  const uint64_t *probes) {
    spex_fleet_spread_adopt(step->map, step->state, instance, probes);
    if (instance->probe_count)
        instance->cause = SPEX_FLEET_CAUSE_ADOPTED;
}

static void instance_init(const struct step *step, struct spex_fleet_instance *instance,
                          const struct spex_fleet_observation *seen, double now) {
    *instance =
        (struct spex_fleet_instance){.id = seen->id, .cause = SPEX_FLEET_CAUSE_NEW, .since = now};
    step->state->starting -= step->state->starting > 0;
    if (seen->adopt)
        adopt(step, instance, seen->adopt);
}

static void forget(const struct step *step, struct spex_fleet_instance *instance) {
    spex_fleet_spread_clear(step->map, step->state, instance);
    step->state->leaving -= instance->leaving;
}

/* Makes the state's instances those that are observed, in the same order. */
static int merge(const struct step *step, const struct spex_fleet_observations *seen) {
    struct spex_fleet_state *state = step->state;
    struct spex_fleet_instance *merged = malloc((seen->count + 1) * sizeof(*merged));
    size_t old = 0;
    if (!merged)
        return -ENOMEM;
    for (size_t i = 0; i < seen->count; i++) {
        while (old < state->count && state->instances[old].id < seen->items[i].id)
            forget(step, &state->instances[old++]);
        if (old < state->count && state->instances[old].id == seen->items[i].id)
            merged[i] = state->instances[old++];
        else
            instance_init(step, &merged[i], &seen->items[i], seen->now);
        double budget = seen->items[i].budget;
        merged[i].budget = budget > 0 ? budget : step->policy->budget;
    }
    while (old < state->count)
        forget(step, &state->instances[old++]);
    free(state->instances);
    state->instances = merged;
    state->count = seen->count;
    return 0;
}

/* Since when a condition holds; NaN: it does not. */
static void time_condition(double *since, bool holds, double now) {
    *since = !holds ? NAN : isnan(*since) ? now : *since;
}

static bool lasts(double since, double now, double seconds) {
    return now - since >= seconds;
}

static void note(struct spex_fleet_instance *instance, enum spex_fleet_cause cause, double now) {
    instance->before = instance->mode;
    instance->cause = cause;
    instance->since = now;
    instance->changes++;
}

static void revert_one(const struct step *step, struct spex_fleet_instance *instance,
                       enum spex_fleet_cause cause) {
    note(instance, cause, step->now);
    spex_fleet_spread_clear(step->map, step->state, instance);
}

/* Reverts instances to no instrumentation: first those whose probes others record, too. */
static void revert(const struct step *step, size_t count, enum spex_fleet_cause cause) {
    struct spex_fleet_state *state = step->state;
    step->decision->revert += count;
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < state->count && count; i++) {
            struct spex_fleet_instance *instance = &state->instances[i];
            if (!instance->probe_count || instance->leaving ||
                (!any && !spex_fleet_spread_redundant(step->map, state, instance)))
                continue;
            revert_one(step, instance, cause);
            count--;
        }
}

static void instrument(const struct step *step, size_t count) {
    struct spex_fleet_state *state = step->state;
    for (size_t i = 0; i < state->count && count; i++) {
        struct spex_fleet_instance *instance = &state->instances[i];
        if (instance->probe_count || instance->leaving)
            continue;
        note(instance, SPEX_FLEET_CAUSE_ROOM, step->now);
        spex_fleet_spread_assign(step->map, state, instance);
        step->decision->instrument++;
        count--;
    }
}

/* Whether an instance may be removed in this pass: 0: what is instrumented beyond the policy's
 * share of those that stay, and recorded elsewhere; 1: without probes; 2: recorded elsewhere; 3:
 * any. */
static bool removable(const struct step *step, const struct spex_fleet_instance *instance, int pass,
                      size_t surplus) {
    if (instance->leaving)
        return false;
    if (pass == 1)
        return !instance->probe_count;
    return pass == 3 || ((pass == 2 || (surplus && instance->probe_count)) &&
                         spex_fleet_spread_redundant(step->map, step->state, instance));
}

/* Removes instances in the order of these passes. */
static void remove_some(const struct step *step, size_t count) {
    struct spex_fleet_state *state = step->state;
    double stay = (double)(step->decision->instances - count);
    double share = ceil(step->policy->instrumented * stay);
    size_t surplus = (double)state->instrumented > share ? state->instrumented - (size_t)share : 0;
    step->decision->remove = count;
    for (int pass = 0; pass < 4; pass++)
        for (size_t i = state->count; i-- > 0 && count;) {
            struct spex_fleet_instance *instance = &state->instances[i];
            if (!removable(step, instance, pass, surplus))
                continue;
            surplus -= surplus && instance->probe_count;
            revert_one(step, instance, SPEX_FLEET_CAUSE_REMOVED);
            instance->leaving = true;
            state->leaving++;
            count--;
        }
}

static void add(const struct step *step, size_t count) {
    step->decision->add = count;
    step->state->starting += count;
    step->state->starting_until = step->now + STARTING_SECONDS;
}

/* A number of instances; not more than there may be at all. */
static size_t whole(double count) {
    return count < SPEX_FLEET_INSTANCES_MAX ? (size_t)fmax(count, 0) : SPEX_FLEET_INSTANCES_MAX;
}

/* What is lacking in (1) with its margin, in executions a second: an answer that only just suffices
 * would leave the slowest instances, those with probes, above the target. */
static double shortage(const struct step *step) {
    const struct spex_fleet_decision *d = step->decision;
    double lack = (1 + step->policy->margin) * d->p_t - d->capacity;
    return d->capacity < d->p_t ? lack : fmax(lack, fmax(d->p, DISTRUST * d->capacity));
}

/* How many of `count` instances take up `lack`, if each gives `each`; all where it gives 0. */
static size_t taking_up(double lack, double each, size_t count) {
    double needed = each > 0 ? ceil(lack / each) : INFINITY;
    return needed < (double)count ? whole(needed) : count;
}

/* (1) does not hold. */
static void answer_broken(const struct step *step) {
    struct spex_fleet_decision *d = step->decision;
    size_t there = d->instances + d->starting;
    size_t allowed = d->most > there ? d->most - there : 0;
    double lack = shortage(step);
    double rate = d->p > 0 ? ceil(step->policy->alpha * (double)d->instrumented * d->p_inst / d->p)
                           : INFINITY;
    size_t wanted = whole(fmax(rate, d->p > 0 ? ceil(lack / d->p) : INFINITY));
    if (wanted <= allowed) {
        d->action = SPEX_FLEET_ADD;
        add(step, wanted);
        return;
    }
    if (d->instrumented) {
        size_t count = taking_up(lack, d->p_inst, d->instrumented);
        revert(step, count, SPEX_FLEET_CAUSE_COST);
        lack -= (double)count * d->p_inst;
    }
    if (lack > 0 && d->p > 0)
        add(step, taking_up(lack, d->p, allowed));
    d->action = d->revert && d->add ? SPEX_FLEET_REVERT_AND_ADD
                : d->revert         ? SPEX_FLEET_REVERT
                : d->add            ? SPEX_FLEET_ADD
                                    : SPEX_FLEET_STUCK;
}

static double left_over(const struct step *step, double margins) {
    const struct spex_fleet_decision *d = step->decision;
    return d->capacity - (1 + margins * step->policy->margin) * d->p_t;
}

/* The policy's share of the instances, one at least. */
static size_t instrumented_most(const struct step *step) {
    double share = step->policy->instrumented * (double)step->decision->instances;
    return whole(fmax(1, floor(share + 1e-9)));
}

/* Instruments as many instances as the room pays for. */
static bool use_room(const struct step *step) {
    struct spex_fleet_decision *d = step->decision;
    size_t most = instrumented_most(step);
    double slots = ceil(INSTRUMENT_STEP * (double)d->instances);
    if (d->instrumented >= most || !step->map->count)
        return false;
    slots = fmin(slots, (double)(most - d->instrumented));
    if (d->p_inst > 0)
        slots = fmin(slots, floor(left_over(step, 1) / d->p_inst));
    if (slots < 1)
        return false;
    instrument(step, whole(slots));
    d->action = SPEX_FLEET_INSTRUMENT;
    return d->instrument > 0;
}

static bool keep_share(const struct step *step) {
    struct spex_fleet_decision *d = step->decision;
    size_t most = instrumented_most(step);
    if ((double)d->instrumented <= SHARE_SLACK * (double)most + 1)
        return false;
    revert(step, d->instrumented - most, SPEX_FLEET_CAUSE_SHARE);
    d->action = SPEX_FLEET_REVERT;
    return true;
}

/* Removes what is not needed, where instances cost something. */
static bool use_idle(const struct step *step) {
    struct spex_fleet_decision *d = step->decision;
    if (!isfinite(step->policy->cost_most) || d->instances <= step->policy->least || d->p <= 0)
        return false;
    double count = floor(left_over(step, 2) / d->p);
    count = fmin(count, ceil(REMOVE_STEP * (double)d->instances));
    count = fmin(count, (double)(d->instances - step->policy->least));
    if (count < 1)
        return false;
    remove_some(step, whole(count));
    d->action = SPEX_FLEET_REMOVE;
    return true;
}

/* Inequality (1), by the model; and whether response times say so, too. With instances still to
 * come, what they will bring counts. */
static bool is_broken(const struct step *step) {
    const struct spex_fleet_decision *d = step->decision;
    if (step->state->response < DRAINING * step->state->response_before &&
        d->response > step->policy->response.bound &&
        !lasts(step->state->answered, step->now, QUEUE_SECONDS))
        return false;
    if (d->capacity < d->p_t)
        return true;
    return d->response > step->policy->response.bound && !d->starting &&
           lasts(step->state->answered, step->now, QUEUE_SECONDS);
}

/* What follows from (1). Instances that start are waited for before anything is added or removed
 * because there is room. */
static bool decide_performance(const struct step *step) {
    struct spex_fleet_state *state = step->state;
    struct spex_fleet_decision *d = step->decision;
    bool known = !isnan(d->p), broken = known && is_broken(step);
    bool calm = known && !broken && !(d->response > step->policy->response.bound);
    time_condition(&state->broken_since, broken, step->now);
    time_condition(&state->room_since, calm && !d->starting && left_over(step, 1) >= 0, step->now);
    time_condition(&state->idle_since, calm && !d->starting && left_over(step, 2) >= d->p,
                   step->now);
    if (lasts(state->broken_since, step->now, BROKEN_SECONDS)) {
        answer_broken(step);
        if (d->action == SPEX_FLEET_STUCK)
            return false;
        state->answered = step->now;
        return true;
    }
    if (broken)
        return false;
    if (lasts(state->room_since, step->now, ROOM_SECONDS) && use_room(step))
        return true;
    return keep_share(step) ||
           (lasts(state->idle_since, step->now, IDLE_SECONDS) && use_idle(step));
}

/* Inequality (2) comes first, then the policy's least number of instances. */
static bool decide_cost(const struct step *step) {
    struct spex_fleet_decision *d = step->decision;
    size_t there = d->instances + d->starting;
    if (there > d->most && d->instances) {
        size_t over = there - d->most;
        remove_some(step, over < d->instances ? over : d->instances);
        d->action = SPEX_FLEET_REMOVE;
        return true;
    }
    if (there >= step->policy->least)
        return false;
    add(step, step->policy->least - there);
    d->action = SPEX_FLEET_ADD;
    return true;
}

static void tell_counts(const struct step *step) {
    struct spex_fleet_state *state = step->state;
    struct spex_fleet_decision *d = step->decision;
    if (state->starting && step->now >= state->starting_until)
        state->starting = 0;
    d->instances = state->count - state->leaving;
    d->starting = state->starting;
    d->instrumented = state->instrumented;
    d->most = spex_fleet_instances_most(step->policy);
    d->cost = (double)(d->instances + d->starting) * step->policy->cost_an_instance;
}

int spex_fleet_decide(const struct spex_fleet_policy *policy, const struct spex_fleet_map *map,
                      struct spex_fleet_state *state,
                      const struct spex_fleet_observations *observations,
                      struct spex_fleet_decision *decision) {
    struct step step = {policy, map, state, decision, observations->now};
    *decision = (struct spex_fleet_decision){.time = observations->now, .action = SPEX_FLEET_HOLD};
    int err = merge(&step, observations);
    if (err)
        return err;
    spex_fleet_estimate(policy, state, observations);
    tell_counts(&step);
    spex_fleet_estimate_tell(policy, state, decision);
    if (decide_cost(&step) || decide_performance(&step))
        state->broken_since = state->room_since = NAN;
    spex_fleet_spread_bound(map, state, step.now);
    spex_fleet_spread_repair(map, state, step.now);
    decision->covered = spex_fleet_spread_covered(map, state);
    return 0;
}
