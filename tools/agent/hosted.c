/* SPDX-License-Identifier: MIT */
#include "tools/agent/hosted.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

void spex_hosted_open(struct spex_hosted *hosted, pid_t process, uint32_t lease_ms) {
    *hosted = (struct spex_hosted){.process = process};
    spex_hosted_response_free(&hosted->response);
    spex_held_lease_open(&hosted->lease, process, lease_ms);
}

void spex_hosted_free(struct spex_hosted *hosted) {
    spex_hosted_probes_free(&hosted->probes);
    spex_hosted_response_free(&hosted->response);
}

/* Whether spex was stopped in the program. What a lease holds is collected, also after another client
 * has switched it off. */
static bool has_begun_anew(const struct spex_hosted *hosted, const struct spex_profile *profile) {
    double seconds = profile->process.seconds;
    return seconds < hosted->seconds || (hosted->lease.state == SPEX_HELD_ENDED && !(seconds > 0));
}

/* Another program in the same process has other probes, and a stop of spex ends leases: what was
 * held is asked for anew. */
static void follow(struct spex_hosted *hosted, const struct spex_profile *profile) {
    bool same = hosted->loaded_ns == profile->process.loaded_ns;
    if (!same)
        spex_hosted_probes_free(&hosted->probes);
    if (!same || has_begun_anew(hosted, profile)) {
        spex_hosted_response_free(&hosted->response);
        spex_held_lease_set(&hosted->lease, NULL);
    }
    hosted->ended = hosted->lease.state == SPEX_HELD_ENDED &&
                    (hosted->ended || profile->process.seconds > hosted->seconds);
    hosted->loaded_ns = profile->process.loaded_ns;
    hosted->seconds = profile->process.seconds;
    memcpy(hosted->command, profile->process.command, sizeof(hosted->command));
    hosted->elsewhere = profile->process.elsewhere != 0;
}

static bool is_same(const char *one, const char *other) {
    return one && other ? strcmp(one, other) == 0 : one == other;
}

/* Has the lease hold what is to be on. Whoever has switched the probes off has the last word.
 * Probes would be in the table of another command, whose user has chosen its own. */
static int hold(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                const struct spex_profile *profile) {
    char *text = NULL;
    hosted->lease.budget = policy->budget;
    int err =
        hosted->elsewhere ? 0 : spex_hosted_probes_text(&hosted->probes, policy, profile, &text);
    if (!err && hosted->lease.state != SPEX_HELD_ENDED && !is_same(text, hosted->lease.probes))
        err = spex_held_lease_set(&hosted->lease, text);
    free(text);
    return err;
}

static int take_response(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                         const struct spex_profile *profile) {
    for (size_t p = 0; p < hosted->probes.count; p++) {
        const struct spex_hosted_probe *probe = &hosted->probes.items[p];
        if (probe->there && probe->response)
            return spex_hosted_response_take(&hosted->response, policy, profile, probe->probe_id,
                                             probe->type);
    }
    return 0;
}

int spex_hosted_report(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                       const struct spex_hosted_wish *wish, const struct spex_worker *worker) {
    const struct spex_profile *profile = &worker->now;
    if (!worker->has_now || worker->heard_ns == hosted->heard_ns)
        return 0;
    hosted->heard_ns = worker->heard_ns;
    follow(hosted, profile);
    int err = spex_hosted_probes_take(&hosted->probes, policy, wish, profile);
    err = err || !wish ? err : take_response(hosted, policy, profile);
    return err ? err : hold(hosted, policy, profile);
}

int spex_hosted_wish(struct spex_hosted *hosted, const struct spex_fleet_policy *policy,
                     const struct spex_hosted_wish *wish, const struct spex_worker *worker) {
    if (!worker->has_now || worker->heard_ns != hosted->heard_ns)
        return 0;
    spex_hosted_probes_wish(&hosted->probes, wish);
    return hold(hosted, policy, &worker->now);
}

int spex_hosted_forget(struct spex_hosted *hosted) {
    spex_hosted_probes_free(&hosted->probes);
    spex_hosted_response_free(&hosted->response);
    hosted->heard_ns = 0;
    return spex_held_lease_set(&hosted->lease, NULL);
}

static void explain(const struct spex_hosted *hosted, struct spex_hosted_state *state) {
    const char *why = "";
    if (hosted->elsewhere)
        why = "its records go to another command";
    else if (!state->wanted)
        why = "it has no probe that the policy wants";
    else if (hosted->lease.state == SPEX_HELD_ENDED)
        why = "another client has switched its probes off, and they stay off";
    else if (hosted->lease.state == SPEX_HELD_REFUSED)
        why = hosted->lease.error.text;
    else if (state->on < state->wished)
        why = "a request has no room for the others";
    spex_error_set(&state->why, "%s", why);
}

/* False: an answer is awaited. */
static bool state_now(const struct spex_hosted *hosted, struct spex_hosted_state *state) {
    const struct spex_held_lease *lease = &hosted->lease;
    bool over = hosted->ended || lease->state == SPEX_HELD_REFUSED;
    bool awaited = (lease->state == SPEX_HELD) != (lease->probes != NULL);
    if (!hosted->heard_ns || (awaited && !over))
        return false;
    *state = (struct spex_hosted_state){.wanted = hosted->probes.wanted,
                                        .wished = hosted->probes.wished};
    if (lease->state == SPEX_HELD)
        state->on = hosted->probes.on;
    state->mode = !state->on                  ? SPEX_FLEET_NONE
                  : state->on < state->wanted ? SPEX_FLEET_PARTIAL
                                              : SPEX_FLEET_FULL;
    explain(hosted, state);
    return true;
}

bool spex_hosted_step(struct spex_hosted *hosted) {
    struct spex_hosted_state state;
    spex_held_lease_step(&hosted->lease);
    if (!state_now(hosted, &state))
        return false;
    bool same = hosted->is_told && hosted->told.mode == state.mode && hosted->told.on == state.on &&
                hosted->told.wanted == state.wanted &&
                strcmp(hosted->told.why.text, state.why.text) == 0;
    hosted->told = state;
    hosted->is_told = true;
    return !same;
}
