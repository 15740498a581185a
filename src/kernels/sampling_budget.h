/* SPDX-License-Identifier: MIT */
/* Keeps the cost of sampling by models within its budget. It makes all intervals longer while
 * samples cost too much. Where polling the executions alone costs too much, it switches off the
 * kernels that execute most often, for a while. All functions but spex_sampling_budget_spent_ns run
 * on the sampling thread (kernel_sampler.h). */
#ifndef SPEX_KERNELS_SAMPLING_BUDGET_H
#define SPEX_KERNELS_SAMPLING_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include <spex/site.h>

#include "base/hold_off.h"
#include "kernels/sampling_plan.h"
#include "site/registry.h"

struct spex_sampling_budget {
    /* The share of the program's CPU time that sampling may cost; 0: no limit. */
    double share;
    /* No controller counts the collectors' cost: it counts for this budget. */
    bool alone;
    /* Cost of a polled execution that makes no record. */
    double execution_seconds;
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    /* Rounds of the sampling thread since the last pass, and the samples that it made in them. */
    uint64_t rounds;
    uint64_t samples;
    /* Values at the last pass: the time, the CPU time of the process, of its collectors and of the
     * sampling thread, and the number of kernels' records. */
    uint64_t now_ns;
    uint64_t process_ns;
    uint64_t collectors_ns;
    uint64_t sampler_ns;
    uint64_t records;
    /* CPU time of the last pass itself. */
    uint64_t pass_ns;
    /* Executions of each context: in all, modulo 2^32, as of the last pass; and between the last
     * two passes. */
    uint32_t executions[SPEX_CONTEXTS_MAX + 1];
    uint32_t fresh[SPEX_CONTEXTS_MAX + 1];
    /* Executions a second of each kernel, and its pause while it is held off. Both by the number
     * of the kernel's first site. */
    double rates[SPEX_MAX_SITES];
    struct spex_hold_off held[SPEX_MAX_SITES];
};

/* CPU time that sampling by models has cost since the process began: that of the sampling thread,
 * and the estimated cost of polled executions. Any thread. */
uint64_t spex_sampling_budget_spent_ns(void);

void spex_sampling_budget_begin(struct spex_sampling_budget *budget, double share, bool alone);

/* Accounts for the time since the last pass and adjusts intervals. To be called each round; does
 * nothing while the last pass is less than 0.1 s ago. */
void spex_sampling_budget_pass(struct spex_sampling_budget *budget,
                               struct spex_sampling_plan *plan);

/* Switches the kernels on again that are held off. */
void spex_sampling_budget_end(struct spex_sampling_budget *budget);

#endif
