/* SPDX-License-Identifier: MIT */
/* Keeps what samples of kernels cost within the budget: intervals are stretched, and where
 * executions alone cost too much the kernels that execute most often are held off for a while.
 * In the thread that looks (kernel_sampler.h). */
#ifndef SPEX_KERNELS_SAMPLING_BUDGET_H
#define SPEX_KERNELS_SAMPLING_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "base/hold_off.h"
#include "kernels/sampling_plan.h"
#include "site/registry.h"

struct spex_sampling_budget {
    double share; /* of the program's time; 0: any */
    bool alone;   /* what collectors cost is for samples alone */
    double execution_seconds;
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    /* Since the last pass: */
    uint64_t rounds; /* of the thread, */
    uint64_t looks;  /*   and what it did in them */
    /* As of the last pass: */
    uint64_t now_ns;
    uint64_t process_ns;    /* CPU time of the process, */
    uint64_t collectors_ns; /*   of its collectors, */
    uint64_t looker_ns;     /*   and of this thread */
    uint64_t records;
    uint64_t pass_ns;                           /* CPU time that it took itself */
    uint32_t executions[SPEX_CONTEXTS_MAX + 1]; /* of each context, modulo 2^32 */
    uint32_t fresh[SPEX_CONTEXTS_MAX + 1];      /* and since the pass before it */
    double rates[SPEX_MAX_SITES];               /* of each kernel, by its first site, a second */
    struct spex_hold_off held[SPEX_MAX_SITES];  /* the same */
};

/* What the thread that looks has used, and executions have cost, since the process began. Any
 * thread. */
uint64_t spex_sampling_budget_spent_ns(void);

void spex_sampling_budget_begin(struct spex_sampling_budget *spending, double share, bool alone);

/* Every so often does what is to be done. */
void spex_sampling_budget_pass(struct spex_sampling_budget *spending,
                               struct spex_sampling_plan *plan);

/* What is held is let go. */
void spex_sampling_budget_end(struct spex_sampling_budget *spending);

#endif
