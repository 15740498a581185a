/* SPDX-License-Identifier: MIT */
/* The grid's order and numbers, and what every built-in policy has to keep to. */
#include "policies/explore/builtin.h"
#include "spaces.h"

#define REST                                                                                       \
    "<objective probe='q:lat' metric='mean' goal='minimise'/>"                                     \
    "<run trials_per_config='3' records_per_thread='10' threads='threads'/></space>"

/* 4 * 3 * 2 configurations; the threads are neither the first nor the last parameter. */
static const char three[] = "<space name='three'>"
                            "<parameter name='a' type='integer' min='0' max='3'/>"
                            "<parameter name='threads' type='integer' values='1 2 5'/>"
                            "<parameter name='c' type='categorical' values='x y'/>" REST;

static const char one[] = "<space name='one'>"
                          "<parameter name='threads' type='integer' values='4'/>" REST;

static const char unthreaded[] = "<space name='unthreaded'>"
                                 "<parameter name='a' type='integer' min='1' max='7'/>"
                                 "<objective probe='q:tpt' metric='throughput' goal='maximise'/>"
                                 "<run records_per_thread='5'/></space>";

static const char *const spaces[] = {three, one, unthreaded};

enum { PARAMETERS_MAX = 3, PLANS_MAX = 10000 };

struct exploration {
    const struct spex_policy_ops *policy;
    const struct spex_space *space;
    void *state;
    size_t levels[PARAMETERS_MAX];
    struct spex_plan plan;
};

static void begin(struct exploration *e, const struct spex_policy_ops *policy,
                  const struct spex_space *space) {
    *e = (struct exploration){.policy = policy, .space = space};
    assert_true(space->parameter_count <= PARAMETERS_MAX);
    e->state = calloc(1, policy->state_size(space));
    assert_non_null(e->state);
    assert_int_equal(policy->init(e->state, space), 0);
}

static int next(struct exploration *e) {
    memset(e->levels, 0, sizeof(e->levels));
    e->plan = (struct spex_plan){.size = sizeof(e->plan),
                                 .levels = e->levels,
                                 .probes = e->space->criteria[0].probe,
                                 .duration_seconds = e->space->rules.duration_seconds};
    return e->policy->next(e->state, &e->plan);
}

static void end(struct exploration *e) {
    if (e->policy->fini)
        e->policy->fini(e->state);
    free(e->state);
}

/* What a made-up program says of a configuration; every seventh run of it fails. */
static void finish(struct exploration *e, uint64_t number) {
    double objective = 0;
    for (size_t p = 0; p < e->space->parameter_count; p++)
        objective = objective * 7 + (double)(e->levels[p] * e->levels[p]) + 1;
    const struct spex_measured measured = {.value = objective, .error = NAN};
    struct spex_result result = {.size = sizeof(result),
                                 .levels = e->levels,
                                 .ok = number % 7 != 6,
                                 .measured = &measured,
                                 .records_used = 100,
                                 .seconds = 1};
    if (e->policy->run_finished)
        e->policy->run_finished(e->state, &result);
}

/* Without threads to choose from there is no c; a and c together are not everything. */
enum { ALLOWED = 4 * 1 + 4 * 2 * 2 - 4 };

static bool settle_some(const struct spex_space *space, size_t *levels) {
    (void)space;
    if (levels[1] == 0)
        levels[2] = 1;
    return levels[1] != 2 || levels[0] > 1;
}

static void check_plan(const struct exploration *e) {
    assert_ptr_equal(e->plan.levels, e->levels);
    assert_true(e->plan.probes && *e->plan.probes);
    for (size_t p = 0; p < e->space->parameter_count; p++)
        assert_true(e->levels[p] < e->space->parameters[p].count);
    size_t settled[PARAMETERS_MAX];
    memcpy(settled, e->levels, sizeof(settled));
    assert_true(spex_space_settle(e->space, settled));
    assert_memory_equal(settled, e->levels, sizeof(settled));
    for (size_t p = e->space->parameter_count; p < PARAMETERS_MAX; p++)
        assert_int_equal(e->levels[p], 0);
}

/* Each round has each configuration once, in an order of its own. A third as many runs more are for
 * finals, of which there are none, since the objective is exact. */
TEST(grid_order) {
    struct spex_space_file *file = space_of(three);
    struct exploration e;
    size_t orders[3][24], moved = 0, differ = 0;
    begin(&e, spex_builtin_policy("grid"), &file->space);
    assert_int_equal(e.policy->runs(e.state), 3 * 24 + 24);
    for (size_t round = 0; round < 3; round++) {
        bool seen[24] = {false};
        for (size_t run = 0; run < 24; run++) {
            assert_int_equal(next(&e), 1);
            size_t number = (e.levels[0] * 3 + e.levels[1]) * 2 + e.levels[2];
            assert_false(seen[number]);
            seen[number] = true;
            orders[round][run] = number;
            moved += number != run;
            differ += number != orders[0][run];
            assert_string_equal(e.plan.probes, "q:lat");
            assert_int_equal(e.policy->runs(e.state), 3 * 24 + 24);
            finish(&e, run);
        }
    }
    assert_int_equal(next(&e), 0);
    assert_int_equal(next(&e), 0);
    assert_true(moved > 60 && differ > 40);
    end(&e);
    spex_space_free(file);
}

/* Only what stands for itself and is allowed; the seed decides on the order. */
TEST(grid_allowed) {
    struct spex_space_file *file = space_of(three);
    struct spex_space space = file->space;
    size_t first[8][3], orders = 0;
    space.settle = settle_some;
    for (space.rules.seed = 0; space.rules.seed < 2; space.rules.seed++) {
        struct exploration e;
        begin(&e, spex_builtin_policy("grid"), &space);
        assert_int_equal(e.policy->runs(e.state), 3 * ALLOWED);
        for (size_t run = 0; run < 3 * ALLOWED; run++) {
            assert_int_equal(next(&e), 1);
            check_plan(&e);
            finish(&e, run);
            if (run < 8 && space.rules.seed == 0)
                memcpy(first[run], e.levels, sizeof(first[run]));
            else if (run < 8)
                orders += memcmp(first[run], e.levels, sizeof(first[run])) != 0;
        }
        assert_int_equal(next(&e), 0);
        end(&e);
    }
    assert_true(orders > 0);
    space.rules.trials_max = 5;
    struct exploration e;
    begin(&e, spex_builtin_policy("grid"), &space);
    assert_int_equal(e.policy->runs(e.state), 5);
    for (size_t run = 0; run < 5; run++) {
        assert_int_equal(next(&e), 1);
        finish(&e, run);
    }
    assert_int_equal(next(&e), 0);
    end(&e);
    spex_space_free(file);
}

TEST(grid_largest) {
    struct spex_space_file *file =
        space_of("<space name='large'>"
                 "<parameter name='a' type='integer' min='1' max='65536'/>"
                 "<parameter name='b' type='integer' min='1' max='65536'/>"
                 "<parameter name='c' type='integer' min='1' max='256'/>"
                 "<objective probe='q:lat' metric='mean' goal='minimise'/>"
                 "<run trials_per_config='1000'/></space>");
    struct exploration e;
    begin(&e, spex_builtin_policy("grid"), &file->space);
    assert_int_equal(e.policy->runs(e.state), ((UINT64_C(1) << 40) * 1000 * 4 + 2) / 3);
    assert_int_equal(next(&e), 1);
    assert_int_equal(next(&e), 1);
    end(&e);
    spex_space_free(file);
}

TEST(grid_stops) {
    static const struct {
        size_t levels[PARAMETERS_MAX]; /* threads: 1, 2, 5 */
        uint64_t threads, done;
        bool stops;
    } cases[] = {
        {{0, 0, 0}, 0, 0, false},   {{0, 0, 0}, 1, 0, false}, {{0, 0, 0}, 1, 1, true},
        {{3, 1, 1}, 1, 1, false},   {{3, 1, 1}, 2, 1, false}, {{3, 1, 1}, 2, 2, true},
        {{0, 2, 0}, 4, 4, false},   {{0, 2, 0}, 5, 5, true},  {{0, 2, 0}, 600, 5, true},
        {{0, 2, 0}, 600, 4, false},
    };
    struct spex_space_file *file = space_of(three);
    struct exploration e;
    begin(&e, spex_builtin_policy("grid"), &file->space);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct spex_run run = {.levels = cases[c].levels,
                               .records = 1000000,
                               .threads = cases[c].threads,
                               .threads_done = cases[c].done,
                               .seconds = 1000};
        if (spex_policy_stop_run(e.policy, e.state, e.space, &run) != cases[c].stops)
            fail_msg("case %zu", c);
    }
    end(&e);
    spex_space_free(file);
}

TEST(names) {
    assert_string_equal(spex_builtin_policy("grid")->name, "grid");
    assert_non_null(spex_builtin_policy(SPEX_BUILTIN_DEFAULT));
    assert_null(spex_builtin_policy("gri"));
    assert_null(spex_builtin_policy("grids"));
    assert_null(spex_builtin_policy(""));
}

static void check_members(const struct spex_policy_ops *policy) {
    assert_int_equal(policy->size, sizeof(struct spex_policy_ops));
    assert_int_equal(policy->abi, SPEX_POLICY_ABI);
    assert_true(policy->name && *policy->name);
    assert_true(policy->summary && *policy->summary && !strchr(policy->summary, '\n'));
    assert_true(policy->state_size && policy->init && policy->next);
    assert_ptr_equal(spex_builtin_policy(policy->name), policy);
}

/* A run that every policy must let go on, and one that has made far more than was asked for. */
static void check_stop(struct exploration *e) {
    struct spex_run run = {.levels = e->levels};
    assert_false(spex_policy_stop_run(e->policy, e->state, e->space, &run));
    run = (struct spex_run){.levels = e->levels,
                            .records = 100000000,
                            .threads = spex_space_threads(e->space, e->levels),
                            .threads_done = spex_space_threads(e->space, e->levels),
                            .seconds = 1000};
    assert_true(spex_policy_stop_run(e->policy, e->state, e->space, &run));
}

/* Plans what `other` plans, which an exploration resumed from a store relies on. */
static void check_same(struct exploration *e, struct exploration *other) {
    assert_memory_equal(e->levels, other->levels, sizeof(e->levels));
    assert_string_equal(e->plan.probes, other->plan.probes);
}

/* The second explorer does not ask about runs nor see records: resuming does not. */
static void conforms(const struct spex_policy_ops *policy, const struct spex_space *space) {
    static const struct spex_record records[3] = {{.weight = 1, .probe_type = SPEX_LAT}};
    struct exploration e, replayed;
    uint64_t plans = 0;
    begin(&e, policy, space);
    begin(&replayed, policy, space);
    while (next(&e) == 1) {
        assert_true(++plans < PLANS_MAX);
        check_plan(&e);
        assert_int_equal(next(&replayed), 1);
        check_same(&e, &replayed);
        if (policy->process_records)
            policy->process_records(e.state, records, COUNT_OF(records));
        check_stop(&e);
        if (policy->runs)
            assert_true(policy->runs(e.state) == 0 || policy->runs(e.state) >= plans);
        finish(&e, plans);
        finish(&replayed, plans);
    }
    assert_true(plans > 0);
    assert_int_equal(next(&e), 0);
    assert_int_equal(next(&replayed), 0);
    end(&e);
    end(&replayed);
}

TEST(every_policy) {
    assert_non_null(spex_builtin_policies[0]);
    for (size_t p = 0; spex_builtin_policies[p]; p++) {
        check_members(spex_builtin_policies[p]);
        for (size_t s = 0; s < COUNT_OF(spaces); s++) {
            struct spex_space_file *file = space_of(spaces[s]);
            conforms(spex_builtin_policies[p], &file->space);
            file->space.settle = spaces[s] == three ? settle_some : NULL;
            conforms(spex_builtin_policies[p], &file->space);
            spex_space_free(file);
        }
    }
}

/* From where it is, one level and then twice as many each time, while that is better. */
TEST(climbing_doubles_its_steps) {
    enum { CONFIGURATIONS = 4 };
    struct spex_space_file *file =
        space_of("<space name='s'><parameter name='a' type='integer' min='1' max='500'/>"
                 "<objective probe='q:tpt' metric='throughput' goal='maximise'/></space>");
    size_t found[CONFIGURATIONS], count = 0;
    struct exploration e;
    begin(&e, spex_builtin_policy("climb"), &file->space);
    while (count < CONFIGURATIONS) {
        assert_int_equal(next(&e), 1);
        if (count == 0 || found[count - 1] != e.levels[0])
            found[count++] = e.levels[0];
        const struct spex_measured measured = {.value = 1000 + (double)e.levels[0], .error = NAN};
        const struct spex_result result = {
            .size = sizeof(result), .levels = e.levels, .ok = true, .measured = &measured};
        e.policy->run_finished(e.state, &result);
    }
    for (size_t c = 1; c < CONFIGURATIONS; c++)
        assert_int_equal(found[c] - found[c - 1], 1 << (c - 1));
    end(&e);
    spex_space_free(file);
}
