/* SPDX-License-Identifier: MIT */
/* Executions and times by calling context, from kernels' records with their weights. */
#ifndef SPEX_TOOLS_EXPORT_STACKS_H
#define SPEX_TOOLS_EXPORT_STACKS_H

#include <stdint.h>

#include "tools/export/exporter.h"

struct spex_stack {
    double executions;
    double ns;
    /* Of `ns`, what kernels within it took. */
    double inner_ns;
    /* The squares of what the records add to `ns`, and those of kernels within it: how far the sums may
     * be off by chance, if executions are independent. */
    double squares, inner_squares;
    uint64_t records;
};

struct spex_stacks {
    const struct spex_recording *trace;
    /* By process, then by context. */
    struct spex_stack **of;
    /* Records of kernels whose context is not known, or whose time is none of the program. */
    uint64_t left_out;
};

/* 0 or -ENOMEM. Free them in any case. */
int spex_stacks_make(struct spex_stacks *stacks, const struct spex_recording *trace);
void spex_stacks_free(struct spex_stacks *stacks);

/* Adds a record; those of other types are left out. */
void spex_stacks_add(struct spex_stacks *stacks, const struct spex_labels *labels,
                     const struct spex_recording_event *event);

/* When all are added: finds `inner_ns`. -ENODATA, with the reason: there are no kernels. */
int spex_stacks_finish(struct spex_stacks *stacks, struct spex_error *error);

/* The stack's own time, at least 0: samples of kernels within it may have been longer than its own
 * samples. */
static inline double spex_stack_own_ns(const struct spex_stack *stack) {
    return stack->ns > stack->inner_ns ? stack->ns - stack->inner_ns : 0;
}

/* Names of a context's kernels from the innermost on, at most `most`, into `kernels`. Returns how
 * many. */
unsigned spex_stack_kernels(const struct spex_recording_process *process, uint32_t context,
                            uint16_t *kernels, unsigned most);

/* What a kernel is called: its name, or its id; returns `text`. */
const char *spex_stack_kernel_text(const struct spex_recording_process *process, uint16_t kernel,
                                   char *text, size_t size);

#endif
