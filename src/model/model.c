/* SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/student.h"
#include "text/plain_numbers.h"

/* Half powers by sqrt, others that are not whole by exp2: most terms need neither exp2 nor log2. */
static double power_apply(unsigned twelfths, double x, double log2x) {
    unsigned whole = twelfths / 12, part = twelfths % 12;
    double value = part == 0 ? 1 : part == 6 ? sqrt(x) : exp2(part / 12.0 * log2x);
    for (unsigned w = 0; w < whole; w++)
        value *= x;
    return value;
}

double spex_exponents_apply(struct spex_exponents exponents, double x, double log2x) {
    double value = exponents.twelfths >= 0
                       ? power_apply((unsigned)exponents.twelfths, x, log2x)
                       : 1 / power_apply((unsigned)-exponents.twelfths, x, log2x);
    for (unsigned l = 0; l < exponents.log; l++)
        value *= log2x;
    return value;
}

/* Whether a term has the parameter's logarithm, or a power that exp2 computes from it. Square roots
 * and whole powers do without. */
static bool parameter_needs_log(const struct spex_model *model, size_t parameter) {
    for (size_t t = 0; t < model->term_count; t++) {
        struct spex_exponents of = model->terms[t].factors[parameter];
        if (of.log || of.twelfths % 6)
            return true;
    }
    return false;
}

size_t spex_model_segment(const struct spex_model *model, const double *parameters) {
    size_t segment = 0;
    while (segment < model->change_count &&
           parameters[model->change_parameter] >= model->changes[segment].at)
        segment++;
    return segment;
}

/* Takes a logarithm for each parameter at most, whatever the number of terms is. */
static void segment_columns(const struct spex_model *model, const double *parameters,
                            size_t segment, double *columns) {
    for (size_t t = 0; t <= model->term_count; t++)
        columns[t] = 1;
    for (size_t p = 0; p < model->parameter_count; p++) {
        double log2x = parameter_needs_log(model, p) ? log2(parameters[p]) : 0;
        for (size_t t = 0; t < model->term_count; t++) {
            struct spex_exponents of = model->terms[t].factors[p];
            if (spex_exponents_any(of))
                columns[t + 1] *= spex_exponents_apply(of, parameters[p], log2x);
        }
    }
    if (model->change_count)
        for (size_t t = 0; t < model->term_count; t++)
            if (model->terms[t].segment != segment)
                columns[t + 1] = 0;
}

void spex_model_columns(const struct spex_model *model, const double *parameters, double *columns) {
    segment_columns(model, parameters, spex_model_segment(model, parameters), columns);
}

/* The predicted time from the factors of spex_model_columns(). */
static double columns_value(const struct spex_model *model, const double *columns) {
    double value = model->constant;
    for (size_t t = 0; t < model->term_count; t++)
        value += model->terms[t].coefficient * columns[t + 1];
    return value;
}

/* Without the interval, which takes more time: for each execution that is judged or planned. */
double spex_model_value(const struct spex_model *model, const double *parameters) {
    double columns[SPEX_MODEL_COLUMNS_MAX];
    spex_model_columns(model, parameters, columns);
    return columns_value(model, columns);
}

/* The variance of a single measurement: that of the fitted model at this point, and the
 * measurement's own. */
static struct spex_prediction segment_predict(const struct spex_model *model,
                                              const double *parameters, size_t segment) {
    double columns[SPEX_MODEL_COLUMNS_MAX], variance = 0;
    segment_columns(model, parameters, segment, columns);
    struct spex_prediction prediction = {.value = columns_value(model, columns)};
    for (size_t a = 0; a <= model->term_count; a++)
        for (size_t b = 0; b <= model->term_count; b++)
            variance += columns[a] * model->covariance[a][b] * columns[b];
    double own = model->share * prediction.value;
    variance = fmax(variance, 0) + model->floor * model->floor + own * own;
    double margin = model->freedom > 0
                        ? spex_student_two_sided(0.05, model->freedom) * sqrt(variance)
                        : INFINITY;
    prediction.low = fmax(prediction.value - margin, 0);
    prediction.high = prediction.value + margin;
    return prediction;
}

/* The other segment that may hold where a change is not certain to be above or below; that of the
 * parameters: there is none. */
static size_t other_segment(const struct spex_model *model, const double *parameters) {
    size_t segment = spex_model_segment(model, parameters);
    double x = parameters[model->change_parameter];
    if (segment > 0 && x < model->changes[segment - 1].high)
        return segment - 1;
    return segment < model->change_count && x > model->changes[segment].low ? segment + 1 : segment;
}

double spex_model_nearest(const struct spex_model *model, const double *parameters,
                          double seconds) {
    double columns[SPEX_MODEL_COLUMNS_MAX], value = spex_model_value(model, parameters);
    if (!model->change_count)
        return value;
    segment_columns(model, parameters, other_segment(model, parameters), columns);
    double other = columns_value(model, columns);
    return other > 0 && fabs(log(seconds / other)) < fabs(log(seconds / value)) ? other : value;
}

struct spex_prediction spex_model_predict(const struct spex_model *model,
                                          const double *parameters) {
    struct spex_prediction prediction =
        segment_predict(model, parameters, spex_model_segment(model, parameters));
    if (model->change_count) {
        struct spex_prediction other =
            segment_predict(model, parameters, other_segment(model, parameters));
        prediction.low = fmin(prediction.low, other.low);
        prediction.high = fmax(prediction.high, other.high);
    }
    return prediction;
}

const char *spex_model_class_name(enum spex_model_class class) {
    static const char *const names[] = {"unknown", "constant",   "logarithmic",
                                        "linear",  "polynomial", "decreasing"};
    return names[class];
}

/* Where to write next, and the bytes that are left, of which one is for the 0. */
struct text {
    char *at;
    size_t left;
};

/* Appends text, cut to what is left. */
__attribute__((format(printf, 2, 3))) static void text_put(struct text *text, const char *format,
                                                           ...) {
    SPEX_PLAIN_NUMBERS;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->at, text->left, format, args);
    va_end(args);
    size_t used = length < 0 ? 0 : (size_t)length < text->left ? (size_t)length : text->left - 1;
    text->at += used;
    text->left -= used;
}

/* Whether a parameter's name is an expression, as of a kernel: "end - begin". A factor needs it in
 * parentheses then. Bytes from 0x80 on are letters of UTF-8. */
static bool is_expression(const char *name) {
    for (; *name; name++) {
        unsigned char c = (unsigned char)*name;
        if (!isalnum(c) && c != '_' && c != '.' && c < 0x80)
            return true;
    }
    return false;
}

/* Appends a parameter with the absolute value of its power. Those of fitted models are wholes,
 * halves, quarters or thirds (dictionary.c). */
static void text_put_power(struct text *text, const char *sign, const char *name, int twelfths) {
    text_put(text, is_expression(name) ? "%s(%s)" : "%s%s", sign, name);
    if (twelfths % 12 == 0 && twelfths != 12)
        text_put(text, "^%d", twelfths / 12);
    else if (twelfths % 12 && twelfths % 3 == 0)
        text_put(text, twelfths % 6 ? "^(%d/4)" : "^(%d/2)", twelfths / (twelfths % 6 ? 3 : 6));
    else if (twelfths % 12)
        text_put(text, "^(%d/3)", twelfths / 4);
}

/* Appends what makes the term greater. */
static void text_put_factor(struct text *text, const char *name, struct spex_exponents of) {
    if (of.twelfths > 0)
        text_put_power(text, "·", name, of.twelfths);
    if (of.log == 1)
        text_put(text, "·log2(%s)", name);
    else if (of.log)
        text_put(text, "·log2(%s)^%d", name, of.log);
}

/* Divisions follow the factors: "n/p". */
static void text_put_term(struct text *text, const struct spex_model *model,
                          const char *const *names, const struct spex_model_term *term) {
    text_put(text, "%.6g", term->coefficient);
    for (size_t p = 0; p < model->parameter_count; p++)
        text_put_factor(text, names[p], term->factors[p]);
    for (size_t p = 0; p < model->parameter_count; p++)
        if (term->factors[p].twelfths < 0)
            text_put_power(text, "/", names[p], -term->factors[p].twelfths);
}

/* A constant of 0 is left out, unless nothing else is there. */
static void text_put_segment(struct text *text, const struct spex_model *model,
                             const char *const *names, size_t segment) {
    bool any = model->constant > 0;
    if (any)
        text_put(text, "%.6g", model->constant);
    for (size_t t = 0; t < model->term_count; t++) {
        if (model->terms[t].segment != segment)
            continue;
        text_put(text, "%s", any ? " + " : "");
        text_put_term(text, model, names, &model->terms[t]);
        any = true;
    }
    if (!any)
        text_put(text, "%.6g", model->constant);
}

/* Appends between which values of the parameter the segment holds: "(1000 ≤ n < 32768)". */
static void text_put_range(struct text *text, const struct spex_model *model, const char *name,
                           size_t segment) {
    const struct spex_model_change *changes = model->changes;
    if (segment == model->change_count)
        text_put(text, " (%s ≥ %.6g)", name, changes[segment - 1].at);
    else if (segment == 0)
        text_put(text, " (%s < %.6g); ", name, changes[0].at);
    else
        text_put(text, " (%.6g ≤ %s < %.6g); ", changes[segment - 1].at, name, changes[segment].at);
}

void spex_model_text(const struct spex_model *model, const char *const *names, char *text,
                     size_t size) {
    struct text out = {text, size};
    if (size == 0)
        return;
    for (size_t s = 0; s <= model->change_count; s++) {
        text_put_segment(&out, model, names, s);
        if (model->change_count)
            text_put_range(&out, model, names[model->change_parameter], s);
    }
}

void spex_model_shown(const struct spex_model *model, const char *const *names, char *text,
                      size_t size) {
    SPEX_PLAIN_NUMBERS;
    if (model->class != SPEX_MODEL_UNKNOWN)
        spex_model_text(model, names, text, size);
    else if (model->adjusted_r2 >= SPEX_MODEL_GOOD_R2)
        snprintf(text, size, "no model: at least three values of a parameter are needed");
    else
        snprintf(text, size,
                 "no model: no formula of the parameters follows the times (adjusted R² %.2f, "
                 "%.2f is needed)",
                 model->adjusted_r2, SPEX_MODEL_GOOD_R2);
}
