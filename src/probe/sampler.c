/* SPDX-License-Identifier: MIT */
#include "probe/sampler.h"

#include <spex/atomic.h>
#include <spex/probe.h>

#include "probe/gap.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "site/registry.h"
#include "site/sampling_rate.h"

/* While the gap and the word are being changed, one after the other. */
#define CHANGING UINT32_MAX

/* How often a reader tries to find both at rest. */
enum { READS = 8 };

/* Of a record. */
#define WEIGHT_MAX SPEX_CONTROL_PERIOD_MASK

/* While a thread is denied its records, so many executions at most go by until it tries again. */
#define DENIED_GAP_MAX (1u << 16)

uint32_t spex_sampler_marks(const struct spex_countdown *countdown, uint32_t site,
                            uint32_t sampled) {
    uint64_t rate = spex_load_relaxed(&spex_sampling_rate_of(site, sampled)->rate);
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_GEOMETRIC)
        return SPEX_MARK_DRAWN;
    if (SPEX_RATE_KIND(rate) != SPEX_SAMPLING_BURSTY)
        return 0;
    /* The next record's gap has been drawn already; behind a burst's first one less is left than it
     * began with. */
    bool first = spex_load_relaxed(&countdown->left) == SPEX_RATE_BURST(rate) - 2;
    return SPEX_MARK_BURST | (first ? SPEX_MARK_DRAWN : 0);
}

/* Executions that the word has counted since the last record. */
static uint32_t counted(uint32_t word, uint32_t gap) {
    uint32_t low = word & SPEX_CONTROL_PERIOD_MASK;
    return gap ? low - (SPEX_CONTROL_COUNTDOWN - gap) : low;
}

uint64_t spex_sampler_executions(const struct spex_thread *thread, uint32_t site) {
    const struct spex_countdown *countdown = &thread->countdowns[site];
    uint64_t total = 0;
    for (int read = 0; read < READS; read++) {
        uint32_t gap = spex_load_acquire(&countdown->gap);          /* D1 (D2) */
        total = spex_load_acquire(&countdown->total);               /* D3 (D4) */
        uint32_t word = spex_load_acquire(&thread->executed[site]); /* D5 (D6) */
        if (gap != CHANGING && gap == spex_load_relaxed(&countdown->gap))
            return total + counted(word, gap);
    }
    return total;
}

uint64_t spex_threads_executions(uint32_t site) {
    uint64_t sum = 0;
    for (uint32_t t = 0; t < spex_threads_used(); t++)
        sum += spex_sampler_executions(spex_threads_state(t), site);
    return sum;
}

/* Thread by thread, as the states lie in memory; most threads execute few of the sites. */
void spex_threads_add_executions(uint64_t *sums, uint32_t sites) {
    for (uint32_t t = 0; t < spex_threads_used(); t++) {
        const struct spex_thread *thread = spex_threads_state(t);
        for (uint32_t site = 0; site < sites; site++)
            if (spex_load_relaxed(&thread->executed[site]))
                sums[site] += spex_sampler_executions(thread, site);
    }
}

/* A new word and gap, and what has been executed until now into the total. A reader who has seen
 * one of them sees that the gap is, or was, changing. */
static void countdown_change(struct spex_thread *thread, uint32_t site, uint64_t executions,
                             uint32_t word, uint32_t gap) {
    struct spex_countdown *countdown = &thread->countdowns[site];
    uint64_t total = spex_load_relaxed(&countdown->total);
    spex_store_relaxed(&countdown->gap, CHANGING);
    spex_store_release(&countdown->total, total + executions); /* D4 (D3) */
    spex_store_release(&thread->executed[site], word);         /* D6 (D5) */
    spex_store_release(&countdown->gap, gap);                  /* D2 (D1) */
}

/* Executions for each record of a burst, so that bursts come every spex_burst_interval: computed
 * from the time that the last burst took with the gap before it, and drawn at random around that,
 * so that no rhythm of the program is met. */
static uint32_t burst_thinning(struct spex_thread *thread, struct spex_countdown *countdown,
                               uint32_t most) {
    uint32_t now = spex_coarse_ticks(spex_ticks()), since = spex_load_relaxed(&countdown->since);
    uint32_t elapsed = now - since, last = spex_load_relaxed(&countdown->weight);
    spex_store_relaxed(&countdown->since, now);
    if (!since || !last)
        return 1;
    double wanted =
        (double)last * spex_load_relaxed(&spex_burst_interval) / (elapsed ? elapsed : 1);
    uint32_t mean = wanted < 1 ? 1 : wanted > most ? most : (uint32_t)wanted;
    return mean < 2 ? 1 : spex_gap_even(&thread->random, mean - mean / 2, mean + mean / 2);
}

/* A burst of B records of weight w stands for itself and (w - 1) B executions before it. */
static uint32_t burst_gap(struct spex_thread *thread, struct spex_countdown *countdown,
                          uint64_t rate) {
    uint32_t left = spex_load_relaxed(&countdown->left), burst = SPEX_RATE_BURST(rate);
    if (left > 0) {
        spex_store_relaxed(&countdown->left, left - 1);
        return 1;
    }
    uint32_t weight = burst_thinning(thread, countdown, SPEX_RATE_PERIOD(rate));
    spex_store_relaxed(&countdown->left, burst - 1);
    spex_store_relaxed(&countdown->weight, weight);
    return (weight - 1) * burst + 1;
}

/* How far the next record is, and what it will stand for. */
static uint32_t gap_draw(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    struct spex_countdown *countdown = &thread->countdowns[site];
    const struct spex_sampling_rate *slot = spex_sampling_rate_of(site, generation);
    uint64_t rate = spex_load_relaxed(&slot->rate);
    double scale;
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_BURSTY)
        return burst_gap(thread, countdown, rate);
    spex_store_relaxed(&countdown->weight, SPEX_RATE_PERIOD(rate));
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_PERIODIC || SPEX_RATE_PERIOD(rate) < 2)
        return SPEX_RATE_PERIOD(rate);
    __atomic_load(&slot->scale, &scale, __ATOMIC_RELAXED);
    return spex_gap_geometric(&thread->random, scale);
}

/* Begins a countdown, after `executions` that no total has yet. */
static void countdown_begin(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t executions) {
    uint32_t gap = gap_draw(thread, site, generation);
    countdown_change(thread, site, executions, generation | (SPEX_CONTROL_COUNTDOWN - gap), gap);
}

static bool is_new(const struct spex_thread *thread, uint32_t site, uint32_t generation) {
    return (thread->executed[site] ^ generation) & ~SPEX_CONTROL_PERIOD_MASK;
}

/* What the former generation has counted. */
static uint32_t left_over(const struct spex_thread *thread, uint32_t site) {
    return counted(thread->executed[site], thread->countdowns[site].gap);
}

/* The gap becomes twice as long each time, so that trying costs next to nothing, and whatever comes
 * of it is stood for by the next record. */
static void record_deny(struct spex_thread *thread, uint32_t site, uint32_t generation,
                        uint32_t gap) {
    struct spex_countdown *countdown = &thread->countdowns[site];
    uint64_t denied = (uint64_t)countdown->denied + countdown->weight;
    uint32_t longer = gap < DENIED_GAP_MAX / 2 ? gap * 2 : DENIED_GAP_MAX;
    spex_store_relaxed(&countdown->denied, (uint32_t)(denied < WEIGHT_MAX ? denied : WEIGHT_MAX));
    spex_store_relaxed(&countdown->weight, longer);
    spex_store_relaxed(&countdown->left, 0);
    countdown_change(thread, site, gap, generation | (SPEX_CONTROL_COUNTDOWN - longer), longer);
}

/* What the record is to stand for, those that were denied included. */
static uint32_t take_weight(struct spex_countdown *countdown) {
    uint64_t weight = (uint64_t)countdown->weight + countdown->denied;
    spex_store_relaxed(&countdown->denied, 0);
    return (uint32_t)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX);
}

static uint32_t sample_countdown(struct spex_thread *thread, const struct spex_site *where,
                                 uint32_t generation) {
    uint32_t site = where->index;
    struct spex_countdown *countdown = &thread->countdowns[site];
    uint32_t *word = &thread->executed[site];
    if (is_new(thread, site, generation)) {
        uint32_t executions = left_over(thread, site);
        spex_store_relaxed(&countdown->left, 0);
        spex_store_relaxed(&countdown->denied, 0);
        spex_store_relaxed(&countdown->since, 0); /* how far apart bursts were says nothing now */
        countdown_begin(thread, site, generation, executions);
    }
    spex_store_relaxed(word, *word + 1);
    if ((*word & SPEX_CONTROL_PERIOD_MASK) < SPEX_CONTROL_COUNTDOWN)
        return 0;
    if (spex_thread_budget_bounded() &&
        !spex_thread_budget_take(&thread->allowance,
                                 spex_probe_type_ring(spex_site_type_(where)))) {
        record_deny(thread, site, generation, countdown->gap);
        return 0;
    }
    uint32_t weight = take_weight(countdown);
    countdown_begin(thread, site, generation, countdown->gap);
    return generation | SPEX_SAMPLE_NOTE | weight;
}

/* An ended thread's count goes on in the thread that has its state now, so that weights cover every
 * execution. */
static uint32_t sample_periodic(struct spex_thread *thread, uint32_t site, uint32_t generation,
                                uint32_t period) {
    uint32_t *word = &thread->executed[site];
    if (is_new(thread, site, generation))
        countdown_change(thread, site, left_over(thread, site), generation, 0);
    uint32_t count = (*word & SPEX_CONTROL_PERIOD_MASK) + 1;
    if (count < period) {
        spex_store_relaxed(word, generation | count);
        return 0;
    }
    spex_store_relaxed(word, generation);
    return generation | count;
}

/* The frame of the execution that has begun is published, until spex_inactive takes it back. */
static uint32_t sample_active(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    struct spex_countdown *countdown = &thread->countdowns[site];
    uint32_t frame = (uint32_t)((uintptr_t)__builtin_frame_address(0) >> 4) | 1;
    uint32_t outer = countdown->active;
    if (is_new(thread, site, generation))
        countdown_change(thread, site, left_over(thread, site), generation, 0);
    /* One that was left without its END lies no further out than this one. */
    if (outer > frame)
        return generation | SPEX_SAMPLE_NOTE;
    spex_store_relaxed(&countdown->active, frame);
    return generation;
}

/* What spex_sample_ in probe.h leaves over. */
uint32_t spex_sample(struct spex_site *site) {
    uint32_t control = spex_load_acquire(&site->control); /* P1 (P2 in control_word.c) */
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t low = control & SPEX_CONTROL_PERIOD_MASK;
    struct spex_thread *thread = control ? spex_thread_attach() : NULL;
    if (!thread)
        return 0;
    if (low == SPEX_CONTROL_COUNTDOWN)
        return sample_countdown(thread, site, generation);
    if (low == 0)
        return sample_active(thread, site->index, generation);
    return sample_periodic(thread, site->index, generation, low);
}

static bool is_entered(const struct spex_thread *thread, uint32_t site, uint32_t generation) {
    return ((thread->executed[site] ^ generation) & ~SPEX_CONTROL_PERIOD_MASK) ==
           SPEX_REGION_ENTERED;
}

uint32_t spex_sampler_enter(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    uint32_t *word = &thread->executed[site];
    if (is_entered(thread, site, generation))
        return 0;
    if (is_new(thread, site, generation))
        countdown_begin(thread, site, generation, left_over(thread, site));
    uint32_t left = SPEX_CONTROL_COUNTDOWN - (*word & SPEX_CONTROL_PERIOD_MASK);
    spex_store_relaxed(word, *word | SPEX_REGION_ENTERED);
    return left;
}

/* The pass's own countdown has `left` at `executions` beyond the total. */
static void countdown_change_entered(struct spex_thread *thread, uint32_t site, uint32_t generation,
                                     uint64_t executions, uint32_t left) {
    countdown_change(thread, site, executions,
                     generation | SPEX_REGION_ENTERED | (SPEX_CONTROL_COUNTDOWN - left), left);
}

uint32_t spex_sampler_next(struct spex_thread *thread, uint32_t site, uint32_t generation,
                           uint32_t left) {
    uint64_t executions = (uint64_t)left_over(thread, site) + left;
    uint32_t gap = gap_draw(thread, site, generation);
    countdown_change_entered(thread, site, generation, executions, gap);
    return gap;
}

bool spex_sampler_alone(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    if (gap_draw(thread, site, generation) > 1)
        return false;
    if (is_entered(thread, site, generation))
        countdown_begin(thread, site, generation, left_over(thread, site));
    return true;
}

uint32_t spex_sampler_leave(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t left, uint64_t sum) {
    enum { DRAWS_MOST = 4096 };
    uint64_t executions = left_over(thread, site), missed = 0;
    if ((thread->executed[site] ^ generation) & SPEX_CONTROL_GENERATION_MASK)
        return 0;
    while (sum >= left) {
        executions += left;
        sum -= left;
        missed++;
        left = gap_draw(thread, site, generation);
        if (missed == DRAWS_MOST) {
            executions += sum;
            missed += sum / thread->countdowns[site].weight;
            sum = 0;
        }
    }
    countdown_change(thread, site, executions,
                     generation | (SPEX_CONTROL_COUNTDOWN - left + (uint32_t)sum), left);
    return missed < UINT32_MAX ? (uint32_t)missed : UINT32_MAX;
}

void spex_inactive(struct spex_site *site, uint32_t weight) {
    struct spex_thread *thread = spex_thread_current();
    if (thread && !(weight & SPEX_SAMPLE_NOTE))
        spex_store_relaxed(&thread->countdowns[site->index].active, 0);
}
