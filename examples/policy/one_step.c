/* SPDX-License-Identifier: MIT */
/* An exploration policy of one's own: half of the runs anywhere, half one step from the best so far.
 *
 *     gcc -shared -fPIC $(pkg-config --cflags spex) -o one_step.so one_step.c
 *
 * docs/policies.md goes through it. */
#include <string.h>

#include <spex/policy.h>

struct one_step {
    const struct spex_space *space;
    uint64_t planned, random;
    double best;     /* of the first objective, as a loss */
    size_t levels[]; /* of the best */
};

static size_t one_step_state_size(const struct spex_space *space) {
    return sizeof(struct one_step) + space->parameter_count * sizeof(size_t);
}

static int one_step_init(void *state, const struct spex_space *space) {
    *(struct one_step *)state =
        (struct one_step){.space = space, .random = space->rules.seed, .best = INFINITY};
    return 0;
}

static size_t draw(struct one_step *self, size_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (size_t)(self->random >> 33) % below;
}

static int one_step_next(void *state, struct spex_plan *plan) {
    struct one_step *self = state;
    size_t count = self->space->parameter_count;
    uint64_t most = self->space->rules.trials_max ? self->space->rules.trials_max : 100;
    for (int tries = 0; tries < 1000 && self->planned < most; tries++) {
        bool near = self->planned % 2 && isfinite(self->best);
        size_t changed = draw(self, count);
        for (size_t p = 0; p < count; p++)
            plan->levels[p] = near && p != changed ? self->levels[p]
                                                   : draw(self, self->space->parameters[p].count);
        if (spex_space_settle(self->space, plan->levels)) {
            self->planned++;
            return 1;
        }
    }
    return 0;
}

static bool one_step_stop_run(void *state, const struct spex_run *run) {
    return spex_run_enough(((struct one_step *)state)->space, run);
}

static void one_step_run_finished(void *state, const struct spex_result *result) {
    struct one_step *self = state;
    double sign = self->space->criteria[0].goal == SPEX_MAXIMISE ? -1 : 1;
    if (!result->ok || !(sign * result->measured[0].value < self->best))
        return;
    self->best = sign * result->measured[0].value;
    memcpy(self->levels, result->levels, self->space->parameter_count * sizeof(size_t));
}

SPEX_POLICY_OBJECT = {
    .size = sizeof(struct spex_policy_ops),
    .abi = SPEX_POLICY_ABI,
    .name = "one-step",
    .summary = "anywhere, or one step from the best",
    .state_size = one_step_state_size,
    .init = one_step_init,
    .next = one_step_next,
    .stop_run = one_step_stop_run,
    .run_finished = one_step_run_finished,
};
