/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explore/compare/explain.h"
#include "explore/store/store_metrics.h"

struct reading {
    const struct spex_study *study;
    struct spex_quantities *quantities;
    size_t next; /* where the next quantity is likely to be: trials tell them in the same order */
};

static struct spex_quantity *quantity_add(struct reading *reading, const char *name,
                                          const char *unit) {
    struct spex_quantities *quantities = reading->quantities;
    struct spex_quantity *items =
        realloc(quantities->items, (quantities->count + 1) * sizeof(*quantities->items));
    if (!items)
        return NULL;
    quantities->items = items;
    struct spex_quantity *quantity = &items[quantities->count++];
    *quantity = (struct spex_quantity){
        .name = strdup(name),
        .unit = strdup(unit),
        .samples = calloc(reading->study->summary.count + 1, sizeof(*quantity->samples)),
    };
    return quantity->name && quantity->unit && quantity->samples ? quantity : NULL;
}

static struct spex_quantity *quantity_of(struct reading *reading, const char *name,
                                         const char *unit) {
    struct spex_quantities *quantities = reading->quantities;
    for (size_t i = 0; i < quantities->count; i++) {
        size_t at = (reading->next + i) % quantities->count;
        if (strcmp(quantities->items[at].name, name) == 0) {
            reading->next = at + 1;
            return &quantities->items[at];
        }
    }
    return quantity_add(reading, name, unit);
}

static int take(void *user, size_t trial, const char *name, const char *unit, double value) {
    struct reading *reading = user;
    const struct spex_trials *trials = &reading->study->trials;
    /* An exploration may have put in more since the trials were read. */
    if (trial >= trials->count || !trials->items[trial].ok)
        return 0;
    struct spex_quantity *quantity = quantity_of(reading, name, unit);
    if (!quantity)
        return -ENOMEM;
    const struct spex_summary *summary = &reading->study->summary;
    const struct spex_group *group = spex_summary_find(summary, trials->items[trial].levels);
    struct spex_sample *sample = &quantity->samples[group - summary->groups];
    double distance = value - sample->mean;
    sample->mean += distance / (double)++sample->trials;
    sample->squares += distance * (value - sample->mean);
    return 0;
}

int spex_quantities_read(struct spex_quantities *quantities, const struct spex_study *study,
                         struct spex_store *store, struct spex_error *error) {
    struct reading reading = {.study = study, .quantities = quantities};
    *quantities = (struct spex_quantities){NULL, 0};
    return spex_store_metrics(store, take, &reading, error);
}

void spex_quantities_free(struct spex_quantities *quantities) {
    for (size_t q = 0; q < quantities->count; q++) {
        free(quantities->items[q].name);
        free(quantities->items[q].unit);
        free(quantities->items[q].samples);
    }
    free(quantities->items);
    *quantities = (struct spex_quantities){NULL, 0};
}
