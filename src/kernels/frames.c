/* SPDX-License-Identifier: MIT */
/* The thread's half: what BEGIN and END of a probed kernel do. A frame is taken before it is filled
 * in, and given back last, so that handlers have theirs on top. */
#include "kernels/frames.h"

#include <stdlib.h>
#include <time.h>

#include <urcu/futex.h>

#include <spex/atomic.h>

#include "kernels/sampling_plan.h"
#include "probe/contexts.h"
#include "probe/recording.h"
#include "probe/threads.h"

/* As in calibration.c. */
enum { EXECUTIONS = 1000, EXECUTION_RUNS = 5 };

/* In what spex_kernel_published returns: there is a frame. Ticks do not come that far. */
#define FRAMED (UINT64_C(1) << 63)

/* `wakes_at` while the sampling thread is awake. */
#define AWAKE 0

static struct {
    /* Futex: counts the calls of spex_kernel_sampler_needed. */
    int32_t calls;
    /* Ticks when the sampling thread wakes by itself; AWAKE. */
    uint64_t wakes_at;
} looker_wake;

struct spex_sampling_plan *spex_samples_plan;

void spex_samples_plan_set(struct spex_sampling_plan *plan) {
    spex_store_release(&spex_samples_plan, plan); /* Q5 (Q6): what it holds */
}

void spex_kernel_sampler_needed(uint64_t ticks) {
    __atomic_fetch_add(&looker_wake.calls, 1, __ATOMIC_SEQ_CST);
    uint64_t wakes_at = __atomic_load_n(&looker_wake.wakes_at, __ATOMIC_SEQ_CST);
    if (wakes_at != AWAKE && (int64_t)(wakes_at - ticks) > 0) {
        spex_store_relaxed(&looker_wake.wakes_at, AWAKE); /* one call will do */
        futex_async(&looker_wake.calls, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

int32_t spex_kernel_sampler_calls(void) {
    return __atomic_load_n(&looker_wake.calls, __ATOMIC_SEQ_CST);
}

/* Sequentially consistent: a thread that needs the sampling thread sooner has called before `seen`
 * is compared, or sees `wakes_at`. */
void spex_kernel_sampler_rest(uint64_t until, double ticks_per_second, int32_t seen) {
    int64_t ticks = (int64_t)(until - spex_ticks());
    struct timespec limit = {.tv_nsec = (long)((double)ticks / ticks_per_second * 1e9)};
    if (ticks <= 0)
        return;
    __atomic_store_n(&looker_wake.wakes_at, until, __ATOMIC_SEQ_CST);
    futex_async(&looker_wake.calls, FUTEX_WAIT, seen, &limit, NULL, 0);
    spex_store_relaxed(&looker_wake.wakes_at, AWAKE);
}

static uint32_t coarse(const struct spex_sampling_plan *plan, uint64_t ticks) {
    return (uint32_t)(ticks >> plan->coarse_shift);
}

/* From 0 up to `below`. */
static uint64_t random_below(struct spex_thread *thread, uint64_t below) {
    uint64_t bits = spex_random_next(&thread->random) >> 32;
    return (uint64_t)((__uint128_t)bits * below >> 32);
}

static const struct spex_samples_frame *top_of(const struct spex_samples *samples) {
    uint32_t depth = spex_load_relaxed(&samples->depth);
    return depth ? &samples->frames[depth - 1] : NULL;
}

/* False: there are too many. */
static bool frame_push(struct spex_samples *samples, const struct spex_site *site, uint32_t context,
                       uint64_t begin, uint64_t interval, const uint64_t *parameters) {
    uint32_t depth = spex_load_relaxed(&samples->depth);
    if (depth == SPEX_SAMPLES_FRAMES)
        return false;
    struct spex_samples_frame *frame = &samples->frames[depth];
    spex_store_relaxed(&frame->begin, 0);
    spex_store_release(&samples->depth, depth + 1); /* Q7 (Q8): the 0 */
    spex_store_release(&frame->interval, interval); /* Q9 (Q10): the 0 */
    uint64_t place = (uint64_t)context << 32 | site->index;
    spex_store_release(&frame->place, place); /* Q9 (Q10) */
    for (unsigned p = 0; p < site->detail; p++)
        spex_store_release(&frame->parameters[p], parameters[p]); /* Q9 (Q10) */
    spex_store_relaxed(&samples->last, samples->last + 1 ? samples->last + 1 : 1);
    spex_store_relaxed(&frame->number, samples->last);
    spex_store_release(&frame->begin, begin); /* Q11 (Q12): all of it */
    return true;
}

/* With those above, which were left without an END. */
static void frame_pop(struct spex_samples *samples, uint64_t begin) {
    for (uint32_t at = spex_load_relaxed(&samples->depth); at > 0; at--)
        if (samples->frames[at - 1].begin == begin) {
            spex_store_relaxed(&samples->depth, at - 1);
            return;
        }
}

bool spex_samples_frame_read(const struct spex_thread *thread, uint32_t at,
                             struct spex_samples_frame *frame) {
    const struct spex_samples *samples = &thread->samples;
    const struct spex_samples_frame *from = &samples->frames[at];
    if (at >= spex_load_acquire(&samples->depth)) /* Q8 (Q7) */
        return false;
    frame->begin = spex_load_acquire(&from->begin);       /* Q12 (Q11) */
    frame->interval = spex_load_acquire(&from->interval); /* Q10 (Q9): or begin is 0 below */
    frame->place = spex_load_acquire(&from->place);       /* Q10 (Q9) */
    for (unsigned p = 0; p < SPEX_KERNEL_PARAMETERS; p++)
        frame->parameters[p] = spex_load_acquire(&from->parameters[p]); /* Q10 (Q9) */
    return frame->begin && frame->begin == spex_load_relaxed(&from->begin);
}

/* In a new frame the first record falls anywhere in the first interval. */
static void enter_frame(const struct spex_sampling_plan *plan, struct spex_thread *thread,
                        struct spex_samples_node *node, const struct spex_samples_frame *around,
                        uint64_t now, uint64_t interval) {
    uint64_t due = around ? around->begin + random_below(thread, interval) : now;
    spex_store_relaxed(&node->frame, around ? around->number : 0);
    spex_store_relaxed(&node->due, coarse(plan, due));
    spex_store_relaxed(&node->before, node->here);
    spex_store_relaxed(&node->here, 0);
}

/* What is executed hardly more often in a frame than samples are asked for may be executed when it
 * begins, or ends, and not in between: chance takes as many as are asked for of as many as there
 * were in the frame before. */
static bool is_rare(const struct spex_sampling_plan *plan, const struct spex_samples_node *node) {
    double some = 2 * plan->samples > 1 ? 2 * plan->samples : 1;
    return node->frame && node->before <= some && node->here <= some;
}

static bool is_taken(const struct spex_sampling_plan *plan, struct spex_thread *thread,
                     const struct spex_samples_node *node) {
    double of = node->before > 1 ? node->before : 1;
    return (double)random_below(thread, 1u << 24) * of < plan->samples * (1u << 24);
}

/* Whether this execution is to make a record, for the frame around it (NULL: none); if so, when the
 * next one is. */
static bool is_due(const struct spex_sampling_plan *plan, struct spex_thread *thread,
                   struct spex_samples_node *node, const struct spex_samples_frame *around,
                   uint64_t now) {
    uint64_t exact = around ? around->interval : spex_sampling_plan_base(plan);
    uint64_t interval = spex_sampling_plan_stretched(plan, exact);
    if (node->frame != (around ? around->number : 0))
        enter_frame(plan, thread, node, around, now, interval);
    spex_store_relaxed(&node->here, node->here + 1);
    if (is_rare(plan, node))
        return is_taken(plan, thread, node);
    /* What lies further ahead than two intervals is from before the hour came round. */
    uint32_t ahead = node->due - coarse(plan, now);
    if (ahead - 1 < coarse(plan, 2 * interval))
        return false;
    uint64_t due = now + interval / 2 + random_below(thread, interval);
    spex_store_relaxed(&node->due, coarse(plan, due));
    return true;
}

static bool is_allowed(struct spex_thread *thread) {
    return !spex_thread_budget_bounded() ||
           spex_thread_budget_take(&thread->budget, spex_probe_type_ring(SPEX_KERNEL));
}

/* By an execution of the same context around this one: recursion. */
static bool is_looked_at(const struct spex_samples *samples, uint32_t context) {
    for (uint32_t at = spex_load_relaxed(&samples->depth); at > 0; at--)
        if (spex_frame_context(&samples->frames[at - 1]) == context)
            return true;
    return false;
}

/* True: it takes long enough to be looked at, and is from now on. */
static bool look_at(const struct spex_sampling_plan *plan, struct spex_samples *samples,
                    const struct spex_site *site, uint32_t context, uint64_t now,
                    const uint64_t *parameters) {
    const struct spex_planned *planned =
        spex_load_acquire(&plan->nodes[context]); /* Q4 (Q3 in sampling_plan.c) */
    if (!planned || planned->parameters > site->detail)
        return false;
    double ticks = spex_planned_ticks(plan, planned, parameters);
    uint64_t interval = spex_sampling_plan_interval(plan, ticks);
    if (!interval || is_looked_at(samples, context) ||
        !frame_push(samples, site, context, now, interval, parameters))
        return false;
    spex_kernel_sampler_needed(now + spex_sampling_plan_stretched(plan, interval) / 2);
    return true;
}

/* What it holds of another plan says nothing about this one. */
static struct spex_samples_node *node_of(const struct spex_sampling_plan *plan,
                                         struct spex_thread *thread, uint32_t context) {
    struct spex_samples_node *node = &thread->samples.nodes[context];
    if (SPEX_UNLIKELY(node->plan != plan->number)) {
        spex_store_relaxed(&node->frame, 0);
        spex_store_relaxed(&node->due, coarse(plan, spex_ticks()));
        spex_store_relaxed(&node->since, 0);
        spex_store_relaxed(&node->here, 0);
        spex_store_relaxed(&node->plan, plan->number);
    }
    return node;
}

/* As spex_kernel_published. */
static uint64_t published(struct spex_sampling_plan *plan, struct spex_thread *thread,
                          const struct spex_site *site, uint32_t context,
                          const uint64_t *parameters) {
    struct spex_samples_node *node = node_of(plan, thread, context);
    const struct spex_samples_frame *around = top_of(&thread->samples);
    uint64_t now = spex_ticks();
    spex_store_relaxed(&node->executions, node->executions + 1);
    spex_store_relaxed(&node->since, node->since + 1);
    if (!spex_load_relaxed(&plan->nodes[context]) && spex_sampling_plan_ask_for(plan, context))
        spex_kernel_sampler_needed(now);
    if (look_at(plan, &thread->samples, site, context, now, parameters))
        return now | FRAMED;
    return is_due(plan, thread, node, around, now) && is_allowed(thread) ? now : 0;
}

/* A kernel that found no room for its context is in that of another. */
uint64_t spex_kernel_published(struct spex_site *site, uint32_t context,
                               const uint64_t *parameters) {
    struct spex_sampling_plan *plan = spex_load_acquire(&spex_samples_plan); /* Q6 (Q5) */
    struct spex_thread *thread = spex_thread_current();
    struct spex_context_node node;
    if (!plan || !thread || !spex_context_node(context, &node) || node.kernel != site->probe_id)
        return 0;
    return published(plan, thread, site, context, parameters);
}

/* It stands for all executions since the last record of its context. */
static void record(struct spex_thread *thread, const struct spex_site *site, uint32_t context,
                   uint64_t begin, uint64_t now, const uint64_t *parameters) {
    struct spex_samples_node *node = &thread->samples.nodes[context];
    uint32_t weight = node->since;
    if (!weight) /* one within it has stood for this one, too */
        return;
    if (weight > SPEX_CONTROL_PERIOD_MAX)
        weight = SPEX_CONTROL_PERIOD_MAX;
    spex_store_relaxed(&node->since, node->since - weight);
    uint32_t marks = spex_opening(thread, begin);
    spex_put_kernel(&spex_rings, spex_pack(weight, thread->thread_id, site->index, marks), context,
                    begin, now, parameters, site->detail);
}

void spex_kernel_published_end(struct spex_site *site, uint32_t weight, uint32_t context,
                               uint64_t begin, const uint64_t *parameters) {
    struct spex_thread *thread = spex_thread_current();
    uint64_t now = begin ? spex_ticks() : 0;
    spex_inactive(site, weight);
    if (!thread || !begin)
        return;
    if (begin & FRAMED)
        frame_pop(&thread->samples, begin & ~FRAMED);
    if (spex_on_since(site, weight))
        record(thread, site, context, begin & ~FRAMED, now, parameters);
}

void spex_kernel_published_left(uint64_t begin) {
    struct spex_thread *thread = spex_thread_current();
    if (thread && (begin & FRAMED))
        frame_pop(&thread->samples, begin & ~FRAMED);
}

double spex_samples_execution_ticks(struct spex_sampling_plan *plan) {
    const struct spex_site site = {.index = SPEX_MAX_SITES};
    struct spex_thread *thread = calloc(1, sizeof(*thread)); /* nobody's */
    uint64_t best = UINT64_MAX;
    if (!thread)
        return 0;
    spex_random_seed(&thread->random, 1, 0);
    for (int run = 0; run < EXECUTION_RUNS; run++) {
        uint64_t start = spex_ticks();
        for (int e = 0; e < EXECUTIONS; e++) {
            uint64_t begin = published(plan, thread, &site, 0, NULL); /* no kernel's context */
            __asm__ volatile("" : : "r"(begin) : "memory");
        }
        uint64_t ticks = spex_ticks() - start;
        best = ticks < best ? ticks : best;
    }
    free(thread);
    return (double)best / EXECUTIONS;
}
