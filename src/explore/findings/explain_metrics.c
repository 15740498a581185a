/* SPDX-License-Identifier: MIT */
/* Collects the quantities that trials recorded in the store: metrics of probes and the use of
 * resources, as samples for each configuration. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explore/findings/explain.h"
#include "explore/store/store_metrics.h"

/* The state while the store is read. */
struct reading {
    const struct spex_study *study;
    struct spex_quantities *quantities;
    size_t next; /* likely index of the next quantity: trials have theirs in the same order */
};

/* NULL: out of memory; spex_quantities_free frees what was added in part. */
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

/* The search begins after the quantity found last, which makes it O(1) for trials that record the
 * same quantities. */
static struct spex_quantity *quantity_find_or_add(struct reading *reading, const char *name,
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

/* For spex_store_metrics, which calls it for each value of each trial. Failed trials are left out:
 * what they recorded may be of a program that did not work. */
static int quantity_take_value(void *user, size_t trial, const char *name, const char *unit,
                               double value) {
    struct reading *reading = user;
    const struct spex_trials *trials = &reading->study->trials;
    /* A running exploration may have stored more trials since the study was read. */
    if (trial >= trials->count || !trials->items[trial].ok)
        return 0;
    struct spex_quantity *quantity = quantity_find_or_add(reading, name, unit);
    if (!quantity)
        return -ENOMEM;
    const struct spex_summary *summary = &reading->study->summary;
    const struct spex_group *group = spex_summary_find(summary, trials->items[trial].levels);
    struct spex_sample *sample = &quantity->samples[group - summary->groups];

    spex_sample_add(sample, value);
    return 0;
}

int spex_quantities_read(struct spex_quantities *quantities, const struct spex_study *study,
                         struct spex_store *store, struct spex_error *error) {
    struct reading reading = {.study = study, .quantities = quantities};
    *quantities = (struct spex_quantities){NULL, 0};
    return spex_store_metrics(store, quantity_take_value, &reading, error);
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
