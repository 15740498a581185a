/* SPDX-License-Identifier: MIT */
/* Reads objectives and limits. Which probes and metrics are possible is decided in
 * measure/criterion.h, which programs that tune themselves share. A figure may also be of the
 * command itself: a space has criteria of the one or of the other kind. */
#define _GNU_SOURCE
#include "explore/space/space_criterion.h"

#include <stdlib.h>
#include <string.h>

#include "explore/space/output_pattern.h"
#include "measure/criterion.h"
#include "xml/xml_criterion.h"

/* The longest expression, pointer or command: with it, the criterion's identity is whole. */
enum { METRIC_MAX = 800 };

/* Attributes that belong to probes. */
static const char *const of_probes[] = {"metric", "field", NULL};

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
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_criterion_name(criterion, name, sizeof(name));
    for (size_t c = 0; c < space->objective_count; c++) {
        const struct spex_criterion *other = &space->criteria[c];
        if (criterion > other && criterion < &space->criteria[space->objective_count] &&
            strcmp(other->probe, criterion->probe) == 0 &&
            strcmp(other->metric, criterion->metric) == 0 && other->field == criterion->field)
            return spex_xml_fail(xml, element, "%s is an objective already", name);
    }
    return 0;
}

/* What is taken of the command, its output or another command. Checked here, so that a mistake is
 * told before the first trial; templates in commands are checked by space_agent.c. */
static int check_own_metric(struct spex_xml *xml, const xmlNode *element,
                            enum spex_criterion_source source, const char *text) {
    const char *name = spex_criterion_source_names[source];
    struct spex_error reason;
    regex_t pattern;
    if (strlen(text) > METRIC_MAX)
        return spex_xml_fail(xml, element, "%s: at most %d bytes were expected", name, METRIC_MAX);
    if (source == SPEX_FROM_COMMAND && spex_resource_named(text) == SPEX_RESOURCES)
        return spex_xml_fail(xml, element,
                             "command=\"%s\": wall, cpu, memory, faults or switches was expected",
                             text);
    if (source == SPEX_FROM_SERVICE && (spex_resource_named(text) == SPEX_RESOURCES ||
                                        spex_resource_named(text) == SPEX_RESOURCE_WALL))
        return spex_xml_fail(xml, element,
                             "service=\"%s\": cpu, memory, faults or switches was expected", text);
    if (source == SPEX_FROM_JSON && *text != '/')
        return spex_xml_fail(xml, element,
                             "json=\"%s\": a pointer was expected, as \"/results/0/ops\"", text);
    if (source != SPEX_FROM_OUTPUT)
        return 0;
    int err = spex_output_pattern(&pattern, text, &reason);
    if (!err)
        regfree(&pattern);
    return err == -ENOMEM ? spex_fail(xml->error, err, "out of memory")
           : err          ? spex_xml_fail(xml, element, "output=\"%s\": %s", text, reason.text)
                          : 0;
}

/* What the figure is from: the one attribute of the sources that there is. */
static int take_source(struct spex_xml *xml, const xmlNode *element,
                       enum spex_criterion_source *source) {
    unsigned found = 0;
    for (unsigned s = 0; s < SPEX_CRITERION_SOURCES; s++)
        if (spex_xml_attribute(element, spex_criterion_source_names[s])) {
            *source = (enum spex_criterion_source)s;
            found++;
        }
    if (found != 1)
        return spex_xml_fail(
            xml, element, "one of probe, command, output, json, measure and service was expected");
    for (unsigned a = 0; *source != SPEX_FROM_PROBE && of_probes[a]; a++)
        if (spex_xml_attribute(element, of_probes[a]))
            return spex_xml_fail(xml, element, "%s was expected with probe alone", of_probes[a]);
    return 0;
}

/* What the criterion is about; its texts are its own, also after an error. */
static int take_metric(struct spex_xml *xml, const xmlNode *element,
                       struct spex_criterion *criterion) {
    enum spex_criterion_source source = SPEX_FROM_PROBE;
    const char *text;
    int err = take_source(xml, element, &source);
    if (!err && source == SPEX_FROM_PROBE)
        return spex_xml_take_metric(xml, element, criterion);
    err = err ? err : spex_xml_required(xml, element, spex_criterion_source_names[source], &text);
    err = err ? err : check_own_metric(xml, element, source, text);
    if (err)
        return err;
    criterion->probe = strdup(spex_criterion_source_names[source]);
    criterion->metric = strdup(text);
    return criterion->probe && criterion->metric ? 0
                                                 : spex_fail(xml->error, -ENOMEM, "out of memory");
}

/* A run for probes ends when they have enough records, one of a command when the command does. */
static int check_kind(struct spex_xml *xml, const xmlNode *element,
                      const struct spex_space *space) {
    bool command = spex_space_of_command(space);
    for (size_t c = 1; c < space->criterion_count; c++)
        if ((spex_criterion_source(&space->criteria[c]) != SPEX_FROM_PROBE) != command)
            return spex_xml_fail(xml, element,
                                 "figures of probes alone, or none of probes, were expected: a run "
                                 "for probes ends when they have enough records, and not when the "
                                 "program does");
    return 0;
}

/* The criterion is added before it is read, so that the space frees it after an error. */
int spex_criterion_take(struct spex_xml *xml, const xmlNode *element, bool limit,
                        struct spex_space *space) {
    static const char *const of_objective[] = {"probe", "metric",  "field",   "command", "output",
                                               "json",  "measure", "service", "goal",    NULL};
    static const char *const of_limit[] = {"probe",   "metric",   "field",   "command",
                                           "output",  "json",     "measure", "service",
                                           "at_most", "at_least", NULL};
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
    err = err ? err : check_kind(xml, element, space);
    if (err)
        return err;
    return limit ? spex_xml_take_bound(xml, element, criterion)
                 : take_goal(xml, element, criterion);
}

void spex_criterion_free(const struct spex_criterion *criterion) {
    free((void *)(uintptr_t)criterion->probe);
    free((void *)(uintptr_t)criterion->metric);
}
