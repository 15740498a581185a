/* SPDX-License-Identifier: MIT */
/* The calling contexts in which kernels have been executed, as a tree that grows and never shrinks:
 * the loop call graph of Bhattacharyya and Amza, "ADLER: Adaptive Sampling for Precise Monitoring",
 * section 3.1. A context is the number of a node of the tree. */
#ifndef SPEX_PROBE_CONTEXTS_H
#define SPEX_PROBE_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

struct spex_context_node {
    /* The number of the node around this one. */
    uint32_t parent;
    /* The probe id of the kernel. */
    uint16_t kernel;
};

/* Copies the node whose number a record holds. Returns false when there is no such node. Any
 * thread. */
bool spex_context_node(uint64_t number, struct spex_context_node *node);

/* Returns how often a kernel found no room for its context, and stayed in that around it. */
uint64_t spex_contexts_refused(void);

#endif
