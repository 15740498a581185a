/* SPDX-License-Identifier: MIT */
#include "space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../selection.h"
#include "number.h"
#include "space_parameter.h"
#include "xml.h"

#define TRIALS_MAX  1000
#define RECORDS_MAX 1000000000
#define SECONDS_MAX 86400

/* One item of a selection, without a glob, with its type. */
static bool is_one_probe(const struct spex_selection *selection, const char *probe) {
    const struct spex_selection_item *item = selection->items;
    return selection->count == 1 && !selection->relative && strchr(probe, ':') && !item->file &&
           item->sampling.period != SPEX_SELECTION_OFF && !strpbrk(item->what, "*?[");
}

static int take_objective_probe(struct spex_xml *xml, const xmlNode *element, const char *probe,
                                uint32_t *type) {
    struct spex_selection selection;
    char why[192] = "out of memory";
    int err = spex_selection_parse(probe, &selection, why, sizeof(why));
    if (err)
        return spex_xml_fail(xml, element, "probe=%s", why);
    if (!is_one_probe(&selection, probe))
        err = spex_xml_fail(xml, element,
                            "probe=\"%s\": one probe and its type was expected, as \"query:tpt\"",
                            probe);
    else
        *type = selection.items[0].types;
    spex_selection_free(&selection);
    return err;
}

static bool metric_fits(const char *metric, uint32_t type) {
    static const char *const of_values[] = {"mean", "p50", "p90", "p99", "max"};
    if (strcmp(metric, "throughput") == 0)
        return type != SPEX_SNAPSHOT;
    for (size_t m = 0; m < sizeof(of_values) / sizeof(of_values[0]); m++)
        if (strcmp(metric, of_values[m]) == 0)
            return type != SPEX_CNT;
    return false;
}

static int take_objective(struct spex_xml *xml, const xmlNode *element, struct spex_space *space) {
    static const char *const known[] = {"probe", "metric", "goal", NULL};
    struct spex_objective *objective = &space->objective;
    const char *probe = NULL, *metric = NULL, *goal = NULL;
    uint32_t type = 0;
    if (objective->probe)
        return spex_xml_fail(xml, element, "only one was expected");
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : spex_xml_required(xml, element, "probe", &probe);
    err = err ? err : spex_xml_required(xml, element, "metric", &metric);
    err = err ? err : spex_xml_required(xml, element, "goal", &goal);
    err = err ? err : take_objective_probe(xml, element, probe, &type);
    if (err)
        return err;
    if (!metric_fits(metric, type))
        return spex_xml_fail(xml, element,
                             "metric=\"%s\": throughput (of a cnt, lat or tpt probe), mean, p50, "
                             "p90, p99 or max (of a lat, tpt or snapshot probe) was expected",
                             metric);
    objective->maximise = strcmp(goal, "maximise") == 0;
    if (!objective->maximise && strcmp(goal, "minimise") != 0)
        return spex_xml_fail(xml, element, "goal=\"%s\": maximise or minimise was expected", goal);
    objective->probe = strdup(probe);
    objective->metric = strdup(metric);
    return objective->probe && objective->metric ? 0
                                                 : spex_fail(xml->why, -ENOMEM, "out of memory");
}

/* An optional whole number; *value stays when the attribute is not there. */
static int take_count(struct spex_xml *xml, const xmlNode *element, const char *name, int64_t low,
                      int64_t high, int64_t *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_integer(text, value) && *value >= low && *value <= high))
        return 0;
    return spex_xml_fail(xml, element,
                         "%s=\"%s\": a whole number of %" PRId64 " to %" PRId64 " was expected",
                         name, text, low, high);
}

static int take_seconds(struct spex_xml *xml, const xmlNode *element, const char *name,
                        double *value) {
    const char *text = spex_xml_attribute(element, name);
    if (!text || (spex_number_seconds(text, value) && *value <= SECONDS_MAX))
        return 0;
    return spex_xml_fail(xml, element, "%s=\"%s\": seconds of 0 to %d were expected", name, text,
                         SECONDS_MAX);
}

static int take_run(struct spex_xml *xml, const xmlNode *element, struct spex_rules *rules,
                    const xmlNode **run) {
    static const char *const known[] = {
        "trials_per_config", "records_per_thread", "threads", "warmup",
        "startup",           "duration",           "seed",    NULL};
    int64_t trials = rules->trials_per_config, records = rules->records_per_thread, seed = 1;
    if (*run)
        return spex_xml_fail(xml, element, "only one was expected");
    *run = element;
    int err = spex_xml_check(xml, element, known, 0);
    err = err ? err : take_count(xml, element, "trials_per_config", 1, TRIALS_MAX, &trials);
    err = err ? err : take_count(xml, element, "records_per_thread", 1, RECORDS_MAX, &records);
    err = err ? err : take_count(xml, element, "seed", 0, INT64_MAX, &seed);
    err = err ? err : take_seconds(xml, element, "warmup", &rules->warmup_seconds);
    err = err ? err : take_seconds(xml, element, "startup", &rules->startup_seconds);
    err = err ? err : take_seconds(xml, element, "duration", &rules->duration_seconds);
    if (!err && rules->startup_seconds <= 0)
        err = spex_xml_fail(xml, element, "startup: more than 0 seconds were expected");
    if (!err && rules->warmup_seconds >= rules->duration_seconds)
        err = spex_xml_fail(xml, element, "duration=%gs was expected to be longer than warmup=%gs",
                            rules->duration_seconds, rules->warmup_seconds);
    rules->trials_per_config = (unsigned)trials;
    rules->records_per_thread = (unsigned)records;
    rules->seed = (uint64_t)seed;
    return err;
}

/* The parameter that an attribute names. */
static int resolve(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                   const struct spex_space *space, size_t *parameter) {
    const char *name = spex_xml_attribute(element, attribute);
    *parameter = name ? spex_space_parameter(space, name) : space->parameter_count;
    if (name && *parameter == space->parameter_count)
        return spex_xml_fail(xml, element, "%s=\"%s\": the space has no such parameter", attribute,
                             name);
    return 0;
}

static int resolve_threads(struct spex_xml *xml, const xmlNode *run, struct spex_space *space) {
    space->threads_parameter = space->parameter_count;
    int err = run ? resolve(xml, run, "threads", space, &space->threads_parameter) : 0;
    if (err || space->threads_parameter == space->parameter_count)
        return err;
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    if (threads->kind != SPEX_INTEGER || threads->values[0].integer < 1)
        return spex_xml_fail(xml, run, "threads=\"%s\": an integer parameter from 1 was expected",
                             threads->name);
    return 0;
}

static int resolve_heatmap(struct spex_xml *xml, const xmlNode *heatmap,
                           struct spex_space_file *file) {
    static const char *const known[] = {"x", "y", NULL};
    const char *name;
    file->heatmap_x = file->heatmap_y = file->space.parameter_count;
    if (!heatmap)
        return 0;
    int err = spex_xml_check(xml, heatmap, known, 0);
    err = err ? err : spex_xml_required(xml, heatmap, "x", &name);
    err = err ? err : spex_xml_required(xml, heatmap, "y", &name);
    err = err ? err : resolve(xml, heatmap, "x", &file->space, &file->heatmap_x);
    err = err ? err : resolve(xml, heatmap, "y", &file->space, &file->heatmap_y);
    if (!err && file->heatmap_x == file->heatmap_y)
        err = spex_xml_fail(xml, heatmap, "x and y were expected to differ");
    return err;
}

static int check_size(struct spex_xml *xml, const xmlNode *root, const struct spex_space *space) {
    uint64_t count = 1;
    if (space->parameter_count == 0)
        return spex_xml_fail(xml, root, "at least one <parameter> was expected inside");
    for (size_t p = 0; p < space->parameter_count; p++)
        if (__builtin_mul_overflow(count, space->parameters[p].count, &count) ||
            count > SPEX_SPACE_CONFIGURATIONS_MAX)
            return spex_xml_fail(xml, root, "at most 2^40 configurations were expected");
    if (!space->objective.probe)
        return spex_xml_fail(xml, root, "an <objective> was expected inside");
    return 0;
}

struct elements {
    const xmlNode *run;
    const xmlNode *heatmap;
};

static int take_element(struct spex_xml *xml, const xmlNode *element, struct spex_space *space,
                        struct elements *seen) {
    const char *name = spex_xml_name(element);
    if (strcmp(name, "parameter") == 0)
        return spex_parameter_take(xml, element, space);
    if (strcmp(name, "objective") == 0)
        return take_objective(xml, element, space);
    if (strcmp(name, "run") == 0)
        return take_run(xml, element, &space->rules, &seen->run);
    if (strcmp(name, "heatmap") != 0)
        return spex_xml_fail(xml, element,
                             "<parameter>, <objective>, <run> or <heatmap> was expected here");
    if (seen->heatmap)
        return spex_xml_fail(xml, element, "only one was expected");
    seen->heatmap = element;
    return 0;
}

static int take_space(struct spex_xml *xml, struct spex_space_file *file) {
    static const char *const known[] = {"name", NULL};
    struct spex_space *space = &file->space;
    struct elements seen = {NULL, NULL};
    const xmlNode *root;
    const char *name = NULL;
    int err = spex_xml_root(xml, "space", &root);
    err = err ? err : spex_xml_check(xml, root, known, 1);
    err = err ? err : spex_xml_required(xml, root, "name", &name);
    if (!err && !(space->name = strdup(name)))
        err = spex_fail(xml->why, -ENOMEM, "out of memory");
    for (const xmlNode *e = err ? NULL : spex_xml_child(root); e && !err; e = spex_xml_next(e))
        err = take_element(xml, e, space, &seen);
    err = err ? err : check_size(xml, root, space);
    err = err ? err : resolve_threads(xml, seen.run, space);
    err = err ? err : resolve_heatmap(xml, seen.heatmap, file);
    return err;
}

/* Takes the document over in any case. */
static int space_from(struct spex_xml *xml, struct spex_space_file **out) {
    struct spex_space_file *file = calloc(1, sizeof(*file));
    int err = file ? 0 : spex_fail(xml->why, -ENOMEM, "out of memory");
    if (!err) {
        file->space.size = sizeof(file->space);
        file->space.rules = (struct spex_rules){.trials_per_config = 1,
                                                .records_per_thread = 20,
                                                .startup_seconds = 60,
                                                .duration_seconds = 60,
                                                .seed = 1};
        err = take_space(xml, file);
        file->xml = xml->text;
        xml->text = NULL;
    }
    spex_xml_free(xml);
    if (err) {
        spex_space_free(file);
        file = NULL;
    }
    *out = file;
    return err;
}

int spex_space_read(const char *path, struct spex_space_file **file, struct spex_why *why) {
    struct spex_xml xml;
    *file = NULL;
    int err = spex_xml_read_file(&xml, path, why);
    return err ? err : space_from(&xml, file);
}

int spex_space_parse(const char *path, const char *text, struct spex_space_file **file,
                     struct spex_why *why) {
    struct spex_xml xml;
    *file = NULL;
    int err = spex_xml_read_text(&xml, path, text, why);
    return err ? err : space_from(&xml, file);
}

/* What is const to everyone else is ours to free. */
static void drop(const void *owned) {
    free((void *)(uintptr_t)owned);
}

void spex_space_free(struct spex_space_file *file) {
    if (!file)
        return;
    for (size_t p = 0; p < file->space.parameter_count; p++)
        spex_parameter_free(&file->space.parameters[p]);
    drop(file->space.parameters);
    drop(file->space.name);
    drop(file->space.objective.probe);
    drop(file->space.objective.metric);
    free(file->xml);
    free(file);
}

size_t spex_space_parameter(const struct spex_space *space, const char *name) {
    size_t p = 0;
    while (p < space->parameter_count && strcmp(space->parameters[p].name, name) != 0)
        p++;
    return p;
}

size_t spex_parameter_level(const struct spex_parameter *parameter, const char *text) {
    size_t level = 0;
    while (level < parameter->count && strcmp(parameter->values[level].text, text) != 0)
        level++;
    return level;
}

char *spex_space_identity(const struct spex_space *space) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    const struct spex_rules *rules = &space->rules;
    fprintf(out, "space %s\n", space->name);
    for (size_t p = 0; p < space->parameter_count; p++) {
        const struct spex_parameter *parameter = &space->parameters[p];
        fprintf(out, "parameter %s [%s]:", parameter->name, parameter->unit);
        for (size_t v = 0; v < parameter->count; v++)
            fprintf(out, " %s", parameter->values[v].text);
        fputc('\n', out);
    }
    fprintf(out, "objective %s %s of %s\n", space->objective.maximise ? "maximise" : "minimise",
            space->objective.metric, space->objective.probe);
    fprintf(out, "run trials_per_config=%u records_per_thread=%u threads=%s",
            rules->trials_per_config, rules->records_per_thread,
            space->threads_parameter < space->parameter_count
                ? space->parameters[space->threads_parameter].name
                : "1");
    /* 15 digits: all that a decimal number of seconds can have and still come back as written. */
    fprintf(out, " warmup=%.15g startup=%.15g duration=%.15g seed=%" PRIu64 "\n",
            rules->warmup_seconds, rules->startup_seconds, rules->duration_seconds, rules->seed);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
