/* SPDX-License-Identifier: MIT */
/* The results of a policy's runs so far: each configuration once, with the mean and variance of its
 * trials. A hash table with linear probing finds a configuration by its levels. */
#ifndef SPEX_POLICIES_EXPLORE_RESULTS_H
#define SPEX_POLICIES_EXPLORE_RESULTS_H

#include <stdlib.h>
#include <string.h>

#include <spex/policy.h>

#include "policies/explore/draw.h"

/* The values of one criterion over a configuration's trials. */
struct spex_results_values {
    double mean;
    double squares; /* sum of squared distances from the mean */
    double error;   /* mean of the runs' own standard errors; NaN: not known */
};

struct spex_results_config {
    uint64_t trials; /* successful ones */
    uint64_t failed;
    uint64_t pending; /* planned and not yet finished */
    uint64_t last;    /* the number of its last planned run, from 1 */
};

/* Configurations are in the order in which they were first planned, and keep their index. */
struct spex_results {
    const struct spex_space *space;
    size_t count;
    size_t room;
    struct spex_results_config *configs;
    size_t *levels;                     /* parameter_count for each configuration */
    struct spex_results_values *values; /* criterion_count for each configuration */
    size_t *table;                      /* of 2 * room slots: index + 1 of a configuration, or 0 */
    uint64_t planned;                   /* runs */
    uint64_t pending;
    bool spread; /* repeats are to be spread over time */
};

#define SPEX_RESULTS_NONE SIZE_MAX

SPEX_INLINE const size_t *spex_results_levels(const struct spex_results *results, size_t config) {
    return results->levels + config * results->space->parameter_count;
}

SPEX_INLINE struct spex_results_values *spex_results_values(const struct spex_results *results,
                                                            size_t config) {
    return results->values + config * results->space->criterion_count;
}

/* The slot of the configuration with these levels, or the empty slot where it belongs. The table is
 * at most half full, so the search ends. */
SPEX_INLINE size_t *spex_results_slot(const struct spex_results *results, const size_t *levels) {
    size_t parameters = results->space->parameter_count, bytes = parameters * sizeof(*levels);
    uint64_t hash = 0;
    for (size_t p = 0; p < parameters; p++)
        hash = spex_draw_mix(hash + levels[p] + 1);
    size_t slot = hash & (2 * results->room - 1);
    while (results->table[slot] &&
           memcmp(spex_results_levels(results, results->table[slot] - 1), levels, bytes) != 0)
        slot = (slot + 1) & (2 * results->room - 1);
    return &results->table[slot];
}

/* The index of a configuration; SPEX_RESULTS_NONE when it was never planned. */
SPEX_INLINE size_t spex_results_find(const struct spex_results *results, const size_t *levels) {
    return results->room ? *spex_results_slot(results, levels) - 1 : SPEX_RESULTS_NONE;
}

/* Enlarges the parallel arrays. After -ENOMEM those already enlarged stay so, which does no harm
 * since `room` is still the old value. */
static inline int spex_results_enlarge(struct spex_results *results, size_t room) {
    const struct spex_space *space = results->space;
    void *configs = realloc(results->configs, room * sizeof(*results->configs));
    if (!configs)
        return -ENOMEM;
    results->configs = configs;
    void *levels = realloc(results->levels, room * space->parameter_count * sizeof(size_t));
    if (!levels)
        return -ENOMEM;
    results->levels = levels;
    /* Where programs are trained there are no criteria. */
    void *values =
        realloc(results->values, room * (space->criterion_count + 1) * sizeof(*results->values));
    if (!values)
        return -ENOMEM;
    results->values = values;
    return 0;
}

/* Doubles the room and builds the table anew. 0 or -ENOMEM. */
static inline int spex_results_grow(struct spex_results *results) {
    size_t room = results->room ? 2 * results->room : 64;
    if (spex_results_enlarge(results, room))
        return -ENOMEM;
    size_t *table = calloc(2 * room, sizeof(*table));
    if (!table)
        return -ENOMEM;
    free(results->table);
    results->table = table;
    results->room = room;
    for (size_t c = 0; c < results->count; c++)
        *spex_results_slot(results, spex_results_levels(results, c)) = c + 1;
    return 0;
}

SPEX_INLINE void spex_results_free(struct spex_results *results) {
    free(results->configs);
    free(results->levels);
    free(results->values);
    free(results->table);
    *results = (struct spex_results){.space = NULL};
}

/* Whether the run that was planned last was of this configuration, where repeats are to be spread over
 * time: two runs in a row have more in common than others. */
SPEX_INLINE bool spex_results_was_last(const struct spex_results *results, size_t config) {
    return results->spread && config != SPEX_RESULTS_NONE &&
           results->configs[config].last == results->planned;
}

/* Notes that a run of this configuration is planned: 0 or -ENOMEM. */
static inline int spex_results_plan(struct spex_results *results, const size_t *levels) {
    if (results->count == results->room && spex_results_grow(results))
        return -ENOMEM;
    size_t *slot = spex_results_slot(results, levels), config = *slot - 1;
    if (!*slot) {
        config = results->count++;
        *slot = config + 1;
        memcpy(results->levels + config * results->space->parameter_count, levels,
               results->space->parameter_count * sizeof(*levels));
        results->configs[config] = (struct spex_results_config){.trials = 0};
        memset(spex_results_values(results, config), 0,
               results->space->criterion_count * sizeof(*results->values));
    }
    results->configs[config].pending++;
    results->pending++;
    results->configs[config].last = ++results->planned;
    return 0;
}

/* The return value of a policy's next(): 1 with a run planned; -EAGAIN when a result has to come
 * first; 0 when no more runs are wanted; or -ENOMEM. */
static inline int spex_results_answer(struct spex_results *results, bool planned,
                                      const size_t *levels) {
    if (!planned)
        return results->pending ? -EAGAIN : 0;
    int err = spex_results_plan(results, levels);
    return err ? err : 1;
}

/* Adds the value of trial number `trials` to mean and squares (Welford, A Note on a Method for
 * Calculating Corrected Sums of Squares and Products, 1962). */
SPEX_INLINE void spex_results_value(struct spex_results_values *values, uint64_t trials,
                                    const struct spex_measured *measured) {
    double distance = measured->value - values->mean;
    values->mean += distance / (double)trials;
    values->squares += distance * (measured->value - values->mean);
    values->error += (measured->error - values->error) / (double)trials;
}

/* Adds the result of a run. A value that is not finite makes the run a failed one. Returns the
 * index of the configuration, or SPEX_RESULTS_NONE when it was not planned. */
static inline size_t spex_results_finish(struct spex_results *results,
                                         const struct spex_result *result) {
    size_t config = spex_results_find(results, result->levels);
    if (config == SPEX_RESULTS_NONE)
        return config;
    struct spex_results_config *known = &results->configs[config];
    results->pending -= known->pending > 0;
    known->pending -= known->pending > 0;
    for (size_t c = 0; result->ok && c < results->space->criterion_count; c++)
        if (!isfinite(result->measured[c].value)) {
            known->failed++;
            return config;
        }
    known->trials += result->ok;
    known->failed += !result->ok;
    for (size_t c = 0; result->ok && c < results->space->criterion_count; c++)
        spex_results_value(&spex_results_values(results, config)[c], known->trials,
                           &result->measured[c]);
    return config;
}

#endif
