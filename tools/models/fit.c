/* SPDX-License-Identifier: MIT */
/* `spex fit`: fits a model to a table of measurements, and prints it with the 95 % intervals of
 * its coefficients. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/student.h"
#include "explore/report/json_parts.h"
#include "model/fit/next.h"
#include "text/quantity.h"
#include "tools/common/command.h"
#include "tools/common/complain.h"
#include "tools/common/json.h"
#include "tools/common/options.h"
#include "tools/common/value_ranges.h"
#include "tools/models/changes_json.h"
#include "tools/models/fit_table.h"

static const char fit_usage[] =
    "usage: spex fit TABLE.csv [--predict NAME=VALUE,…] [--next NAME=LOW..HIGH,…]\n"
    "                [--json]\n"
    "\n"
    "How a time depends on parameters: a model of it, with the interval of each\n"
    "coefficient, and its class. \"-\" is standard input. The table's first line names\n"
    "its columns: one a parameter, perhaps \"rep\" (the number of a repetition, which\n"
    "is passed over), and \"time\" (seconds) as the last. Each other line is a\n"
    "measurement.\n"
    "\n"
    "  --predict NAME=VALUE,…  the time with these parameters, and between what 95 %\n"
    "                          of single measurements are to be expected; beyond the\n"
    "                          greatest values of the table with what is uncertain of\n"
    "                          the model's form\n"
    "  --next NAME=LOW..HIGH,…  where, within these ranges and those of the table,\n"
    "                           one more measurement would teach most: where the time\n"
    "                           is least certain\n"
    "  --json                  the same as JSON\n";

static const struct spex_syntax fit_syntax = {"fit", fit_usage, "one table was expected",
                                              1,     1,         SPEX_OPTIONS_ANYWHERE};

struct request {
    const char *path;
    /* NULL: nothing is predicted. */
    const char *predict;
    const char *next;
    bool json;
};

/* The fitted model, how long fitting took, and the prediction if one was asked for. */
struct result {
    struct spex_fit fit;
    double milliseconds;
    bool predicted;
    struct spex_prediction prediction;
    /* A next measurement was asked for, and there is an answer. */
    bool proposed;
    struct spex_next next;
};

/* An exit status. */
static int fit_parse(int argc, char **argv, struct request *request) {
    const struct spex_option known[] = {{"predict", .text = &request->predict},
                                        {"next", .text = &request->next},
                                        {"json", .flag = &request->json},
                                        {.name = NULL}};
    struct spex_operands operands;
    int status = spex_options_take(&fit_syntax, known, argc, argv, &operands);
    request->path = status ? NULL : operands.list[0];
    return status;
}

/* The index of the parameter, or the number of parameters when there is none of that name. */
static size_t table_find_parameter(const struct spex_fit_table *table, const char *name) {
    size_t p = 0;
    while (p < table->measured.parameter_count && strcmp(table->names[p], name) != 0)
        p++;
    return p;
}

/* Parses "n=1000,m=2", which must give each parameter once. -1 marks values that are not given
 * yet: values are 0 or more. Changes `text`. */
static int predict_parse(const struct spex_fit_table *table, char *text, double *values) {
    size_t count = table->measured.parameter_count;
    for (size_t p = 0; p < count; p++)
        values[p] = -1;
    for (char *rest = NULL, *item = strtok_r(text, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(item, '=');
        if (value)
            *value++ = '\0';
        size_t p = table_find_parameter(table, item);
        if (p == count)
            return spex_complain(SPEX_EXIT_USAGE,
                                 "fit: --predict: the table has no parameter \"%s\"", item);
        if (!value || values[p] >= 0 || !spex_csv_number(value, &values[p]) ||
            values[p] > SPEX_FIT_GREATEST)
            return spex_complain(SPEX_EXIT_USAGE,
                                 "fit: --predict: one number of 0 to %g was expected for \"%s\"",
                                 SPEX_FIT_GREATEST, item);
    }
    for (size_t p = 0; p < count; p++)
        if (values[p] < 0)
            return spex_complain(SPEX_EXIT_USAGE, "fit: --predict: a value of \"%s\" was expected",
                                 table->names[p]);
    return SPEX_EXIT_OK;
}

/* A model with the logarithm of a parameter is not defined below 1, one that divides by it not at
 * 0. An exit status. */
static int factor_check(struct spex_exponents of, const char *name, double value) {
    if (of.log && value < 1)
        return spex_complain(SPEX_EXIT_FAILED,
                             "the model has a logarithm of \"%s\": 1 or more was expected, not %g",
                             name, value);
    if (of.twelfths < 0 && value == 0)
        return spex_complain(SPEX_EXIT_FAILED,
                             "the model divides by \"%s\": more than 0 was expected", name);
    return SPEX_EXIT_OK;
}

static int result_predict(const struct spex_fit_table *table, const char *text,
                          struct result *result) {
    const struct spex_model *model = &result->fit.model;
    double values[SPEX_MODEL_PARAMETERS_MAX] = {0};
    char *copy = strdup(text);
    int status = copy ? predict_parse(table, copy, values)
                      : spex_complain(SPEX_EXIT_FAILED, "out of memory");
    free(copy);
    for (size_t t = 0; t < model->term_count && !status; t++)
        for (size_t p = 0; p < model->parameter_count && !status; p++)
            status = factor_check(model->terms[t].factors[p], table->names[p], values[p]);
    if (status)
        return status;
    result->predicted = true;
    result->prediction = spex_fit_predict(&result->fit, values);
    return SPEX_EXIT_OK;
}

/* The ranges of the table's parameters. */
static void table_ranges(const struct spex_fit_table *table, double *low, double *high) {
    size_t width = table->measured.parameter_count;
    for (size_t p = 0; p < width; p++) {
        low[p] = INFINITY;
        high[p] = 0;
        for (size_t r = 0; r < table->measured.count; r++) {
            low[p] = fmin(low[p], table->parameters[r * width + p]);
            high[p] = fmax(high[p], table->parameters[r * width + p]);
        }
    }
}

/* An exit status. */
static int ranges_take(const struct spex_fit_table *table, const struct spex_value_ranges *ranges,
                       double *low, double *high) {
    for (size_t r = 0; r < ranges->count; r++) {
        size_t p = table_find_parameter(table, ranges->items[r].name);
        if (p == table->measured.parameter_count || ranges->items[r].high > SPEX_FIT_GREATEST)
            return spex_complain(SPEX_EXIT_USAGE,
                                 "fit: --next: a parameter of the table and numbers up to %g were "
                                 "expected for \"%s\"",
                                 SPEX_FIT_GREATEST, ranges->items[r].name);
        low[p] = ranges->items[r].low;
        high[p] = ranges->items[r].high;
    }
    return SPEX_EXIT_OK;
}

/* Without a model nothing is proposed. An exit status. */
static int result_next(const struct spex_fit_table *table, const char *text,
                       struct result *result) {
    double low[SPEX_MODEL_PARAMETERS_MAX], high[SPEX_MODEL_PARAMETERS_MAX];
    struct spex_value_ranges ranges;
    int status = spex_value_ranges_read(&ranges, "fit", "--next", text);
    table_ranges(table, low, high);
    status = status ? status : ranges_take(table, &ranges, low, high);
    spex_value_ranges_free(&ranges);
    if (!status)
        result->proposed = result->fit.model.class != SPEX_MODEL_UNKNOWN &&
                           spex_fit_next(&result->fit, low, high, &result->next);
    return status;
}

/* Whether parameters differ, so that the time can be seen to follow them, or not. */
static bool spread_is_known(const struct spex_fit_table *table, const struct result *result) {
    return table->measured.parameter_count == 0 || result->fit.points > 1;
}

/* The 95 % interval; null, null where there are too few measurements for one. */
static json_t *interval_json(const struct spex_model *model, double value, double error) {
    double margin =
        model->freedom > 0 ? spex_student_two_sided(0.05, model->freedom) * error : INFINITY;
    return json_pack("[o, o]", spex_json_number(value - margin), spex_json_number(value + margin));
}

/* The factors of a term by parameter: the exponents of the parameter and of its logarithm.
 * Exponents are stored in twelfths. */
static json_t *term_json(const struct spex_fit_table *table, const struct spex_model *model,
                         const struct spex_model_term *term) {
    json_t *factors = json_object();
    for (size_t p = 0; p < model->parameter_count; p++) {
        struct spex_exponents of = term->factors[p];
        if (spex_exponents_any(of))
            json_object_set_new(factors, table->names[p],
                                json_pack("[f, i]", of.twelfths / 12.0, (int)of.log));
    }
    return json_pack("{s:f, s:o, s:o, s:i}", "coef", term->coefficient, "interval",
                     interval_json(model, term->coefficient, term->error), "factors", factors,
                     "segment", (int)term->segment);
}

static json_t *next_json(const struct spex_fit_table *table, const struct spex_next *next) {
    json_t *parameters = json_object();
    int err = !parameters;
    for (size_t p = 0; !err && p < table->measured.parameter_count; p++)
        err = json_object_set_new(parameters, table->names[p], json_real(next->values[p]));
    return spex_json_unless(err, json_pack("{s:o, s:f, s:f}", "parameters", parameters, "seconds",
                                           next->seconds, "share", next->share));
}

/* An exit status. */
static int print_json(const struct spex_fit_table *table, const struct result *result,
                      const char *text) {
    const struct spex_model *model = &result->fit.model;
    json_t *terms = json_array();
    for (size_t t = 0; t < model->term_count; t++)
        json_array_append_new(terms, term_json(table, model, &model->terms[t]));
    json_t *all = json_pack(
        "{s:s, s:f, s:o, s:o, s:o, s:s, s:o, s:f, s:f, s:I, s:I, s:I}", "model", text, "const",
        model->constant, "const_interval",
        interval_json(model, model->constant, model->constant_error), "terms", terms, "changes",
        spex_changes_json(model, table->names), "class", spex_model_class_name(model->class),
        "adjusted_r2", spread_is_known(table, result) ? json_real(model->adjusted_r2) : json_null(),
        "power_error", result->fit.power_error, "fit_ms", result->milliseconds, "measurements",
        (json_int_t)table->measured.count, "points", (json_int_t)result->fit.points, "outliers",
        (json_int_t)result->fit.outliers);
    if (all && result->predicted)
        json_object_set_new(all, "prediction",
                            json_pack("{s:f, s:o, s:o}", "value", result->prediction.value, "low",
                                      spex_json_number(result->prediction.low), "high",
                                      spex_json_number(result->prediction.high)));
    if (all && result->proposed)
        json_object_set_new(all, "next", next_json(table, &result->next));
    return spex_json_print(all, stdout)
               ? spex_complain(SPEX_EXIT_FAILED, "the model cannot be written")
               : SPEX_EXIT_OK;
}

/* A coefficient, in seconds, with half of its 95 % interval. */
static void print_margin(const struct spex_model *model, const char *what, double value,
                         double error) {
    double margin = spex_student_two_sided(0.05, fmax(model->freedom, 1)) * error;
    char number[48], half[48];
    bool known = model->freedom > 0;
    spex_quantity_text(value, known ? margin : NAN, "s", number, sizeof(number));
    spex_quantity_text(margin, margin, "s", half, sizeof(half));
    if (known)
        printf("%-12s %s ± %s\n", what, number, half);
    else
        printf("%-12s %s (too few measurements for an interval)\n", what, number);
}

/* The model as a formula, its class, and each coefficient with its margin. Terms are numbered as
 * they stand in the formula. */
static void print_prediction(const struct result *result) {
    const struct spex_prediction *made = &result->prediction;
    char value[48], range[96];
    bool known = isfinite(made->high);
    spex_quantity_text(made->value, known ? (made->high - made->low) / 2 : NAN, "s", value,
                       sizeof(value));
    spex_range_text(made->low, made->high, "s", range, sizeof(range));
    if (result->fit.model.class == SPEX_MODEL_UNKNOWN)
        puts("prediction   none: there is no model");
    else if (known)
        printf("%-12s %s, single measurements %s\n", "prediction", value, range);
    else
        printf("%-12s %s (too few measurements for an interval)\n", "prediction", value);
}

/* Where the formula changes. */
static void print_changes(const struct spex_fit_table *table, const struct spex_model *model) {
    for (size_t c = 0; c < model->change_count; c++) {
        const struct spex_model_change *change = &model->changes[c];
        char name[32];
        snprintf(name, sizeof(name), "change %zu", c + 1);
        printf("%-12s %s = %.6g, between %.6g and %.6g\n", name,
               table->names[model->change_parameter], change->at, change->low, change->high);
    }
}

static void print_next(const struct spex_fit_table *table, const struct spex_next *next) {
    char share[32];
    printf("%-12s ", "next");
    for (size_t p = 0; p < table->measured.parameter_count; p++)
        printf("%s=%.10g, ", table->names[p], next->values[p]);
    printf("there the prediction is ± %s\n",
           spex_percent_text(next->share, 2, share, sizeof(share)));
}

static void print_coefficients(const struct spex_model *model) {
    if (model->constant > 0)
        print_margin(model, "constant", model->constant, model->constant_error);
    for (size_t t = 0; t < model->term_count; t++) {
        char name[32];
        snprintf(name, sizeof(name), "term %zu", t + 1);
        print_margin(model, name, model->terms[t].coefficient, model->terms[t].error);
    }
}

/* Without a model there is no formula, as its figures would mean nothing. */
static void print_text(const struct spex_fit_table *table, const struct result *result) {
    const struct spex_model *model = &result->fit.model;
    bool found = model->class != SPEX_MODEL_UNKNOWN;
    char text[1024];
    spex_model_shown(model, table->names, text, sizeof(text));
    printf(!found                ? "%s\n"
           : model->change_count ? "time in seconds = %s\n"
                                 : "time = %s s\n",
           text);
    printf("%-12s %s, ", "class", spex_model_class_name(model->class));
    if (spread_is_known(table, result))
        printf("adjusted R² %.4f", model->adjusted_r2);
    else
        printf("as each parameter has one value alone;");
    printf(" over %zu point%s of %zu measurement%s", result->fit.points,
           result->fit.points == 1 ? "" : "s", table->measured.count,
           table->measured.count == 1 ? "" : "s");
    if (result->fit.outliers)
        printf(", %zu outliers left out", result->fit.outliers);
    putchar('\n');
    if (found) {
        print_changes(table, model);
        print_coefficients(model);
    }
    if (result->predicted)
        print_prediction(result);
    if (result->proposed)
        print_next(table, &result->next);
}

/* Fits, predicts and prints. An exit status. */
static int fit_table(const struct request *request, const struct spex_fit_table *table) {
    struct result result = {.predicted = false};
    char text[1024];
    uint64_t begin_ns = spex_clock_ns(CLOCK_MONOTONIC);
    int err = spex_fit(&table->measured, &result.fit);
    result.milliseconds = (double)(spex_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6;
    if (err)
        return spex_complain(SPEX_EXIT_FAILED, "%s: %s", table->csv.name,
                             err == -ERANGE
                                 ? "products of its numbers are too great to calculate with"
                                 : strerror(-err));
    int status = request->predict ? result_predict(table, request->predict, &result) : SPEX_EXIT_OK;
    if (!status && request->next)
        status = result_next(table, request->next, &result);
    if (status)
        return status;
    spex_model_text(&result.fit.model, table->names, text, sizeof(text));
    if (request->json)
        status = print_json(table, &result, text);
    else
        print_text(table, &result);
    err = status ? 0 : spex_written(stdout);
    return err ? spex_complain(SPEX_EXIT_FAILED, "the model cannot be written: %s", strerror(-err))
               : status;
}

/* A message may quote the table, which may have any bytes. spex_fit_table_make owns the CSV
 * afterwards, also when it fails. */
int spex_command_fit(int argc, char **argv) {
    struct request request = {.path = NULL};
    struct spex_fit_table table;
    struct spex_csv csv;
    struct spex_error error = {""};
    int status = fit_parse(argc, argv, &request);
    if (status)
        return status;
    if (spex_csv_read(&csv, request.path, &error) != 0 ||
        spex_fit_table_make(&table, &csv, &error) != 0)
        return spex_complain(SPEX_EXIT_FAILED, "%s", error.text);
    status = fit_table(&request, &table);
    spex_fit_table_free(&table);
    return status;
}
