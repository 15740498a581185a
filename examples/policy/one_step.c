/* SPDX-License-Identifier: MIT */
/* A policy of one's own: half of the runs anywhere, half about one step from the best so far
 * (docs/policies.md). */
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
    *(struct one_step *)state = (struct one_step){space, 0, space->rules.seed, INFINITY};
    return 0;
}

static size_t draw(struct one_step *self, size_t below) {
    self->random = self->random * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (size_t)(self->random >> 33) % below;
}

/* Anywhere: in a list, one of it. */
static void anywhere(struct one_step *self, size_t *levels) {
    const struct spex_space *space = self->space;
    size_t row = space->listed_count ? draw(self, space->listed_count) : 0;
    for (size_t p = 0; p < space->parameter_count; p++)
        levels[p] = space->listed_count ? space->listed[row * space->parameter_count + p]
                                        : draw(self, space->parameters[p].count);
}

static int one_step_next(void *state, struct spex_plan *plan) {
    struct one_step *self = state;
    const struct spex_space *space = self->space;
    if (self->planned++ == (space->rules.trials_max ? space->rules.trials_max : 100))
        return 0;
    bool near = self->best < INFINITY && draw(self, 2);
    do {
        anywhere(self, plan->levels);
        for (size_t p = 0; near && !space->listed_count && p < space->parameter_count; p++)
            if (draw(self, space->parameter_count))
                plan->levels[p] = self->levels[p];
    } while (!spex_space_settle(space, plan->levels));
    return 1;
}

static void one_step_run_finished(void *state, const struct spex_result *result) {
    struct one_step *self = state;
    bool most = self->space->criteria[0].goal == SPEX_MAXIMISE;
    double loss = result->ok ? (most ? -1 : 1) * result->measured[0].value : INFINITY;
    for (size_t p = 0; loss < self->best && p < self->space->parameter_count; p++)
        self->levels[p] = result->levels[p];
    self->best = loss < self->best ? loss : self->best;
}

SPEX_POLICY_OBJECT = {
    SPEX_POLICY_NAMED("one-step", "half of the runs near the best"),
    .state_size = one_step_state_size,
    .init = one_step_init,
    .next = one_step_next,
    .run_finished = one_step_run_finished,
};
