/* SPDX-License-Identifier: MIT */
/* Folded stacks: "main;sort 1234", a line for each calling context with its own nanoseconds, or
 * with its executions. */
#include <errno.h>
#include <stdlib.h>

#include "tools/export/exporter.h"
#include "tools/export/stacks.h"

struct folded {
    const struct spex_export *of;
    struct spex_stacks stacks;
    uint16_t kernels[SPEX_CONTEXTS_MAX];
};

static int folded_begin(const struct spex_export *of, void **state, struct spex_error *error) {
    struct folded *folded = calloc(1, sizeof(*folded));
    *state = folded;
    if (!folded || spex_stacks_make(&folded->stacks, of->trace) != 0)
        return spex_fail(error, -ENOMEM, "out of memory");
    folded->of = of;
    return 0;
}

static int folded_event(void *state, const struct spex_recording_event *event,
                        struct spex_error *error) {
    struct folded *folded = state;
    (void)error;
    spex_stacks_add(&folded->stacks, folded->of->labels, event);
    return 0;
}

/* A frame's name; what separates frames and weights is "_" in it. */
static void frame_put(FILE *out, const char *name) {
    for (; *name; name++)
        fputc(*name == ';' || *name == ' ' ? '_' : *name, out);
}

/* With several processes their names are the outermost frames. */
static void stack_put(struct folded *folded, size_t p, uint32_t context, double weight) {
    const struct spex_recording_process *process = &folded->of->trace->processes[p];
    FILE *out = folded->of->out;
    char text[SPEX_STREAM_TEXT_BYTES];
    unsigned depth = spex_stack_kernels(process, context, folded->kernels, SPEX_CONTEXTS_MAX);
    if (folded->of->trace->process_count > 1) {
        frame_put(out, process->name);
        fputc(';', out);
    }
    while (depth-- > 0) {
        frame_put(out, spex_stack_kernel_text(process, folded->kernels[depth], text, sizeof(text)));
        fputc(depth ? ';' : ' ', out);
    }
    fprintf(out, "%.0f\n", weight);
}

static int folded_end(void *state, struct spex_error *error) {
    struct folded *folded = state;
    int err = spex_stacks_finish(&folded->stacks, error);
    for (size_t p = 0; !err && p < folded->of->trace->process_count; p++)
        for (uint32_t c = 0; c <= SPEX_CONTEXTS_MAX; c++) {
            const struct spex_stack *stack = &folded->stacks.of[p][c];
            double weight =
                folded->of->by_executions ? stack->executions : spex_stack_own_ns(stack);
            if (stack->records && weight >= 0.5)
                stack_put(folded, p, c, weight);
        }
    return err;
}

static void folded_free(void *state) {
    struct folded *folded = state;
    if (folded)
        spex_stacks_free(&folded->stacks);
    free(folded);
}

const struct spex_exporter spex_export_folded = {.name = "folded",
                                                 .document = true,
                                                 .weighs = true,
                                                 .begin = folded_begin,
                                                 .event = folded_event,
                                                 .end = folded_end,
                                                 .free = folded_free};
