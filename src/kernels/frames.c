/* SPDX-License-Identifier: MIT */
/* BEGIN and END of a kernel that is sampled by models, on the program's threads.
 *
 * An execution that is predicted to take long enough gets a frame: the sampling thread
 * (kernel_sampler.c) then makes records of it while it runs. Shorter executions make records
 * themselves, on average as often as the frame around them is sampled. Bhattacharyya and Amza,
 * "ADLER", section 3.2, sets the frequencies.
 *
 * A thread alone writes its frames and nodes; the sampling thread reads them without a lock. A
 * signal handler may interrupt the thread anywhere and push frames of its own. Therefore a frame is
 * pushed before it is filled in, and popped after its last use. */
#include "kernels/frames.h"

#include <stdlib.h>
#include <time.h>

#include <spex/atomic.h>

#include "base/memory/memory.h"
#include "base/service_thread.h"
#include "kernels/sampling_plan.h"
#include "probe/contexts.h"
#include "probe/recording.h"
#include "probe/threads.h"

/* Executions in a run, and runs, of spex_samples_execution_ticks; as in calibration.c. */
enum { EXECUTIONS = 1000, EXECUTION_RUNS = 5 };

/* Bit of spex_kernel_published's value: the execution has a frame. The counter of ticks does not
 * reach it. */
#define FRAMED (UINT64_C(1) << 63)

/* The time between executions is averaged over about so many. */
#define GAPS 16

/* `wakes_at` while the sampling thread is awake. */
#define AWAKE 0

static struct {
    /* Futex: counts the calls of spex_kernel_sampler_needed. */
    int32_t calls;
    /* Ticks when the sampling thread wakes by itself; AWAKE. */
    uint64_t wakes_at;
} sampler_wake;

struct spex_sampling_plan *spex_samples_plan;

/* Threads that have loaded the former plan may go on using it until their execution ends. */
void spex_samples_plan_set(struct spex_sampling_plan *plan) {
    spex_store_release(&spex_samples_plan, plan); /* Q5 (Q6): the plan is complete */
}

/* The sequentially consistent order pairs with spex_kernel_sampler_rest: see there. */
void spex_kernel_sampler_needed(uint64_t ticks) {
    __atomic_fetch_add(&sampler_wake.calls, 1, __ATOMIC_SEQ_CST);
    uint64_t wakes_at = __atomic_load_n(&sampler_wake.wakes_at, __ATOMIC_SEQ_CST);
    if (wakes_at != AWAKE && (int64_t)(wakes_at - ticks) > 0) {
        /* The first call that is early enough wakes the thread; later calls need no system call. */
        spex_store_relaxed(&sampler_wake.wakes_at, AWAKE);
        spex_futex_wake(&sampler_wake.calls, 1);
    }
}

int32_t spex_kernel_sampler_calls(void) {
    return __atomic_load_n(&sampler_wake.calls, __ATOMIC_SEQ_CST);
}

/* No wake-up is lost. The caller of spex_kernel_sampler_needed increments `calls` and then reads
 * `wakes_at`; this thread writes `wakes_at` and then lets the futex compare `calls` with `seen`.
 * All four are sequentially consistent, so at least one side sees the other's write. */
void spex_kernel_sampler_rest(uint64_t until, double ticks_per_second, int32_t seen) {
    int64_t ticks = (int64_t)(until - spex_ticks());
    struct timespec limit = {.tv_nsec = (long)((double)ticks / ticks_per_second * 1e9)};
    if (ticks <= 0)
        return;
    __atomic_store_n(&sampler_wake.wakes_at, until, __ATOMIC_SEQ_CST);
    spex_futex_wait(&sampler_wake.calls, seen, &limit);
    spex_store_relaxed(&sampler_wake.wakes_at, AWAKE);
}

/* The innermost frame; NULL: there is none. */
static const struct spex_samples_frame *frame_top(const struct spex_samples *samples) {
    uint32_t depth = spex_load_relaxed(&samples->depth);
    return depth ? &samples->frames[depth - 1] : NULL;
}

/* Pushes a frame. False: the thread has SPEX_SAMPLES_FRAMES frames.
 *
 * `begin` is 0 while the frame is filled in, so that the sampling thread discards what it reads
 * (spex_samples_frame_read). */
static bool frame_push(struct spex_samples *samples, const struct spex_site *site, uint32_t context,
                       uint64_t begin, uint64_t interval, const uint64_t *parameters) {
    uint32_t depth = spex_load_relaxed(&samples->depth);
    if (depth == SPEX_SAMPLES_FRAMES)
        return false;
    struct spex_samples_frame *frame = &samples->frames[depth];
    spex_store_relaxed(&frame->begin, 0);
    spex_store_release(&samples->depth, depth + 1); /* Q7 (Q8): begin is 0 */
    spex_store_release(&frame->interval, interval); /* Q9 (Q10): begin is 0 */
    uint64_t place = (uint64_t)context << 32 | site->index;
    spex_store_release(&frame->place, place); /* Q9 (Q10) */
    for (unsigned p = 0; p < site->detail; p++)
        spex_store_release(&frame->parameters[p], parameters[p]); /* Q9 (Q10) */
    /* Numbers go round at 2^32 and leave out 0, which stands for "no frame" in nodes. */
    spex_store_relaxed(&samples->last, samples->last + 1 ? samples->last + 1 : 1);
    spex_store_relaxed(&frame->number, samples->last);
    spex_store_release(&frame->begin, begin); /* Q11 (Q12): the whole frame */
    return true;
}

/* Pops the frame that began at `begin`, and all frames above it: those of executions that were left
 * without an END, for example by longjmp. */
static void frame_pop(struct spex_samples *samples, uint64_t begin) {
    for (uint32_t at = spex_load_relaxed(&samples->depth); at > 0; at--)
        if (samples->frames[at - 1].begin == begin) {
            spex_store_relaxed(&samples->depth, at - 1);
            return;
        }
}

/* A sequence lock with `begin` as the sequence. If the thread has changed the frame since the first
 * load of `begin`, the acquire loads make the last load see 0 or the new begin. */
bool spex_samples_frame_read(const struct spex_thread *thread, uint32_t at,
                             struct spex_samples_frame *frame) {
    const struct spex_samples *samples = spex_thread_samples(thread);
    if (!samples || at >= spex_load_acquire(&samples->depth)) /* Q8 (Q7) */
        return false;
    const struct spex_samples_frame *from = &samples->frames[at];
    frame->begin = spex_load_acquire(&from->begin);       /* Q12 (Q11) */
    frame->interval = spex_load_acquire(&from->interval); /* Q10 (Q9): or begin is 0 below */
    frame->place = spex_load_acquire(&from->place);       /* Q10 (Q9) */
    for (unsigned p = 0; p < SPEX_KERNEL_PARAMETERS; p++)
        frame->parameters[p] = spex_load_acquire(&from->parameters[p]); /* Q10 (Q9) */
    return frame->begin && frame->begin == spex_load_relaxed(&from->begin);
}

/* Makes the node count for the frame `around`. */
static void node_enter_frame(struct spex_samples_node *node,
                             const struct spex_samples_frame *around) {
    spex_store_relaxed(&node->frame, around ? around->number : 0);
    spex_store_relaxed(&node->before, node->here);
    spex_store_relaxed(&node->here, 0);
}

/* Takes in the time since the last execution, within this frame and no longer than an interval:
 * after a pause, records come no more often for long. */
static void node_note_gap(struct spex_samples_node *node, const struct spex_samples_frame *around,
                          uint64_t now, uint64_t interval) {
    uint64_t from = around && around->begin > node->last ? around->begin : node->last;
    float gap = (float)(now - from < interval ? now - from : interval);
    if (node->last)
        node->gap = node->gap > 0 ? node->gap + (gap - node->gap) / GAPS : gap;
    node->last = now;
}

/* Whether the context executes so rarely in its frame that its gaps say little: short executions at
 * the begin of a long frame. `before`, the number of executions in the last frame, then predicts the
 * number in this one. */
static bool node_is_rare(const struct spex_sampling_plan *plan,
                         const struct spex_samples_node *node) {
    double some = 2 * plan->samples > 1 ? 2 * plan->samples : 1;
    return node->frame && node->before <= some && node->here <= some;
}

/* The executions that the record of this one stands for; 0: chance has not chosen it.
 *
 * An execution with the probability p makes a record of weight 1 / p (Horvitz and Thompson, 1952).
 * Counts and sums of times are thereby true on average whatever p is, as long as p goes by the past
 * alone. The first execution after a time would be no such choice: it is likelier the one that
 * follows a long one. What the division leaves is rounded by chance. */
static uint32_t weight_by_chance(struct spex_thread *thread, double p) {
    double even = (double)(spex_random_next(&thread->random) >> 11) * 0x1p-53;
    if (even >= p)
        return 0;
    double weight = p < 1 ? (1 + even) / p : 1;
    return weight < SPEX_CONTROL_PERIOD_MAX ? (uint32_t)weight : SPEX_CONTROL_PERIOD_MAX;
}

/* The executions that this one's record stands for; 0: it makes none. Records come an interval
 * apart on average. `around`: the frame that the execution is in; NULL: none, and the records are
 * plan->samples a second. */
static uint32_t execution_weight(const struct spex_sampling_plan *plan, struct spex_thread *thread,
                                 struct spex_samples_node *node,
                                 const struct spex_samples_frame *around, uint64_t now) {
    uint64_t exact = around ? around->interval : spex_sampling_plan_base(plan);
    uint64_t interval = spex_sampling_plan_stretched(plan, exact);
    if (node->frame != (around ? around->number : 0))
        node_enter_frame(node, around);
    node_note_gap(node, around, now, interval);
    spex_store_relaxed(&node->here, node->here + 1);
    double p = node->gap > 0 ? node->gap / (double)interval : 1;
    if (node_is_rare(plan, node))
        p = plan->samples / (node->before > 1 ? node->before : 1);
    return weight_by_chance(thread, p);
}

/* The thread's budget of records (probe/thread_budget.h). */
static bool budget_allows_record(struct spex_thread *thread) {
    return !spex_thread_budget_bounded() ||
           spex_thread_budget_take(&thread->budget, spex_probe_type_ring(SPEX_KERNEL));
}

/* Whether an execution of the same context has a frame: the kernel calls itself. The outermost
 * execution alone is sampled then. */
static bool context_has_frame(const struct spex_samples *samples, uint32_t context) {
    for (uint32_t at = spex_load_relaxed(&samples->depth); at > 0; at--)
        if (spex_frame_context(&samples->frames[at - 1]) == context)
            return true;
    return false;
}

/* The time of BEGIN of an execution that makes a record. It is taken after all else, and waits for
 * it: choosing the execution misses caches, since few are chosen, and a frame may need a system
 * call. A short kernel would seem longer by that. */
static uint64_t chosen_begin(void) {
    spex_ticks_fence_();
    return spex_ticks();
}

/* Pushes a frame if the execution is predicted to take long enough to be sampled from outside, and
 * tells the sampling thread when the first sample may be due. Returns the time of BEGIN, which is
 * the frame's; 0: it gets none. */
static uint64_t execution_gets_frame(const struct spex_sampling_plan *plan,
                                     struct spex_samples *samples, const struct spex_site *site,
                                     uint32_t context, uint64_t now, const uint64_t *parameters) {
    const struct spex_planned *planned =
        spex_load_acquire(&plan->nodes[context]); /* Q4 (Q3 in sampling_plan.c) */
    if (!planned || planned->parameters > site->detail)
        return 0;
    double ticks = spex_planned_ticks(plan, planned, parameters);
    uint64_t interval = spex_sampling_plan_interval(plan, ticks);
    uint32_t at = spex_load_relaxed(&samples->depth);
    if (!interval || context_has_frame(samples, context) ||
        !frame_push(samples, site, context, now, interval, parameters))
        return 0;
    spex_kernel_sampler_needed(now + spex_sampling_plan_stretched(plan, interval) / 2);
    uint64_t begin = chosen_begin();
    spex_store_release(&samples->frames[at].begin, begin); /* Q11 (Q12): the whole frame */
    return begin;
}

/* The thread's node of a context. A node that was used with another plan begins anew, since its
 * interval and count belong to that plan's frequencies. */
static struct spex_samples_node *node_for_plan(const struct spex_sampling_plan *plan,
                                               struct spex_thread *thread, uint32_t context) {
    struct spex_samples_node *node = &thread->samples->nodes[context];
    if (SPEX_UNLIKELY(node->plan != plan->number)) {
        node->last = 0;
        node->gap = 0;
        spex_store_relaxed(&node->frame, 0);
        spex_store_relaxed(&node->owed, 0);
        spex_store_relaxed(&node->here, 0);
        spex_store_relaxed(&node->plan, plan->number);
    }
    return node;
}

/* spex_kernel_published for a known thread and plan. Returns the time of BEGIN if the execution
 * makes a record at its END, with FRAMED if it has a frame; 0: neither. */
static uint64_t execution_begin(struct spex_sampling_plan *plan, struct spex_thread *thread,
                                const struct spex_site *site, uint32_t context,
                                const uint64_t *parameters) {
    struct spex_samples_node *node = node_for_plan(plan, thread, context);
    const struct spex_samples_frame *around = frame_top(thread->samples);
    uint64_t now = spex_ticks();
    spex_store_relaxed(&node->executions, node->executions + 1);
    /* The first execution of a context asks the sampling thread for its prediction, which costs too
     * much here. */
    if (!spex_load_relaxed(&plan->nodes[context]) && spex_sampling_plan_ask_for(plan, context))
        spex_kernel_sampler_needed(now);
    uint64_t begin = execution_gets_frame(plan, thread->samples, site, context, now, parameters);
    uint32_t weight = begin ? 1 : execution_weight(plan, thread, node, around, now);
    spex_store_relaxed(&node->owed, node->owed + weight);
    if (begin)
        return begin | FRAMED;
    return weight && budget_allows_record(thread) ? chosen_begin() : 0;
}

/* Without room for its own context, a kernel runs in the context of another kernel. It is not
 * sampled then: a record would count for that kernel. */
uint64_t spex_kernel_published(struct spex_site *site, uint32_t context,
                               const uint64_t *parameters) {
    struct spex_sampling_plan *plan = spex_load_acquire(&spex_samples_plan); /* Q6 (Q5) */
    struct spex_thread *thread = spex_thread_current();
    struct spex_context_node node;
    if (!plan || !thread || !spex_context_node(context, &node) ||
        node.kernel != spex_load_relaxed(&site->probe_id))
        return 0;
    if (SPEX_UNLIKELY(!thread->samples) && !spex_thread_samples_assign(thread)) {
        spex_threads_note_unrecorded(1);
        return 0;
    }
    return execution_begin(plan, thread, site, context, parameters);
}

/* Makes the record of an execution. It takes on the weights of records that were not made: without
 * budget, or as their executions were left without END. */
static void execution_record(struct spex_thread *thread, const struct spex_site *site,
                             uint32_t context, uint64_t begin, uint64_t now,
                             const uint64_t *parameters) {
    struct spex_samples_node *node = &thread->samples->nodes[context];
    uint32_t weight = node->owed;
    /* A recursive execution within this one has made a record with that weight. */
    if (!weight)
        return;
    if (weight > SPEX_CONTROL_PERIOD_MAX)
        weight = SPEX_CONTROL_PERIOD_MAX;
    spex_store_relaxed(&node->owed, node->owed - weight);
    uint32_t marks = spex_opening(thread, begin, now);
    spex_put_kernel(&spex_rings, spex_pack(weight, thread->number, site->index, marks), context,
                    begin, now, parameters, site->detail);
}

void spex_kernel_published_end(struct spex_site *site, uint32_t weight, uint32_t context,
                               uint64_t begin, const uint64_t *parameters) {
    struct spex_thread *thread = spex_thread_current();
    uint64_t now = begin ? spex_ticks() : 0;
    spex_inactive(site, weight);
    /* In the child of a fork, and on another thread than BEGIN, there is another state. */
    if (!begin)
        return;
    if (!thread || !thread->samples) {
        spex_threads_note_unrecorded(spex_on_since(site, weight));
        return;
    }
    if (begin & FRAMED)
        frame_pop(thread->samples, begin & ~FRAMED);
    if (spex_on_since(site, weight))
        execution_record(thread, site, context, begin & ~FRAMED, now, parameters);
}

/* The execution was left without END. */
void spex_kernel_published_left(uint64_t begin) {
    struct spex_thread *thread = spex_thread_current();
    if (thread && thread->samples && (begin & FRAMED))
        frame_pop(thread->samples, begin & ~FRAMED);
}

double spex_samples_execution_ticks(struct spex_sampling_plan *plan) {
    const struct spex_site site = {.index = SPEX_MAX_SITES};
    /* A state that belongs to no thread, so that nothing of the program's is changed. */
    struct own_state {
        struct spex_thread thread;
        struct spex_samples samples;
    } *own = spex_calloc(1, sizeof(*own));
    uint64_t best = UINT64_MAX;
    if (!own)
        return 0;
    own->thread.samples = &own->samples;
    spex_random_seed(&own->thread.random, 1, 0);
    for (int run = 0; run < EXECUTION_RUNS; run++) {
        uint64_t start = spex_ticks();
        for (int e = 0; e < EXECUTIONS; e++) {
            /* Context 0 is no kernel's. */
            uint64_t begin = execution_begin(plan, &own->thread, &site, 0, NULL);
            __asm__ volatile("" : : "r"(begin) : "memory");
        }
        uint64_t ticks = spex_ticks() - start;
        best = ticks < best ? ticks : best;
    }
    spex_free(own);
    return (double)best / EXECUTIONS;
}
