/* SPDX-License-Identifier: MIT */
/* The accounts of sampling by models, and the two means of keeping them within the budget.
 *
 * Costs are of two kinds. Samples (rounds of the thread for samples, and records) become fewer with
 * longer intervals: plan->stretch is multiplied by the ratio of their cost to what is left of the
 * budget. Polled executions cost the same whatever the intervals: if they take nearly all of the
 * budget, the kernels with the most executions are switched off, for 1 to 64 s
 * (base/hold_off.h). */
#include "kernels/sampling_budget.h"

#include <string.h>

#include <spex/atomic.h>
#include <spex/spex.h>

#include "base/clock.h"
#include "base/grown.h"
#include "collect/collector.h"
#include "kernels/kernels_here.h"
#include "probe/contexts.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "ring/rings.h"
#include "site/cost.h"

/* Seconds between two passes. A pass may take PASS_SHARE of the time between passes; if it takes
 * longer, passes become rarer. */
#define PASS_SECONDS 0.1
#define PASS_SHARE   0.005

/* Shares of the budget. If executions take more than the first, kernels are held off until
 * executions take less than the second. The distance keeps kernels from being switched back and
 * forth. */
#define EXECUTIONS_MOST 0.9
#define EXECUTIONS_HELD 0.6

/* Share of the budget that samples keep, whatever the costs that do not fall with the number of
 * samples. */
#define SAMPLES_LEAST 0.1

/* Bounds of one change of the intervals. They become shorter only if samples then cost SPARE times
 * less than they may. */
#define LONGER_MOST  4.0
#define SHORTER_MOST 0.5
#define SPARE        1.1

/* Longest stretch: intervals of the default length are hours then. */
#define STRETCH_MOST 1e5

/* Seconds for which a kernel is held off whose executions alone cost too much: the first time, and
 * at most. */
#define HOLD_OFF_SECONDS     1.0
#define HOLD_OFF_SECONDS_MAX 64.0

static uint64_t spent_ns;

uint64_t spex_sampling_budget_spent_ns(void) {
    return spex_load_relaxed(&spent_ns);
}

static uint64_t records_so_far(void) {
    return spex_rings_totals_of(spex_probe_type_ring(SPEX_KERNEL)).produced;
}

/* Executions of a context over all threads, modulo 2^32; differences are right all the same. */
static uint32_t executions_of(uint32_t context) {
    uint32_t sum = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_samples *samples = spex_thread_samples(spex_threads_state(t));
        sum += samples ? spex_load_relaxed(&samples->nodes[context].executions) : 0;
    }
    return sum;
}

void spex_sampling_budget_begin(struct spex_sampling_budget *budget, double share, bool alone) {
    memset(budget, 0, sizeof(*budget));
    budget->share = share;
    budget->alone = alone;
    budget->begin_ns = budget->now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    budget->process_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    budget->collectors_ns = spex_collectors_cpu_ns();
    budget->sampler_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    budget->records = records_so_far();
    for (uint32_t context = 0; context <= SPEX_CONTEXTS_MAX; context++)
        budget->executions[context] = executions_of(context);
}

/* Nanoseconds since *last, as seconds; sets *last. */
static double grown_seconds(uint64_t *last, uint64_t now) {
    double seconds = (double)spex_grown(*last, now) / 1e9;
    *last = now;
    return seconds;
}

/* Executions of all contexts since the last pass. A context that has not been asked for has not
 * been executed. */
static double count_executions(struct spex_sampling_budget *budget,
                               const struct spex_sampling_plan *plan) {
    double sum = 0;
    for (uint32_t w = 0; w < SPEX_SAMPLING_PLAN_WORDS; w++) {
        uint64_t asked = spex_load_acquire(&plan->asked[w]); /* Q1 (Q2 in sampling_plan.c) */
        for (; asked; asked &= asked - 1) {
            uint32_t context = w * 64 + (uint32_t)__builtin_ctzll(asked);
            uint32_t now = executions_of(context);
            budget->fresh[context] = now - budget->executions[context];
            budget->executions[context] = now;
            sum += budget->fresh[context];
        }
    }
    return sum;
}

/* Executions a second of the kernels that are recorded only by models (`by_hand`). The controller
 * switches the others. */
static void find_rates(struct spex_sampling_budget *budget, double seconds) {
    memset(budget->rates, 0, spex_sites_count() * sizeof(budget->rates[0]));
    for (uint32_t context = 0; context <= SPEX_CONTEXTS_MAX; context++) {
        struct spex_context_node node;
        if (!budget->fresh[context] || !spex_context_node(context, &node))
            continue;
        uint32_t first = spex_kernels_here_site(node.kernel);
        if (first < spex_sites_count() && spex_probe_state(first, 0).by_hand)
            budget->rates[first] += budget->fresh[context] / seconds;
    }
}

static void hold_kernel(struct spex_sampling_budget *budget, uint32_t first, double now) {
    spex_hold_off(&budget->held[first], now, HOLD_OFF_SECONDS, HOLD_OFF_SECONDS_MAX);
    spex_probe_throttle(first, SPEX_SITE_HELD);
}

/* Holds off the kernels with the most executions until the rest cost less than `most`. `cost`: what
 * executions cost; both in seconds a second. */
static void hold_dearest_kernels(struct spex_sampling_budget *budget, double cost, double most,
                                 double now) {
    while (cost > most) {
        uint32_t dearest = 0;
        for (uint32_t s = 1; s < spex_sites_count(); s++)
            if (budget->rates[s] > budget->rates[dearest])
                dearest = s;
        if (budget->rates[dearest] <= 0)
            break;
        cost -= budget->rates[dearest] * budget->execution_seconds;
        budget->rates[dearest] = 0;
        hold_kernel(budget, dearest, now);
    }
}

/* Switches kernels on again whose time is over, and at once those that their user has put under the
 * controller since. */
static void release_kernels(struct spex_sampling_budget *budget, double now) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (budget->held[s].until > 0 &&
            (budget->held[s].until <= now || !spex_probe_state(s, 0).by_hand)) {
            budget->held[s].until = 0;
            spex_probe_throttle(s, 0);
        }
}

/* The cost of a kernel's record on its thread. */
static double record_seconds(const struct spex_sampling_plan *plan) {
    struct spex_cost cost;
    return spex_cost_get(SPEX_KERNEL, &cost) ? 0 : cost.record / plan->ticks_per_second;
}

/* The part of the thread's CPU time that samples caused. Rounds without a sample are made
 * anyway. */
static double share_for_samples(const struct spex_sampling_budget *budget, double seconds) {
    double rounds = (double)budget->rounds, samples = (double)budget->samples;
    return samples < rounds ? seconds * samples / rounds : seconds;
}

/* Changes the stretch so that samples, which cost `samples`, cost `most`. Relaxed: threads may use
 * the old value a while longer. */
static void adjust_stretch(struct spex_sampling_plan *plan, double samples, double most) {
    double stretch = plan->stretch, ratio = most > 0 ? samples / most : 1;
    if (ratio > 1)
        stretch *= ratio < LONGER_MOST ? ratio : LONGER_MOST;
    else if (ratio * SPARE < 1)
        stretch *= ratio * SPARE > SHORTER_MOST ? ratio * SPARE : SHORTER_MOST;
    if (stretch < 1)
        stretch = 1;
    if (stretch > STRETCH_MOST)
        stretch = STRETCH_MOST;
    __atomic_store(&plan->stretch, &stretch, __ATOMIC_RELAXED);
}

/* The costs are counted also without a limit, for spex_sampling_budget_spent_ns. */
void spex_sampling_budget_pass(struct spex_sampling_budget *budget,
                               struct spex_sampling_plan *plan) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    double seconds = (double)(now_ns - budget->now_ns) / 1e9;
    if (seconds < PASS_SECONDS || seconds < (double)budget->pass_ns / 1e9 / PASS_SHARE)
        return;
    budget->now_ns = now_ns;
    uint64_t sampler_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    double thread_seconds = grown_seconds(&budget->sampler_ns, sampler_ns);
    double collectors = grown_seconds(&budget->collectors_ns, spex_collectors_cpu_ns());
    double all = grown_seconds(&budget->process_ns, spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    uint64_t records = records_so_far();
    double made = (double)spex_grown(budget->records, records) * record_seconds(plan);
    budget->records = records;
    budget->execution_seconds =
        (plan->execution_ticks + spex_cost_polled()) / plan->ticks_per_second;
    double executions = count_executions(budget, plan) * budget->execution_seconds;
    spex_fetch_add_relaxed(&spent_ns, (uint64_t)((thread_seconds + executions) * 1e9));
    budget->pass_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - sampler_ns;
    if (budget->share <= 0)
        return;
    double program = all - thread_seconds - collectors;
    double most = budget->share * (program > 0 ? program : 0);
    double now = (double)(now_ns - budget->begin_ns) / 1e9;
    release_kernels(budget, now);
    if (executions > EXECUTIONS_MOST * most) {
        find_rates(budget, seconds);
        hold_dearest_kernels(budget, executions / seconds, EXECUTIONS_HELD * most / seconds, now);
    }
    double samples = share_for_samples(budget, thread_seconds) + made;
    double rest = executions + thread_seconds - share_for_samples(budget, thread_seconds);
    budget->rounds = budget->samples = 0;
    rest += budget->alone ? collectors : 0;
    adjust_stretch(plan, samples,
                   most - rest > SAMPLES_LEAST * most ? most - rest : SAMPLES_LEAST * most);
}

void spex_sampling_budget_end(struct spex_sampling_budget *budget) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (budget->held[s].until > 0)
            spex_probe_throttle(s, 0);
}
