/* SPDX-License-Identifier: MIT */
/* When executions of kernels make records and get frames: in virtual time, in which each look at
 * the clock takes what the test says. */
#include <math.h>

#include "../check.h"
#include "base/student.h"
#include "probe/recording.h"

/* `ticks_each`: what a look at the clock takes; `ticks_drawn`: what drawing by chance takes.
 * `settled`: when all before the clock was waited for. */
static uint64_t ticks_now, ticks_each, ticks_drawn, settled;

static uint64_t virtual_ticks(void) {
    return ticks_now += ticks_each;
}

static void virtual_fence(void) {
    settled = ticks_now;
}

static uint64_t slow_random_next(struct spex_random *random) {
    ticks_now += ticks_drawn;
    return spex_random_next(random);
}

#define random_below      random_of_thread /* check.h has another one */
#define spex_ticks        virtual_ticks
#define spex_ticks_fence_ virtual_fence
#define spex_random_next  slow_random_next
#include "kernels/frames.c"
#undef spex_random_next
#undef spex_ticks_fence_
#undef spex_ticks
#undef random_below

enum { CONTEXT = 5, INNER = 6, SECOND = 1000000000 };

static struct spex_thread *thread;
static struct spex_sampling_plan *plan;
static const struct spex_site site = {.index = 9, .detail = 2};
static const struct spex_planned planned = {.seconds = 0.01, .parameters = 2};
static const struct spex_planned short_one = {.seconds = 1e-6};

static int setup(void **state) {
    (void)state;
    thread = calloc(1, sizeof(*thread));
    plan = calloc(1, sizeof(*plan));
    if (!thread || !plan || !(thread->samples = calloc(1, sizeof(*thread->samples))))
        return -1;
    spex_random_seed(&thread->random, 1, 0);
    ticks_now = UINT64_C(1) << 40;
    ticks_each = ticks_drawn = 0;
    plan->samples = 10;
    plan->ticks_per_second = SECOND;
    plan->shortest = SECOND / 10000;
    plan->number = 3;
    plan->stretch = 1;
    plan->nodes[CONTEXT] = &planned;
    plan->nodes[INNER] = &short_one;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    free(thread->samples);
    free(thread);
    free(plan);
    return 0;
}

static const uint64_t parameters[] = {70, 80};

static bool inner_is_recorded(void) {
    uint64_t begin = execution_begin(plan, thread, &site, INNER, parameters);
    assert_true(begin == 0 || begin == ticks_now);
    return begin;
}

static uint64_t outer_begins(void) {
    uint64_t begin = execution_begin(plan, thread, &site, CONTEXT, parameters);
    assert_true(begin == (ticks_now | FRAMED));
    return begin & ~FRAMED;
}

/* Records are an interval apart on average, and by chance: gaps are distributed exponentially, with
 * a standard deviation as large as the mean. Bounds of four standard errors. */
static void expect_gaps(uint64_t interval, uint64_t step) {
    enum { GAPS_SEEN = 4000 };
    double sum = 0, squares = 0;
    uint64_t last = 0;
    for (unsigned records = 0; records <= GAPS_SEEN;) {
        ticks_now += step;
        if (!inner_is_recorded())
            continue;
        double gap = (double)(ticks_now - last) / (double)interval;
        last = ticks_now;
        if (records++) {
            sum += gap;
            squares += gap * gap;
        }
    }
    double mean = sum / GAPS_SEEN;
    assert_true(fabs(mean - 1) < 4 / sqrt(GAPS_SEEN));
    assert_true(fabs(sqrt(squares / GAPS_SEEN - mean * mean) - 1) < 4 * sqrt(2.0 / GAPS_SEEN));
}

TEST_WITH(without_a_frame_records_are_so_many_a_second, setup, teardown) {
    expect_gaps(SECOND / 10, SECOND / 5000);
    plan->stretch = 3;
    expect_gaps(SECOND / 10 * 3, SECOND / 5000);
}

/* After a pause, however long, there are about as many records more as it has intervals, and no more
 * than one: in each of many bursts. */
TEST_WITH(a_pause_brings_no_burst_of_records, setup, teardown) {
    enum { PAUSES = 2000, EACH = 300 };
    unsigned records = 0;
    for (int pause = 0; pause < PAUSES; pause++, ticks_now += UINT64_C(1000) * SECOND)
        for (int e = 0; e < EACH; e++, ticks_now += SECOND / 1000000)
            records += inner_is_recorded();
    assert_true(records > PAUSES - 4 * sqrt(PAUSES) && records < PAUSES + 4 * sqrt(PAUSES));
}

enum { RUNS = 1000, INTERVALS = 100, EACH_INTERVAL = 40, TIMES_MOST = 100 };

/* The figures of one run by its records, as `spex sample` has them (sample_analysis.c), each with
 * its margin of 95 %. */
struct run {
    double mean, mean_margin, executions, executions_margin;
};

/* Executions back to back, whose times are given in turn. Each begins when the one before ends. */
static struct run run_made(const double *times, size_t count) {
    double all = 0, sums[3] = {0}, squares[3] = {0};
    size_t at = (size_t)(spex_random_next(&thread->random) % count);
    for (size_t t = 0; t < count; t++)
        all += times[t];
    plan->stretch = all / (double)count * EACH_INTERVAL / (SECOND / plan->samples);
    for (size_t e = 0; e < INTERVALS * EACH_INTERVAL; e++, at = (at + 1) % count) {
        if (inner_is_recorded()) {
            double weight = thread->samples->nodes[INNER].owed, powers = 1;
            thread->samples->nodes[INNER].owed = 0;
            for (int power = 0; power < 3; power++, powers *= times[at]) {
                sums[power] += weight * powers;
                squares[power] += weight * weight * powers;
            }
        }
        ticks_now += (uint64_t)times[at];
    }
    double mean = sums[1] / sums[0], effective = sums[0] * sums[0] / squares[0];
    double about = squares[2] - 2 * mean * squares[1] + mean * mean * squares[0];
    return (struct run){mean,
                        spex_student_two_sided(0.05, effective - 1) * sqrt(about) / sums[0] *
                            sqrt(effective / (effective - 1)),
                        sums[0], SPEX_NORMAL_95 * sqrt(squares[0] - sums[0])};
}

/* Means and counts of all runs are the true ones, and 95 of 100 margins hold them: an execution is
 * not likelier recorded because it follows a long one. Bounds of four standard errors. */
static void expect_truth(const double *times, size_t count, double truth) {
    double sum = 0, squares = 0, executions = 0, all = INTERVALS * EACH_INTERVAL;
    unsigned within = 0, counted = 0;
    for (int r = 0; r < RUNS; r++) {
        struct run run = run_made(times, count);
        within += fabs(run.mean - truth) <= run.mean_margin;
        counted += fabs(run.executions - all) <= run.executions_margin;
        executions += run.executions / RUNS;
        sum += run.mean / RUNS;
        squares += run.mean * run.mean / RUNS;
    }
    assert_true(fabs(sum - truth) < 4 * sqrt((squares - sum * sum) / RUNS));
    assert_true(fabs(executions - all) < 4 * all / sqrt(INTERVALS * RUNS));
    assert_in_range(within, 923, 977);
    assert_in_range(counted, 923, 977);
}

TEST_WITH(means_are_true_whatever_went_before, setup, teardown) {
    static const size_t counts[] = {2, 3, 10, TIMES_MOST};
    double times[TIMES_MOST];
    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        for (size_t t = 0; t < counts[c]; t++)
            times[t] = (double)(t + 1) / (double)counts[c] * 1e6;
        expect_truth(times, counts[c], (double)(counts[c] + 1) / 2 / (double)counts[c] * 1e6);
    }
}

/* What choosing takes is not in the execution's time. */
TEST_WITH(the_time_begins_after_the_choice, setup, teardown) {
    ticks_drawn = 500;
    for (int records = 0; records < 20; ticks_now += SECOND / 500)
        if (inner_is_recorded()) {
            assert_true(settled == ticks_now);
            records++;
        }
    ticks_each = 40;
    uint64_t begin = outer_begins();
    assert_true(settled == begin - 40);
    assert_true(thread->samples->frames[0].begin == begin);
}

TEST_WITH(within_a_frame_its_interval_counts, setup, teardown) {
    outer_begins();
    for (int i = 0; i < 100; i++) /* so that it is not rare */
        inner_is_recorded();
    expect_gaps(SECOND / 1000, SECOND / 100000);
    plan->stretch = 2;
    expect_gaps(SECOND / 500, SECOND / 100000);
}

/* In frames with many executions, records are at any place alike. */
TEST_WITH(records_of_a_frame_are_at_any_place, setup, teardown) {
    enum { FRAMES = 400, INTERVAL = SECOND / 1000, EACH = 160, STEP = INTERVAL / 100 };
    unsigned in_quarter[4] = {0};
    for (int f = 0; f <= FRAMES; f++) {
        ticks_now += SECOND;
        uint64_t begin = outer_begins();
        for (unsigned i = 0; i < EACH; i++, ticks_now += STEP)
            in_quarter[i * 4 / EACH] += inner_is_recorded() && f;
        frame_pop(thread->samples, begin);
        assert_int_equal(thread->samples->nodes[INNER].here, EACH);
    }
    double of = FRAMES * (double)EACH / 4 * STEP / INTERVAL;
    for (int q = 0; q < 4; q++)
        assert_true(fabs(in_quarter[q] - of) < 4 * sqrt(of));
}

/* Where a frame has few executions, each is recorded by chance: 10 in a frame. */
TEST_WITH(rare_executions_are_recorded_by_chance, setup, teardown) {
    enum { FRAMES = 600 };
    static const unsigned each[] = {1, 10, 14, 20};
    for (size_t e = 0; e < COUNT_OF(each); e++) {
        unsigned records = 0;
        for (int f = 0; f < FRAMES + 2; f++) {
            ticks_now += SECOND;
            uint64_t begin = outer_begins();
            for (unsigned i = 0; i < each[e]; i++)
                records += inner_is_recorded() && f > 1;
            frame_pop(thread->samples, begin);
        }
        double chance = fmin(10.0 / each[e], 1), all = (double)FRAMES * each[e];
        assert_true(fabs(records - chance * all) <= 5 * sqrt(all * chance * (1 - chance)));
    }
}

TEST_WITH(so_few_executions_are_rare, setup, teardown) {
    struct spex_samples_node node = {.frame = 1, .before = 20, .here = 20};
    assert_true(node_is_rare(plan, &node));
    node.here = 21;
    assert_false(node_is_rare(plan, &node));
    node = (struct spex_samples_node){.frame = 1, .before = 21, .here = 2};
    assert_false(node_is_rare(plan, &node));
    node = (struct spex_samples_node){.frame = 0, .before = 2, .here = 2};
    assert_false(node_is_rare(plan, &node));
    plan->samples = 0.01;
    node = (struct spex_samples_node){.frame = 1, .before = 1, .here = 1};
    assert_true(node_is_rare(plan, &node));
    node.here = 2;
    assert_false(node_is_rare(plan, &node));
}

TEST_WITH(a_frame_holds_what_is_looked_at, setup, teardown) {
    struct spex_samples_frame frame;
    assert_false(spex_samples_frame_read(thread, 0, &frame));
    int32_t calls = spex_kernel_sampler_calls();
    uint64_t begin = outer_begins();
    assert_int_equal(spex_kernel_sampler_calls(), calls + 1);
    assert_true(spex_samples_frame_read(thread, 0, &frame));
    assert_false(spex_samples_frame_read(thread, 1, &frame));
    assert_true(frame.begin == begin);
    assert_int_equal(frame.interval, SECOND / 1000);
    assert_int_equal(spex_frame_context(&frame), CONTEXT);
    assert_int_equal(spex_frame_site(&frame), 9);
    assert_memory_equal(frame.parameters, parameters, sizeof(parameters));
    assert_int_equal(thread->samples->frames[0].number, 1);
    thread->samples->frames[0].begin = 0;
    assert_false(spex_samples_frame_read(thread, 0, &frame));
    struct spex_thread without = {.samples = NULL};
    assert_false(spex_samples_frame_read(&without, 0, &frame));
}

/* The numbers of frames go round, without 0. */
TEST_WITH(frames_are_popped_with_those_above, setup, teardown) {
    struct spex_samples *samples = thread->samples;
    samples->last = UINT32_MAX - 1;
    for (unsigned f = 0; f < SPEX_SAMPLES_FRAMES; f++) {
        assert_ptr_equal(frame_top(samples), f ? &samples->frames[f - 1] : NULL);
        assert_true(frame_push(samples, &site, CONTEXT, 100 + f, 7, parameters));
        assert_int_equal(samples->frames[f].number, f ? f : UINT32_MAX);
    }
    assert_false(frame_push(samples, &site, CONTEXT, 99, 7, parameters));
    assert_int_equal(samples->depth, SPEX_SAMPLES_FRAMES);
    frame_pop(samples, 99);
    assert_int_equal(samples->depth, SPEX_SAMPLES_FRAMES);
    frame_pop(samples, 102);
    assert_int_equal(samples->depth, 2);
    frame_pop(samples, 100);
    assert_int_equal(samples->depth, 0);
}

/* Too short, with too few parameters, or within itself. */
TEST_WITH(some_executions_get_no_frame, setup, teardown) {
    struct spex_site less = site;
    less.detail = 1;
    assert_false(execution_gets_frame(plan, thread->samples, &site, INNER, 1, parameters));
    assert_false(execution_gets_frame(plan, thread->samples, &less, CONTEXT, 1, parameters));
    assert_false(execution_gets_frame(plan, thread->samples, &site, CONTEXT + 2, 1, parameters));
    assert_int_equal(thread->samples->depth, 0);
    assert_true(execution_gets_frame(plan, thread->samples, &site, CONTEXT, 1, parameters));
    assert_true(context_has_frame(thread->samples, CONTEXT));
    assert_false(context_has_frame(thread->samples, INNER));
    assert_false(execution_gets_frame(plan, thread->samples, &site, CONTEXT, 1, parameters));
    plan->nodes[INNER] = &planned;
    assert_true(execution_gets_frame(plan, thread->samples, &site, INNER, 1, parameters));
    assert_true(context_has_frame(thread->samples, CONTEXT));
    assert_false(execution_gets_frame(plan, thread->samples, &site, CONTEXT, 1, parameters));
    assert_int_equal(thread->samples->depth, 2);
}

/* What belongs to a former plan's frequencies begins anew; executions are counted on. */
TEST_WITH(another_plan_begins_anew, setup, teardown) {
    struct spex_samples_node *node = &thread->samples->nodes[INNER];
    *node = (struct spex_samples_node){.last = 6,
                                       .gap = 7,
                                       .frame = 8,
                                       .owed = 9,
                                       .executions = 10,
                                       .here = 11,
                                       .before = 12,
                                       .plan = 2};
    assert_ptr_equal(node_for_plan(plan, thread, INNER), node);
    assert_true(node->last == 0 && node->gap == 0);
    assert_int_equal(node->frame, 0);
    assert_int_equal(node->owed, 0);
    assert_int_equal(node->here, 0);
    assert_int_equal(node->plan, 3);
    assert_true(inner_is_recorded()); /* the first one is */
    assert_int_equal(node->executions, 11);
    assert_int_equal(node->owed, 1);
    node_for_plan(plan, thread, INNER);
    assert_int_equal(node->owed, 1);
    assert_true(node->last == ticks_now);
}

/* Contexts that are not known are asked for once. */
TEST_WITH(what_is_not_known_is_asked_for, setup, teardown) {
    int32_t calls = spex_kernel_sampler_calls();
    execution_begin(plan, thread, &site, 70, parameters);
    assert_int_equal(spex_kernel_sampler_calls(), calls + 1);
    assert_true(plan->asked[1] == UINT64_C(1) << 6);
    execution_begin(plan, thread, &site, 70, parameters);
    assert_int_equal(spex_kernel_sampler_calls(), calls + 1);
}

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* It sleeps 30 ms, but not where it was called meanwhile, or where the time is past. */
TEST_WITH(the_sampling_thread_rests_until_then, setup, teardown) {
    double begin = seconds_now();
    spex_kernel_sampler_rest(ticks_now + SECOND / 1000 * 30, SECOND, spex_kernel_sampler_calls());
    assert_true(seconds_now() - begin > 0.029);
    assert_int_equal(sampler_wake.wakes_at, AWAKE);
    int32_t seen = spex_kernel_sampler_calls();
    spex_kernel_sampler_needed(ticks_now);
    spex_kernel_sampler_rest(ticks_now + UINT64_C(900) * SECOND, SECOND / 1000.0, seen);
    spex_kernel_sampler_rest(ticks_now, SECOND / 1e9, seen + 1);
    spex_kernel_sampler_rest(ticks_now - 1, SECOND / 1e9, seen + 1);
    /* A call wakes it only if it would sleep longer. */
    sampler_wake.wakes_at = 1000;
    spex_kernel_sampler_needed(1000);
    assert_int_equal(sampler_wake.wakes_at, 1000);
    spex_kernel_sampler_needed(999);
    assert_int_equal(sampler_wake.wakes_at, AWAKE);
    assert_int_equal(spex_kernel_sampler_calls(), seen + 3);
}

/* Each execution looks at the clock once, and each run twice; the first execution once more. */
TEST_WITH(the_cost_of_an_execution_is_the_least, setup, teardown) {
    plan->nodes[0] = &short_one;
    ticks_each = 40;
    assert_true(fabs(spex_samples_execution_ticks(plan) - 40.04) < 1e-9);
    assert_int_equal(thread->samples->nodes[0].executions, 0);
    assert_true(ticks_now == (UINT64_C(1) << 40) + 40 * (5 * 1002 + 1));
}
