/* SPDX-License-Identifier: MIT */
/* The loop call graph of a process as its kernels have walked it: a tree of calling contexts, which
 * grows and never shrinks. Bhattacharyya and Amza, "ADLER: Adaptive Sampling for Precise
 * Monitoring", section 3.1. */
#ifndef SPEX_PROBE_CONTEXTS_H
#define SPEX_PROBE_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

struct spex_context_node {
    uint32_t parent; /* another node's number */
    uint16_t kernel; /* probe id */
};

/* Of a number that a record holds; safe in any thread. False: there is none of this number. */
bool spex_context_node(uint64_t number, struct spex_context_node *node);

/* Executions' steps that found no room. */
uint64_t spex_contexts_refused(void);

#endif
