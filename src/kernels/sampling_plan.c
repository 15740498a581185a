/* SPDX-License-Identifier: MIT */
/* A context is looked up in three steps: a thread asks for it by a bit; the sampling thread finds
 * its model and publishes the answer; the thread finds the answer at its next execution. */
#include "kernels/sampling_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <spex/atomic.h>

#include "base/memory/memory.h"
#include "ring/field_value.h"
#include "text/number.h"

bool spex_samples_parse(const char *text, double *samples) {
    return spex_number_seconds(text, samples) && *samples >= SPEX_SAMPLES_LEAST &&
           *samples <= SPEX_SAMPLES_MOST;
}

static uint32_t last_number;

/* The prediction for contexts without a model: 0 seconds, so they get no interval of their own. */
static const struct spex_planned no_prediction;

/* A model may predict a negative time for parameters that it was not trained with. The least time
 * that was measured is the better guess then. */
double spex_planned_seconds(const struct spex_planned *planned, const uint64_t *parameters) {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    if (!planned->model)
        return planned->seconds;
    for (size_t p = 0; p < planned->model->parameter_count; p++)
        values[p] =
            spex_bits_number(parameters[planned->slots[p]],
                             spex_kind_at(planned->kinds, SPEX_KERNEL_VALUES + planned->slots[p]));
    double seconds = spex_model_value(planned->model, values);
    return seconds > 0 ? seconds : planned->seconds;
}

double spex_planned_ticks(const struct spex_sampling_plan *plan, const struct spex_planned *planned,
                          const uint64_t *parameters) {
    return spex_planned_seconds(planned, parameters) * plan->ticks_per_second;
}

/* A few intervals are then less than 2^63, half of the range of times, so that a time ahead can be
 * told from a time that has passed (kernel_sampler.c). */
static uint64_t interval_bounded(double interval) {
    return interval < 0x1p60 ? (uint64_t)interval : UINT64_C(1) << 60;
}

uint64_t spex_sampling_plan_interval(const struct spex_sampling_plan *plan, double ticks) {
    double interval = ticks / plan->samples;
    return interval < (double)plan->shortest ? 0 : interval_bounded(interval);
}

uint64_t spex_sampling_plan_base(const struct spex_sampling_plan *plan) {
    return interval_bounded(plan->ticks_per_second / plan->samples);
}

uint64_t spex_sampling_plan_stretched(const struct spex_sampling_plan *plan, uint64_t interval) {
    double stretch;
    __atomic_load(&plan->stretch, &stretch, __ATOMIC_RELAXED);
    uint64_t stretched = interval_bounded((double)interval * stretch);
    return stretched ? stretched : 1;
}

/* The kernel's parameter of this name; SPEX_KERNEL_PARAMETERS: the kernel has none of this name. */
static size_t parameter_slot(const struct spex_kernel_described *described, const char *name) {
    for (size_t p = 0; p < described->count; p++)
        if (strcmp(described->names[p], name) == 0)
            return p;
    return SPEX_KERNEL_PARAMETERS;
}

void spex_planned_make(struct spex_planned *planned, const struct spex_kernel_model *kernel,
                       const struct spex_kernel_described *described) {
    const struct spex_model *model = &kernel->model;
    *planned = (struct spex_planned){.seconds = kernel->least_seconds};
    if (model->class == SPEX_MODEL_UNKNOWN)
        return;
    if (model->term_count == 0) {
        planned->seconds = model->constant > 0 ? model->constant : kernel->least_seconds;
        return;
    }
    uint8_t slots[SPEX_MODEL_PARAMETERS_MAX] = {0}, parameters = 0;
    for (size_t p = 0; p < model->parameter_count; p++) {
        size_t slot = parameter_slot(described, kernel->names[p]);
        if (slot == SPEX_KERNEL_PARAMETERS)
            return;
        slots[p] = (uint8_t)slot;
        if (slot >= parameters)
            parameters = (uint8_t)(slot + 1);
    }
    memcpy(planned->slots, slots, sizeof(slots));
    planned->parameters = parameters;
    planned->kinds = described->kinds;
    planned->model = model;
}

/* Never NULL: NULL in plan->nodes means that a context has not been looked up yet. */
static const struct spex_planned *context_look_up(struct spex_sampling_plan *plan,
                                                  const struct spex_kernels_known *known,
                                                  uint32_t context) {
    struct spex_kernel_described *described = &plan->described;
    struct spex_context_node node;
    struct spex_error error;
    if (!known->node(known->by, context, &node) ||
        spex_kernel_describe_context(known, context, node.kernel, described, &error))
        return &no_prediction;
    const struct spex_kernel_model *kernel = spex_models_find(&plan->models, described->path);
    if (!kernel)
        return &no_prediction;
    spex_planned_make(&plan->planned[context], kernel, described);
    return &plan->planned[context];
}

void spex_sampling_plan_answer(struct spex_sampling_plan *plan,
                               const struct spex_kernels_known *known) {
    for (uint32_t w = 0; w < SPEX_SAMPLING_PLAN_WORDS; w++) {
        uint64_t asked = spex_load_acquire(&plan->asked[w]); /* Q1 (Q2): the node */
        for (; asked; asked &= asked - 1) {
            uint32_t context = w * 64 + (uint32_t)__builtin_ctzll(asked);
            if (spex_load_relaxed(&plan->nodes[context]))
                continue;
            const struct spex_planned *planned = context_look_up(plan, known, context);
            spex_store_release(&plan->nodes[context], planned); /* Q3 (Q4 in frames.c): complete */
        }
    }
}

bool spex_sampling_plan_ask_for(struct spex_sampling_plan *plan, uint32_t context) {
    uint64_t bit = UINT64_C(1) << context % 64, *word = &plan->asked[context / 64];
    if (spex_load_relaxed(word) & bit)
        return false;
    return !(spex_fetch_or_release(word, bit) & bit); /* Q2 (Q1, Q1 in sampling_budget.c) */
}

int spex_sampling_plan_create(const char *path, double samples, double ticks_per_second,
                              struct spex_sampling_plan **plan, struct spex_error *error) {
    *plan = NULL;
    struct spex_sampling_plan *made = spex_calloc(1, sizeof(*made));
    int err = made ? spex_models_read_file(&made->models, path, SPEX_FILE_REGULAR, error)
                   : spex_fail(error, -ENOMEM, "out of memory");
    if (err) {
        spex_sampling_plan_destroy(made);
        return err;
    }
    made->samples = samples;
    made->ticks_per_second = ticks_per_second;
    made->shortest = (uint64_t)(SPEX_LOOKS_SHORTEST_SECONDS * ticks_per_second);
    made->stretch = 1;
    made->number = spex_fetch_add_relaxed(&last_number, 1) + 1;
    *plan = made;
    return 0;
}

void spex_sampling_plan_destroy(struct spex_sampling_plan *plan) {
    if (!plan)
        return;
    spex_models_free(&plan->models);
    spex_free(plan);
}
