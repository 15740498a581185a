/* SPDX-License-Identifier: MIT */
/* Reads objectives and limits. Which probes and metrics are possible is decided in
 * measure/criterion.h, which programs that tune themselves share. */
#include "explore/space/space_criterion.h"

#include <stdlib.h>
#include <string.h>

#include "measure/criterion.h"
#include "xml/xml_criterion.h"

static int take_goal(struct spex_xml *xml, const xmlNode *element,
                     struct spex_criterion *criterion) {
    const char *goal = NULL;
    int err = spex_xml_required(xml, element, "goal", &goal);
    if (err)
        return err;
    criterion->goal = strcmp(goal, "maximise") == 0 ? SPEX_MAXIMISE : SPEX_MINIMISE;
    if (criterion->goal == SPEX_MINIMISE && strcmp(goal, "minimise") != 0)
        return spex_xml_fail(xml, element, "goal=\"%s\": maximise or minimise was expected", goal);
    return 0;
}

/* Adds a zeroed criterion: an objective is placed before the limits. The array has room for all
 * from the beginning, so pointers into it stay valid until the next objective is added. */
static struct spex_criterion *criterion_add(struct spex_space *space, bool limit) {
    struct spex_criterion *all = (struct spex_criterion *)(uintptr_t)space->criteria;
    if (!all && !(all = calloc(SPEX_CRITERIA_MAX, sizeof(*all))))
        return NULL;
    space->criteria = all;
    size_t at = limit ? space->criterion_count : space->objective_count++;
    memmove(&all[at + 1], &all[at], (space->criterion_count++ - at) * sizeof(*all));
    all[at] = (struct spex_criterion){.probe = NULL};
    return &all[at];
}

/* Fails when the figure is an objective already. Two limits of a figure are allowed: from below and
 * from above. */
static int check_new(struct spex_xml *xml, const xmlNode *element, const struct spex_space *space,
                     const struct spex_criterion *criterion) {
    for (size_t c = 0; c < space->objective_count; c++) {
        const struct spex_criterion *other = &space->criteria[c];
        if (criterion > other && criterion < &space->criteria[space->objective_count] &&
            strcmp(other->probe, criterion->probe) == 0 &&
            strcmp(other->metric, criterion->metric) == 0 && other->field == criterion->field)
            return spex_xml_fail(xml, element, "%s of %s is an objective already",
                                 criterion->metric, criterion->probe);
    }
    return 0;
}

/* The criterion is added before it is read, so that the space frees it after an error. */
int spex_criterion_take(struct spex_xml *xml, const xmlNode *element, bool limit,
                        struct spex_space *space) {
    static const char *const of_objective[] = {"probe", "metric", "field", "goal", NULL};
    static const char *const of_limit[] = {"probe", "metric", "field", "at_most", "at_least", NULL};
    if (!limit && space->objective_count == SPEX_OBJECTIVES_MAX)
        return spex_xml_fail(xml, element, "at most %d were expected", SPEX_OBJECTIVES_MAX);
    if (space->criterion_count == SPEX_CRITERIA_MAX)
        return spex_xml_fail(xml, element, "at most %d objectives and limits were expected",
                             SPEX_CRITERIA_MAX);
    int err = spex_xml_check(xml, element, limit ? of_limit : of_objective, 0);
    if (err)
        return err;
    struct spex_criterion *criterion = criterion_add(space, limit);
    if (!criterion)
        return spex_fail(xml->error, -ENOMEM, "out of memory");
    err = spex_xml_take_metric(xml, element, criterion);
    err = err ? err : check_new(xml, element, space, criterion);
    if (err)
        return err;
    return limit ? spex_xml_take_bound(xml, element, criterion)
                 : take_goal(xml, element, criterion);
}

void spex_criterion_free(const struct spex_criterion *criterion) {
    free((void *)(uintptr_t)criterion->probe);
    free((void *)(uintptr_t)criterion->metric);
}
