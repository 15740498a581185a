/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "kernels/kernel_sampler.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <spex/atomic.h>

#include "base/clock.h"
#include "base/service_thread.h"
#include "kernels/frames.h"
#include "kernels/kernels_here.h"
#include "kernels/sampling_budget.h"
#include "kernels/sampling_plan.h"
#include "probe/recording.h"
#include "probe/threads.h"
#include "site/registry.h"

/* With nothing to look at it is around so often, for the budget. */
#define AROUND_SECONDS 0.1

/* What the system may add to a sleep, so that it can put wake-ups together; 50 µs where nothing is
 * said. */
#define SLACK_NS 1000ul

/* Intervals that are left out, one after the other, when it comes late. */
#define CATCH_UP 64

/* When a frame of a thread's is to be looked at next. */
struct due {
    uint64_t begin; /* of the frame */
    uint64_t ticks;
};

static struct {
    pthread_t thread;
    bool running;
    bool stopping;
    struct spex_random random;
    struct spex_sites_polled polled;
    struct due *dues; /* SPEX_MAX_THREADS x SPEX_SAMPLES_FRAMES */
    struct spex_sampling_plan *plan;
    struct spex_sampling_plan *plans; /* all that there have been */
    struct spex_sampling_budget spending;
    bool alone;
    double budget;
} looker;

/* Evenly between `from` and one more of the mean, as the budget has it. */
static uint64_t random_interval(uint64_t interval, double from) {
    uint64_t mean = spex_sampling_plan_stretched(looker.plan, interval);
    double even = (double)(spex_random_next(&looker.random) >> 11) * 0x1p-53;
    return (uint64_t)((from + even) * (double)mean) + 1;
}

/* What has been switched off since it began is not looked at. */
static bool is_polled(uint32_t site) {
    spex_sites_polled(&looker.polled);
    for (uint32_t p = 0; p < looker.polled.count; p++)
        if (looker.polled.sites[p] == site)
            return true;
    return false;
}

/* As the kernel's END would. */
static void look(const struct spex_thread *thread, const struct spex_samples_frame *frame,
                 uint64_t now) {
    uint32_t site = spex_frame_site(frame), thread_id = spex_load_relaxed(&thread->thread_id);
    if (thread_id && is_polled(site))
        spex_put_kernel(&spex_rings, spex_pack(0, thread_id, site, 0), spex_frame_context(frame),
                        frame->begin, now, frame->parameters, spex_site_info(site)->detail);
}

/* When it is due next. */
static uint64_t visit(const struct spex_thread *thread, const struct spex_samples_frame *frame,
                      struct due *due) {
    uint64_t now = spex_ticks();
    if (due->begin != frame->begin) {
        due->begin = frame->begin;
        due->ticks = frame->begin + random_interval(frame->interval, 0);
    }
    if ((int64_t)(due->ticks - now) > 0)
        return due->ticks;
    look(thread, frame, now);
    looker.spending.looks++;
    for (int step = 0; step < CATCH_UP && (int64_t)(due->ticks - now) <= 0; step++)
        due->ticks += random_interval(frame->interval, 0.5);
    if ((int64_t)(due->ticks - now) <= 0) /* it has been stopped, and begins anew */
        due->ticks = now + random_interval(frame->interval, 0.5);
    return due->ticks;
}

/* Looks where it is time to; when it will be again. */
static uint64_t visit_all(uint64_t around) {
    uint64_t next = spex_ticks() + around;
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        struct spex_samples_frame frame;
        for (uint32_t at = 0; at < SPEX_SAMPLES_FRAMES; at++) {
            if (at >= spex_load_relaxed(&thread->samples.depth))
                break;
            if (!spex_samples_frame_read(thread, at, &frame))
                continue;
            uint64_t due = visit(thread, &frame, &looker.dues[t * SPEX_SAMPLES_FRAMES + at]);
            next = (int64_t)(due - next) < 0 ? due : next;
        }
    }
    return next;
}

static void *look_on(void *arg) {
    (void)arg;
    prctl(PR_SET_TIMERSLACK, SLACK_NS);
    double tick_rate = looker.plan->ticks_per_second;
    spex_sampling_budget_begin(&looker.spending, looker.budget, looker.alone);
    for (;;) {
        int32_t seen = spex_kernel_sampler_calls();
        if (spex_load_acquire(&looker.stopping)) /* Q13 (Q14) */
            break;
        spex_sampling_plan_answer(looker.plan, &spex_kernels_here);
        uint64_t next = visit_all((uint64_t)(AROUND_SECONDS * tick_rate));
        looker.spending.rounds++;
        spex_sampling_budget_pass(&looker.spending, looker.plan);
        spex_kernel_sampler_rest(next, tick_rate, seen);
    }
    spex_sampling_budget_end(&looker.spending);
    return NULL;
}

static int start_thread(struct spex_sampling_plan *plan, double budget, bool alone,
                        struct spex_error *why) {
    looker.dues = calloc(SPEX_MAX_THREADS * SPEX_SAMPLES_FRAMES, sizeof(*looker.dues));
    if (!looker.dues)
        return spex_fail(why, -ENOMEM, "out of memory");
    looker.plan = plan;
    looker.budget = budget;
    looker.alone = alone;
    looker.stopping = false;
    spex_random_seed(&looker.random, spex_ticks(), (uint64_t)getpid());
    int err = spex_service_thread_start(&looker.thread, "spex-looker", look_on, NULL);
    looker.running = !err;
    if (err) {
        free(looker.dues);
        looker.dues = NULL;
    }
    return err ? spex_fail(why, err, "the thread that looks at kernels cannot be started") : 0;
}

/* Threads may be reading what is now: it stays, behind what takes its place. */
int spex_kernel_sampler_start(const char *models, double samples, double budget, bool alone,
                              struct spex_error *why) {
    struct spex_sampling_plan *plan;
    double tick_rate = spex_tick_rate_since(spex_instant_now());
    int err = spex_sampling_plan_create(models, samples, tick_rate, &plan, why);
    if (err)
        return err;
    plan->execution_ticks = spex_samples_execution_ticks(plan);
    spex_kernel_sampler_stop();
    err = start_thread(plan, budget, alone, why);
    if (err) {
        spex_sampling_plan_destroy(plan);
        return err;
    }
    plan->former = looker.plans;
    looker.plans = plan;
    spex_samples_plan_set(plan);
    return 0;
}

int spex_kernel_sampler_check(const char *models, struct spex_error *why) {
    struct spex_sampling_plan *plan;
    int err = spex_sampling_plan_create(models, SPEX_SAMPLES_DEFAULT, 1, &plan, why);
    if (!err)
        spex_sampling_plan_destroy(plan);
    return err;
}

void spex_kernel_sampler_stop(void) {
    spex_samples_plan_set(NULL);
    if (!looker.running)
        return;
    spex_store_release(&looker.stopping, true); /* Q14 (Q13) */
    spex_kernel_sampler_needed(0);
    pthread_join(looker.thread, NULL);
    looker.running = false;
    free(looker.dues);
    looker.dues = NULL;
}

void spex_kernel_sampler_fork_child(void) {
    spex_samples_plan_set(NULL);
    looker.running = false;
    free(looker.dues);
    looker.dues = NULL;
}
