/* SPDX-License-Identifier: MIT */
/* What calling contexts take in one trace, or part of it, against another one: each context is
 * compared with that of the same kernels' names there. Times are a kernel's own, a second. */
#ifndef SPEX_TOOLS_EXPORT_STACK_CHANGES_H
#define SPEX_TOOLS_EXPORT_STACK_CHANGES_H

#include "tools/export/stacks.h"

/* A context's own time and executions a second. All 0: it did not execute. */
struct spex_pace {
    double seconds, executions;
};

struct spex_stack_change {
    struct spex_pace before, now;
    /* 1 to 3: it takes more, by up to 1 % of what all contexts take, by up to 5 %, by more; negative:
     * less. 0: no change that chance does not make, of independent executions, in one picture of 20. */
    int grade;
};

struct spex_stack_changes {
    const struct spex_stacks *now;
    struct spex_stacks before;
    double seconds_before, seconds_now;
    /* Of each process and context the context before; 0: there was none. And that context's
     * process. */
    uint16_t **contexts;
    size_t *processes;
    /* All contexts' own time a second, where it is longer, and the normal quantile of a change. */
    double whole, certain;
    /* Contexts that are not executed any more, and their own seconds a second. */
    uint32_t gone;
    double gone_seconds;
};

/* `seconds`: the length of what is compared. 0 or -ENOMEM; free them in any case. */
int spex_stack_changes_make(struct spex_stack_changes *changes, const struct spex_recording *before,
                            double seconds_before);
void spex_stack_changes_free(struct spex_stack_changes *changes);

/* Adds a record from before. */
void spex_stack_changes_add(struct spex_stack_changes *changes, const struct spex_labels *labels,
                            const struct spex_recording_event *event);

/* When all are added, and `now` is finished. 0, or a negative errno value with the reason. */
int spex_stack_changes_finish(struct spex_stack_changes *changes, const struct spex_stacks *now,
                              double seconds_now, struct spex_error *error);

struct spex_stack_change spex_stack_change_of(const struct spex_stack_changes *changes,
                                              size_t process, uint32_t context);

#endif
