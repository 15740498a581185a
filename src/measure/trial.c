/* SPDX-License-Identifier: MIT */
/* The memory of trials. A trial owns its texts and arrays; spex_trial_free may be called on one
 * that is partly filled in, and twice. */
#define _GNU_SOURCE
#include "measure/trial.h"
#include "base/memory/memory.h"
#include "text/plain_numbers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A space without parameters still gets an array, so that NULL means out of memory. */
int spex_trial_init(struct spex_trial *trial, const struct spex_space *space,
                    const size_t *levels) {
    size_t bytes = space->parameter_count * sizeof(*levels);
    *trial = (struct spex_trial){
        .levels = spex_malloc(bytes ? bytes : 1),
        .measured = spex_calloc(space->criterion_count, sizeof(*trial->measured)),
    };
    if (!trial->levels || !trial->measured) {
        spex_trial_free(trial);
        return -ENOMEM;
    }
    memcpy(trial->levels, levels, bytes);
    for (size_t c = 0; c < space->criterion_count; c++)
        trial->measured[c] = (struct spex_measured){.value = NAN, .error = NAN};
    return 0;
}

void spex_trial_free(struct spex_trial *trial) {
    for (size_t m = 0; m < trial->metric_count; m++) {
        spex_free(trial->metrics[m].name);
        spex_free(trial->metrics[m].provider);
    }
    for (size_t l = 0; l < trial->load_count; l++)
        spex_free(trial->loads[l].stressor);
    spex_free(trial->loads);
    spex_free(trial->note);
    spex_free(trial->metrics);
    spex_free(trial->measured);
    spex_free(trial->levels);
    spex_free(trial->status);
    *trial = (struct spex_trial){.levels = NULL};
}

/* A later status replaces an earlier one. */
int spex_trial_end(struct spex_trial *trial, const char *format, ...) {
    SPEX_PLAIN_NUMBERS;
    va_list args;
    va_start(args, format);
    spex_free(trial->status);
    if (spex_vasprintf(&trial->status, format, args) < 0)
        trial->status = NULL;
    va_end(args);
    return 1;
}

/* The count grows only when the load is whole. */
int spex_trial_add_load(struct spex_trial *trial, const char *stressor, unsigned workers,
                        const struct spex_usage *usage) {
    struct spex_trial_load *loads =
        spex_realloc(trial->loads, (trial->load_count + 1) * sizeof(*trial->loads));
    if (!loads)
        return -ENOMEM;
    trial->loads = loads;
    loads[trial->load_count] = (struct spex_trial_load){spex_strdup(stressor), workers, *usage};
    if (!loads[trial->load_count].stressor)
        return -ENOMEM;
    trial->load_count++;
    return 0;
}

int spex_trials_add(struct spex_trials *trials, struct spex_trial *trial) {
    /* The room is a power of two: it is used up when the count is one. */
    if ((trials->count & (trials->count - 1)) == 0) {
        size_t room = trials->count ? trials->count * 2 : 1;
        struct spex_trial *items = spex_realloc(trials->items, room * sizeof(*items));
        if (!items) {
            spex_trial_free(trial);
            return -ENOMEM;
        }
        trials->items = items;
    }
    trials->items[trials->count++] = *trial;
    *trial = (struct spex_trial){.levels = NULL};
    return 0;
}

void spex_trials_free(struct spex_trials *trials) {
    for (size_t t = 0; t < trials->count; t++)
        spex_trial_free(&trials->items[t]);
    spex_free(trials->items);
    *trials = (struct spex_trials){NULL, 0};
}
