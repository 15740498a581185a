/* SPDX-License-Identifier: MIT */
#include "model/model.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/student.h"
#include "text/plain_numbers.h"

/* Half powers by sqrt, others that are not whole by exp2: most terms need neither exp2 nor log2. */
double spex_exponents_apply(struct spex_exponents exponents, double x, double log2x) {
    unsigned whole = exponents.twelfths / 12, part = exponents.twelfths % 12;
    double value = part == 0 ? 1 : part == 6 ? sqrt(x) : exp2(part / 12.0 * log2x);
    for (unsigned w = 0; w < whole; w++)
        value *= x;
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

/* Takes a logarithm for each parameter at most, whatever the number of terms is. */
void spex_model_columns(const struct spex_model *model, const double *parameters, double *columns) {
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
struct spex_prediction spex_model_predict(const struct spex_model *model,
                                          const double *parameters) {
    double columns[SPEX_MODEL_COLUMNS_MAX], variance = 0;
    spex_model_columns(model, parameters, columns);
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

const char *spex_model_class_name(enum spex_model_class class) {
    static const char *const names[] = {"unknown", "constant", "logarithmic", "linear",
                                        "polynomial"};
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

/* Appends a parameter's powers. Those of fitted models are wholes, halves, quarters or thirds
 * (dictionary.c). */
static void text_put_powers(struct text *text, const char *name, struct spex_exponents of) {
    if (of.twelfths == 0)
        return;
    text_put(text, is_expression(name) ? "·(%s)" : "·%s", name);
    if (of.twelfths % 12 == 0 && of.twelfths != 12)
        text_put(text, "^%d", of.twelfths / 12);
    else if (of.twelfths % 12 && of.twelfths % 3 == 0)
        text_put(text, of.twelfths % 6 ? "^(%d/4)" : "^(%d/2)",
                 of.twelfths / (of.twelfths % 6 ? 3 : 6));
    else if (of.twelfths % 12)
        text_put(text, "^(%d/3)", of.twelfths / 4);
}

static void text_put_factor(struct text *text, const char *name, struct spex_exponents of) {
    text_put_powers(text, name, of);
    if (of.log == 1)
        text_put(text, "·log2(%s)", name);
    else if (of.log)
        text_put(text, "·log2(%s)^%d", name, of.log);
}

/* A constant of 0 is left out, unless nothing else is there. */
void spex_model_text(const struct spex_model *model, const char *const *names, char *text,
                     size_t size) {
    struct text out = {text, size};
    if (size == 0)
        return;
    bool constant = model->constant > 0 || model->term_count == 0;
    if (constant)
        text_put(&out, "%.6g", model->constant);
    for (size_t t = 0; t < model->term_count; t++) {
        text_put(&out, t || constant ? " + %.6g" : "%.6g", model->terms[t].coefficient);
        for (size_t p = 0; p < model->parameter_count; p++)
            text_put_factor(&out, names[p], model->terms[t].factors[p]);
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
                 "no model: the parameters explain too little of the time (adjusted R² %.2f, %.2f "
                 "is needed)",
                 model->adjusted_r2, SPEX_MODEL_GOOD_R2);
}
