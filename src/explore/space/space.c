/* SPDX-License-Identifier: MIT */
/* Reads a space: parameters, criteria and run rules in the order of the elements; then, once all
 * parameters are known, what names them. The first error ends the reading, with a message that has
 * file, line and what was expected. What has been made is freed by spex_space_free. */
#include "explore/space/space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_agent.h"
#include "explore/space/space_condition.h"
#include "explore/space/space_criterion.h"
#include "explore/space/space_list.h"
#include "explore/space/space_parameter.h"
#include "explore/space/space_run.h"
#include "text/plain_numbers.h"
#include "xml/xml.h"

/* Most configurations that are tried to find one that the constraints allow. */
#define ALLOWED_TRIES 1000000

/* Sets *parameter to the parameter that an attribute names; parameter_count without the
 * attribute. */
static int resolve_parameter(struct spex_xml *xml, const xmlNode *element, const char *attribute,
                             const struct spex_space *space, size_t *parameter) {
    const char *name = spex_xml_attribute(element, attribute);
    *parameter = name ? spex_space_parameter(space, name) : space->parameter_count;
    if (name && *parameter == space->parameter_count)
        return spex_xml_fail(xml, element, "%s=\"%s\": the space has no such parameter", attribute,
                             name);
    return 0;
}

/* Finds the parameter that <run threads="…"> names; its values must be numbers of threads. */
static int resolve_threads(struct spex_xml *xml, const xmlNode *run, struct spex_space *space) {
    space->threads_parameter = space->parameter_count;
    int err = run ? resolve_parameter(xml, run, "threads", space, &space->threads_parameter) : 0;
    if (err || space->threads_parameter == space->parameter_count)
        return err;
    const struct spex_parameter *threads = &space->parameters[space->threads_parameter];
    if (threads->kind != SPEX_INTEGER || threads->values[0].integer < 1)
        return spex_xml_fail(xml, run, "threads=\"%s\": an integer parameter from 1 was expected",
                             threads->name);
    return 0;
}

/* Finds the parameters of <heatmap>. */
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
    err = err ? err : resolve_parameter(xml, heatmap, "x", &file->space, &file->heatmap_x);
    err = err ? err : resolve_parameter(xml, heatmap, "y", &file->space, &file->heatmap_y);
    if (!err && file->heatmap_x == file->heatmap_y)
        err = spex_xml_fail(xml, heatmap, "x and y were expected to differ");
    return err;
}

/* The bound keeps numbers of configurations, and sums of them, within 64 bits. A list is not of
 * combinations. */
static int check_size(struct spex_xml *xml, const xmlNode *root, const struct spex_space *space,
                      bool listed) {
    uint64_t count = 1;
    if (space->parameter_count == 0)
        return spex_xml_fail(xml, root, "at least one <parameter> was expected inside");
    for (size_t p = 0; !listed && p < space->parameter_count; p++)
        if (__builtin_mul_overflow(count, space->parameters[p].count, &count) ||
            count > SPEX_SPACE_CONFIGURATIONS_MAX)
            return spex_xml_fail(xml, root, "at most 2^40 configurations were expected");
    return 0;
}

/* Fails when the constraints allow no configuration; in a large space, none of evenly spaced ones.
 * The last parameter changes fastest. The stride is odd, so that it does not skip every second of
 * its levels. */
static int check_allowed(struct spex_xml *xml, const xmlNode *root,
                         const struct spex_space *space) {
    size_t levels[SPEX_PARAMETERS_MAX];
    uint64_t count = spex_space_configurations(space);
    uint64_t stride = count / ALLOWED_TRIES * 2 + 1; /* 1 when all are tried */
    for (uint64_t i = 0, index = 0; i < count && i < ALLOWED_TRIES; i++, index += stride) {
        uint64_t rest = index % count;
        for (size_t p = space->parameter_count; p-- > 0;) {
            levels[p] = rest % space->parameters[p].count;
            rest /= space->parameters[p].count;
        }
        if (spex_space_settle(space, levels))
            return 0;
    }
    return spex_xml_fail(xml, root, "a configuration that the constraints allow was expected");
}

/* Elements that are handled once all parameters are known; NULL: not there. */
struct elements {
    const xmlNode *run;
    const xmlNode *heatmap;
    const xmlNode *list;
    const xmlNode *first;
};

/* Notes an element of which there may be one. */
static int take_only_element(struct spex_xml *xml, const xmlNode *element, const xmlNode **seen) {
    if (*seen)
        return spex_xml_fail(xml, element, "only one was expected");
    *seen = element;
    return 0;
}

static int take_parameter(struct spex_xml *xml, const xmlNode *element,
                          struct spex_space_file *file) {
    int err = spex_parameter_take(xml, element, &file->space);
    return err ? err : spex_conditions_when(file->conditions, xml, element);
}

/* Handles an element. Those that name parameters are only noted, or skipped here. */
static int take_element(struct spex_xml *xml, const xmlNode *element, struct spex_space_file *file,
                        struct elements *seen) {
    const char *name = spex_xml_name(element);
    if (strcmp(name, "parameter") == 0)
        return take_parameter(xml, element, file);
    if (strcmp(name, "objective") == 0 || strcmp(name, "limit") == 0)
        return spex_criterion_take(xml, element, name[0] == 'l', &file->space);
    if (strcmp(name, "heatmap") == 0)
        return take_only_element(xml, element, &seen->heatmap);
    if (strcmp(name, "configurations") == 0)
        return take_only_element(xml, element, &seen->list);
    if (strcmp(name, "first") == 0)
        return take_only_element(xml, element, &seen->first);
    if (strcmp(name, "constraint") == 0 || spex_agent_element(name))
        return 0;
    if (strcmp(name, "run") != 0)
        return spex_xml_fail(
            xml, element,
            "<parameter>, <constraint>, <configurations>, <first>, <objective>, <limit>, <run>, "
            "<heatmap>, <environment>, <configuration>, <setup>, <teardown>, <service> or <load> "
            "was "
            "expected here");
    int err = take_only_element(xml, element, &seen->run);
    return err ? err : spex_run_take(xml, element, &file->space.rules);
}

static int take_list(struct spex_xml *xml, const xmlNode *list, struct spex_space_file *file) {
    size_t *order = NULL;
    int err = spex_list_take(xml, list, &file->space, &order);
    spex_conditions_list(file->conditions, order);
    return err;
}

/* Reads the constraints and the list, and installs the space's functions, which a space without conditions lacks:
 * settling is free then. */
static int take_constraints(struct spex_xml *xml, const xmlNode *root, const xmlNode *list,
                            struct spex_space_file *file) {
    int err = 0;
    for (const xmlNode *e = spex_xml_child(root); e && !err; e = spex_xml_next(e))
        if (strcmp(spex_xml_name(e), "constraint") == 0)
            err = spex_conditions_require(file->conditions, xml, e);
    if (!err && (list || spex_conditions_any(file->conditions))) {
        file->space.context = file->conditions;
        file->space.settle = spex_conditions_settle;
        file->space.applies = spex_conditions_apply;
        err = list ? take_list(xml, list, file) : check_allowed(xml, root, &file->space);
    }
    return err;
}

/* Figures of services need one. */
static int check_services(struct spex_xml *xml, const xmlNode *root,
                          const struct spex_space_file *file) {
    const struct spex_space *space = &file->space;
    char name[SPEX_CRITERION_TEXT_BYTES];
    for (size_t c = 0; c < space->criterion_count && !file->agent->service_count; c++)
        if (spex_criterion_source(&space->criteria[c]) == SPEX_FROM_SERVICE) {
            spex_criterion_name(&space->criteria[c], name, sizeof(name));
            return spex_xml_fail(xml, root, "%s: a <service> was expected", name);
        }
    return 0;
}

/* The order of the steps matters: each needs what the ones before it have read. `judged`: an
 * objective is required. */
static int take_space(struct spex_xml *xml, struct spex_space_file *file, bool judged) {
    static const char *const known[] = {"name", NULL};
    struct spex_space *space = &file->space;
    struct elements seen = {NULL, NULL, NULL, NULL};
    const xmlNode *root;
    const char *name = NULL;
    int err = spex_xml_root(xml, "space", &root);
    err = err ? err : spex_xml_check(xml, root, known, 1);
    err = err ? err : spex_xml_required(xml, root, "name", &name);
    if (!err && (!(space->name = strdup(name)) || !(file->conditions = spex_conditions_new(space))))
        err = spex_fail(xml->error, -ENOMEM, "out of memory");
    for (const xmlNode *e = err ? NULL : spex_xml_child(root); e && !err; e = spex_xml_next(e))
        err = take_element(xml, e, file, &seen);
    err = err ? err : check_size(xml, root, space, seen.list);
    if (!err && judged && space->objective_count == 0)
        err = spex_xml_fail(xml, root, "an <objective> was expected inside");
    err = err ? err : take_constraints(xml, root, seen.list, file);
    if (!err && seen.first)
        err = spex_list_take_first(xml, seen.first, space);
    err = err ? err : resolve_threads(xml, seen.run, space);
    err = err ? err : resolve_heatmap(xml, seen.heatmap, file);
    err = err ? err : spex_agent_take(xml, root, space, &file->agent);
    err = err ? err : check_services(xml, root, file);
    if (!err && !(file->probes = spex_criteria_probes(space)))
        err = spex_fail(xml->error, -ENOMEM, "out of memory");
    return err;
}

/* Makes a space of the document, which is freed in any case. The space takes over the text, for the
 * store. `judged`: an objective is required. */
static int space_from(struct spex_xml *xml, bool judged, struct spex_space_file **out) {
    struct spex_space_file *file = calloc(1, sizeof(*file));
    int err = file ? 0 : spex_fail(xml->error, -ENOMEM, "out of memory");
    if (!err) {
        file->space.size = sizeof(file->space);
        file->space.rules = spex_rules_default;
        err = take_space(xml, file, judged);
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

static int space_read(const char *path, bool judged, struct spex_space_file **file,
                      struct spex_error *error) {
    struct spex_xml xml;
    *file = NULL;
    int err = spex_xml_read_file(&xml, path, error);
    return err ? err : space_from(&xml, judged, file);
}

static int space_parse(const char *path, const char *text, bool judged,
                       struct spex_space_file **file, struct spex_error *error) {
    struct spex_xml xml;
    *file = NULL;
    int err = spex_xml_read_text(&xml, path, text, error);
    return err ? err : space_from(&xml, judged, file);
}

int spex_space_read(const char *path, struct spex_space_file **file, struct spex_error *error) {
    return space_read(path, true, file, error);
}

int spex_space_read_plan(const char *path, struct spex_space_file **file,
                         struct spex_error *error) {
    return space_read(path, false, file, error);
}

int spex_space_parse(const char *path, const char *text, struct spex_space_file **file,
                     struct spex_error *error) {
    return space_parse(path, text, true, file, error);
}

int spex_space_parse_plan(const char *path, const char *text, struct spex_space_file **file,
                          struct spex_error *error) {
    return space_parse(path, text, false, file, error);
}

/* Frees a member that is const for users of the space. */
static void free_const(const void *owned) {
    free((void *)(uintptr_t)owned);
}

void spex_space_free(struct spex_space_file *file) {
    if (!file)
        return;
    for (size_t p = 0; p < file->space.parameter_count; p++)
        spex_parameter_free(&file->space.parameters[p]);
    free_const(file->space.parameters);
    free_const(file->space.name);
    free_const(file->space.listed);
    free_const(file->space.first);
    for (size_t c = 0; c < file->space.criterion_count; c++)
        spex_criterion_free(&file->space.criteria[c]);
    free_const(file->space.criteria);
    spex_conditions_free(file->conditions);
    spex_agent_free(file->agent);
    free(file->probes);
    free(file->xml);
    free(file);
}

/* A line of the space's identity: what stands in it must be equal for trials to be comparable. */
static void print_parameter(const struct spex_parameter *parameter, FILE *out) {
    fprintf(out, "parameter %s [%s]%s:", parameter->name, parameter->unit,
            parameter->logarithmic ? " log" : "");
    for (size_t v = 0; v < parameter->count; v++)
        fprintf(out, " %s", parameter->values[v].text);
    fprintf(out, " (%s)\n", parameter->values[parameter->default_level].text);
}

static void print_run(const struct spex_space *space, FILE *out) {
    SPEX_PLAIN_NUMBERS;
    const struct spex_rules *rules = &space->rules;
    fprintf(out, "run trials_per_config=%u records_per_thread=%u threads=%s",
            rules->trials_per_config, rules->records_per_thread,
            space->threads_parameter < space->parameter_count
                ? space->parameters[space->threads_parameter].name
                : "1");
    /* 15 digits: every decimal number of so many digits is printed as it was written. */
    fprintf(out,
            " precision=%.15g warmup=%.15g startup=%.15g duration=%.15g trials=%" PRIu64
            " seed=%" PRIu64,
            rules->precision, rules->warmup_seconds, rules->startup_seconds,
            rules->duration_seconds, rules->trials_max, rules->seed);
    /* Stores from before this rule have no word of it. */
    if (rules->least_seconds != spex_rules_default.least_seconds)
        fprintf(out, " least=%.15g", rules->least_seconds);
    if (rules->finals != 0 || rules->finals_zone != 0 || rules->finals_sure != 0)
        fprintf(out, " finals=%.15g zone=%.15g sure=%.15g", rules->finals, rules->finals_zone,
                rules->finals_sure);
    fputc('\n', out);
}

/* Stores compare identities of different releases, so what is printed here keeps its form. */
char *spex_space_identity(const struct spex_space_file *file) {
    const struct spex_space *space = &file->space;
    char *text = NULL, criterion[1024];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "space %s\n", space->name);
    for (size_t p = 0; p < space->parameter_count; p++)
        print_parameter(&space->parameters[p], out);
    spex_conditions_print(file->conditions, out);
    for (size_t c = 0; c < space->criterion_count; c++) {
        spex_criterion_identity(&space->criteria[c], criterion, sizeof(criterion));
        fprintf(out, "%s %s\n",
                spex_criterion_is_limit(&space->criteria[c]) ? "limit" : "objective", criterion);
    }
    spex_list_print_first(space, out);
    print_run(space, out);
    spex_agent_print(file->agent, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

/* Compares line by line; a text may end without a newline. */
void spex_identity_skip_equal(const char **a, const char **b) {
    while (**a && **b) {
        size_t length = strcspn(*a, "\n"), other = strcspn(*b, "\n");
        if (length != other || memcmp(*a, *b, length) != 0)
            return;
        *a += length + ((*a)[length] == '\n');
        *b += other + ((*b)[other] == '\n');
    }
}
