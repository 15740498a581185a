/* SPDX-License-Identifier: MIT */
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

/* Between two looks at what was spent, in seconds; more where that takes longer than a part of
 * this. */
#define PASS_SECONDS 0.1
#define PASS_SHARE   0.005

/* Executions may take so much of the budget; where it is more, kernels are held off until it is
 * less than the second. */
#define EXECUTIONS_MOST 0.9
#define EXECUTIONS_HELD 0.6

/* At least so much of the budget is for samples, whatever all the rest takes that does not
 * become less with them. */
#define SAMPLES_LEAST 0.1

/* Intervals become longer or shorter by no more at once, and shorter only when that leaves so
 * much. */
#define LONGER_MOST  4.0
#define SHORTER_MOST 0.5
#define SPARE        1.1

/* Then there are next to no samples. */
#define STRETCH_MOST 1e5

static uint64_t spent_ns;

uint64_t spex_sampling_budget_spent_ns(void) {
    return spex_load_relaxed(&spent_ns);
}

static uint64_t records_so_far(void) {
    return spex_rings_totals_of(spex_probe_type_ring(SPEX_KERNEL)).produced;
}

static uint32_t executions_of(uint32_t context) {
    uint32_t sum = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        sum += spex_load_relaxed(&spex_threads_state(t)->samples.nodes[context].executions);
    return sum;
}

void spex_sampling_budget_begin(struct spex_sampling_budget *spending, double share, bool alone) {
    memset(spending, 0, sizeof(*spending));
    spending->share = share;
    spending->alone = alone;
    spending->begin_ns = spending->now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    spending->process_ns = spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    spending->collectors_ns = spex_collectors_cpu_ns();
    spending->looker_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    spending->records = records_so_far();
    for (uint32_t context = 0; context <= SPEX_CONTEXTS_MAX; context++)
        spending->executions[context] = executions_of(context);
}

static double grown_seconds(uint64_t *last, uint64_t now) {
    double seconds = (double)spex_grown(*last, now) / 1e9;
    *last = now;
    return seconds;
}

/* Since the last pass. Contexts are asked for when they are first executed. */
static double count_executions(struct spex_sampling_budget *spending,
                               const struct spex_sampling_plan *plan) {
    double sum = 0;
    for (uint32_t w = 0; w < SPEX_SAMPLING_PLAN_WORDS; w++) {
        uint64_t asked = spex_load_acquire(&plan->asked[w]); /* Q1 (Q2 in sampling_plan.c) */
        for (; asked; asked &= asked - 1) {
            uint32_t context = w * 64 + (uint32_t)__builtin_ctzll(asked);
            uint32_t now = executions_of(context);
            spending->fresh[context] = now - spending->executions[context];
            spending->executions[context] = now;
            sum += spending->fresh[context];
        }
    }
    return sum;
}

/* Of kernels that can be sampled by models alone: others are in the controller's hands. */
static void find_rates(struct spex_sampling_budget *spending, double seconds) {
    memset(spending->rates, 0, spex_sites_count() * sizeof(spending->rates[0]));
    for (uint32_t context = 0; context <= SPEX_CONTEXTS_MAX; context++) {
        struct spex_context_node node;
        if (!spending->fresh[context] || !spex_context_node(context, &node))
            continue;
        uint32_t first = spex_kernels_here_site(node.kernel);
        if (first < spex_sites_count() && spex_probe_state(first, 0).by_hand)
            spending->rates[first] += spending->fresh[context] / seconds;
    }
}

static void hold_kernel(struct spex_sampling_budget *spending, uint32_t first, double now) {
    spex_hold_off(&spending->held[first], now, SPEX_HOLD_OFF_SECONDS, SPEX_HOLD_OFF_SECONDS_MAX);
    spex_probe_throttle(first, SPEX_SITE_HELD);
}

/* `cost`: what executions cost a second. */
static void hold_dearest_kernels(struct spex_sampling_budget *spending, double cost, double most,
                                 double now) {
    while (cost > most) {
        uint32_t dearest = 0;
        for (uint32_t s = 1; s < spex_sites_count(); s++)
            if (spending->rates[s] > spending->rates[dearest])
                dearest = s;
        if (spending->rates[dearest] <= 0)
            break;
        cost -= spending->rates[dearest] * spending->execution_seconds;
        spending->rates[dearest] = 0;
        hold_kernel(spending, dearest, now);
    }
}

/* Or at once, where its user has it recorded now. */
static void try_again(struct spex_sampling_budget *spending, double now) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spending->held[s].until > 0 &&
            (spending->held[s].until <= now || !spex_probe_state(s, 0).by_hand)) {
            spending->held[s].until = 0;
            spex_probe_throttle(s, 0);
        }
}

static double record_seconds(const struct spex_sampling_plan *plan) {
    struct spex_cost cost;
    return spex_cost_get(SPEX_KERNEL, &cost) ? 0 : cost.record / plan->ticks_per_second;
}

/* What of a thread's rounds was for looks: the others it makes anyway. */
static double for_looks(const struct spex_sampling_budget *spending, double seconds) {
    double rounds = (double)spending->rounds, looks = (double)spending->looks;
    return looks < rounds ? seconds * looks / rounds : seconds;
}

/* `samples`, what they cost, is to become `most`. */
static void stretch(struct spex_sampling_plan *plan, double samples, double most) {
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

void spex_sampling_budget_pass(struct spex_sampling_budget *spending,
                               struct spex_sampling_plan *plan) {
    uint64_t now_ns = spex_clock_ns(CLOCK_MONOTONIC);
    double seconds = (double)(now_ns - spending->now_ns) / 1e9;
    if (seconds < PASS_SECONDS || seconds < (double)spending->pass_ns / 1e9 / PASS_SHARE)
        return;
    spending->now_ns = now_ns;
    uint64_t looker_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    double looks = grown_seconds(&spending->looker_ns, looker_ns);
    double collectors = grown_seconds(&spending->collectors_ns, spex_collectors_cpu_ns());
    double all = grown_seconds(&spending->process_ns, spex_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    uint64_t records = records_so_far();
    double made = (double)spex_grown(spending->records, records) * record_seconds(plan);
    spending->records = records;
    spending->execution_seconds =
        (plan->execution_ticks + spex_cost_polled()) / plan->ticks_per_second;
    double executions = count_executions(spending, plan) * spending->execution_seconds;
    spex_fetch_add_relaxed(&spent_ns, (uint64_t)((looks + executions) * 1e9));
    spending->pass_ns = spex_clock_ns(CLOCK_THREAD_CPUTIME_ID) - looker_ns;
    if (spending->share <= 0)
        return;
    double program = all - looks - collectors;
    double most = spending->share * (program > 0 ? program : 0);
    double now = (double)(now_ns - spending->begin_ns) / 1e9;
    try_again(spending, now);
    if (executions > EXECUTIONS_MOST * most) {
        find_rates(spending, seconds);
        hold_dearest_kernels(spending, executions / seconds, EXECUTIONS_HELD * most / seconds, now);
    }
    double samples = for_looks(spending, looks) + made;
    double rest = executions + looks - for_looks(spending, looks);
    spending->rounds = spending->looks = 0;
    rest += spending->alone ? collectors : 0;
    stretch(plan, samples, most - rest > SAMPLES_LEAST * most ? most - rest : SAMPLES_LEAST * most);
}

void spex_sampling_budget_end(struct spex_sampling_budget *spending) {
    for (uint32_t s = 0; s < spex_sites_count(); s++)
        if (spending->held[s].until > 0)
            spex_probe_throttle(s, 0);
}
