/* SPDX-License-Identifier: MIT */
/* Models of how long something takes, over parameters p, q, …: a constant and a sum of terms, each
 * a coefficient times a product of p^i · log2(p)^j. Arithmetic alone: nothing here calls the
 * system. */
#ifndef SPEX_MODEL_MODEL_H
#define SPEX_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEX_MODEL_PARAMETERS_MAX = 8, SPEX_MODEL_TERMS_MAX = 8, SPEX_MODEL_CHANGES_MAX = 2 };

/* A parameter in a term: p^(twelfths / 12) · log2(p)^log. Both 0: the parameter is not in the
 * term. */
struct spex_exponents {
    /* Twelfths make quarters and thirds exact. Below 0: the time decreases, as 1/p does. */
    int8_t twelfths;
    /* Power of the logarithm. */
    uint8_t log;
};

static inline bool spex_exponents_any(struct spex_exponents of) {
    return of.twelfths || of.log;
}

struct spex_model_term {
    double coefficient;
    /* Standard error of the coefficient. */
    double error;
    struct spex_exponents factors[SPEX_MODEL_PARAMETERS_MAX];
    /* The term holds from the change of this number on, up to the next one; 0: from the least
     * values on. */
    uint8_t segment;
};

/* A value of a parameter from which on the time follows another formula, and its 95 % interval. */
struct spex_model_change {
    double at;
    double low;
    double high;
};

enum spex_model_class {
    SPEX_MODEL_UNKNOWN,
    SPEX_MODEL_CONSTANT,
    SPEX_MODEL_LOGARITHMIC,
    SPEX_MODEL_LINEAR,
    SPEX_MODEL_POLYNOMIAL,
    /* No parameter makes the time longer, and some make it shorter. */
    SPEX_MODEL_DECREASING
};

/* ADLER, section 3.2. */
#define SPEX_MODEL_GOOD_R2 0.95

enum { SPEX_MODEL_COLUMNS_MAX = SPEX_MODEL_TERMS_MAX + 1 };

struct spex_model {
    size_t parameter_count;
    double constant;
    /* Standard error of the constant; 0: the model has no constant. */
    double constant_error;
    size_t term_count;
    struct spex_model_term terms[SPEX_MODEL_TERMS_MAX];
    /* Ascending changes by the value of one parameter. They divide the model into segments, each
     * with terms of its own. The constants of segments are terms without factors then. */
    size_t change_count;
    size_t change_parameter;
    struct spex_model_change changes[SPEX_MODEL_CHANGES_MAX];
    /* Of the last segment. */
    enum spex_model_class class;
    /* Adjusted R² on the means of points. */
    double adjusted_r2;

    /* The deviation of a single measurement is sqrt(floor² + (share · value)²). */
    double floor;
    double share;
    /* Degrees of freedom of the residuals; 0: intervals are not known. */
    double freedom;
    /* Covariance of the constant and the coefficients, in this order. */
    double covariance[SPEX_MODEL_COLUMNS_MAX][SPEX_MODEL_COLUMNS_MAX];
};

struct spex_prediction {
    double value;
    /* 95 % of single measurements lie between `low`, which is not below 0, and `high`; INFINITY:
     * not known. */
    double low;
    double high;
};

/* Returns x^(twelfths / 12) · log2(x)^log. `log2x` is log2(x), computed once by the caller for all
 * terms. */
double spex_exponents_apply(struct spex_exponents exponents, double x, double log2x);

/* The number of the segment that holds with these parameters. */
size_t spex_model_segment(const struct spex_model *model, const double *parameters);

/* Factors of the constant (column 0) and of the terms' coefficients (columns 1 and on). Terms of
 * other segments have the factor 0. */
void spex_model_columns(const struct spex_model *model, const double *parameters, double *columns);

/* The predicted time; and the same with a 95 % interval, which holds within the measured range
 * (beyond it: spex_fit_predict). Within the interval of a change it has those of both segments. */
double spex_model_value(const struct spex_model *model, const double *parameters);
struct spex_prediction spex_model_predict(const struct spex_model *model, const double *parameters);

/* The predicted time; within the interval of a change that of the segment which is nearer to
 * `seconds`, by ratio: either may hold. */
double spex_model_nearest(const struct spex_model *model, const double *parameters, double seconds);

const char *spex_model_class_name(enum spex_model_class class);

/* Writes the model for people: as spex_model_text; or, of class unknown, that there is no model,
 * and why: "no model: no formula of the parameters follows the times (…)". */
void spex_model_shown(const struct spex_model *model, const char *const *names, char *text,
                      size_t size);

/* Writes the model as text, "0.0002 + 3.1e-06·n·log2(n)", cut to `size` and always ended by 0. With
 * a change: "3e-09·n (n < 32768); 8e-09·n (n ≥ 32768)". */
void spex_model_text(const struct spex_model *model, const char *const *names, char *text,
                     size_t size);

#endif
