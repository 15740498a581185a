/* SPDX-License-Identifier: MIT */
/* The sampling thread. Each round it answers the plan's open questions (sampling_plan.h), visits
 * the frames of all threads and makes the records that are due, keeps to its budget
 * (sampling_budget.h), and sleeps until the next frame is due or a thread has a new one (frames.h).
 * All of `kernel_sampler` belongs to this thread while it runs; `stopping` alone is set by
 * another. */
#define _GNU_SOURCE
#include "kernels/kernel_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <spex/atomic.h>
#include <spex/detail/compiled.h>

#include "base/clock.h"
#include "base/memory/memory.h"
#include "base/service_thread.h"
#include "kernels/frames.h"
#include "kernels/kernels_here.h"
#include "kernels/sampling_budget.h"
#include "kernels/sampling_plan.h"
#include "probe/recording.h"
#include "probe/threads.h"
#include "site/registry.h"

/* Longest time between two rounds, in seconds: the budget needs figures also when no frame is
 * due. */
#define ROUND_SECONDS 0.1

/* Timer slack, prctl(2): how much later than asked for the system may wake the thread. The default
 * of 50 µs is half the shortest interval. */
#define SLACK_NS 1000ul

/* Most intervals that one visit skips when the thread comes late. */
#define CATCH_UP 64

/* When a frame is to be sampled next. */
struct frame_due {
    /* Begin of the frame that `ticks` was set for: the place may hold another frame since. */
    uint64_t begin;
    uint64_t ticks;
};

/* As in probes.c: programs refer to it weakly. */
__attribute__((used)) static uint32_t (*const weakly_referred)(
    struct spex_site *site, struct spex_compiled *frame) = spex_compiled_begin;

static struct {
    pthread_t thread;
    bool running;
    bool stopping;
    struct spex_random random;
    struct spex_sites_polled polled;
    /* SPEX_MAX_THREADS x SPEX_SAMPLES_FRAMES, by thread and the frame's number. */
    struct frame_due *dues;
    struct spex_sampling_plan *plan;
    /* All plans since the start: threads may still use a former plan, so none is freed. */
    struct spex_sampling_plan *plans;
    struct spex_sampling_budget budget;
    bool alone;
    double share;
} kernel_sampler;

/* Ticks to the next sample: random, evenly distributed between `from` and `from` + 1 times the mean
 * interval under the budget. Randomness keeps samples from falling into step with the program. */
static uint64_t next_interval(uint64_t interval, double from) {
    uint64_t mean = spex_sampling_plan_stretched(kernel_sampler.plan, interval);
    double even = (double)(spex_random_next(&kernel_sampler.random) >> 11) * 0x1p-53;
    return (uint64_t)((from + even) * (double)mean) + 1;
}

/* Whether the probe is still polled: its user may have switched it off since the frame was
 * pushed. */
static bool site_is_polled(uint32_t site) {
    spex_sites_polled(&kernel_sampler.polled);
    for (uint32_t p = 0; p < kernel_sampler.polled.count; p++)
        if (kernel_sampler.polled.sites[p] == site)
            return true;
    return false;
}

/* Makes the record that the kernel's END would make now, with weight 0: samples do not count as
 * executions. */
static void kernel_sample(const struct spex_thread *thread, const struct spex_samples_frame *frame,
                          uint64_t now) {
    uint32_t site = spex_frame_site(frame), number = spex_load_relaxed(&thread->number);
    if (spex_load_relaxed(&thread->thread_id) && site_is_polled(site))
        spex_put_kernel(&spex_rings, spex_pack(0, number, site, 0), spex_frame_context(frame),
                        frame->begin, now, frame->parameters, spex_site_info(site)->detail);
}

/* Samples the frame if it is due. Returns when it is due next. */
static uint64_t frame_visit(const struct spex_thread *thread,
                            const struct spex_samples_frame *frame, struct frame_due *due) {
    uint64_t now = spex_ticks();
    if (due->begin != frame->begin) {
        due->begin = frame->begin;
        due->ticks = frame->begin + next_interval(frame->interval, 0);
    }
    if ((int64_t)(due->ticks - now) > 0)
        return due->ticks;
    kernel_sample(thread, frame, now);
    kernel_sampler.budget.samples++;
    for (int step = 0; step < CATCH_UP && (int64_t)(due->ticks - now) <= 0; step++)
        due->ticks += next_interval(frame->interval, 0.5);
    /* The thread did not run for more than CATCH_UP intervals, for example while the process was
     * stopped: it begins anew. */
    if ((int64_t)(due->ticks - now) <= 0)
        due->ticks = now + next_interval(frame->interval, 0.5);
    return due->ticks;
}

/* Visits the frames of all threads. Returns when the next is due; at most `most` ticks from now. */
static uint64_t frames_visit_all(uint64_t most) {
    uint64_t next = spex_ticks() + most;
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        struct spex_samples_frame frame;
        const struct spex_samples *samples = spex_thread_samples(thread);
        for (uint32_t at = 0; samples && at < SPEX_SAMPLES_FRAMES; at++) {
            if (at >= spex_load_relaxed(&samples->depth))
                break;
            if (!spex_samples_frame_read(thread, at, &frame))
                continue;
            uint64_t due =
                frame_visit(thread, &frame, &kernel_sampler.dues[t * SPEX_SAMPLES_FRAMES + at]);
            next = (int64_t)(due - next) < 0 ? due : next;
        }
    }
    return next;
}

static void *kernel_sampler_run(void *arg) {
    (void)arg;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    double tick_rate = kernel_sampler.plan->ticks_per_second;
    spex_sampling_budget_begin(&kernel_sampler.budget, kernel_sampler.share, kernel_sampler.alone);
    for (;;) {
        int32_t seen = spex_kernel_sampler_calls();
        if (spex_load_acquire(&kernel_sampler.stopping)) /* Q13 (Q14) */
            break;
        spex_sampling_plan_answer(kernel_sampler.plan, &spex_kernels_here);
        uint64_t next = frames_visit_all((uint64_t)(ROUND_SECONDS * tick_rate));
        kernel_sampler.budget.rounds++;
        spex_sampling_budget_pass(&kernel_sampler.budget, kernel_sampler.plan);
        spex_kernel_sampler_rest(next, tick_rate, seen);
    }
    spex_sampling_budget_end(&kernel_sampler.budget);
    return NULL;
}

/* Starts the sampling thread with a plan. 0, -ENOMEM or the error of pthread_create, with
 * `error`. */
static int kernel_sampler_start(struct spex_sampling_plan *plan, double budget, bool alone,
                                struct spex_error *error) {
    kernel_sampler.dues =
        spex_calloc(SPEX_MAX_THREADS * SPEX_SAMPLES_FRAMES, sizeof(*kernel_sampler.dues));
    if (!kernel_sampler.dues)
        return spex_fail(error, -ENOMEM, "out of memory");
    kernel_sampler.plan = plan;
    kernel_sampler.share = budget;
    kernel_sampler.alone = alone;
    kernel_sampler.stopping = false;
    spex_random_seed(&kernel_sampler.random, spex_ticks(), (uint64_t)getpid());
    int err = spex_service_thread_start(&kernel_sampler.thread, "spex-looker", SPEX_SERVICE_STACK,
                                        kernel_sampler_run, NULL);
    kernel_sampler.running = !err;
    if (err) {
        spex_free(kernel_sampler.dues);
        kernel_sampler.dues = NULL;
    }
    return err ? spex_fail(error, err, "the thread that looks at kernels cannot be started") : 0;
}

/* The new plan is set last, so that threads push frames only when the sampling thread runs. Between
 * the two plans kernels are not sampled. */
int spex_kernel_sampler_start(const char *models, double samples, double budget, bool alone,
                              struct spex_error *error) {
    struct spex_sampling_plan *plan;
    double tick_rate = spex_tick_rate_since(spex_instant_now());
    int err = spex_sampling_plan_create(models, samples, tick_rate, &plan, error);
    if (err)
        return err;
    plan->execution_ticks = spex_samples_execution_ticks(plan);
    spex_kernel_sampler_stop();
    err = kernel_sampler_start(plan, budget, alone, error);
    if (err) {
        spex_sampling_plan_destroy(plan);
        return err;
    }
    spex_threads_provide_samples();
    plan->former = kernel_sampler.plans;
    kernel_sampler.plans = plan;
    spex_samples_plan_set(plan);
    return 0;
}

int spex_kernel_sampler_check(const char *models, struct spex_error *error) {
    struct spex_sampling_plan *plan;
    int err = spex_sampling_plan_create(models, SPEX_SAMPLES_DEFAULT, 1, &plan, error);
    if (!err)
        spex_sampling_plan_destroy(plan);
    return err;
}

void spex_kernel_sampler_stop(void) {
    spex_samples_plan_set(NULL);
    if (!kernel_sampler.running)
        return;
    spex_store_release(&kernel_sampler.stopping, true); /* Q14 (Q13) */
    spex_kernel_sampler_needed(0);
    pthread_join(kernel_sampler.thread, NULL);
    kernel_sampler.running = false;
    spex_free(kernel_sampler.dues);
    kernel_sampler.dues = NULL;
}

void spex_kernel_sampler_fork_child(void) {
    spex_samples_plan_set(NULL);
    kernel_sampler.running = false;
    spex_free(kernel_sampler.dues);
    kernel_sampler.dues = NULL;
}
