/* SPDX-License-Identifier: MIT */
/* What a policy has run so far: each configuration once, with its trials' mean and spread. */
#ifndef SPEX_HISTORY_H
#define SPEX_HISTORY_H

#include <stdlib.h>
#include <string.h>

#include <spex/policy.h>

#include "draw.h"

/* Of one criterion. */
struct spex_history_values {
    double mean;
    double squares; /* sum of squared distances from the mean */
    double error;   /* mean of the runs' own standard errors; NaN: not known */
};

struct spex_history_config {
    uint64_t trials; /* that succeeded */
    uint64_t failed;
    uint64_t pending; /* planned, not yet finished */
};

/* Configurations in the order in which they were first planned. */
struct spex_history {
    const struct spex_space *space;
    size_t count;
    size_t room;
    struct spex_history_config *configs;
    size_t *levels;                     /* parameter_count of each */
    struct spex_history_values *values; /* criterion_count of each */
    size_t *table;                      /* twice the room: position + 1, 0 for none */
    uint64_t planned;                   /* runs */
    uint64_t pending;
};

#define SPEX_HISTORY_NONE SIZE_MAX

SPEX_INLINE const size_t *spex_history_levels(const struct spex_history *history, size_t config) {
    return history->levels + config * history->space->parameter_count;
}

SPEX_INLINE struct spex_history_values *spex_history_values(const struct spex_history *history,
                                                            size_t config) {
    return history->values + config * history->space->criterion_count;
}

SPEX_INLINE size_t *spex_history_slot(const struct spex_history *history, const size_t *levels) {
    size_t parameters = history->space->parameter_count, bytes = parameters * sizeof(*levels);
    uint64_t hash = 0;
    for (size_t p = 0; p < parameters; p++)
        hash = spex_draw_mix(hash + levels[p] + 1);
    size_t slot = hash & (2 * history->room - 1);
    while (history->table[slot] &&
           memcmp(spex_history_levels(history, history->table[slot] - 1), levels, bytes) != 0)
        slot = (slot + 1) & (2 * history->room - 1);
    return &history->table[slot];
}

/* SPEX_HISTORY_NONE when it was never planned. */
SPEX_INLINE size_t spex_history_find(const struct spex_history *history, const size_t *levels) {
    return history->room ? *spex_history_slot(history, levels) - 1 : SPEX_HISTORY_NONE;
}

/* Room for the arrays that stand beside each other. What has been enlarged stays so when the next cannot be. */
static inline int spex_history_enlarge(struct spex_history *history, size_t room) {
    const struct spex_space *space = history->space;
    void *configs = realloc(history->configs, room * sizeof(*history->configs));
    if (!configs)
        return -ENOMEM;
    history->configs = configs;
    void *levels = realloc(history->levels, room * space->parameter_count * sizeof(size_t));
    if (!levels)
        return -ENOMEM;
    history->levels = levels;
    void *values =
        realloc(history->values, room * space->criterion_count * sizeof(*history->values));
    if (!values)
        return -ENOMEM;
    history->values = values;
    return 0;
}

static inline int spex_history_grow(struct spex_history *history) {
    size_t room = history->room ? 2 * history->room : 64;
    if (spex_history_enlarge(history, room))
        return -ENOMEM;
    size_t *table = calloc(2 * room, sizeof(*table));
    if (!table)
        return -ENOMEM;
    free(history->table);
    history->table = table;
    history->room = room;
    for (size_t c = 0; c < history->count; c++)
        *spex_history_slot(history, spex_history_levels(history, c)) = c + 1;
    return 0;
}

SPEX_INLINE void spex_history_free(struct spex_history *history) {
    free(history->configs);
    free(history->levels);
    free(history->values);
    free(history->table);
    *history = (struct spex_history){.space = NULL};
}

/* A run of this configuration is planned: 0 or -ENOMEM. */
static inline int spex_history_plan(struct spex_history *history, const size_t *levels) {
    if (history->count == history->room && spex_history_grow(history))
        return -ENOMEM;
    size_t *slot = spex_history_slot(history, levels), config = *slot - 1;
    if (!*slot) {
        config = history->count++;
        *slot = config + 1;
        memcpy(history->levels + config * history->space->parameter_count, levels,
               history->space->parameter_count * sizeof(*levels));
        history->configs[config] = (struct spex_history_config){.trials = 0};
        memset(spex_history_values(history, config), 0,
               history->space->criterion_count * sizeof(*history->values));
    }
    history->configs[config].pending++;
    history->pending++;
    history->planned++;
    return 0;
}

/* Welford's, A Note on a Method for Calculating Corrected Sums of Squares and Products, 1962. */
SPEX_INLINE void spex_history_value(struct spex_history_values *values, uint64_t trials,
                                    const struct spex_measured *measured) {
    double distance = measured->value - values->mean;
    values->mean += distance / (double)trials;
    values->squares += distance * (measured->value - values->mean);
    values->error += (measured->error - values->error) / (double)trials;
}

/* Which configuration it was, or SPEX_HISTORY_NONE when none was planned. */
static inline size_t spex_history_finish(struct spex_history *history,
                                         const struct spex_result *result) {
    size_t config = spex_history_find(history, result->levels);
    if (config == SPEX_HISTORY_NONE)
        return config;
    struct spex_history_config *known = &history->configs[config];
    history->pending -= known->pending > 0;
    known->pending -= known->pending > 0;
    for (size_t c = 0; result->ok && c < history->space->criterion_count; c++)
        if (!isfinite(result->measured[c].value)) {
            known->failed++;
            return config;
        }
    known->trials += result->ok;
    known->failed += !result->ok;
    for (size_t c = 0; result->ok && c < history->space->criterion_count; c++)
        spex_history_value(&spex_history_values(history, config)[c], known->trials,
                           &result->measured[c]);
    return config;
}

#endif
