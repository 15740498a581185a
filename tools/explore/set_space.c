/* SPDX-License-Identifier: MIT */
/* Each option, and each column of a pool, becomes an element in a line of its own: the number of the
 * line in which the space is wrong tells which option is. */
#define _GNU_SOURCE
#include "tools/explore/set_space.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/space/space_agent.h"
#include "explore/space/space_parameter.h"
#include "explore/space/table.h"
#include "explore/space/template.h"
#include "measure/criterion.h"
#include "text/html.h"
#include "text/number.h"

/* The first option's line. */
enum { FIRST_LINE = 2 };

/* Writes the attribute with what the format makes. Of what an XML document cannot have the reader
 * says so. */
__attribute__((format(printf, 3, 4))) static void attribute(FILE *out, const char *name,
                                                            const char *format, ...) {
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    fprintf(out, " %s=\"", name);
    spex_html_text(out, text ? text : "");
    fputc('"', out);
    free(text);
}

/* What kind of values a list has: numbers are ordered where they ascend. */
static const char *kind_of(char *const *items, size_t count) {
    bool integers = true, numbers = true;
    double before = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t integer;
        double number = 0;
        integers = integers && spex_number_integer(items[i], &integer);
        numbers = numbers && spex_number_real(items[i], &number) && (!i || number > before);
        before = number;
    }
    return !numbers ? "categorical" : integers ? "integer" : "real";
}

/* "safe|fast|16": values in their order. */
static int write_list(FILE *out, char *list, struct spex_error *error) {
    size_t count = 0, room = 1;
    for (const char *at = list; *at; at++)
        room += *at == '|';
    char **items = calloc(room, sizeof(*items));
    if (!items)
        return spex_fail(error, -ENOMEM, "out of memory");
    int err = 0;
    for (char *item; !err && (item = strsep(&list, "|")); items[count++] = item)
        if (!*item || strpbrk(item, " \t\r\n"))
            err = spex_fail(error, -EINVAL, "values without blanks were expected, not \"%.80s\"",
                            item);
    if (!err) {
        attribute(out, "type", "%s", kind_of(items, count));
        fputs(" values=\"", out);
        for (size_t i = 0; i < count; i++) {
            fputs(i ? " " : "", out);
            spex_html_text(out, items[i]);
        }
        fputc('"', out);
    }
    free(items);
    return err;
}

static bool is_integer(const char *text) {
    int64_t value;
    return spex_number_integer(text, &value);
}

/* "1..8", "1..9:2" in steps, "1..64*2" in powers; `low` has been cut from the rest at "..". */
static int write_range(FILE *out, const char *low, char *rest, struct spex_error *error) {
    char *sign = strpbrk(rest, ":*"), kind = sign ? *sign : '\0';
    const char *step = sign ? sign + 1 : "1";
    double from, to, by;
    if (sign)
        *sign = '\0';
    if (!spex_number_real(low, &from) || !spex_number_real(rest, &to) ||
        !spex_number_real(step, &by))
        return spex_fail(error, -EINVAL,
                         "a range of numbers was expected, as 1..8, 1..9:2 or 1..64*2");
    if (from > to)
        return spex_fail(error, -EINVAL, "the range is empty: %s..%s was expected", rest, low);
    bool integer = is_integer(low) && is_integer(rest) && (!sign || is_integer(step));
    attribute(out, "type", "%s", integer ? "integer" : "real");
    if (from == to) {
        attribute(out, "values", "%s", low);
        return 0;
    }
    attribute(out, "min", "%s", low);
    attribute(out, "max", "%s", rest);
    if (kind)
        attribute(out, kind == '*' ? "factor" : "step", "%s", step);
    return 0;
}

static int write_parameter(FILE *out, const char *set, struct spex_error *error) {
    const char *equals = strchr(set, '=');
    if (!equals || equals == set || !equals[1])
        return spex_fail(error, -EINVAL, "NAME=VALUES was expected, as threads=1..8 or mode=a|b");
    fputs("  <parameter", out);
    attribute(out, "name", "%.*s", (int)(equals - set), set);
    char *values = strdup(equals + 1);
    char *dots = values && !strchr(values, '|') ? strstr(values, "..") : NULL;
    int err;
    if (!values)
        err = spex_fail(error, -ENOMEM, "out of memory");
    else if (dots) {
        *dots = '\0';
        err = write_range(out, values, dots + strlen(".."), error);
    } else
        err = write_list(out, values, error);
    free(values);
    fputs("/>\n", out);
    return err;
}

/* The source whose name and "=" the text begins with. */
static enum spex_criterion_source source_of(const char *text) {
    for (unsigned s = SPEX_FROM_OUTPUT; s < SPEX_CRITERION_SOURCES; s++) {
        size_t length = strlen(spex_criterion_source_names[s]);
        if (strncmp(text, spex_criterion_source_names[s], length) == 0 && text[length] == '=')
            return (enum spex_criterion_source)s;
    }
    return spex_resource_named(text) < SPEX_RESOURCES ? SPEX_FROM_COMMAND : SPEX_FROM_PROBE;
}

static int write_objective(FILE *out, const char *goal, const char *text,
                           struct spex_error *error) {
    enum spex_criterion_source source = source_of(text);
    const char *of = strstr(text, " of ");
    if (source == SPEX_FROM_PROBE && !of)
        return spex_fail(error, -EINVAL,
                         "wall, cpu, memory, faults, switches, output=EXPRESSION, json=POINTER, "
                         "measure=COMMAND, service=RESOURCE or \"METRIC of PROBE\" was expected");
    fputs("  <objective", out);
    if (source == SPEX_FROM_PROBE) {
        attribute(out, "probe", "%s", of + strlen(" of "));
        attribute(out, "metric", "%.*s", (int)(of - text), text);
    } else {
        attribute(out, spex_criterion_source_names[source], "%s",
                  source == SPEX_FROM_COMMAND ? text : strchr(text, '=') + 1);
    }
    attribute(out, "goal", "%s", goal);
    fputs("/>\n", out);
    return 0;
}

/* Puts "--NAME TEXT: " before the reason. */
static int fail_option(const char *name, const char *text, int err, const struct spex_error *reason,
                       struct spex_error *error) {
    return err == -ENOMEM ? spex_fail(error, err, "%s", reason->text)
                          : spex_fail(error, err, "--%s %.120s: %s", name, text, reason->text);
}

static int write_columns(const char *pool, FILE *out, struct spex_error *error) {
    struct spex_table table;
    int err = spex_table_read(&table, pool, NULL, error);
    for (size_t c = 0; !err && c < table.columns; c++)
        err = spex_table_write_parameter(&table, c, out, error);
    spex_table_free(&table);
    return err;
}

static int write_options(const struct spex_set_space *set, FILE *out, struct spex_error *error) {
    const struct spex_option_texts *sets = set->sets, *goals = set->goals;
    struct spex_error reason;
    int wrong = set->pool ? write_columns(set->pool, out, error) : 0;
    if (wrong)
        return wrong;
    for (unsigned s = 0; s < sets->count; s++) {
        int err = write_parameter(out, sets->texts[s], &reason);
        if (err)
            return fail_option(sets->names[s], sets->texts[s], err, &reason, error);
    }
    for (unsigned g = 0; g < goals->count; g++) {
        int err = write_objective(out, goals->names[g], goals->texts[g], &reason);
        if (err)
            return fail_option(goals->names[g], goals->texts[g], err, &reason, error);
    }
    return goals->count ? 0 : write_objective(out, "minimise", "wall", error);
}

static unsigned service_count(const struct spex_set_space *set) {
    return set->services ? set->services->count : 0;
}

static void write_services(const struct spex_set_space *set, FILE *out) {
    for (unsigned s = 0; s < service_count(set); s++) {
        fputs("  <service", out);
        attribute(out, "command", "%s", set->services->texts[s]);
        attribute(out, "ready", "%s", set->readies->texts[s]);
        fputs("/>\n", out);
    }
}

/* Values have no comma: a list is told by blanks, and a pool's cells are quoted. */
static void write_cell(FILE *out, const char *text) {
    bool quoted = strpbrk(text, ",\"");
    fputs(quoted ? "&quot;" : "", out);
    for (; *text; text++) {
        const char one[] = {*text, '\0'};
        spex_html_text(out, *text == '"' ? "\"\"" : one);
    }
    fputs(quoted ? "&quot;" : "", out);
}

void spex_set_space_write_first(const struct spex_space *space, const size_t *levels,
                                uint64_t count, FILE *out) {
    if (!count)
        return;
    fputs("  <first>\n", out);
    for (size_t p = 0; p < space->parameter_count; p++)
        fprintf(out, "%s%s", p ? "," : "", space->parameters[p].name);
    for (uint64_t n = 0; n < count; n++)
        for (size_t p = 0; p < space->parameter_count; p++) {
            size_t level = levels[n * space->parameter_count + p];
            fputs(p ? "," : "\n", out);
            write_cell(out, space->parameters[p].values[level].text);
        }
    fputs("\n  </first>\n", out);
}

/* The list of a pool, and the rules. A run for probes is as long as these say: what is looked for in it depends on that. */
static void write_rest(const struct spex_set_space *set, FILE *out) {
    const struct spex_option_texts *goals = set->goals;
    bool command = !goals->count || source_of(goals->texts[0]) != SPEX_FROM_PROBE;
    if (set->pool) {
        fputs("  <configurations", out);
        attribute(out, "file", "%s", set->pool);
        fputs("/>\n", out);
    }
    fputs("  <run", out);
    if (command)
        attribute(out, "duration", "%d", SPEX_SET_DURATION);
    if (set->threads)
        attribute(out, "threads", "threads");
    const char *const finals[][2] = {
        {"finals", set->finals}, {"zone", set->zone}, {"sure", set->sure}};
    for (size_t f = 0; f < 3; f++)
        if (finals[f][1])
            attribute(out, finals[f][0], "%s", finals[f][1]);
    fputs("/>\n", out);
}

int spex_set_space_write(const struct spex_set_space *set, char **xml, struct spex_error *error) {
    size_t length;
    *xml = NULL;
    FILE *out = open_memstream(xml, &length);
    if (!out)
        return spex_fail(error, -ENOMEM, "out of memory");
    fputs("<space", out);
    attribute(out, "name", "%s", set->name);
    fputs(">\n", out);
    int err = write_options(set, out, error);
    write_services(set, out);
    spex_set_space_write_first(set->first_of, set->first, set->first_count, out);
    write_rest(set, out);
    fputs("</space>\n", out);
    if (fclose(out) != 0 && !err)
        err = spex_fail(error, -ENOMEM, "out of memory");
    if (err) {
        free(*xml);
        *xml = NULL;
    }
    return err;
}

/* Whether the reason is of the pool's own file. */
static bool is_of_pool(const struct spex_set_space *set, const struct spex_error *reason) {
    return set->pool && strncmp(reason->text, set->pool, strlen(set->pool)) == 0;
}

/* The reader says ":LINE: <ELEMENT>: REASON", or "FILE:LINE: REASON" of a pool. A space of a pool has
 * no option in the lines of its columns. */
int spex_set_space_read(const struct spex_set_space *set, const char *xml,
                        struct spex_space_file **file, struct spex_error *error) {
    struct spex_error reason;
    int err = spex_space_parse("", xml, file, &reason);
    if (!err)
        return 0;
    if (is_of_pool(set, &reason))
        return spex_fail(error, err, "%s", reason.text);
    char *behind = reason.text;
    unsigned long line = *behind == ':' ? strtoul(behind + 1, &behind, 10) : 0;
    char *name_end = line ? strstr(behind, ">: ") : NULL;
    behind = name_end ? name_end + strlen(">: ") : reason.text;
    memmove(reason.text, behind, strlen(behind) + 1);
    unsigned long option = line - FIRST_LINE, sets = set->sets->count;
    if (set->pool)
        return spex_fail(error, err, "--pool %.120s: %s", set->pool, reason.text);
    if (name_end && option < sets)
        return fail_option(set->sets->names[option], set->sets->texts[option], err, &reason, error);
    option -= sets;
    if (name_end && option < set->goals->count)
        return fail_option(set->goals->names[option], set->goals->texts[option], err, &reason,
                           error);
    option -= set->goals->count ? set->goals->count : 1; /* wall time, if none was given */
    if (name_end && option < service_count(set))
        return fail_option("service", set->services->texts[option], err, &reason, error);
    return spex_fail(error, err, "the space of these options: %s", reason.text);
}

/* Of a program with probes it would ask for records of each thread. */
bool spex_set_space_threads(const struct spex_space *space) {
    size_t p = spex_space_parameter(space, "threads");
    return p < space->parameter_count && spex_space_of_command(space) &&
           space->parameters[p].kind == SPEX_INTEGER && space->parameters[p].values[0].integer >= 1;
}

/* Adds the parameters that a template names. */
static int note_named(const struct spex_space *space, const char *template, uint64_t *all,
                      struct spex_error *error) {
    uint64_t named = 0;
    struct spex_error reason;
    int err = spex_template_check(template, space, &named, &reason);
    *all |= named;
    return err ? spex_fail(error, err, "\"%.120s\": %s", template, reason.text) : 0;
}

int spex_set_space_check(const struct spex_space_file *file, char *const *argv,
                         struct spex_error *error) {
    const struct spex_space *space = &file->space;
    uint64_t named = 0;
    int err = 0;
    for (; *argv && !err; argv++)
        err = note_named(space, *argv, &named, error);
    for (size_t c = 0; c < space->criterion_count && !err; c++)
        if (spex_criterion_source(&space->criteria[c]) == SPEX_FROM_MEASURE)
            err = note_named(space, space->criteria[c].metric, &named, error);
    for (size_t s = 0; s < file->agent->service_count && !err; s++) {
        err = note_named(space, file->agent->services[s].command.text, &named, error);
        err = err ? err : note_named(space, file->agent->services[s].ready, &named, error);
    }
    for (size_t p = 0; p < space->parameter_count && !err && spex_space_of_command(space); p++)
        if (!(named >> p & 1))
            err = spex_fail(
                error, -EINVAL, "%s %s: {%s} was expected in an argument of the program%s",
                space->listed_count ? "--pool: column" : "--set", space->parameters[p].name,
                space->parameters[p].name, file->agent->service_count ? ", or in a service" : "");
    return err;
}

char *spex_set_space_path(const char *store) {
    size_t length = strlen(store);
    char *path = NULL;
    if (length > 3 && strcmp(store + length - 3, ".db") == 0)
        length -= 3;
    return asprintf(&path, "%.*s.xml", (int)length, store) < 0 ? NULL : path;
}
