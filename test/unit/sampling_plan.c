/* SPDX-License-Identifier: MIT */
/* What a plan of sampling predicts for the contexts of a made process, and the intervals that come
 * of it. */
#include <errno.h>
#include <math.h>

#include "../check.h"
#include "kernels/sampling_plan.h"

enum { MAIN = 2, SORT, SCAN, MISSING, CONSTANT, LATER = 200, NOBODY = 300 };

#define LEAST 0.25

static bool made_node(const void *by, uint64_t number, struct spex_context_node *node) {
    (void)by;
    *node = (struct spex_context_node){number == MAIN ? SPEX_CONTEXT_ROOT : MAIN, (uint16_t)number};
    return number >= MAIN && number < NOBODY;
}

static bool made_site(const void *by, uint16_t kernel, struct spex_kernel_site *site) {
    static const char *const names[] = {[MAIN] = "main",
                                        [SORT] = "sort",
                                        [SCAN] = "scan",
                                        [MISSING] = "missing",
                                        [CONSTANT] = "constant"};
    (void)by;
    *site = (struct spex_kernel_site){.id = kernel,
                                      .name = kernel <= CONSTANT ? names[kernel] : "later",
                                      .parameters = kernel == MAIN ? "" : "n, size, rows"};
    return true;
}

static const struct spex_kernels_known process = {.node = made_node, .site = made_site};

static struct spex_kernel_model *model_add(struct spex_sampling_plan *plan, const char *path,
                                           const char *const *names, size_t count) {
    struct spex_kernel_model *model;
    assert_int_equal(spex_models_add(&plan->models, path, names, count, &model), 0);
    model->least_seconds = LEAST;
    model->model.parameter_count = count;
    model->model.class = SPEX_MODEL_LINEAR;
    return model;
}

/* Of rows: 2 · rows - 3 · size + 1. Paths are sorted. */
static struct spex_sampling_plan *plan_make(void) {
    static const char *const two[] = {"rows", "size"}, *const other[] = {"columns"};
    struct spex_sampling_plan *plan = calloc(1, sizeof(*plan));
    assert_non_null(plan);
    plan->samples = 10;
    plan->ticks_per_second = 1000;
    plan->shortest = 40;
    plan->stretch = 1;
    struct spex_kernel_model *constant = model_add(plan, "main/constant", NULL, 0);
    constant->model.constant = 7;
    struct spex_kernel_model *missing = model_add(plan, "main/missing", other, 1);
    missing->model.term_count = 1;
    missing->model.constant = 5;
    struct spex_kernel_model *scan = model_add(plan, "main/scan", NULL, 0);
    scan->model.class = SPEX_MODEL_UNKNOWN;
    scan->model.constant = 9;
    struct spex_kernel_model *sort = model_add(plan, "main/sort", two, 2);
    sort->model.constant = 1;
    sort->model.term_count = 2;
    sort->model.terms[0] = (struct spex_model_term){.coefficient = 2, .factors = {{12, 0}}};
    sort->model.terms[1] =
        (struct spex_model_term){.coefficient = -3, .factors = {{0, 0}, {12, 0}}};
    return plan;
}

static double seconds_of(const struct spex_sampling_plan *plan, uint32_t context) {
    const uint64_t parameters[SPEX_KERNEL_PARAMETERS] = {100, 4, 50};
    const struct spex_planned *planned = plan->nodes[context];
    assert_non_null(planned);
    double seconds = spex_planned_seconds(planned, parameters);
    assert_true(spex_planned_ticks(plan, planned, parameters) == 1000 * seconds);
    return seconds;
}

/* Each is asked for once, and answered once. */
TEST(contexts_are_looked_up_when_they_are_asked_for) {
    static const uint32_t asked[] = {MAIN, SORT, SCAN, MISSING, CONSTANT, LATER, NOBODY};
    struct spex_sampling_plan *plan = plan_make();
    spex_sampling_plan_answer(plan, &process);
    for (size_t a = 0; a < COUNT_OF(asked); a++) {
        assert_null(plan->nodes[asked[a]]);
        assert_true(spex_sampling_plan_ask_for(plan, asked[a]));
        assert_false(spex_sampling_plan_ask_for(plan, asked[a]));
    }
    spex_sampling_plan_answer(plan, &process);
    for (uint32_t context = 0; context <= SPEX_CONTEXTS_MAX; context++) {
        bool is_asked = false;
        for (size_t a = 0; a < COUNT_OF(asked); a++)
            is_asked |= asked[a] == context;
        assert_int_equal(plan->nodes[context] != NULL, is_asked);
    }
    assert_true(fabs(seconds_of(plan, SORT) - (1 + 2 * 50 - 3 * 4)) < 1e-9);
    assert_int_equal(plan->nodes[SORT]->parameters, 3);
    assert_true(seconds_of(plan, CONSTANT) == 7);
    assert_true(seconds_of(plan, SCAN) == LEAST);
    assert_true(seconds_of(plan, MISSING) == LEAST); /* the kernel has no such parameter */
    assert_true(seconds_of(plan, MAIN) == 0);
    assert_true(seconds_of(plan, LATER) == 0);
    assert_true(seconds_of(plan, NOBODY) == 0);
    const struct spex_planned *before = plan->nodes[SORT];
    plan->planned[SORT].seconds = 3;
    spex_sampling_plan_answer(plan, &process);
    assert_true(plan->nodes[SORT] == before && before->seconds == 3);
    spex_sampling_plan_destroy(plan);
}

/* A prediction that is not above 0 is the least that was measured. */
TEST(no_prediction_is_below_nothing) {
    struct spex_sampling_plan *plan = plan_make();
    spex_sampling_plan_ask_for(plan, SORT);
    spex_sampling_plan_answer(plan, &process);
    const struct spex_planned *planned = plan->nodes[SORT];
    /* 1 + 2 · rows - 3 · size */
    assert_true(fabs(spex_planned_seconds(planned, (const uint64_t[]){0, 1, 2, 0}) - 2) < 1e-9);
    assert_true(spex_planned_seconds(planned, (const uint64_t[]){0, 1, 1, 0}) == LEAST);
    assert_true(spex_planned_seconds(planned, (const uint64_t[]){9, 50, 2, 0}) == LEAST);
    struct spex_planned made;
    struct spex_kernel_model kernel = {.least_seconds = LEAST};
    static const struct spex_kernel_described described;
    kernel.model.class = SPEX_MODEL_CONSTANT;
    kernel.model.constant = -1;
    spex_planned_make(&made, &kernel, &described);
    assert_true(!made.model && made.seconds == LEAST);
    kernel.model.constant = 0.125;
    spex_planned_make(&made, &kernel, &described);
    assert_true(!made.model && made.seconds == 0.125);
    spex_sampling_plan_destroy(plan);
}

TEST(intervals_have_bounds) {
    struct spex_sampling_plan *plan = plan_make();
    const uint64_t most = UINT64_C(1) << 60;
    assert_int_equal(spex_sampling_plan_interval(plan, 1234), 123);
    assert_int_equal(spex_sampling_plan_interval(plan, 400), 40);
    assert_int_equal(spex_sampling_plan_interval(plan, 399), 0);
    assert_true(spex_sampling_plan_interval(plan, 1e300) == most);
    assert_true(spex_sampling_plan_interval(plan, 10 * 0x1p59) == most / 2);
    assert_int_equal(spex_sampling_plan_base(plan), 100);
    assert_int_equal(spex_sampling_plan_stretched(plan, 50), 50);
    assert_int_equal(spex_sampling_plan_stretched(plan, 7), 7);
    assert_int_equal(spex_sampling_plan_stretched(plan, 0), 1);
    plan->stretch = 2.5;
    assert_int_equal(spex_sampling_plan_stretched(plan, 50), 125);
    assert_true(spex_sampling_plan_stretched(plan, most) == most);
    plan->samples = 1e-12;
    plan->ticks_per_second = 1e9;
    assert_true(spex_sampling_plan_base(plan) == most);
    spex_sampling_plan_destroy(plan);
    spex_sampling_plan_destroy(NULL);
}
