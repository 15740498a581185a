/* SPDX-License-Identifier: MIT */
#include "tools/export/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/kernel_paths.h"

int spex_stacks_make(struct spex_stacks *stacks, const struct spex_recording *trace) {
    *stacks = (struct spex_stacks){.trace = trace};
    stacks->of = calloc(trace->process_count + 1, sizeof(struct spex_stack *));
    for (size_t p = 0; stacks->of && p < trace->process_count; p++)
        if (!(stacks->of[p] = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(*stacks->of[p]))))
            return -ENOMEM;
    return stacks->of ? 0 : -ENOMEM;
}

void spex_stacks_free(struct spex_stacks *stacks) {
    for (size_t p = 0; stacks->of && p < stacks->trace->process_count; p++)
        free(stacks->of[p]);
    free(stacks->of);
}

/* A record of weight 0 is a look at an execution that goes on, and stands for none. */
void spex_stacks_add(struct spex_stacks *stacks, const struct spex_labels *labels,
                     const struct spex_recording_event *event) {
    const struct spex_record *record = &event->record;
    if (record->probe_type != SPEX_KERNEL || !record->weight)
        return;
    struct spex_kernels_known known = spex_recording_kernels(event->process);
    if (!spex_kernel_record_sound(&known, record)) {
        stacks->left_out++;
        return;
    }
    struct spex_stack *stack =
        &stacks->of[spex_label_process(labels, event->process)][record->fields[1]];
    stack->records++;
    stack->executions += record->weight;
    double ns =
        (double)record->weight * (double)record->fields[0] / stacks->trace->ticks_per_second * 1e9;
    stack->ns += ns;
    stack->squares += ns * ns;
}

int spex_stacks_finish(struct spex_stacks *stacks, struct spex_error *error) {
    uint64_t records = 0;
    for (size_t p = 0; p < stacks->trace->process_count; p++) {
        const struct spex_stream_context *contexts = stacks->trace->processes[p].journal.contexts;
        for (uint32_t c = SPEX_CONTEXT_ROOT + 1; contexts && c <= SPEX_CONTEXTS_MAX; c++) {
            struct spex_stack *caller = &stacks->of[p][contexts[c].parent];
            if (contexts[c].parent) {
                caller->inner_ns += stacks->of[p][c].ns;
                caller->inner_squares += stacks->of[p][c].squares;
            }
            records += stacks->of[p][c].records;
        }
    }
    return records ? 0
                   : spex_fail(error, -ENODATA,
                               "stacks are made of kernels' records, and there are none");
}

unsigned spex_stack_kernels(const struct spex_recording_process *process, uint32_t context,
                            uint16_t *kernels, unsigned most) {
    struct spex_kernels_known known = spex_recording_kernels(process);
    struct spex_context_node node;
    unsigned count = 0;
    while (count < most && context != SPEX_CONTEXT_ROOT && known.node(known.by, context, &node)) {
        kernels[count++] = node.kernel;
        context = node.parent;
    }
    return count;
}

const char *spex_stack_kernel_text(const struct spex_recording_process *process, uint16_t kernel,
                                   char *text, size_t size) {
    struct spex_kernels_known known = spex_recording_kernels(process);
    struct spex_kernel_site site = {.id = kernel};
    known.site(known.by, kernel, &site);
    if (site.name && *site.name)
        snprintf(text, size, "%s", site.name);
    else
        snprintf(text, size, "%d", (int)site.id);
    return text;
}
