/* SPDX-License-Identifier: MIT */
/* The whole course of each exploration policy on made programs whose figures are a function of the
 * configuration and of how often it was run: each plan, which of them are short, which runs end
 * early, and when a policy waits. A course has no more runs than the policy foretells,
 * and does not depend on the unit of the figures. */
#include "../check.h"
#include "policies/explore/builtin.h"

enum { PARAMETERS = 4, LEVELS = 16, SLOTS = 4, NUMBERS_MAX = LEVELS * LEVELS * LEVELS * 4 };

struct scene {
    const char *name;
    size_t counts[PARAMETERS]; /* of levels: two numbers, a logarithmic one, a category */
    size_t objectives, limits;
    unsigned slots; /* runs at a time */
    struct spex_rules rules;
    bool fails; /* at the last level of the first number */
    bool depends;
};

static const struct scene scenes[] = {
    {"small", {5, 1, 1, 3}, 1, 0, 1, {.trials_per_config = 2, .seed = 3}, false, false},
    {"failing",
     {9, 7, 1, 3},
     1,
     0,
     1,
     {.trials_per_config = 3, .trials_max = 60, .seed = 1, .precision = 0.01},
     true,
     true},
    {"front", {12, 11, 3, 1}, 2, 0, 3, {.trials_max = 48, .seed = 2}, false, true},
    {"limited",
     {16, 13, 12, 4},
     1,
     1,
     2,
     {.trials_per_config = 2, .trials_max = 110, .seed = 5, .precision = 0.01},
     false,
     true},
    {"free", {9, 8, 2, 1}, 1, 0, 2, {.trials_per_config = 1, .seed = 7}, false, false},
    {"finals", {6, 5, 2, 1}, 1, 0, 2, {.trials_max = 50, .seed = 4, .finals = 0.4}, false, true},
};

struct course {
    const struct scene *scene;
    double below, unit; /* the first objective is less by this, and then has this unit */
    struct spex_space space;
    struct spex_parameter parameters[PARAMETERS];
    struct spex_value values[PARAMETERS][LEVELS];
    struct spex_criterion criteria[3];
    unsigned trials[NUMBERS_MAX]; /* by configuration */
    struct {
        size_t levels[PARAMETERS];
        unsigned trial;
    } pending[SLOTS];
    unsigned pending_count, runs;
    char told[8192];
    size_t length;
};

/* With the first category the second number means nothing; the greatest of both is not allowed. */
static bool settle(const struct spex_space *space, size_t *levels) {
    if (levels[3] == 0 && space->parameters[3].count > 1)
        levels[1] = 0;
    return levels[0] + 1 < space->parameters[0].count ||
           levels[1] + 1 < space->parameters[1].count || space->parameters[1].count == 1;
}

static size_t number_of(const size_t *levels) {
    return ((levels[0] * LEVELS + levels[1]) * LEVELS + levels[2]) * 4 + levels[3];
}

/* -0.5 to 0.5. */
static double chance(uint64_t of) {
    return (double)(mix(of + 1) >> 40) / (double)(1 << 24) - 0.5;
}

/* What a trial of a configuration measures: a basin, an offset of each category, and what neither
 * the position nor the trial explains. */
static void measure(const struct course *course, const size_t *levels, unsigned trial,
                    struct spex_measured *measured) {
    static const double kinds[] = {0.7, 0.2, 0, 0.4};
    size_t number = number_of(levels);
    double position[PARAMETERS];
    for (size_t p = 0; p < PARAMETERS; p++)
        position[p] = course->values[p][levels[p]].position;
    double a = position[0] - 0.62, b = position[1] - 0.35, c = position[2] - 0.8;
    double base = 1 + 2 * a * a + 1.5 * b * b + a * b + 0.8 * c * c + kinds[levels[3]];
    double noise = 1 + 0.02 * chance(number) + 0.06 * chance(number * 64 + trial);
    measured[0] = (struct spex_measured){(10 * base * noise - course->below) * course->unit,
                                         0.02 * base * course->unit};
    measured[1] = (struct spex_measured){(5 - 3 * position[0] + position[1]) * noise, 0.01};
    measured[2] = measured[1];
}

static void tell(struct course *course, char what) {
    assert_true(course->length + 1 < sizeof(course->told));
    course->told[course->length++] = what;
}

static void course_make(struct course *course, const struct scene *scene) {
    static const char *const names[] = {"n", "m", "size", "kind"};
    *course = (struct course){.scene = scene, .unit = 1};
    for (size_t p = 0; p < PARAMETERS; p++) {
        size_t count = scene->counts[p];
        for (size_t l = 0; l < count; l++)
            course->values[p][l] =
                (struct spex_value){.number = (double)l + 1,
                                    .integer = (int64_t)l + 1,
                                    .position = count > 1 ? (double)l / (double)(count - 1) : 0};
        course->parameters[p] =
            (struct spex_parameter){.name = names[p],
                                    .unit = "",
                                    .kind = p == 3 ? SPEX_CATEGORICAL : SPEX_INTEGER,
                                    .logarithmic = p == 2,
                                    .count = count,
                                    .values = course->values[p]};
    }
    for (size_t c = 0; c < 3; c++)
        course->criteria[c] =
            (struct spex_criterion){.probe = "q:lat", .metric = "mean", .goal = SPEX_MINIMISE};
    if (scene->limits)
        course->criteria[1] = (struct spex_criterion){
            .probe = "r:lat", .metric = "mean", .goal = SPEX_AT_MOST, .bound = 3.9};
    course->space = (struct spex_space){.size = sizeof(course->space),
                                        .name = scene->name,
                                        .parameter_count = PARAMETERS,
                                        .parameters = course->parameters,
                                        .threads_parameter = PARAMETERS,
                                        .objective_count = scene->objectives,
                                        .criterion_count = scene->objectives + scene->limits,
                                        .criteria = course->criteria,
                                        .rules = scene->rules,
                                        .settle = scene->depends ? settle : NULL};
    course->space.rules.duration_seconds = 3;
    course->space.rules.warmup_seconds = 0.25;
}

/* Whether the run would be ended before it has enough. */
static bool ends_early(struct course *course, const struct spex_policy_ops *policy, void *state,
                       const size_t *levels, unsigned trial) {
    struct spex_measured measured[3];
    measure(course, levels, trial, measured);
    const struct spex_run run = {.size = sizeof(run),
                                 .levels = levels,
                                 .records = 100,
                                 .threads = 1,
                                 .seconds = 0.5,
                                 .measured = measured};
    return spex_policy_stop_run(policy, state, &course->space, &run);
}

/* The levels as digits; then ' for one that ends early, and _ for a short one. */
static int begin(struct course *course, const struct spex_policy_ops *policy, void *state) {
    size_t levels[PARAMETERS] = {0};
    struct spex_plan plan = {.size = sizeof(plan),
                             .levels = levels,
                             .probes = "q:lat",
                             .duration_seconds = course->space.rules.duration_seconds};
    int got = policy->next(state, &plan);
    if (got != 1)
        return got;
    unsigned trial = course->trials[number_of(levels)]++;
    course->runs++;
    memcpy(course->pending[course->pending_count].levels, levels, sizeof(levels));
    course->pending[course->pending_count++].trial = trial;
    for (size_t p = 0; p < PARAMETERS; p++)
        if (course->space.parameters[p].count > 1)
            tell(course, "0123456789abcdefghijk"[levels[p]]);
    if (plan.duration_seconds < course->space.rules.duration_seconds)
        tell(course, '_');
    tell(course, ends_early(course, policy, state, levels, trial) ? '\'' : ' ');
    return 1;
}

/* The one in the middle. */
static void end(struct course *course, const struct spex_policy_ops *policy, void *state) {
    unsigned which = course->pending_count / 2;
    struct spex_measured measured[3];
    measure(course, course->pending[which].levels, course->pending[which].trial, measured);
    bool ok = !course->scene->fails ||
              course->pending[which].levels[0] + 1 < course->space.parameters[0].count;
    const struct spex_result result = {.size = sizeof(result),
                                       .levels = course->pending[which].levels,
                                       .ok = ok,
                                       .measured = ok ? measured : NULL,
                                       .seconds = 3};
    if (policy->run_finished)
        policy->run_finished(state, &result);
    course->pending_count--;
    memmove(&course->pending[which], &course->pending[which + 1],
            (course->pending_count - which) * sizeof(course->pending[0]));
}

/* At the end a policy foretells as many runs as at the begin, and there were no more. */
static void follow(struct course *course, const struct spex_policy_ops *policy) {
    void *state = calloc(1, policy->state_size(&course->space));
    assert_non_null(state);
    assert_int_equal(policy->init(state, &course->space), 0);
    unsigned foretold = (unsigned)policy->runs(state);
    for (int got = 1; got || course->pending_count;) {
        got = course->pending_count < course->scene->slots ? begin(course, policy, state) : -EBUSY;
        assert_true(got == 1 || got == 0 || got == -EBUSY || got == -EAGAIN);
        if (got == -EAGAIN)
            tell(course, '~');
        if (got != 1 && course->pending_count)
            end(course, policy, state);
    }
    assert_int_equal(policy->runs(state), foretold);
    assert_in_range(course->runs, 1, foretold);
    tell(course, '\0');
    if (policy->fini)
        policy->fini(state);
    free(state);
}

/* Of values of which some are below 0. A power of 2 rounds nothing. */
TEST(courses_do_not_depend_on_units) {
    static const double units[] = {0x1p-30, 0x1p20};
    static struct course one, other;
    for (size_t p = 0; spex_builtin_policies[p]; p++)
        for (size_t s = 0; s < COUNT_OF(scenes); s++) {
            course_make(&one, &scenes[s]);
            one.below = 17;
            follow(&one, spex_builtin_policies[p]);
            for (size_t u = 0; u < COUNT_OF(units); u++) {
                course_make(&other, &scenes[s]);
                other.below = 17;
                other.unit = units[u];
                follow(&other, spex_builtin_policies[p]);
                assert_string_equal(other.told, one.told);
            }
        }
}
