/* SPDX-License-Identifier: MIT */
#include "tools/export/stack_changes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/student.h"
#include "text/text_hash.h"

/* From these parts of the whole on, a change has a higher grade. */
static const double grades[] = {0.01, 0.05};

enum { GRADES = sizeof(grades) / sizeof(grades[0]) };

/* Degrees of freedom with which Student's distribution is the normal one. */
#define MANY 1e6

static const struct spex_pace no_pace;

int spex_stack_changes_make(struct spex_stack_changes *changes, const struct spex_recording *before,
                            double seconds_before) {
    *changes = (struct spex_stack_changes){.seconds_before = seconds_before};
    return spex_stacks_make(&changes->before, before);
}

void spex_stack_changes_free(struct spex_stack_changes *changes) {
    for (size_t p = 0; changes->contexts && p < changes->now->trace->process_count; p++)
        free(changes->contexts[p]);
    free(changes->contexts);
    free(changes->processes);
    if (changes->before.trace)
        spex_stacks_free(&changes->before);
}

void spex_stack_changes_add(struct spex_stack_changes *changes, const struct spex_labels *labels,
                            const struct spex_recording_event *event) {
    spex_stacks_add(&changes->before, labels, event);
}

/* How many processes before this one have its name. */
static size_t place_of_name(const struct spex_recording *trace, size_t process) {
    size_t place = 0;
    for (size_t p = 0; p < process; p++)
        place += strcmp(trace->processes[p].name, trace->processes[process].name) == 0;
    return place;
}

/* The process before that stands for this one: the only one, or that of its name at the same place
 * among those of its name. The count of processes: none. */
static size_t process_before(const struct spex_recording *before, const struct spex_recording *now,
                             size_t process) {
    size_t place = place_of_name(now, process), count = before->process_count;
    if (count == 1 && now->process_count == 1)
        return 0;
    for (size_t p = 0; p < count; p++)
        if (strcmp(before->processes[p].name, now->processes[process].name) == 0 && place-- == 0)
            return p;
    return count;
}

/* A context as one below its caller. */
struct child {
    uint64_t name;
    uint32_t caller;
    uint16_t context;
};

static int child_order(const void *one, const void *other) {
    const struct child *a = one, *b = other;
    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return 0;
}

/* False: there is no such context, or it is the root. */
static bool child_of(const struct spex_recording_process *process, uint32_t context,
                     struct child *child) {
    const struct spex_stream_context *contexts = process->journal.contexts;
    char text[SPEX_STREAM_TEXT_BYTES];
    if (!contexts || !contexts[context].parent)
        return false;
    *child = (struct child){
        .name = spex_text_hash(SPEX_TEXT_HASH_BEGIN,
                               spex_stack_kernel_text(process, (uint16_t)contexts[context].kernel,
                                                      text, sizeof(text))),
        .caller = contexts[context].parent,
        .context = (uint16_t)context,
    };
    return true;
}

/* The contexts of a process, in child_order. NULL: no memory. */
static struct child *children_of(const struct spex_recording_process *process, size_t *count) {
    struct child *children = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(*children));
    *count = 0;
    for (uint32_t c = SPEX_CONTEXT_ROOT + 1; children && c <= SPEX_CONTEXTS_MAX; c++)
        *count += child_of(process, c, &children[*count]);
    if (children)
        qsort(children, *count, sizeof(*children), child_order);
    return children;
}

/* Finds for each context now the one before: callers have lower numbers than whom they call. */
static int contexts_match(const struct spex_recording_process *before,
                          const struct spex_recording_process *now, uint16_t *contexts) {
    size_t count;
    struct child *children = children_of(before, &count);
    if (!children)
        return -ENOMEM;
    contexts[SPEX_CONTEXT_ROOT] = SPEX_CONTEXT_ROOT;
    for (uint32_t c = SPEX_CONTEXT_ROOT + 1; c <= SPEX_CONTEXTS_MAX; c++) {
        struct child child;
        if (!child_of(now, c, &child) || !contexts[child.caller])
            continue;
        child.caller = contexts[child.caller];
        const struct child *found =
            bsearch(&child, children, count, sizeof(*children), child_order);
        contexts[c] = found ? found->context : 0;
    }
    free(children);
    return 0;
}

static struct spex_pace pace_of(const struct spex_stack *stack, double seconds) {
    return seconds > 0 ? (struct spex_pace){spex_stack_own_ns(stack) / 1e9 / seconds,
                                            stack->executions / seconds}
                       : no_pace;
}

/* Of a context's own time a second, by how much single executions take. */
static double pace_variance(const struct spex_stack *stack, double seconds) {
    return seconds > 0 ? (stack->squares + stack->inner_squares) / 1e18 / (seconds * seconds) : 0;
}

static double whole_of(const struct spex_stacks *stacks, double seconds, uint32_t *contexts) {
    double sum = 0;
    for (size_t p = 0; p < stacks->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++) {
            sum += pace_of(&stacks->of[p][c], seconds).seconds;
            *contexts += stacks->of[p][c].records > 0;
        }
    return sum;
}

static int processes_match(struct spex_stack_changes *changes) {
    const struct spex_recording *before = changes->before.trace, *now = changes->now->trace;
    for (size_t p = 0; p < now->process_count; p++) {
        size_t old = changes->processes[p] = process_before(before, now, p);
        changes->contexts[p] = calloc(SPEX_CONTEXTS_MAX + 1, sizeof(**changes->contexts));
        if (!changes->contexts[p])
            return -ENOMEM;
        int err =
            old < before->process_count
                ? contexts_match(&before->processes[old], &now->processes[p], changes->contexts[p])
                : 0;
        if (err)
            return err;
    }
    return 0;
}

/* The stack of a context before; NULL: there is none. */
static struct spex_stack *stack_before(const struct spex_stack_changes *changes, size_t process,
                                       uint32_t context) {
    uint16_t before = changes->contexts[process][context];
    return before ? &changes->before.of[changes->processes[process]][before] : NULL;
}

/* All that was executed before, without what is executed now. */
static void gone_count(struct spex_stack_changes *changes) {
    changes->gone = 0;
    changes->gone_seconds = whole_of(&changes->before, changes->seconds_before, &changes->gone);
    for (size_t p = 0; p < changes->now->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++) {
            const struct spex_stack *stack = stack_before(changes, p, c);
            if (!stack || !stack->records || !changes->now->of[p][c].records)
                continue;
            changes->gone--;
            changes->gone_seconds -= pace_of(stack, changes->seconds_before).seconds;
        }
    if (changes->gone_seconds < 0 || !changes->gone)
        changes->gone_seconds = 0;
}

int spex_stack_changes_finish(struct spex_stack_changes *changes, const struct spex_stacks *now,
                              double seconds_now, struct spex_error *error) {
    size_t count = now->trace->process_count + 1;
    uint32_t contexts = 0;
    changes->now = now;
    changes->seconds_now = seconds_now;
    changes->contexts = calloc(count, sizeof(*changes->contexts));
    changes->processes = calloc(count, sizeof(*changes->processes));
    int err = spex_stacks_finish(&changes->before, error);
    if (err)
        return err;
    if (!changes->contexts || !changes->processes || processes_match(changes) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    changes->whole = fmax(whole_of(&changes->before, changes->seconds_before, &contexts),
                          whole_of(now, seconds_now, &contexts));
    changes->certain = spex_student_two_sided(0.05 / (contexts ? contexts : 1), MANY);
    gone_count(changes);
    return 0;
}

struct spex_stack_change spex_stack_change_of(const struct spex_stack_changes *changes,
                                              size_t process, uint32_t context) {
    const struct spex_stack *now = &changes->now->of[process][context];
    const struct spex_stack *before = stack_before(changes, process, context);
    struct spex_stack_change change = {.before = before ? pace_of(before, changes->seconds_before)
                                                        : no_pace,
                                       .now = pace_of(now, changes->seconds_now)};
    double variance = pace_variance(now, changes->seconds_now) +
                      (before ? pace_variance(before, changes->seconds_before) : 0);
    double by = change.now.seconds - change.before.seconds;
    if (fabs(by) <= changes->certain * sqrt(variance))
        return change;
    change.grade = 1;
    for (unsigned g = 0; g < GRADES; g++)
        change.grade += fabs(by) >= grades[g] * changes->whole;
    if (by < 0)
        change.grade = -change.grade;
    return change;
}
