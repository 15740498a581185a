/* SPDX-License-Identifier: MIT */
/* Reads objectives and limits. Which probes and metrics are possible is decided in
 * measure/criterion.h, which programs that tune themselves share. */
#define _GNU_SOURCE
#include "explore/space/space_criterion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/criterion.h"
#include "site/selection.h"
#include "text/number.h"

/* Greatest number of a value in a record that a space may name. */
#define FIELD_MAX 255

/* Checks that the selection names a single probe, and sets its type. */
static int take_probe(struct spex_xml *xml, const xmlNode *element, const char *probe,
                      uint32_t *type) {
    struct spex_selection selection;
    struct spex_error error;
    int err = spex_selection_parse(probe, &selection, &error);
    if (err)
        return spex_xml_fail(xml, element, "probe=%s", error.text);
    if (!spex_criterion_names_one(&selection, probe))
        err = spex_xml_fail(xml, element,
                            "probe=\"%s\": one probe and its type was expected, as \"query:tpt\"",
                            probe);
    else
        *type = selection.items[0].types;
    spex_selection_free(&selection);
    return err;
}

/* The number of a value in the records of the probe; 0 where it is not given. */
static int take_field(struct spex_xml *xml, const xmlNode *element, unsigned *field) {
    const char *text = spex_xml_attribute(element, "field");
    int64_t value = 0;
    if (text && (!spex_number_integer(text, &value) || value < 0 || value > FIELD_MAX))
        return spex_xml_fail(xml, element,
                             "field=\"%s\": a whole number of 0 to %d was expected: which of a "
                             "record's values",
                             text, FIELD_MAX);
    *field = (unsigned)value;
    return 0;
}

/* Probe, field and metric: what the criterion is about. */
static int take_metric(struct spex_xml *xml, const xmlNode *element,
                       struct spex_criterion *criterion) {
    const char *probe = NULL, *metric = NULL;
    uint32_t type = 0;
    int err = spex_xml_required(xml, element, "probe", &probe);
    err = err ? err : spex_xml_required(xml, element, "metric", &metric);
    err = err ? err : take_probe(xml, element, probe, &type);
    err = err ? err : take_field(xml, element, &criterion->field);
    if (err)
        return err;
    if (!spex_criterion_fits(metric, type))
        return spex_xml_fail(
            xml, element,
            "metric=\"%s\": throughput (of no snapshot probe), or mean, min, max or "
            "a quantile as p50 or p99.9 (of no cnt probe) was expected",
            metric);
    criterion->probe = strdup(probe);
    criterion->metric = strdup(metric);
    return criterion->probe && criterion->metric ? 0
                                                 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

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

/* Parses a bound: a number; for a time also with a unit, as "2ms". */
static bool parse_bound(const struct spex_criterion *criterion, const char *text, double *bound) {
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    size_t length = strlen(text);
    bool time = strcmp(spex_criterion_unit(criterion), "s") == 0;
    char digits[64];
    for (size_t u = 0; time && u < sizeof(units) / sizeof(units[0]); u++) {
        size_t suffix = strlen(units[u].suffix);
        if (length <= suffix || length >= sizeof(digits) ||
            strcmp(text + length - suffix, units[u].suffix) != 0)
            continue;
        snprintf(digits, sizeof(digits), "%.*s", (int)(length - suffix), text);
        if (!spex_number_real(digits, bound))
            return false;
        *bound *= units[u].seconds;
        return true;
    }
    return spex_number_real(text, bound);
}

/* The bound of a limit, in seconds for a time. */
static int take_bound(struct spex_xml *xml, const xmlNode *element,
                      struct spex_criterion *criterion) {
    const char *most = spex_xml_attribute(element, "at_most");
    const char *least = spex_xml_attribute(element, "at_least");
    if (!most == !least)
        return spex_xml_fail(xml, element, "either at_most or at_least was expected");
    criterion->goal = most ? SPEX_AT_MOST : SPEX_AT_LEAST;
    if (!parse_bound(criterion, most ? most : least, &criterion->bound))
        return spex_xml_fail(xml, element, "%s=\"%s\": a number%s was expected",
                             most ? "at_most" : "at_least", most ? most : least,
                             strcmp(spex_criterion_unit(criterion), "s") == 0
                                 ? " of seconds, or one with ms, us or ns,"
                                 : "");
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
    err = take_metric(xml, element, criterion);
    err = err ? err : check_new(xml, element, space, criterion);
    if (err)
        return err;
    return limit ? take_bound(xml, element, criterion) : take_goal(xml, element, criterion);
}

void spex_criterion_free(const struct spex_criterion *criterion) {
    free((void *)(uintptr_t)criterion->probe);
    free((void *)(uintptr_t)criterion->metric);
}
