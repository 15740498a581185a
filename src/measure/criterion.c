/* SPDX-License-Identifier: MIT */
/* Criteria are written in spaces as a probe's selection ("query:tpt") and the name of a metric.
 * Both the explorer and programs that tune themselves check them here. */
#define _GNU_SOURCE
#include "measure/criterion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory.h"
#include "ring/probe_type.h"
#include "text/number.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

/* A probe of one name may still have several sites; what they record counts together. Files, globs
 * and relative selections ("+…") may match several probes. */
bool spex_criterion_names_one(const struct spex_selection *selection, const char *probe) {
    const struct spex_selection_item *item = selection->items;
    return selection->count == 1 && !selection->relative && strchr(probe, ':') && !item->file &&
           item->sampling.period != SPEX_SELECTION_OFF && !strpbrk(item->what, "*?[");
}

/* A quantile in percent, as "p50" or "p99.9". */
static bool is_quantile(const char *metric) {
    double percent;
    return metric[0] == 'p' && spex_number_seconds(metric + 1, &percent) && percent > 0 &&
           percent < 100;
}

/* All types have a throughput but snapshots. All have values but cnt, which counts executions
 * alone. */
bool spex_criterion_fits(const char *metric, uint32_t type) {
    if (strcmp(metric, "throughput") == 0)
        return type != SPEX_SNAPSHOT;
    return type != SPEX_CNT && (strcmp(metric, "mean") == 0 || strcmp(metric, "min") == 0 ||
                                strcmp(metric, "max") == 0 || is_quantile(metric));
}

const char *const spex_criterion_source_names[SPEX_CRITERION_SOURCES] = {
    "probe", "command", "output", "json", "measure", "service"};

enum spex_criterion_source spex_criterion_source(const struct spex_criterion *criterion) {
    unsigned source = SPEX_CRITERION_SOURCES - 1;
    while (source && strcmp(criterion->probe, spex_criterion_source_names[source]) != 0)
        source--;
    return (enum spex_criterion_source)source;
}

static bool is_of_resource(enum spex_criterion_source source) {
    return source == SPEX_FROM_COMMAND || source == SPEX_FROM_SERVICE;
}

bool spex_criterion_is_memory(const struct spex_criterion *criterion) {
    return is_of_resource(spex_criterion_source(criterion)) &&
           spex_resource_named(criterion->metric) == SPEX_RESOURCE_MEMORY;
}

/* The type is what follows the colon; a sampling rate may follow it behind "@". */
const char *spex_criterion_unit(const struct spex_criterion *criterion) {
    const char *type = strchr(criterion->probe, ':');
    enum spex_criterion_source source = spex_criterion_source(criterion);
    if (is_of_resource(source))
        return spex_resource_kinds[spex_resource_named(criterion->metric)].unit;
    if (source != SPEX_FROM_PROBE)
        return "";
    if (strcmp(criterion->metric, "throughput") == 0)
        return "/s";
    return type && spex_probe_type_ticks(spex_probe_type_named(type + 1, strcspn(type + 1, "@")))
               ? "s"
               : "";
}

void spex_criterion_name(const struct spex_criterion *criterion, char *text, size_t size) {
    enum spex_criterion_source source = spex_criterion_source(criterion);
    char field[16] = "";
    if (criterion->field)
        snprintf(field, sizeof(field), "[%u]", criterion->field);
    if (source == SPEX_FROM_PROBE)
        snprintf(text, size, "%s of %s%s", criterion->metric, criterion->probe, field);
    else if (is_of_resource(source))
        snprintf(text, size, "%s%s",
                 spex_resource_kinds[spex_resource_named(criterion->metric)].label,
                 source == SPEX_FROM_SERVICE ? " of services" : "");
    else
        snprintf(text, size, "%s %s", criterion->probe, criterion->metric);
}

/* Writes the criterion, with the bound of a limit as it is given. */
static void criterion_write(const struct spex_criterion *criterion, const char *bound, char *text,
                            size_t size) {
    static const char *const words[] = {[SPEX_MAXIMISE] = "maximise ",
                                        [SPEX_MINIMISE] = "minimise ",
                                        [SPEX_AT_MOST] = " at most ",
                                        [SPEX_AT_LEAST] = " at least "};
    bool limit = spex_criterion_is_limit(criterion);
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_criterion_name(criterion, name, sizeof(name));
    snprintf(text, size, "%s%s%s%s", limit ? "" : words[criterion->goal], name,
             limit ? words[criterion->goal] : "", limit ? bound : "");
}

void spex_criterion_text(const struct spex_criterion *criterion, char *text, size_t size) {
    char bound[48];
    spex_quantity_text(criterion->bound, 0, spex_criterion_unit(criterion), bound, sizeof(bound));
    criterion_write(criterion, bound, text, size);
}

void spex_criterion_identity(const struct spex_criterion *criterion, char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    const char *unit = spex_criterion_unit(criterion);
    char bound[48];
    snprintf(bound, sizeof(bound), "%.15g%s%s", criterion->bound, *unit == 's' ? " " : "", unit);
    criterion_write(criterion, bound, text, size);
}

void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size) {
    const char *unit = spex_criterion_unit(criterion);
    char name[SPEX_CRITERION_TEXT_BYTES];
    spex_criterion_name(criterion, name, sizeof(name));
    snprintf(text, size, "%s%s%s%s", name, *unit ? " [" : "", unit, *unit ? "]" : "");
}

/* Each probe once: a selection with two items for one probe would say the same twice. O(n²) for at
 * most SPEX_CRITERIA_MAX criteria. */
char *spex_criteria_probes(const struct spex_space *space) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (size_t c = 0; c < space->criterion_count; c++) {
        size_t same = 0;
        if (spex_criterion_source(&space->criteria[c]) != SPEX_FROM_PROBE)
            continue;
        while (strcmp(space->criteria[same].probe, space->criteria[c].probe) != 0)
            same++;
        if (same == c)
            fprintf(out, "%s%s", c ? "," : "", space->criteria[c].probe);
    }
    if (fclose(out) != 0) {
        spex_free(text);
        return NULL;
    }
    return text;
}
