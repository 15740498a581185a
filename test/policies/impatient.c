/* SPDX-License-Identifier: MIT */
/* A policy that wants every third of its runs to have finished before the next, and draws a number
 * whenever it is asked: to be resumed it has to be asked exactly as often again. */
#include <spex/policy.h>

enum { RUNS = 24 };

struct impatient {
    const struct spex_space *space;
    uint64_t planned, told, random;
};

static size_t impatient_state_size(const struct spex_space *space) {
    (void)space;
    return sizeof(struct impatient);
}

static int impatient_init(void *state, const struct spex_space *space) {
    *(struct impatient *)state = (struct impatient){.space = space, .random = space->rules.seed};
    return 0;
}

static int impatient_next(void *state, struct spex_plan *plan) {
    struct impatient *self = state;
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    if (self->planned % 3 == 0 && self->told < self->planned)
        return -EAGAIN;
    if (self->planned == RUNS)
        return 0;
    for (size_t p = 0; p < self->space->parameter_count; p++)
        plan->levels[p] = (size_t)(self->random >> 33) % self->space->parameters[p].count;
    self->planned++;
    return 1;
}

static void impatient_run_finished(void *state, const struct spex_result *result) {
    (void)result;
    ((struct impatient *)state)->told++;
}

SPEX_POLICY_OBJECT = {
    SPEX_POLICY_NAMED("impatient", "wants to be told"),
    .state_size = impatient_state_size,
    .init = impatient_init,
    .next = impatient_next,
    .run_finished = impatient_run_finished,
};
