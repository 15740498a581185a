/* SPDX-License-Identifier: MIT */
/* Counts a thread's executions of a site, and chooses those that make a record.
 *
 * A thread's word of a site (`executed`) holds the generation, and below it a count. With periodic
 * sampling the count runs from 0 to the period, mostly in the inline code of spex_sample_. With a
 * countdown it runs from SPEX_CONTROL_COUNTDOWN - gap to SPEX_CONTROL_COUNTDOWN, where the next gap
 * is drawn. A polled site does not count; the thread publishes its stack frame while it executes
 * it.
 *
 * A word with another generation than the control word's is out of date: its executions are added
 * to the total, and it begins anew.
 *
 * Threads: the thread and its signal handlers write, without locks. Other threads read executions
 * (spex_sampler_executions). */
#include "probe/sampler.h"

#include <spex/atomic.h>
#include <spex/kernel.h>
#include <spex/probe.h>

#include "probe/contexts.h"
#include "probe/gap.h"
#include "probe/nesting.h"
#include "probe/threads.h"
#include "ring/probe_type.h"
#include "site/registry.h"
#include "site/sampling_rate.h"

/* The largest weight that a record can hold. */
#define WEIGHT_MAX SPEX_CONTROL_PERIOD_MASK

/* The longest gap until a thread whose budget denied it a record tries again. */
#define DENIED_GAP_MAX (1u << 16)

/* Of so many executions of a site with SPEX_SAMPLING_CALLED one calls the library: a call costs
 * some ten times what an execution does without one. */
#define CALLED_GAP 4

uint32_t spex_sampler_marks(const struct spex_countdown *countdown, uint32_t site,
                            uint32_t sampled) {
    if (sampled & 1u << SPEX_CONTROL_GENERATION_SHIFT)
        return 0; /* no countdown, but an execution that is looked at */
    uint64_t rate = spex_load_relaxed(&spex_sampling_rate_of(site, sampled)->rate);
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_GEOMETRIC)
        return SPEX_MARK_DRAWN;
    if (SPEX_RATE_KIND(rate) != SPEX_SAMPLING_BURSTY)
        return 0;
    /* The gap to the next record has been drawn already, and has taken one more of `left`. So after
     * the first record of a burst, two less than the burst are left. */
    bool first = spex_load_relaxed(&countdown->left) == SPEX_RATE_BURST(rate) - 2;
    return SPEX_MARK_BURST | (first ? SPEX_MARK_DRAWN : 0);
}

/* Sets a new word and gap, and adds the executions up to now to the total. The releases pair with
 * the acquires in spex_sampler_executions: a reader that sees a new total or word also sees that
 * the gap is or was changing, and reads again. */
static void countdown_change(struct spex_thread *thread, uint32_t site, uint64_t executions,
                             uint32_t word, uint32_t gap) {
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    uint64_t total = spex_load_relaxed(&countdown->total);
    spex_store_relaxed(&countdown->gap, SPEX_GAP_CHANGING);
    spex_store_release(&countdown->total, total + executions); /* D4 (D3 in executions.c) */
    spex_store_release(&thread->executed[site], word);         /* D6 (D5 in executions.c) */
    spex_store_release(&countdown->gap, gap);                  /* D2 (D1 in executions.c) */
}

/* Returns how many executions each record of the next burst stands for, on average at most `most`.
 * It is chosen so that bursts come every spex_burst_interval, if executions stay as frequent as
 * they were since the last burst was drawn. It is drawn at random from half to one and a half of
 * that, so that bursts do not fall into step with a rhythm of the program. */
static uint32_t burst_weight_draw(struct spex_thread *thread, struct spex_countdown *countdown,
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

/* Returns the gap to the next record of bursty sampling: 1 within a burst. A burst of B records of
 * weight w stands for itself and for the (w - 1) B executions before it, so these are skipped. */
static uint32_t burst_gap_draw(struct spex_thread *thread, struct spex_countdown *countdown,
                               uint64_t rate) {
    uint32_t left = spex_load_relaxed(&countdown->left), burst = SPEX_RATE_BURST(rate);
    if (left > 0) {
        spex_store_relaxed(&countdown->left, left - 1);
        return 1;
    }
    uint32_t weight = burst_weight_draw(thread, countdown, SPEX_RATE_PERIOD(rate));
    spex_store_relaxed(&countdown->left, burst - 1);
    spex_store_relaxed(&countdown->weight, weight);
    return (weight - 1) * burst + 1;
}

/* Draws the gap to the next record, and sets the weight that the record will have. */
static uint32_t gap_draw(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    const struct spex_sampling_rate *slot = spex_sampling_rate_of(site, generation);
    uint64_t rate = spex_load_relaxed(&slot->rate);
    double scale;
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_BURSTY)
        return burst_gap_draw(thread, countdown, rate);
    if (spex_sampling_asked(SPEX_RATE_KIND(rate))) {
        spex_store_relaxed(&countdown->weight, 0);
        return SPEX_RATE_KIND(rate) == SPEX_SAMPLING_CALLED ? CALLED_GAP : SPEX_CONTROL_PERIOD_MAX;
    }
    spex_store_relaxed(&countdown->weight, SPEX_RATE_PERIOD(rate));
    if (SPEX_RATE_KIND(rate) == SPEX_SAMPLING_PERIODIC || SPEX_RATE_PERIOD(rate) < 2)
        return SPEX_RATE_PERIOD(rate);
    __atomic_load(&slot->scale, &scale, __ATOMIC_RELAXED);
    return spex_gap_geometric(&thread->random, scale);
}

/* Returns how many executions the count within a fixed period is ahead at first; the total has so
 * many fewer. The first record comes the earlier; its weight is the period as that of any other.
 *
 * Sites that execute in turn must not be recorded together: each recorded execution of an outer
 * probe would contain a record of an inner one, and the alarms of a collector that records make,
 * and no other execution would. Multiples of the golden ratio, modulo 1, keep few sites as far
 * apart as many (Knuth, TAOCP 3, 6.4). */
static uint32_t period_phase(uint32_t site, uint32_t period) {
    const uint32_t golden_ratio = 0x9e3779b9;
    return (uint32_t)((uint64_t)(site * golden_ratio) * period >> 32);
}

/* Begins a countdown that is `ahead` executions ahead. `executions` are those that are not in the
 * total yet. */
static void countdown_begin(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t executions, uint32_t ahead) {
    uint32_t gap = gap_draw(thread, site, generation);
    countdown_change(thread, site, (uint64_t)executions - ahead,
                     generation | (SPEX_CONTROL_COUNTDOWN - gap + ahead), gap);
}

/* Begins the first countdown of a generation. */
static void countdown_begin_first(struct spex_thread *thread, uint32_t site, uint32_t generation,
                                  uint32_t executions) {
    uint64_t rate = spex_load_relaxed(&spex_sampling_rate_of(site, generation)->rate);
    bool fixed = SPEX_RATE_KIND(rate) == SPEX_SAMPLING_PERIODIC;
    countdown_begin(thread, site, generation, executions,
                    fixed ? period_phase(site, SPEX_RATE_PERIOD(rate)) : 0);
}

/* Returns whether the thread's word has another generation. */
static bool word_is_outdated(const struct spex_thread *thread, uint32_t site, uint32_t generation) {
    return (thread->executed[site] ^ generation) & ~SPEX_CONTROL_PERIOD_MASK;
}

/* Returns the executions of the thread's word that are not in the total yet. The gap is not the
 * word's where a signal handler has changed both while the thread was counting. */
static uint32_t executions_uncounted(const struct spex_thread *thread, uint32_t site) {
    int32_t executions =
        spex_word_executions(thread->executed[site], spex_countdown_of(thread, site)->gap);
    return executions > 0 ? (uint32_t)executions : 0;
}

/* Continues after the budget has denied a record. The gap doubles each time, so that trying again
 * costs next to nothing. The weights of the denied records are added to the next record's, so that
 * estimates stay complete. */
static void record_deny(struct spex_thread *thread, uint32_t site, uint32_t generation,
                        uint32_t gap) {
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    uint64_t denied = (uint64_t)countdown->denied + countdown->weight;
    uint32_t longer = gap < DENIED_GAP_MAX / 2 ? gap * 2 : DENIED_GAP_MAX;
    spex_store_relaxed(&countdown->denied, (uint32_t)(denied < WEIGHT_MAX ? denied : WEIGHT_MAX));
    spex_store_relaxed(&countdown->weight, longer);
    spex_store_relaxed(&countdown->left, 0);
    countdown_change(thread, site, gap, generation | (SPEX_CONTROL_COUNTDOWN - longer), longer);
}

/* Returns the weight of the record, with those that were denied since the last one. */
static uint32_t record_weight_take(struct spex_countdown *countdown) {
    uint64_t weight = (uint64_t)countdown->weight + countdown->denied;
    spex_store_relaxed(&countdown->denied, 0);
    return (uint32_t)(weight < WEIGHT_MAX ? weight : WEIGHT_MAX);
}

/* Counts an execution of a site with a countdown; returns as spex_sample. */
static uint32_t sample_countdown(struct spex_thread *thread, const struct spex_site *where,
                                 uint32_t generation) {
    uint32_t site = where->index;
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    uint32_t *word = &thread->executed[site];
    if (word_is_outdated(thread, site, generation)) {
        uint32_t executions = executions_uncounted(thread, site);
        spex_store_relaxed(&countdown->left, 0);
        spex_store_relaxed(&countdown->denied, 0);
        /* The time since the last burst says nothing about the new rate. */
        spex_store_relaxed(&countdown->since, 0);
        countdown_begin_first(thread, site, generation, executions);
    }
    spex_store_relaxed(word, *word + 1);
    if ((*word & SPEX_CONTROL_PERIOD_MASK) < SPEX_CONTROL_COUNTDOWN)
        return 0;
    if (!countdown->weight) {
        countdown_begin(thread, site, generation, countdown->gap, 0);
        return 0;
    }
    if (spex_thread_budget_bounded() &&
        !spex_thread_budget_take(&thread->budget, spex_probe_type_ring(spex_site_type_(where)))) {
        record_deny(thread, site, generation, countdown->gap);
        return 0;
    }
    uint32_t weight = record_weight_take(countdown);
    countdown_begin(thread, site, generation, countdown->gap, 0);
    return generation | SPEX_SAMPLE_NOTE | weight;
}

/* Counts an execution of a site with a fixed period; returns as spex_sample. The count of an ended
 * thread continues in the thread that has its state now, so that the weights cover all
 * executions. */
static uint32_t sample_periodic(struct spex_thread *thread, uint32_t site, uint32_t generation,
                                uint32_t period) {
    uint32_t *word = &thread->executed[site];
    if (word_is_outdated(thread, site, generation)) {
        uint32_t ahead = period_phase(site, period);
        uint64_t executions = executions_uncounted(thread, site);
        countdown_change(thread, site, executions - ahead, generation | ahead, 0);
    }
    uint32_t count = (*word & SPEX_CONTROL_PERIOD_MASK) + 1;
    if (count < period) {
        spex_store_relaxed(word, generation | count);
        return 0;
    }
    /* A period that was shortened and is over: the next one has begun. */
    uint32_t ahead = count > period ? period_phase(site, period) : 0;
    spex_store_relaxed(word, generation | ahead);
    return generation | (count - ahead);
}

/* Publishes the stack frame of an execution of a polled site, until spex_inactive withdraws it. A
 * nested execution of the same site is not published, and has the note, so that its END does not
 * withdraw the outer one. The stack grows downwards: a published frame further in than this one was
 * left without its END, and is replaced. */
static uint32_t sample_active(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    uint32_t frame = (uint32_t)((uintptr_t)__builtin_frame_address(0) >> 4) | 1;
    uint32_t outer = countdown->active;
    if (word_is_outdated(thread, site, generation))
        countdown_change(thread, site, executions_uncounted(thread, site), generation, 0);
    if (outer > frame)
        return generation | SPEX_SAMPLE_NOTE;
    spex_store_relaxed(&countdown->active, frame);
    thread->polled = true;
    return generation;
}

/* Counts an execution of a site with this control word; returns as spex_sample. */
static uint32_t sample_by(struct spex_thread *thread, const struct spex_site *site,
                          uint32_t control) {
    uint32_t generation = control & ~SPEX_CONTROL_PERIOD_MASK;
    uint32_t low = control & SPEX_CONTROL_PERIOD_MASK;
    if (low == SPEX_CONTROL_COUNTDOWN)
        return sample_countdown(thread, site, generation);
    if (low == 0)
        return sample_active(thread, site->index, generation);
    return sample_periodic(thread, site->index, generation, low);
}

/* Counts an execution of an armed site (nesting.h), and has its END call the library. Without a
 * record, a result other than 0 makes END call spex_inactive; a KERNEL would be taken for one
 * that is polled. */
static uint32_t sample_armed(struct spex_thread *thread, const struct spex_site *site,
                             uint32_t control) {
    uint32_t index = site->index;
    spex_nesting_disarm(thread, index);
    uint32_t sampled = sample_by(thread, site, control);
    if (!(control & SPEX_CONTROL_PERIOD_MASK))
        return sampled;
    if (!sampled && spex_site_type_(site) == SPEX_KERNEL) {
        spex_nesting_pass(thread, index);
        return 0;
    }
    if (!(sampled & SPEX_SAMPLE_NOTE))
        spex_own_add(&spex_countdown_of(thread, index)->total, sampled & SPEX_CONTROL_PERIOD_MASK);
    spex_nesting_begin(thread, index);
    return (control & ~SPEX_CONTROL_PERIOD_MASK) | SPEX_SAMPLE_NOTE | sampled;
}

/* BEGIN of a kernel has entered a context for it before it calls the library: a kernel that is not on
 * is none around others. END goes back to the same context. */
static void context_leave(const struct spex_site *site) {
    struct spex_context_node node;
    if (spex_site_type_(site) == SPEX_KERNEL && spex_context_node(spex_context, &node) &&
        node.kernel == spex_load_relaxed(&site->probe_id))
        spex_context = node.parent;
}

/* The cases that spex_sample_ (spex/detail/recording.h) does not decide inline. */
uint32_t spex_sample(struct spex_site *site) {
    uint32_t control = spex_site_control_acquire(site);
    struct spex_thread *thread = control ? spex_thread_attach() : NULL;
    if (!thread) {
        if (control & SPEX_CONTROL_PERIOD_MASK)
            spex_threads_count_stateless(site->index, 1);
        if (!control)
            context_leave(site);
        return 0;
    }
    uint32_t gap = spex_countdown_of(thread, site->index)->gap, sampled;
    if (SPEX_UNLIKELY(spex_nesting_is_armed(thread, site->index))) {
        sampled = sample_armed(thread, site, control);
    } else {
        sampled = sample_by(thread, site, control);
        if (sampled & SPEX_SAMPLE_NOTE)
            spex_nesting_forget(thread, site->index);
    }
    if (sampled & SPEX_CONTROL_PERIOD_MASK)
        spex_sampler_settle(site, gap);
    return sampled;
}

/* Returns whether a pass has the countdown of the region's site, in this generation. */
static bool countdown_is_entered(const struct spex_thread *thread, uint32_t site,
                                 uint32_t generation) {
    return ((thread->executed[site] ^ generation) & ~SPEX_CONTROL_PERIOD_MASK) ==
           SPEX_REGION_ENTERED;
}

/* Adds a pass that takes the slow copy to the estimate. Gaps have no memory: before each pass, what
 * is left of one is at most `weight` with the same probability. So such a pass stands for as many
 * as the inverse of that. */
static void slow_pass_count(struct spex_countdown *countdown, uint32_t site, uint32_t generation,
                            uint32_t weight) {
    const struct spex_sampling_rate *slot = spex_sampling_rate_of(site, generation);
    double scale, passes = 1;
    __atomic_load(&slot->scale, &scale, __ATOMIC_RELAXED);
    if (SPEX_RATE_PERIOD(spex_load_relaxed(&slot->rate)) > 1)
        passes = spex_gap_one_within(scale, weight);
    spex_own_add(&countdown->passes, (uint64_t)(passes * SPEX_PASS_PARTS));
}

uint32_t spex_sampler_enter(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t weight) {
    uint32_t *word = &thread->executed[site];
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    spex_store_relaxed(&countdown->calls, countdown->calls + 1);
    if (countdown_is_entered(thread, site, generation)) {
        spex_own_add(&countdown->passes, (uint64_t)SPEX_PASS_PARTS);
        return 0;
    }
    if (word_is_outdated(thread, site, generation))
        countdown_begin_first(thread, site, generation, executions_uncounted(thread, site));
    uint32_t left = SPEX_CONTROL_COUNTDOWN - (*word & SPEX_CONTROL_PERIOD_MASK);
    if (left <= weight)
        slow_pass_count(countdown, site, generation, weight);
    spex_store_relaxed(word, *word | SPEX_REGION_ENTERED);
    return left;
}

/* Sets the countdown that a pass has: `left` executions are to go, after `executions` that are not
 * in the total yet. */
static void countdown_change_entered(struct spex_thread *thread, uint32_t site, uint32_t generation,
                                     uint64_t executions, uint32_t left) {
    countdown_change(thread, site, executions,
                     generation | SPEX_REGION_ENTERED | (SPEX_CONTROL_COUNTDOWN - left), left);
}

uint32_t spex_sampler_next(struct spex_thread *thread, uint32_t site, uint32_t generation,
                           uint32_t left) {
    uint64_t executions = (uint64_t)executions_uncounted(thread, site) + left;
    uint32_t gap = gap_draw(thread, site, generation);
    countdown_change_entered(thread, site, generation, executions, gap);
    return gap;
}

bool spex_sampler_alone(struct spex_thread *thread, uint32_t site, uint32_t generation) {
    if (gap_draw(thread, site, generation) > 1)
        return false;
    if (countdown_is_entered(thread, site, generation))
        countdown_begin_first(thread, site, generation, executions_uncounted(thread, site));
    return true;
}

/* An execution that was chosen with probability 1/w counts as w; the variance of the count is
 * estimated by the sum of w (w - 1) (Horvitz and Thompson, for a Poisson sample). The site has no
 * countdown of its own; its word stays 0. Of what a signal handler adds meanwhile the variance may
 * lack a part. */
void spex_sampler_chosen(struct spex_thread *thread, uint32_t site, uint32_t weight) {
    struct spex_countdown *countdown = spex_countdown_of(thread, site);
    double variance = countdown->variance + (double)weight * (weight - 1.0);
    spex_own_add(&countdown->total, weight);
    __atomic_store(&countdown->variance, &variance, __ATOMIC_RELAXED);
}

/* Each gap that ended among the last `sum` executions is a record that the fast copy could not
 * make. Drawing them one by one is bounded; beyond DRAWS_MAX their number is estimated by the
 * weight. */
uint32_t spex_sampler_leave(struct spex_thread *thread, uint32_t site, uint32_t generation,
                            uint32_t left, uint64_t sum) {
    enum { DRAWS_MAX = 4096 };
    uint64_t executions = executions_uncounted(thread, site), missed = 0;
    if ((thread->executed[site] ^ generation) & SPEX_CONTROL_GENERATION_MASK)
        return 0;
    while (sum >= left) {
        executions += left;
        sum -= left;
        missed++;
        left = gap_draw(thread, site, generation);
        if (missed == DRAWS_MAX) {
            executions += sum;
            missed += sum / spex_countdown_of(thread, site)->weight;
            sum = 0;
        }
    }
    countdown_change(thread, site, executions,
                     generation | (SPEX_CONTROL_COUNTDOWN - left + (uint32_t)sum), left);
    return missed < UINT32_MAX ? (uint32_t)missed : UINT32_MAX;
}

/* END of an execution of a polled site, or of one that is looked at. */
void spex_inactive(struct spex_site *site, uint32_t weight) {
    struct spex_thread *thread = spex_thread_current();
    if (thread && (weight & SPEX_SAMPLE_NOTE))
        spex_nesting_end(thread, site->index, 0);
    else if (thread)
        spex_store_relaxed(&spex_countdown_of(thread, site->index)->active, 0);
}
