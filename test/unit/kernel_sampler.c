/* SPDX-License-Identifier: MIT */
/* When the sampling thread looks at frames, and what it records: in a process whose clock, threads
 * and chance are made here, so that each sample has its known tick. The thread is called and not
 * started. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "../scarce_memory.h"
#include "base/clock.h"
#include "base/service_thread.h"
#include "kernels/frames.h"
#include "kernels/kernel_sampler.h"
#include "kernels/kernels_here.h"
#include "kernels/sampling_budget.h"
#include "kernels/sampling_plan.h"
#include "probe/recording.h"
#include "probe/threads.h"
#include "site/registry.h"

enum { THREADS = 5, RECORDS = 4096, RATE = 1000000, MOST = RATE / 10, BEGIN = 5000000, SITES = 40 };
enum { FIRST_SITE = 10, MEAN = 100, STEP = MEAN + 1 };

struct record {
    uint64_t header, begin, now, parameter;
    uint32_t context;
    unsigned count;
};

static struct {
    uint64_t now, until;
    unsigned threads;
    struct spex_thread *states[THREADS];
    struct record records[RECORDS];
    size_t count;
    /* Chance, 0 to 1, in turn. */
    double evens[4];
    unsigned even;
    /* By round: how much later than asked for the thread comes back. */
    uint64_t late[16];
    unsigned rests;
    uint64_t asked_for;
    double stretch;
    uint16_t not_polled;
    unsigned answers, passes, begun, ended, joins, wakes;
    int start_error, plan_error;
    unsigned plans, plans_destroyed;
    struct spex_sampling_plan *set;
    void *(*run)(void *);
    void (*in_between)(void);
} made;

static uint64_t made_ticks(void) {
    return made.now;
}

static uint32_t made_used(void) {
    return made.threads;
}

static const struct spex_thread *made_state(uint32_t index) {
    return made.states[index];
}

static void made_record(const struct spex_rings *rings, uint64_t header, uint32_t context,
                        uint64_t begin, uint64_t now, const uint64_t *parameters, unsigned count) {
    assert_true(rings == &spex_rings && made.count < RECORDS);
    made.records[made.count++] = (struct record){.header = header,
                                                 .begin = begin,
                                                 .now = now,
                                                 .parameter = parameters[0],
                                                 .context = context,
                                                 .count = count};
}

static void made_polled(struct spex_sites_polled *polled) {
    polled->count = 0;
    for (uint16_t s = 0; s < SITES; s++)
        if (s != made.not_polled)
            polled->sites[polled->count++] = s;
}

static const struct spex_site_info *made_info(uint32_t site) {
    static struct spex_site_info info;
    info.detail = (uint8_t)(site % 4);
    return &info;
}

static uint64_t made_random(struct spex_random *random) {
    assert_true(random->state[0] || random->state[1]);
    return (uint64_t)(made.evens[made.even++ % COUNT_OF(made.evens)] * 0x1p53) << 11 | 0x7ff;
}

static uint64_t made_stretched(const struct spex_sampling_plan *plan, uint64_t interval) {
    assert_true(plan == made.set);
    return (uint64_t)((double)interval * made.stretch);
}

static int made_plan(const char *path, double samples, double rate,
                     struct spex_sampling_plan **plan, struct spex_error *error) {
    (void)path;
    *plan = NULL;
    if (made.plan_error)
        return spex_fail(error, made.plan_error, "no models");
    *plan = calloc(1, sizeof(**plan));
    (*plan)->samples = samples;
    (*plan)->ticks_per_second = rate;
    made.plans++;
    return 0;
}

static void made_destroy(struct spex_sampling_plan *plan) {
    made.plans_destroyed++;
    free(plan);
}

static void made_answer(struct spex_sampling_plan *plan, const struct spex_kernels_known *known) {
    assert_true(plan == made.set && known == &spex_kernels_here);
    made.answers++;
}

static void made_begin(struct spex_sampling_budget *budget, double share, bool alone) {
    assert_true(share == 0.25 && alone);
    *budget = (struct spex_sampling_budget){.share = share};
    made.begun++;
}

static void made_pass(struct spex_sampling_budget *budget, struct spex_sampling_plan *plan) {
    assert_true(plan == made.set && budget->share == 0.25);
    made.passes++;
}

static void made_end(struct spex_sampling_budget *budget) {
    assert_true(budget->share == 0.25);
    made.ended++;
}

static int32_t made_calls(void) {
    return (int32_t)(100 + made.rests);
}

static void made_rest_end(void);

/* Comes back when it was asked to, or later. */
static void made_rest(uint64_t until, double rate, int32_t seen) {
    assert_true(rate == RATE && seen == (int32_t)(100 + made.rests));
    assert_true(until > made.now && until <= made.now + MOST);
    made.asked_for = until;
    made.now = until + (made.rests < COUNT_OF(made.late) ? made.late[made.rests] : 0);
    made.rests++;
    if (made.in_between)
        made.in_between();
    if (made.now > made.until)
        made_rest_end();
}

static void made_set(struct spex_sampling_plan *plan) {
    made.set = plan;
}

static double made_execution(struct spex_sampling_plan *plan) {
    assert_null(made.set == plan ? plan : NULL);
    return 17;
}

static void made_needed(uint64_t ticks) {
    assert_int_equal(ticks, 0);
    made.wakes++;
}

static double made_rate(struct spex_instant since) {
    (void)since;
    return RATE;
}

static int made_start(pthread_t *thread, const char *name, size_t stack, void *(*run)(void *),
                      void *user) {
    (void)thread;
    (void)user;
    assert_string_equal(name, "spex-looker");
    assert_int_equal(stack, SPEX_SERVICE_STACK);
    made.run = made.start_error ? NULL : run;
    return made.start_error;
}

static int made_join(void) {
    assert_true(made.wakes > made.joins);
    made.joins++;
    return 0;
}

#define spex_ticks                   made_ticks
#define spex_threads_used            made_used
#define spex_threads_state           made_state
#define spex_put_kernel              made_record
#define spex_sites_polled(polled)    made_polled(polled)
#define spex_site_info(site)         made_info(site)
#define spex_random_next             made_random
#define spex_sampling_plan_stretched made_stretched
#define spex_sampling_plan_create    made_plan
#define spex_sampling_plan_destroy   made_destroy
#define spex_sampling_plan_answer    made_answer
#define spex_sampling_budget_begin   made_begin
#define spex_sampling_budget_pass    made_pass
#define spex_sampling_budget_end     made_end
#define spex_kernel_sampler_calls    made_calls
#define spex_kernel_sampler_rest     made_rest
#define spex_kernel_sampler_needed   made_needed
#define spex_samples_plan_set        made_set
#define spex_samples_execution_ticks made_execution
#define spex_tick_rate_since         made_rate
#define spex_service_thread_start    made_start
#define pthread_join(thread, result) made_join()
#define prctl(...)                   ((void)0)
#include "kernels/kernel_sampler.c"
#undef spex_ticks

static void made_rest_end(void) {
    kernel_sampler.stopping = true;
}

/* --- What is looked at */

static struct spex_samples_frame *frame(unsigned thread, unsigned at) {
    return &made.states[thread]->samples->frames[at];
}

/* Frame `at` of a thread, which began before now, of the site FIRST_SITE + 4 * thread + at. */
static void frame_make(unsigned thread, unsigned at, uint64_t before, uint64_t interval) {
    struct spex_samples *samples = made.states[thread]->samples;
    if (samples->depth <= at)
        samples->depth = at + 1;
    *frame(thread, at) = (struct spex_samples_frame){.begin = BEGIN - before,
                                                     .interval = interval,
                                                     .place = (uint64_t)(70 + at) << 32 |
                                                              (FIRST_SITE + 4 * thread + at),
                                                     .parameters = {1000 + thread},
                                                     .number = 1};
}

static void process_make(unsigned threads, uint64_t ticks) {
    memset(&made, 0, sizeof(made));
    made.now = BEGIN;
    made.until = BEGIN + ticks;
    made.threads = threads;
    made.stretch = 1;
    for (unsigned e = 0; e < COUNT_OF(made.evens); e++)
        made.evens[e] = 0.5;
    for (unsigned t = 0; t < threads; t++) {
        made.states[t] = calloc(1, sizeof(*made.states[t]));
        made.states[t]->samples = calloc(1, sizeof(struct spex_samples));
        made.states[t]->thread_id = made.states[t]->number = 500 + t;
    }
}

static void process_end(void) {
    spex_kernel_sampler_stop();
    for (unsigned t = 0; t < made.threads; t++) {
        free(made.states[t]->samples);
        free(made.states[t]);
    }
    for (struct spex_sampling_plan *plan = kernel_sampler.plans; plan;) {
        struct spex_sampling_plan *former = plan->former;
        free(plan);
        plan = former;
    }
    kernel_sampler.plans = NULL;
}

static void sample(void) {
    struct spex_error error;
    assert_int_equal(spex_kernel_sampler_start("models", 10, 0.25, true, &error), 0);
    made.run(NULL);
    assert_int_equal(made.begun, 1);
    assert_int_equal(made.ended, 1);
    assert_int_equal(made.answers, made.rests);
    assert_int_equal(made.passes, made.rests);
    assert_int_equal(kernel_sampler.budget.rounds, made.rests);
}

/* The records of a frame, in the order of their ticks; returns their number. */
static size_t records_of(unsigned thread, unsigned at, struct record *records) {
    size_t count = 0;
    for (size_t r = 0; r < made.count; r++) {
        const struct record *record = &made.records[r];
        uint32_t site = FIRST_SITE + 4 * thread + at;
        if (record->header != spex_pack(0, 500 + thread, site, 0))
            continue;
        assert_int_equal(record->context, 70 + at);
        assert_int_equal(record->parameter, 1000 + thread);
        assert_int_equal(record->count, site % 4);
        records[count++] = *record;
    }
    return count;
}

/* Records of a frame that began so long before, in steps from a half of the mean on. */
static void expect_steps(unsigned thread, unsigned at, uint64_t before, uint64_t mean) {
    static struct record records[RECORDS];
    size_t count = records_of(thread, at, records), expected = 0;
    for (uint64_t due = BEGIN - before + mean / 2 + 1; due <= made.until; due += mean + 1) {
        assert_true(expected < count);
        assert_true(records[expected].now == due && records[expected].begin == BEGIN - before);
        expected++;
    }
    assert_int_equal(count, expected);
}

static size_t held_before;

static int note_held(void **state) {
    (void)state;
    held_before = scarce_held.count;
    return 0;
}

static int nothing_is_held(void **state) {
    (void)state;
    assert_int_equal(scarce_held.count, held_before);
    return 0;
}

/* One thread has no state of samples, one no id, one a frame that it is changing, and one a kernel
 * that is polled no more. */
TEST_WITH(each_frame_is_looked_at_when_it_is_due, note_held, nothing_is_held) {
    static struct record none[RECORDS];
    process_make(THREADS, 10000);
    free(made.states[0]->samples);
    made.states[0]->samples = NULL;
    frame_make(1, 0, 40, 100);
    frame_make(1, 1, 10, 234);
    frame_make(1, 2, 1, 2);
    frame_make(2, 0, 30, 1000);
    made.states[2]->thread_id = 0;
    frame_make(3, 0, 20, 50);
    frame(3, 0)->begin = 0;
    frame_make(3, 1, 20, 310);
    frame_make(4, 0, 7, 500);
    frame_make(4, 1, 7, 70);
    made.states[4]->samples->depth = 1;
    made.not_polled = FIRST_SITE + 16;
    made.stretch = 2;
    sample();
    expect_steps(1, 0, 40, 200);
    expect_steps(1, 1, 10, 468);
    expect_steps(1, 2, 1, 4);
    expect_steps(3, 1, 20, 620);
    assert_int_equal(records_of(4, 0, none), 0);
    assert_int_equal(made.count, records_of(1, 0, none) + records_of(1, 1, none) +
                                     records_of(1, 2, none) + records_of(3, 1, none));
    /* Those of which there is no record were looked at, too: 5 of 2000 and 10 of 1000 ticks. */
    assert_int_equal(kernel_sampler.budget.samples, made.count + 5 + 10);
    process_end();
}

TEST_WITH(frames_of_one_thread_are_due_by_themselves, note_held, nothing_is_held) {
    process_make(1, 5000);
    frame_make(0, 0, 0, 100);
    frame_make(0, 1, 0, 70);
    frame_make(0, 2, 0, 33);
    sample();
    expect_steps(0, 0, 0, 100);
    expect_steps(0, 1, 0, 70);
    expect_steps(0, 2, 0, 33);
    process_end();
}

TEST_WITH(without_frames_it_comes_back_for_the_budget, note_held, nothing_is_held) {
    process_make(1, 10 * MOST - 1);
    sample();
    assert_int_equal(made.rests, 10);
    assert_true(made.now == BEGIN + 10 * MOST);
    assert_int_equal(made.count, 0);
    process_end();
}

TEST_WITH(intervals_are_at_random_around_their_mean, note_held, nothing_is_held) {
    static const double evens[] = {0, 0.25, 0.999, 0.5};
    process_make(1, 100 * MEAN);
    frame_make(0, 0, 0, MEAN);
    memcpy(made.evens, evens, sizeof(evens));
    sample();
    uint64_t due = BEGIN + 1;
    assert_true(made.count > 80);
    for (size_t r = 0; r < made.count; r++) {
        assert_true(made.records[r].now == due);
        due += (uint64_t)((0.5 + evens[(r + 1) % COUNT_OF(evens)]) * MEAN) + 1;
    }
    process_end();
}

/* What has been missed is left out; what was missed for very long begins anew. */
TEST_WITH(who_comes_late_skips_intervals, note_held, nothing_is_held) {
    enum { CATCHES_UP = 64 };
    static const uint64_t late[16] = {0,
                                      350,
                                      STEP,
                                      STEP - 1,
                                      STEP + 1,
                                      CATCHES_UP * STEP - 1,
                                      CATCHES_UP * STEP,
                                      CATCHES_UP * STEP + 1,
                                      (CATCHES_UP - 1) * STEP,
                                      1000 * STEP};
    process_make(1, 3000 * STEP);
    frame_make(0, 0, 0, MEAN);
    memcpy(made.late, late, sizeof(late));
    sample();
    assert_true(made.count > 1000);
    uint64_t due = BEGIN + MEAN / 2 + 1;
    for (size_t r = 0; r < made.count; r++) {
        uint64_t now = made.records[r].now, lateness = r < COUNT_OF(late) ? late[r] : 0;
        assert_true(now == due + lateness);
        uint64_t steps = lateness / STEP + 1;
        due = steps <= CATCHES_UP ? due + steps * STEP : now + STEP;
    }
    process_end();
}

static void executes_again(void) {
    if (made.rests == 20)
        frame(0, 0)->begin = made.now - 3;
}

TEST_WITH(another_execution_begins_anew, note_held, nothing_is_held) {
    process_make(1, 40 * STEP);
    frame_make(0, 0, 0, MEAN);
    made.in_between = executes_again;
    sample();
    uint64_t due = BEGIN + MEAN / 2 + 1;
    for (size_t r = 0; r < made.count; r++) {
        if (r == 19)
            due = due - 3 + MEAN / 2 + 1;
        assert_true(made.records[r].now == due);
        due += STEP;
    }
    assert_in_range(made.count, 38, 41);
    process_end();
}

/* --- Its start and its end */

TEST_WITH(it_ends_once_and_plans_stay, note_held, nothing_is_held) {
    struct spex_error error;
    process_make(0, 0);
    assert_int_equal(spex_kernel_sampler_start("models", 10, 0.25, true, &error), 0);
    struct spex_sampling_plan *first = made.set;
    assert_true(first->samples == 10 && first->ticks_per_second == RATE);
    assert_true(first->execution_ticks == 17);
    assert_int_equal(spex_kernel_sampler_start("models", 20, 0.25, true, &error), 0);
    assert_int_equal(made.joins, 1);
    assert_true(made.set->former == first && made.set->samples == 20);
    assert_null(first->former);
    assert_false(kernel_sampler.stopping);
    spex_kernel_sampler_stop();
    spex_kernel_sampler_stop();
    assert_null(made.set);
    assert_int_equal(made.joins, 2);
    assert_int_equal(made.wakes, 2);
    assert_int_equal(spex_kernel_sampler_start("models", 30, 0.25, true, &error), 0);
    spex_kernel_sampler_fork_child();
    assert_null(made.set);
    spex_kernel_sampler_stop();
    assert_int_equal(made.joins, 2);
    process_end();
}

static int attempt(void *user) {
    struct spex_error error;
    (void)user;
    int err = kernel_sampler_start(NULL, 0, false, &error);
    if (err)
        assert_string_equal(error.text, "out of memory");
    spex_kernel_sampler_stop();
    return err;
}

TEST_WITH(what_cannot_be_started_leaves_nothing, note_held, nothing_is_held) {
    struct spex_error error;
    process_make(0, 0);
    made.plan_error = -ENOENT;
    assert_int_equal(spex_kernel_sampler_start("models", 10, 0.25, true, &error), -ENOENT);
    assert_int_equal(spex_kernel_sampler_check("models", &error), -ENOENT);
    made.plan_error = 0;
    assert_int_equal(spex_kernel_sampler_check("models", &error), 0);
    assert_int_equal(made.plans_destroyed, 1);
    made.start_error = -EAGAIN;
    size_t held = scarce_held.count;
    assert_int_equal(spex_kernel_sampler_start("models", 10, 0.25, true, &error), -EAGAIN);
    assert_string_equal(error.text, "the thread that looks at kernels cannot be started");
    assert_int_equal(made.plans_destroyed, made.plans);
    assert_int_equal(scarce_held.count, held);
    assert_null(made.set);
    made.start_error = 0;
    assert_int_equal(without_each_allocation(attempt, NULL), 1);
    assert_int_equal(made.joins, 1);
    process_end();
}
