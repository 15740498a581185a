/* SPDX-License-Identifier: MIT */
/* Resolves the names of configurations on the command line. A name by values may leave parameters
 * out, as long as one configuration that was run fits. */
#include "explore/findings/explain_name.h"

#include <errno.h>
#include <string.h>

#include "explore/space/space_parameter.h"
#include "text/number.h"

/* The values that a name asks for: levels[p] is a level, or the number of levels where any will
 * do. */
struct wanted {
    const struct spex_space *space;
    size_t *levels;
};

/* For "best" and "worst", which the findings have. */
static int resolve_found(size_t found, size_t *group, struct spex_error *error) {
    if (found == SPEX_RANKING_NONE)
        return spex_fail(error, -ENODATA, "no trial has a result");
    *group = found;
    return 0;
}

/* "#17": trials are numbered from 1, as reports print them. */
static int resolve_trial(const struct spex_study *study, const char *name, size_t *group,
                         struct spex_error *error) {
    int64_t number;
    if (!spex_number_integer(name + 1, &number) || number < 1 ||
        (uint64_t)number > study->trials.count)
        return spex_fail(error, -EINVAL, "\"%s\": a trial from #1 to #%zu was expected", name,
                         study->trials.count);
    const struct spex_group *found =
        spex_summary_find(&study->summary, study->trials.items[number - 1].levels);
    *group = (size_t)(found - study->summary.groups);
    return 0;
}

/* The length of a value: up to the next ",NAME=" of a parameter or the end, since values may
 * contain commas. */
static size_t value_length(const struct spex_space *space, const char *text) {
    for (size_t at = 0; text[at]; at++) {
        if (text[at] != ',')
            continue;
        for (size_t p = 0; p < space->parameter_count; p++) {
            size_t length = strlen(space->parameters[p].name);
            if (strncmp(text + at + 1, space->parameters[p].name, length) == 0 &&
                text[at + 1 + length] == '=')
                return at;
        }
    }
    return strlen(text);
}

static bool is_named(const char *name, const char *text, size_t length) {
    return strlen(name) == length && strncmp(name, text, length) == 0;
}

/* The level with this value, as it is in the space or as it is shown. */
static size_t level_named(const struct spex_parameter *parameter, const char *text, size_t length) {
    char shown[256];
    size_t level = 0;
    while (level < parameter->count && !is_named(parameter->values[level].text, text, length) &&
           !is_named(spex_value_shown(parameter, level, shown, sizeof(shown)), text, length))
        level++;
    return level;
}

/* Parses one "NAME=VALUE" and moves *text behind it and its comma. */
static int parse_value(const struct wanted *wanted, const char **text, struct spex_error *error) {
    const struct spex_space *space = wanted->space;
    size_t name = strcspn(*text, "="), p = 0;
    while (p < space->parameter_count && (strlen(space->parameters[p].name) != name ||
                                          strncmp(space->parameters[p].name, *text, name) != 0))
        p++;
    if ((*text)[name] != '=' || p == space->parameter_count)
        return spex_fail(error, -EINVAL,
                         "\"%s\": best, worst, #TRIAL or values of the space's parameters as "
                         "\"%s=%s\" were expected",
                         *text, space->parameters[0].name, space->parameters[0].values[0].text);
    const char *value = *text + name + 1;
    size_t length = value_length(space, value);
    wanted->levels[p] = level_named(&space->parameters[p], value, length);
    if (wanted->levels[p] == space->parameters[p].count)
        return spex_fail(error, -EINVAL, "\"%.*s\" is no value of parameter \"%s\"", (int)length,
                         value, space->parameters[p].name);
    *text = value + length + (value[length] == ',');
    return 0;
}

/* Returns whether a configuration has the values. A parameter that does not apply has none. */
static bool wanted_matches(const struct wanted *wanted, const size_t *levels) {
    for (size_t p = 0; p < wanted->space->parameter_count; p++)
        if (wanted->levels[p] < wanted->space->parameters[p].count &&
            (wanted->levels[p] != levels[p] || !spex_space_applies(wanted->space, levels, p)))
            return false;
    return true;
}

/* Names the first three configurations that fit, to show which parameters tell them apart. */
static int fail_ambiguous(const struct spex_study *study, const struct wanted *wanted,
                          const char *name, size_t count, struct spex_error *error) {
    char text[sizeof(error->text)], configuration[160];
    int length =
        snprintf(text, sizeof(text), "\"%s\": %zu configurations have these values:", name, count);
    size_t shown = 0;
    for (size_t g = 0; g < study->summary.count && shown < 3; g++) {
        if (!wanted_matches(wanted, study->summary.groups[g].levels))
            continue;
        spex_levels_text(&study->file->space, study->summary.groups[g].levels, configuration,
                         sizeof(configuration));
        if (length > 0 && (size_t)length < sizeof(text))
            length += snprintf(text + length, sizeof(text) - (size_t)length, "%s %s",
                               shown ? ";" : "", configuration);
        shown++;
    }
    return spex_fail(error, -EINVAL, "%s%s", text, count > shown ? "; …" : "");
}

/* O(configurations × parameters). A later value of the same parameter replaces an earlier one. */
static int resolve_values(const struct spex_study *study, const char *name, size_t *group,
                          struct spex_error *error) {
    size_t levels[SPEX_PARAMETERS_MAX] = {0}, count = 0;
    const struct wanted wanted = {&study->file->space, levels};
    const char *rest = name;
    int err = 0;
    for (size_t p = 0; p < wanted.space->parameter_count; p++)
        levels[p] = wanted.space->parameters[p].count;
    do
        err = parse_value(&wanted, &rest, error);
    while (!err && *rest);
    for (size_t g = 0; g < study->summary.count && !err; g++)
        if (wanted_matches(&wanted, study->summary.groups[g].levels)) {
            *group = g;
            count++;
        }
    if (!err && count == 0)
        err = spex_fail(error, -EINVAL, "\"%s\": no such configuration was run", name);
    if (!err && count > 1)
        err = fail_ambiguous(study, &wanted, name, count, error);
    return err;
}

/* A configuration whose trials have all failed has a group, too, and is refused here. */
int spex_explain_name(const struct spex_study *study, const char *name, size_t *group,
                      struct spex_error *error) {
    int err;
    if (strcmp(name, "best") == 0)
        err = resolve_found(study->findings.best, group, error);
    else if (strcmp(name, "worst") == 0)
        err = resolve_found(study->findings.worst, group, error);
    else if (name[0] == '#')
        err = resolve_trial(study, name, group, error);
    else
        err = resolve_values(study, name, group, error);
    if (!err && study->summary.groups[*group].trials == 0)
        err =
            spex_fail(error, -ENODATA, "\"%s\": no trial of this configuration has a result", name);
    return err;
}
