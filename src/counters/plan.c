/* SPDX-License-Identifier: MIT */
/* A sequence lock for each counter's plan: the generation is odd while the plan's words change.
 * Readers never wait, so signal handlers may read. */
#include "counters/plan.h"

#include <string.h>

#include <spex/atomic.h>

#include "base/lock.h"
#include "counters/ways.h"
#include "text/at_start.h"

enum { PLAN_WORDS = sizeof(struct spex_counter_plan) / sizeof(uint64_t), TRIES = 100 };

_Static_assert(sizeof(struct spex_counter_plan) % sizeof(uint64_t) == 0,
               "plans are copied word by word");

uint32_t spex_counter_generations[SPEX_COUNTERS];
static uint64_t plans[SPEX_COUNTERS][PLAN_WORDS];

void spex_counter_plan_write(enum spex_counter counter, const struct spex_counter_plan *plan) {
    uint64_t words[PLAN_WORDS];
    memcpy(words, plan, sizeof(words));
    uint32_t generation = spex_load_relaxed(&spex_counter_generations[counter]);
    spex_store_relaxed(&spex_counter_generations[counter], generation + 1);
    for (int i = 0; i < PLAN_WORDS; i++)
        spex_store_release(&plans[counter][i], words[i]); /* P1 (P3): the odd generation */
    spex_store_release(&spex_counter_generations[counter],
                       generation + 2); /* P2 (P4): and its words */
}

/* Copies the plan of a generation. False: the plan has changed meanwhile. The acquire loads of
 * the words keep the second load of the generation behind them. */
static bool plan_try_copy(enum spex_counter counter, uint32_t generation,
                          struct spex_counter_plan *plan) {
    uint64_t words[PLAN_WORDS] = {0};
    for (int i = 0; i < PLAN_WORDS; i++)
        words[i] = spex_load_acquire(&plans[counter][i]); /* P3 (P1) */
    memcpy(plan, words, sizeof(words));
    return generation == spex_load_relaxed(&spex_counter_generations[counter]);
}

/* Gives up after TRIES: a signal handler may have interrupted the writer, which does not go on
 * before the handler returns. */
uint32_t spex_counter_plan_read(enum spex_counter counter, struct spex_counter_plan *plan) {
    uint32_t generation = 0;
    for (int i = 0; i < TRIES; i++) {
        generation = spex_load_acquire(&spex_counter_generations[counter]); /* P4 (P2) */
        if (generation % 2 == 0 && plan_try_copy(counter, generation, plan))
            return generation;
    }
    *plan = (struct spex_counter_plan){.way = SPEX_WAY_NONE};
    return generation | 1;
}

static struct spex_lock counters_lock SPEX_AT_START = SPEX_LOCK_FREE;

struct spex_lock *spex_counters_lock(void) {
    return &counters_lock;
}
