/* SPDX-License-Identifier: MIT */
/* What every exploration policy has to keep to, on all landscapes, with several runs at a time, and
 * with runs that fail: it ends, plans what is allowed, waits only while something is under way, and
 * makes the same plans again when it is told the same. */
#include "../scarce_memory.h"
#include "landscapes.h"
#include "policies/explore/builtin.h"

enum { SLOTS = 4, CALLS_MAX = 20000 };

enum failing { NONE, SOME, MOST, ALL };

/* A call: of next() with what it planned, or of run_finished(). */
struct call {
    bool finished;
    int got;
    size_t levels[LANDSCAPE_PARAMETERS];
    struct run run;
};

static struct call calls[CALLS_MAX];

static size_t call_count;

static struct landscape landscapes[LANDSCAPES];

static void *start(const struct spex_policy_ops *policy, const struct spex_space *space) {
    void *state = calloc(1, policy->state_size(space));
    assert_non_null(state);
    assert_int_equal(policy->init(state, space), 0);
    return state;
}

static void finish(const struct spex_policy_ops *policy, void *state) {
    if (policy->fini)
        policy->fini(state);
    free(state);
}

static struct spex_plan plan_into(const struct spex_space *space, size_t *levels) {
    return (struct spex_plan){.size = sizeof(struct spex_plan),
                              .levels = levels,
                              .probes = "q:tpt",
                              .duration_seconds = space->rules.duration_seconds};
}

static void tell(const struct spex_policy_ops *policy, void *state, const struct call *call) {
    const struct spex_result result = {.size = sizeof(result),
                                       .levels = call->levels,
                                       .ok = call->run.ok,
                                       .measured = call->run.ok ? call->run.measured : NULL,
                                       .seconds = call->run.measured_seconds};
    if (policy->run_finished)
        policy->run_finished(state, &result);
}

static void check_allowed(const struct spex_space *space, const size_t *levels) {
    size_t settled[LANDSCAPE_PARAMETERS];
    for (size_t p = 0; p < space->parameter_count; p++)
        assert_true(levels[p] < space->parameters[p].count);
    memcpy(settled, levels, sizeof(settled));
    assert_true(spex_space_settle(space, settled));
    assert_memory_equal(settled, levels, space->parameter_count * sizeof(*levels));
}

static bool fails(enum failing failing, uint64_t number) {
    return failing == ALL || (failing == MOST && number % 5) ||
           (failing == SOME && number % 7 == 6);
}

struct exploring {
    const struct spex_policy_ops *policy;
    const struct landscape *landscape;
    void *state;
    struct machine machine;
    struct call pending[SLOTS];
    unsigned pending_count;
    enum failing failing;
};

/* Whether there is another run. */
static bool begin_run(struct exploring *exploring) {
    const struct spex_space *space = &exploring->landscape->space;
    struct call *call = &calls[call_count++];
    assert_true(call_count < CALLS_MAX);
    *call = (struct call){.finished = false};
    struct spex_plan plan = plan_into(space, call->levels);
    call->got = exploring->policy->next(exploring->state, &plan);
    assert_true(call->got == 1 || call->got == 0 ||
                (call->got == -EAGAIN && exploring->pending_count > 0));
    if (call->got != 1)
        return false;
    assert_ptr_equal(plan.levels, call->levels);
    assert_true(plan.duration_seconds > 0 &&
                plan.duration_seconds <= space->rules.duration_seconds);
    check_allowed(space, call->levels);
    machine_run(&exploring->machine, exploring->landscape, exploring->policy, exploring->state,
                &plan, &call->run);
    call->run.ok = !fails(exploring->failing, exploring->machine.trials);
    exploring->pending[exploring->pending_count++] = *call;
    return true;
}

/* Not in the order in which they began. */
static void end_run(struct exploring *exploring) {
    size_t which = exploring->machine.trials % exploring->pending_count;
    struct call *call = &calls[call_count++];
    assert_true(call_count < CALLS_MAX);
    *call = exploring->pending[which];
    call->finished = true;
    exploring->pending[which] = exploring->pending[--exploring->pending_count];
    tell(exploring->policy, exploring->state, call);
    if (exploring->policy->runs)
        assert_true(exploring->policy->runs(exploring->state) > 0);
}

static void explore(struct exploring *exploring, unsigned slots) {
    call_count = 0;
    exploring->state = start(exploring->policy, &exploring->landscape->space);
    for (bool more = true; more || exploring->pending_count;) {
        more = exploring->pending_count < slots && begin_run(exploring);
        if (!more && exploring->pending_count) {
            end_run(exploring);
            more = true;
        }
    }
    finish(exploring->policy, exploring->state);
}

/* As an exploration is resumed: stop_run() is not called. */
static void replay(const struct spex_policy_ops *policy, const struct spex_space *space) {
    void *state = start(policy, space);
    for (size_t c = 0; c < call_count; c++) {
        size_t levels[LANDSCAPE_PARAMETERS] = {0};
        struct spex_plan plan = plan_into(space, levels);
        if (calls[c].finished) {
            tell(policy, state, &calls[c]);
            continue;
        }
        assert_int_equal(policy->next(state, &plan), calls[c].got);
        if (calls[c].got == 1)
            assert_memory_equal(levels, calls[c].levels, sizeof(levels));
    }
    finish(policy, state);
}

/* With trials_max, so that none takes long; grid is the one that may take fewer, never more. */
static void conforms(const struct spex_policy_ops *policy, struct landscape *landscape,
                     unsigned slots, enum failing failing) {
    struct exploring exploring = {.policy = policy, .landscape = landscape, .failing = failing};
    machine_start(&exploring.machine, 1);
    explore(&exploring, slots);
    assert_true(exploring.machine.trials > 0 && exploring.machine.trials <= 60);
    replay(policy, &landscape->space);
}

TEST(every_policy_conforms) {
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (size_t l = 0; l < LANDSCAPES; l++)
            for (unsigned slots = 1; slots <= SLOTS; slots += SLOTS - 1)
                for (int failing = NONE; failing <= ALL; failing++)
                    conforms(spex_builtin_policies[p], &landscapes[l], slots,
                             (enum failing)failing);
}

TEST(every_policy_goes_by_precision) {
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (size_t l = 0; l < LANDSCAPES; l++) {
            landscapes[l].space.rules.precision = 0.05;
            conforms(spex_builtin_policies[p], &landscapes[l], 2, SOME);
            landscapes[l].space.rules.precision = 0;
        }
}

/* One configuration, and none that is allowed. */
static bool settle_none(const struct spex_space *space, size_t *levels) {
    (void)space;
    (void)levels;
    return false;
}

TEST(every_policy_takes_the_least_of_spaces) {
    for (size_t p = 0; spex_builtin_policies[p]; p++) {
        const struct spex_policy_ops *policy = spex_builtin_policies[p];
        struct landscape one;
        landscape_make(&one, LANDSCAPES - 1);
        one.parameters[0].count = one.parameters[1].count = 1;
        one.space.rules.trials_max = 0;
        struct exploring exploring = {.policy = policy, .landscape = &one};
        machine_start(&exploring.machine, 1);
        explore(&exploring, 1);
        assert_true(exploring.machine.trials >= 1 && exploring.machine.trials <= 40);

        one.space.settle = settle_none;
        explore(&exploring, 1);
        assert_int_equal(call_count, 1);
    }
}

/* One run after the other, as in `calls`, of which every second is a run's end. */
static int explores_again(void *user) {
    const struct exploring *exploring = user;
    const struct spex_policy_ops *policy = exploring->policy;
    const struct spex_space *space = &exploring->landscape->space;
    void *state = __real_calloc(1, policy->state_size(space));
    assert_non_null(state);
    int got = policy->init(state, space);
    if (got) {
        free(state);
        return got;
    }
    for (size_t c = 0; c < call_count; c += 2) {
        size_t levels[LANDSCAPE_PARAMETERS] = {0};
        struct spex_plan plan = plan_into(space, levels);
        got = policy->next(state, &plan);
        if (got < 0)
            break;
        assert_int_equal(got, calls[c].got);
        if (got == 0)
            break;
        assert_memory_equal(levels, calls[c].levels, sizeof(levels));
        tell(policy, state, &calls[c + 1]);
    }
    finish(policy, state);
    return got < 0 ? got : 0;
}

/* It says so, or makes the plans that it makes with memory. */
TEST(every_policy_says_that_memory_ends) {
    unsigned failed = 0;
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (size_t l = 0; l < LANDSCAPES; l++) {
            struct exploring exploring = {.policy = spex_builtin_policies[p],
                                          .landscape = &landscapes[l]};
            machine_start(&exploring.machine, 1);
            explore(&exploring, 1);
            failed += without_each_allocation(explores_again, &exploring);
        }
    assert_true(failed > 100);
}

/* The second run is one level from the first. */
TEST(a_climb_begins_with_a_neighbour) {
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct landscape smooth;
        size_t distance = 0;
        landscape_make(&smooth, 1);
        smooth.space.rules.trials_max = 3;
        smooth.space.rules.seed = seed;
        struct exploring exploring = {.policy = spex_builtin_policy("climb"), .landscape = &smooth};
        machine_start(&exploring.machine, seed);
        explore(&exploring, 1);
        const size_t *first = calls[0].levels, *second = calls[2].levels;
        for (size_t p = 0; p < smooth.space.parameter_count; p++)
            distance += first[p] < second[p] ? second[p] - first[p] : first[p] - second[p];
        assert_int_equal(distance, 1);
    }
}

int main(void) {
    for (size_t l = 0; l < LANDSCAPES; l++) {
        landscape_make(&landscapes[l], l);
        landscapes[l].space.parameters = landscapes[l].parameters;
        landscapes[l].space.rules.trials_max = 60;
    }
    return tests_run(NULL, NULL);
}
