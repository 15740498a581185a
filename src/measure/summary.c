/* SPDX-License-Identifier: MIT */
/* A list of groups, and a hash table from levels to groups, so that adding a trial costs
 * O(parameters) whatever the number of trials. Groups are not removed. Pointers to groups are valid
 * until the next trial is added. */
#include "measure/summary.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "text/quantity.h"

void spex_summary_init(struct spex_summary *summary, const struct spex_space *space) {
    *summary = (struct spex_summary){.space = space};
}

static void group_free(const struct spex_group *group) {
    spex_free(group->levels);
    spex_free(group->criteria);
}

void spex_summary_free(struct spex_summary *summary) {
    for (size_t g = 0; g < summary->count; g++)
        group_free(&summary->groups[g]);
    spex_free(summary->groups);
    spex_free(summary->table);
    *summary = (struct spex_summary){0};
}

/* FNV-1a over the lower three bytes of each level (Fowler, Noll and Vo). Parameters with more
 * levels than these bytes tell apart only collide more often. */
static uint64_t levels_hash(const struct spex_space *space, const size_t *levels) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t p = 0; p < space->parameter_count; p++)
        for (size_t rest = levels[p], byte = 0; byte < 3; byte++, rest >>= 8)
            h = (h ^ (rest & 0xff)) * 0x100000001b3u;
    return h;
}

/* The place of these levels' group in the table, or the free place where it belongs; linear
 * probing. The table's size is a power of two, and half of it at least is free, so the search
 * ends. */
static size_t *summary_slot(const struct spex_summary *summary, const size_t *levels) {
    size_t bytes = summary->space->parameter_count * sizeof(*levels);
    size_t s = levels_hash(summary->space, levels) & (summary->table_size - 1);
    while (summary->table[s] &&
           memcmp(summary->groups[summary->table[s] - 1].levels, levels, bytes) != 0)
        s = (s + 1) & (summary->table_size - 1);
    return &summary->table[s];
}

/* Doubles the room for groups and the table, which stays at most half full. The summary stays whole
 * if memory runs out. */
static int summary_grow(struct spex_summary *summary) {
    size_t room = summary->table_size ? summary->table_size : 16;
    struct spex_group *groups = spex_realloc(summary->groups, room * sizeof(*groups));
    if (!groups)
        return -ENOMEM;
    summary->groups = groups;
    size_t *table = spex_calloc(room * 2, sizeof(*table));
    if (!table)
        return -ENOMEM;
    spex_free(summary->table);
    summary->table = table;
    summary->table_size = room * 2;
    for (size_t g = 0; g < summary->count; g++)
        *summary_slot(summary, groups[g].levels) = g + 1;
    return 0;
}

/* The group of these levels, added if there is none. NULL: out of memory. */
static struct spex_group *summary_group(struct spex_summary *summary, const size_t *levels) {
    size_t bytes = summary->space->parameter_count * sizeof(*levels);
    if (summary->count * 2 == summary->table_size && summary_grow(summary))
        return NULL;
    size_t *slot = summary_slot(summary, levels);
    if (*slot)
        return &summary->groups[*slot - 1];
    struct spex_group *group = &summary->groups[summary->count];
    *group = (struct spex_group){
        .levels = spex_malloc(bytes),
        .criteria = spex_calloc(summary->space->criterion_count, sizeof(*group->criteria)),
    };
    if (!group->levels || !group->criteria) {
        group_free(group);
        return NULL;
    }
    memcpy(group->levels, levels, bytes);
    *slot = ++summary->count;
    return group;
}

/* Updates mean and sum of squares (Welford, Technometrics 4(3), 1962); `number` counts from 1. A
 * trial without an error leaves the mean error as it is. */
static void criterion_add(struct spex_group_criterion *criterion, uint64_t number,
                          const struct spex_measured *measured) {
    double value = measured->value, difference = value - criterion->mean;
    double error = isfinite(measured->error) ? measured->error : criterion->error;
    criterion->error += (error - criterion->error) / (double)number;
    if (number == 1 || value < criterion->low)
        criterion->low = value;
    if (number == 1 || value > criterion->high)
        criterion->high = value;
    criterion->mean += difference / (double)number;
    criterion->squares += difference * (value - criterion->mean);
}

/* A failed trial counts in its group and changes no figure. */
int spex_summary_add(struct spex_summary *summary, const struct spex_trial *trial) {
    struct spex_group *group = summary_group(summary, trial->levels);
    if (!group)
        return -ENOMEM;
    if (!trial->ok) {
        group->failed++;
        return 0;
    }
    group->trials++;
    for (size_t c = 0; c < summary->space->criterion_count; c++)
        criterion_add(&group->criteria[c], group->trials, &trial->measured[c]);
    group->records_used += trial->records_used;
    group->records_lost += trial->records_lost;
    group->seconds += trial->seconds;
    return 0;
}

/* There is no table before the first trial. */
const struct spex_group *spex_summary_find(const struct spex_summary *summary,
                                           const size_t *levels) {
    if (!summary->table)
        return NULL;
    size_t at = *summary_slot(summary, levels);
    return at ? &summary->groups[at - 1] : NULL;
}

bool spex_group_allowed(const struct spex_space *space, const struct spex_group *group) {
    for (size_t c = space->objective_count; c < space->criterion_count; c++) {
        double mean = group->criteria[c].mean, bound = space->criteria[c].bound;
        if (space->criteria[c].goal == SPEX_AT_MOST ? mean > bound : mean < bound)
            return false;
    }
    return true;
}

bool spex_group_better(const struct spex_space *space, const struct spex_group *a,
                       const struct spex_group *b) {
    if (!b)
        return true;
    bool allowed = spex_group_allowed(space, a);
    if (allowed != spex_group_allowed(space, b))
        return allowed;
    return space->criteria[0].goal == SPEX_MAXIMISE ? a->criteria[0].mean > b->criteria[0].mean
                                                    : a->criteria[0].mean < b->criteria[0].mean;
}

/* Returns whether the parameter has this level in the group; parameter_count stands for a parameter
 * that all groups have. */
static bool group_has_level(const struct spex_summary *summary, const struct spex_group *group,
                            size_t parameter, size_t level) {
    return parameter == summary->space->parameter_count || group->levels[parameter] == level;
}

/* O(number of groups). */
const struct spex_group *spex_summary_best_of(const struct spex_summary *summary, size_t parameter,
                                              size_t level, size_t fixed, size_t fixed_level) {
    const struct spex_group *best = NULL;
    for (size_t g = 0; g < summary->count; g++) {
        const struct spex_group *group = &summary->groups[g];
        if (group->trials && group_has_level(summary, group, parameter, level) &&
            group_has_level(summary, group, fixed, fixed_level) &&
            spex_group_better(summary->space, group, best))
            best = group;
    }
    return best;
}

const struct spex_group *spex_summary_best(const struct spex_summary *summary, size_t fixed,
                                           size_t level) {
    return spex_summary_best_of(summary, summary->space->parameter_count, 0, fixed, level);
}

/* From the highest number of threads down: a level is the knee so far if no level above it is
 * better by more than the tolerance. */
size_t spex_summary_knee(const struct spex_summary *summary, size_t fixed, size_t level) {
    const struct spex_space *space = summary->space;
    size_t threads = space->threads_parameter;
    size_t count = space->parameters[threads].count;
    bool maximise = space->criteria[0].goal == SPEX_MAXIMISE;
    double gain = maximise ? 1 + SPEX_KNEE_TOLERANCE : 1 - SPEX_KNEE_TOLERANCE;
    /* The best group with more threads than level t. */
    const struct spex_group *beyond = NULL;
    size_t knee = count;
    for (size_t t = count; t-- > 0;) {
        const struct spex_group *best = spex_summary_best_of(summary, threads, t, fixed, level);
        if (!best)
            continue;
        double bound = best->criteria[0].mean * gain;
        bool beaten = beyond && (maximise ? beyond->criteria[0].mean > bound
                                          : beyond->criteria[0].mean < bound);
        if (!beaten && beyond)
            knee = t;
        if (spex_group_better(space, best, beyond))
            beyond = best;
    }
    return knee;
}

/* A parameter whose condition is false has a level in the array, which means nothing. */
const char *spex_level_text(const struct spex_space *space, const size_t *levels,
                            size_t parameter) {
    return spex_space_applies(space, levels, parameter)
               ? space->parameters[parameter].values[levels[parameter]].text
               : "-";
}

bool spex_parameter_is_bytes(const struct spex_parameter *parameter) {
    return spex_parameter_ordered(parameter) &&
           (strcmp(parameter->unit, "B") == 0 || strcmp(parameter->unit, "bytes") == 0);
}

void spex_parameter_heading(const struct spex_parameter *parameter, char *text, size_t size) {
    if (!parameter->unit[0] || spex_parameter_is_bytes(parameter))
        snprintf(text, size, "%s", parameter->name);
    else
        snprintf(text, size, "%s [%s]", parameter->name, parameter->unit);
}

const char *spex_value_shown(const struct spex_parameter *parameter, size_t level, char *text,
                             size_t size) {
    if (spex_parameter_is_bytes(parameter))
        return spex_bytes_text(parameter->values[level].number, text, size);
    snprintf(text, size, "%s", parameter->values[level].text);
    return text;
}

const char *spex_level_shown(const struct spex_space *space, const size_t *levels, size_t parameter,
                             char *text, size_t size) {
    if (spex_space_applies(space, levels, parameter))
        return spex_value_shown(&space->parameters[parameter], levels[parameter], text, size);
    snprintf(text, size, "-");
    return text;
}

/* A text that is too long is cut. */
void spex_levels_text(const struct spex_space *space, const size_t *levels, char *text,
                      size_t size) {
    char value[256];
    size_t length = 0;
    text[0] = '\0';
    for (size_t p = 0; p < space->parameter_count && length < size; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        bool unit = parameter->unit[0] && !spex_parameter_is_bytes(parameter) &&
                    spex_space_applies(space, levels, p);
        spex_level_shown(space, levels, p, value, sizeof(value));
        length +=
            (size_t)snprintf(text + length, size - length, "%s%s=%s%s%s", p ? " " : "",
                             parameter->name, value, unit ? " " : "", unit ? parameter->unit : "");
    }
}
