/* SPDX-License-Identifier: MIT */
/* Kernels that are sampled by what models say of their times: what is predicted, which executions
 * make a record, what is looked at, and what becomes of it when kernels, threads and processes end
 * in other ways. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>

#include <spex/kernel.h>
#include <spex/spex.h>

#include "../capture.h"
#include "../check.h"
#include "../children.h"
#include "base/clock.h"
#include "kernels/kernel_sampler.h"
#include "kernels/sampling_plan.h"
#include "probe/threads.h"
#include "site/registry.h"

enum { OUTER = 90, INNER, PLAIN, ALONE, OFTEN };

SPEX_PROBE_NAME(OUTER, "samples.outer");
SPEX_PROBE_NAME(INNER, "samples.inner");
SPEX_PROBE_NAME(PLAIN, "samples.plain");
SPEX_PROBE_NAME(ALONE, "samples.alone");
SPEX_PROBE_NAME(OFTEN, "samples.often");

#define SAMPLES          4.0
#define PATIENCE_SECONDS 120

/* The outer one takes 10 µs for each of n, which is its second parameter; the inner one a
 * microsecond, and the one that stands alone a millisecond. */
static const char models_text[] =
    "spex-models 3\n"
    "kernel samples.alone\nexecutions 100\nleast 9e-04\nparameters 0\n"
    "class constant\nadjusted-r2 1\nspread 0 0.05 100\nconstant 1e-03 1e-06\nchanges 0 0\nterms 0\n"
    "covariance 1e-12\npoints 0\n"
    "kernel samples.outer\nexecutions 100\nleast 1e-05\nparameters 1\nparameter 1 100000 n\n"
    "class linear\nadjusted-r2 1\nspread 0 0.05 100\nconstant 0 0\nchanges 0 0\nterms 1\n"
    "term 0 1e-05 1e-08 12:0\ncovariance 0 0\ncovariance 0 1e-16\npoints 0\n"
    "kernel samples.outer/samples.inner\nexecutions 100\nleast 9e-07\nparameters 0\n"
    "class constant\nadjusted-r2 1\nspread 0 0.05 100\nconstant 1e-06 1e-09\nchanges 0 0\nterms 0\n"
    "covariance 1e-18\npoints 0\n"
    "kernel samples.plain\nexecutions 100\nleast 0.5\nparameters 0\n"
    "class unknown\nadjusted-r2 0\nspread 0 0.05 100\nconstant 2 1e-09\nchanges 0 0\nterms 0\n"
    "covariance 1e-18\npoints 0\n"
    "end 4\n";

static char models_path[] = "/tmp/spex-samples-XXXXXX";

static struct {
    uint32_t looks; /* atomic, as is the rest while spex runs */
    uint32_t records[OFTEN + 1];
    uint64_t weights[OFTEN + 1];
    uint64_t look_parameter;
    uint32_t look_thread;
} seen;

static void see(const struct spex_record *record, void *context) {
    (void)context;
    if (record->probe_type != SPEX_KERNEL || record->probe_id > OFTEN)
        return;
    if (!record->weight) {
        __atomic_store_n(&seen.look_parameter, record->fields[3], __ATOMIC_RELAXED);
        __atomic_store_n(&seen.look_thread, record->thread_id, __ATOMIC_RELAXED);
        __atomic_fetch_add(&seen.looks, 1, __ATOMIC_RELEASE);
        return;
    }
    __atomic_fetch_add(&seen.weights[record->probe_id], record->weight, __ATOMIC_RELAXED);
    __atomic_fetch_add(&seen.records[record->probe_id], 1, __ATOMIC_RELAXED);
}

static int begin_with(const char *models, const char *budget) {
    const struct spex_options options = {.size = sizeof(options),
                                         .probes = "samples.*:kernel@poll",
                                         .out = "/dev/null",
                                         .budget = budget,
                                         .models = models,
                                         .samples = SAMPLES};
    memset(&seen, 0, sizeof(seen));
    capture_start(see, NULL);
    return spex_start(&options);
}

static bool is_too_late(const struct timespec *begin) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - begin->tv_sec > PATIENCE_SECONDS;
}

/* Until there were so many looks, in all. */
static void until_looks(uint32_t looks) {
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (__atomic_load_n(&seen.looks, __ATOMIC_ACQUIRE) < looks)
        assert_false(is_too_late(&begin));
}

COMPILED_ONCE static void inner(void) {
    KERNEL_PROBE_BEGIN(INNER, 1);
    __asm__ volatile("" ::: "memory");
    KERNEL_PROBE_END(INNER);
}

static void nothing(void *user) {
    (void)user;
}

COMPILED_ONCE static void outer(uint64_t n, void (*work)(void *), void *user) {
    KERNEL_PROBE_BEGIN(OUTER, 1, n + 1, n);
    work(user);
    KERNEL_PROBE_END(OUTER);
}

static void inner_often(void *user) {
    for (unsigned *times = user; *times > 0; --*times)
        inner();
}

static void outer_with(unsigned inners) {
    outer(100000, inner_often, &inners);
}

static void look_twice(void *user) {
    (void)user;
    until_looks(__atomic_load_n(&seen.looks, __ATOMIC_ACQUIRE) + 2);
}

static uint32_t depth(void) {
    return spex_thread_current()->samples->depth;
}

static void note_depth(void *user) {
    *(uint32_t *)user = depth();
}

/* When a context is first executed, its model is looked up elsewhere. */
static void until_known(void) {
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint32_t within = 0; !within; outer(100000, note_depth, &within))
        assert_false(is_too_late(&begin));
}

static bool node_of(const void *by, uint64_t number, struct spex_context_node *node) {
    static const struct spex_context_node nodes[] = {{0, 0},     {0, 0},     {1, OUTER},
                                                     {2, INNER}, {1, PLAIN}, {1, INNER}};
    (void)by;
    if (number < 2 || number >= COUNT_OF(nodes))
        return false;
    *node = nodes[number];
    return true;
}

static bool site_of(const void *by, uint16_t kernel, struct spex_kernel_site *site) {
    (void)by;
    *site = (struct spex_kernel_site){
        .name = kernel == OUTER   ? "samples.outer"
                : kernel == INNER ? "samples.inner"
                                  : "samples.plain",
        .parameters = kernel == OUTER ? "f(a, n), n" : "",
    };
    return true;
}

TEST(what_is_predicted_sets_the_interval) {
    const struct spex_kernels_known known = {.node = node_of, .site = site_of};
    const uint64_t parameters[] = {7, 1000};
    struct spex_sampling_plan *plan;
    struct spex_error why;
    assert_int_equal(spex_sampling_plan_create(models_path, 10, 1e9, &plan, &why), 0);
    for (uint32_t context = 2; context < 7; context++) {
        assert_null(plan->nodes[context]);
        assert_true(spex_sampling_plan_ask_for(plan, context));
        assert_false(spex_sampling_plan_ask_for(plan, context));
    }
    spex_sampling_plan_answer(plan, &known);
    double ticks = spex_planned_ticks(plan, plan->nodes[2], parameters);
    assert_true(ticks > 0.9999e7 && ticks < 1.0001e7);
    assert_int_equal(spex_sampling_plan_interval(plan, ticks), (uint64_t)(ticks / 10));
    double short_ticks = spex_planned_ticks(plan, plan->nodes[3], NULL);
    assert_true(short_ticks > 999 && short_ticks < 1001);
    assert_int_equal(spex_sampling_plan_interval(plan, short_ticks), 0);
    assert_true(spex_planned_ticks(plan, plan->nodes[4], NULL) ==
                0.5e9);                                               /* the least of its times */
    assert_true(spex_planned_ticks(plan, plan->nodes[5], NULL) == 0); /* another context */
    assert_true(spex_planned_ticks(plan, plan->nodes[6], NULL) == 0); /* none at all */
    assert_int_equal(spex_sampling_plan_base(plan), 100000000);
    plan->stretch = 3;
    assert_int_equal(spex_sampling_plan_stretched(plan, 1000000), 3000000);
    assert_int_equal(spex_sampling_plan_stretched(plan, 1), 3);
    plan->stretch = INFINITY;
    uint64_t most = spex_sampling_plan_stretched(plan, 1000000);
    assert_true(most == UINT64_C(1) << 60);
    assert_true(spex_sampling_plan_interval(plan, 1e300) == most);
    spex_sampling_plan_destroy(plan);
}

/* Numbers are from 1 on. */
TEST(plans_are_told_apart) {
    static const double rates[] = {1e9, 3.1e9, 1.024e9, 1e6, 24e6};
    uint32_t before = 0;
    for (size_t r = 0; r < COUNT_OF(rates); r++) {
        struct spex_sampling_plan *plan;
        struct spex_error why;
        assert_int_equal(spex_sampling_plan_create(models_path, 10, rates[r], &plan, &why), 0);
        assert_true(r == 0 ? plan->number > 0 : plan->number == before + 1);
        before = plan->number;
        assert_int_equal(plan->shortest, (uint64_t)(rates[r] / 1e4 + 0.5));
        assert_true(plan->stretch == 1 && plan->samples == 10);
        assert_true(plan->ticks_per_second == rates[r]);
        spex_sampling_plan_destroy(plan);
    }
}

TEST(samples_are_numbers) {
    double samples;
    assert_true(spex_samples_parse("0.01", &samples) && samples == 0.01);
    assert_true(spex_samples_parse("1000000", &samples) && samples == 1e6);
    assert_false(spex_samples_parse("0.009", &samples) || spex_samples_parse("1000001", &samples) ||
                 spex_samples_parse("", &samples) || spex_samples_parse("1e3", &samples) ||
                 spex_samples_parse("5x", &samples) || spex_samples_parse("nan", &samples));
}

TEST(files_that_hold_no_models_are_refused) {
    assert_int_equal(begin_with("/nowhere", NULL), -ENOENT);
    assert_int_equal(begin_with("/dev/null", NULL), -EINVAL);
    assert_int_equal(begin_with(models_path, NULL), 0);
    spex_stop();
}

TEST(what_takes_long_is_looked_at) {
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer(100, look_twice, NULL); /* foretold to take 1 ms, of which four looks are to be had */
    assert_int_equal(depth(), 0);
    spex_stop();
    assert_true(seen.look_parameter == 100);
    assert_true(seen.look_thread == (uint32_t)gettid());
    assert_true(seen.records[OUTER] > 0);
}

COMPILED_ONCE static void alone(void (*work)(void *), void *user) {
    KERNEL_PROBE_BEGIN(ALONE, 1);
    work(user);
    KERNEL_PROBE_END(ALONE);
}

TEST(one_that_is_polled_alone_is_looked_at) {
    struct timespec begin;
    assert_int_equal(begin_with(models_path, NULL), 0);
    assert_int_equal(spex_set("samples.alone:kernel@poll"), 1);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint32_t within = 0; !within; alone(note_depth, &within))
        assert_false(is_too_late(&begin));
    alone(look_twice, NULL);
    spex_stop();
    assert_true(seen.looks >= 2);
}

/* Each of them, as many as there were in the frame before. */
TEST(what_is_rare_is_recorded) {
    enum { RARE = 3 };
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer_with(RARE);
    outer_with(RARE);
    spex_stop();
    assert_true(seen.records[INNER] == 2 * RARE && seen.weights[INNER] == 2 * RARE);
}

/* The last frame that counts is one of the same collection. */
TEST(frames_of_former_starts_foretell_nothing) {
    enum { RARE = 3, MANY = 1000 };
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer_with(MANY);
    spex_stop();
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer_with(RARE);
    spex_stop();
    assert_int_equal(seen.records[INNER], RARE);
}

/* Of 6 executions a frame 4 on average: of 1800 so many, with a standard deviation of 20. */
TEST(of_what_is_less_rare_chance_takes_enough) {
    enum { FRAMES = 300, EACH = 6, WANTED = FRAMES * (int)SAMPLES };
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    for (int f = 0; f < FRAMES; f++)
        outer_with(EACH);
    spex_stop();
    assert_in_range(seen.records[INNER], WANTED - 120, WANTED + 120);
}

TEST(without_a_model_there_are_so_many_a_second) {
    assert_int_equal(begin_with(models_path, NULL), 0);
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (__atomic_load_n(&seen.records[INNER], __ATOMIC_RELAXED) < 3) {
        assert_false(is_too_late(&begin));
        inner();
    }
    spex_stop();
    assert_true(seen.weights[INNER] > seen.records[INNER]);
}

COMPILED_ONCE static void is_left(uint64_t n) {
    KERNEL_PROBE_BEGIN(OUTER, 1, 0, n);
    assert_int_equal(depth(), 1);
    if (n)
        return;
    KERNEL_PROBE_END(OUTER);
}

TEST(what_is_left_without_its_end_is_not_looked_at) {
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    is_left(100000);
    assert_int_equal(depth(), 0);
    spex_stop();
}

static void recurse(void *user) {
    uint32_t *left = user;
    assert_int_equal(depth(), 1);
    if (--*left)
        outer(100000, recurse, user);
}

TEST(recursion_is_one_frame) {
    uint32_t left = 2 * SPEX_SAMPLES_FRAMES;
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer(100000, recurse, &left);
    assert_int_equal(depth(), 0);
    spex_stop();
}

static void end_the_thread(void *user) {
    (void)user;
    pthread_exit(NULL);
}

static void *ends_within(void *user) {
    outer(100000, end_the_thread, user);
    return NULL;
}

static void *has_no_frame(void *depth_seen) {
    outer(100000, note_depth, depth_seen);
    return NULL;
}

/* The next thread has its state. */
TEST(a_thread_that_ends_within_leaves_nothing) {
    pthread_t thread;
    uint32_t within = 0;
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    assert_int_equal(pthread_create(&thread, NULL, ends_within, NULL), 0);
    pthread_join(thread, NULL);
    assert_int_equal(pthread_create(&thread, NULL, has_no_frame, &within), 0);
    pthread_join(thread, NULL);
    assert_int_equal(within, 1);
    spex_stop();
}

static void fork_within(void *user) {
    *(pid_t *)user = fork();
}

/* The child ends what it has inherited, and may start anew. */
static int in_the_child(void) {
    outer(100000, nothing, NULL);
    if (begin_with(models_path, NULL) != 0)
        return 1;
    until_known();
    outer(100, look_twice, NULL);
    spex_stop();
    return seen.look_thread == (uint32_t)gettid() ? 0 : 2;
}

TEST(forks_are_survived) {
    pid_t child = -1;
    SKIP_WITHOUT_CHILDREN();
    assert_int_equal(begin_with(models_path, NULL), 0);
    until_known();
    outer(100000, fork_within, &child);
    if (child == 0)
        _exit(in_the_child());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    outer(100, look_twice, NULL);
    spex_stop();
}

COMPILED_ONCE static void often(void) {
    KERNEL_PROBE_BEGIN(OFTEN, 1);
    __asm__ volatile("" ::: "memory");
    KERNEL_PROBE_END(OFTEN);
}

static uint32_t sites_on(void) {
    struct spex_status status = {.size = sizeof(status)};
    assert_int_equal(spex_status_get(&status), 0);
    return status.sites_on;
}

/* A kernel that does nothing else but cost. */
TEST(what_costs_more_than_the_budget_is_held_off) {
    struct timespec begin;
    assert_int_equal(begin_with(models_path, "0.5%"), 0);
    uint32_t all = sites_on();
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (sites_on() == all) {
        assert_false(is_too_late(&begin));
        for (int i = 0; i < 100000; i++)
            often();
    }
    assert_int_equal(sites_on(), all - 1);
    /* Not beyond the budget's end. */
    spex_kernel_sampler_stop();
    assert_int_equal(sites_on(), all);
    spex_stop();
}

static int write_models(void **state) {
    (void)state;
    int fd = mkstemp(models_path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    return !file || fputs(models_text, file) < 0 || fclose(file) != 0;
}

static int remove_models(void **state) {
    (void)state;
    return unlink(models_path);
}

int main(void) {
    return tests_run(write_models, remove_models);
}
