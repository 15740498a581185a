/* SPDX-License-Identifier: MIT */
/* Prints the comparison of two configurations, as text and JSON: spex_explain(). */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <spex/explore.h>

#include "explore/findings/explain.h"
#include "explore/findings/explain_name.h"
#include "explore/report/change_text.h"
#include "explore/report/json_parts.h"
#include "profile/columns.h"
#include "text/plain_numbers.h"
#include "text/quantity.h"

/* The group with this number. */
static const struct spex_group *group_of(const struct spex_explanation *explanation, size_t group) {
    return &explanation->study->summary.groups[group];
}

/* Compares texts, since a parameter that does not apply has the text "-" whatever its level. */
static bool levels_differ(const struct spex_explanation *explanation, size_t p) {
    const struct spex_space *space = &explanation->study->file->space;
    return strcmp(spex_level_text(space, group_of(explanation, explanation->a)->levels, p),
                  spex_level_text(space, group_of(explanation, explanation->b)->levels, p)) != 0;
}

/* Prints the parameters in which the configurations differ, one a line, then those that are the
 * same, all in one line. `separator` tells whether there was one. */
static void add_parameters(const struct spex_explanation *explanation,
                           struct spex_columns *columns) {
    const struct spex_space *space = &explanation->study->file->space;
    const struct spex_group *a = group_of(explanation, explanation->a);
    const struct spex_group *b = group_of(explanation, explanation->b);
    for (size_t p = 0; p < space->parameter_count; p++) {
        char text[256];
        if (!levels_differ(explanation, p))
            continue;
        spex_parameter_heading(&space->parameters[p], text, sizeof(text));
        spex_columns_add(columns, "%s", text);
        spex_columns_add(columns, "%s", spex_level_shown(space, a->levels, p, text, sizeof(text)));
        spex_columns_add(columns, "%s", spex_level_shown(space, b->levels, p, text, sizeof(text)));
    }
}

static void print_parameters(const struct spex_explanation *explanation, FILE *out) {
    static const char *const headings[] = {"", "A", "B"};
    const struct spex_space *space = &explanation->study->file->space;
    const struct spex_group *a = group_of(explanation, explanation->a);
    const char *separator = "the same   ";
    struct spex_columns columns;
    spex_columns_init(&columns, headings, 3, 1);
    spex_columns_add(&columns, "trials");
    spex_columns_add(&columns, "%" PRIu64, a->trials);
    spex_columns_add(&columns, "%" PRIu64, group_of(explanation, explanation->b)->trials);
    add_parameters(explanation, &columns);
    spex_columns_print_within(&columns, out, &(struct spex_columns_room){.texts = 7});
    for (size_t p = 0; p < space->parameter_count; p++)
        if (!levels_differ(explanation, p)) {
            char text[256];
            fprintf(out, "%s%s=%s", separator, space->parameters[p].name,
                    spex_level_shown(space, a->levels, p, text, sizeof(text)));
            separator = " ";
        }
    fputs(separator[0] == ' ' ? "\n\n" : "\n", out);
}

/* "~" marks a change that is not significant, "?" one whose error is not known. */
static void add_figure(const struct spex_explained *explained, struct spex_columns *columns) {
    char text[96];
    spex_columns_add(columns, "%s", explained->name);
    spex_columns_add(
        columns, "%s",
        spex_quantity_text(explained->a.mean, NAN, explained->unit, text, sizeof(text)));
    spex_columns_add(
        columns, "%s",
        spex_quantity_text(explained->b.mean, NAN, explained->unit, text, sizeof(text)));
    spex_change_text(&explained->change, explained->unit, text, sizeof(text));
    spex_columns_add(columns, "%s%s",
                     explained->change.known ? explained->change.significant ? "" : "~ " : "? ",
                     text);
}

/* Items are sorted: those with a sure change first, then those that cannot be judged. `all` prints
 * the rest, too. */
static void print_text(const struct spex_explanation *explanation, bool all, FILE *out) {
    static const char *const headings[] = {"means", "A", "B", "B / A (95 %)"};
    size_t shown = explanation->significant + explanation->unknown;
    size_t count = all ? explanation->count : shown;
    struct spex_columns columns;
    print_parameters(explanation, out);
    if (!explanation->count) {
        fputs("their trials recorded nothing in common\n", out);
        return;
    }
    spex_columns_init(&columns, headings, 4, 1u | 1u << 3);
    for (size_t i = 0; i < count; i++)
        add_figure(&explanation->items[i], &columns);
    static const uint8_t order[] = {1, 2};
    spex_columns_print_within(
        &columns, out,
        &(struct spex_columns_room){.texts = 1, .order = order, .count = sizeof(order)});
    if (explanation->unknown)
        fputs("?  each of the two needs more than one trial: whether it changed cannot be told\n",
              out);
    if (count > shown)
        fputs("~  no sure change, or less than 0.05 %\n", out);
    else if (explanation->count > count)
        fprintf(out, "and %zu quantities without a sure change\n", explanation->count - count);
}

static json_t *side_json(const struct spex_explanation *explanation, size_t group) {
    return json_pack(
        "{s:o, s:I}", "config",
        spex_json_config(&explanation->study->file->space, group_of(explanation, group)->levels),
        "trials", (json_int_t)group_of(explanation, group)->trials);
}

/* JSON has all quantities, whether their change is significant or not. */
static int write_json(const struct spex_explanation *explanation, FILE *out,
                      struct spex_error *error) {
    const struct spex_space *space = &explanation->study->file->space;
    json_t *names = json_array(), *quantities = json_array();
    for (size_t p = 0; p < space->parameter_count; p++)
        if (levels_differ(explanation, p))
            json_array_append_new(names, json_string(space->parameters[p].name));
    for (size_t i = 0; i < explanation->count; i++) {
        const struct spex_explained *of = &explanation->items[i];
        json_array_append_new(quantities,
                              json_pack("{s:o, s:s, s:f, s:I, s:f, s:I, s:o}", "name",
                                        spex_json_text(of->name), "unit", of->unit, "a", of->a.mean,
                                        "trials_a", (json_int_t)of->a.trials, "b", of->b.mean,
                                        "trials_b", (json_int_t)of->b.trials, "change",
                                        spex_change_json(&of->change)));
    }
    return spex_json_write(json_pack("{s:s, s:o, s:o, s:o, s:o}", "space", space->name, "a",
                                     side_json(explanation, explanation->a), "b",
                                     side_json(explanation, explanation->b), "differ", names,
                                     "quantities", quantities),
                           out, error);
}

static int explain_write(const struct spex_explain_options *options,
                         const struct spex_explanation *explanation, struct spex_error *error) {
    if (options->text) {
        print_text(explanation, options->all, options->text);
        if (fflush(options->text) != 0 || ferror(options->text))
            return spex_fail(error, -EIO, "cannot write the explanation: %s", strerror(errno));
    }
    return options->json ? write_json(explanation, options->json, error) : 0;
}

/* Names are resolved before the quantities are read, which takes long for a large store. */
static int explain_study(const struct spex_explain_options *options, struct spex_study *study,
                         struct spex_error *error) {
    struct spex_explanation explanation = {.study = study};
    struct spex_quantities quantities = {NULL, 0};
    int err = spex_explain_name(study, options->a, &explanation.a, error);
    err = err ? err : spex_explain_name(study, options->b, &explanation.b, error);
    if (!err && explanation.a == explanation.b)
        err = spex_fail(error, -EINVAL, "%s and %s are the same configuration", options->a,
                        options->b);
    err = err ? err : spex_quantities_read(&quantities, study, study->store, error);
    if (!err && spex_explanation_find(&explanation, &quantities))
        err = spex_fail(error, -ENOMEM, "out of memory");
    err = err ? err : explain_write(options, &explanation, error);
    free(explanation.items);
    spex_quantities_free(&quantities);
    return err;
}

int spex_explain(const struct spex_explain_options *options, char *text, size_t size) {
    SPEX_PLAIN_NUMBERS;
    struct spex_error error = {"spex_explain: a store and two configurations were expected"};
    struct spex_study study = {.store = NULL};
    bool whole = options->size == sizeof(*options) && options->store && options->a && options->b;
    int err = whole ? spex_study_read(&study, options->store, &error) : -EINVAL;
    err = err ? err : explain_study(options, &study, &error);
    spex_study_free(&study);
    if (err)
        snprintf(text, size, "%s", error.text);
    return err;
}
