/* SPDX-License-Identifier: MIT */
/* Models of how long something takes, over parameters p, q, …: a constant and a sum of terms, each a coefficient times a
 * product of p^i · log2(p)^j. Numerics alone: nothing here asks the system for anything but memory. */
#ifndef SPEX_MODEL_MODEL_H
#define SPEX_MODEL_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPEX_MODEL_PARAMETERS_MAX = 8, SPEX_MODEL_TERMS_MAX = 8 };

/* Of one parameter in a term; both 0: it is not in it. */
struct spex_exponents {
    uint8_t twelfths; /* of the power: quarters and thirds are exact */
    uint8_t log;      /* of the logarithm */
};

static inline bool spex_exponents_any(struct spex_exponents of) {
    return of.twelfths || of.log;
}

struct spex_model_term {
    double coefficient;
    double error; /* standard error of it */
    struct spex_exponents factors[SPEX_MODEL_PARAMETERS_MAX];
};

enum spex_model_class {
    SPEX_MODEL_UNKNOWN,
    SPEX_MODEL_CONSTANT,
    SPEX_MODEL_LOGARITHMIC,
    SPEX_MODEL_LINEAR,
    SPEX_MODEL_POLYNOMIAL
};

enum { SPEX_MODEL_COLUMNS_MAX = SPEX_MODEL_TERMS_MAX + 1 };

struct spex_model {
    size_t parameter_count;
    double constant;
    double constant_error; /* standard error; 0 where the model has no constant */
    size_t term_count;
    struct spex_model_term terms[SPEX_MODEL_TERMS_MAX];
    enum spex_model_class class;
    double adjusted_r2; /* on the means of points */

    /* What intervals need. The deviation of one measurement is sqrt(floor² + (share · value)²). */
    double floor;
    double share;
    double freedom; /* degrees, of the residuals; 0: there is no telling */
    /* Covariance of the constant and the coefficients, in this order. */
    double covariance[SPEX_MODEL_COLUMNS_MAX][SPEX_MODEL_COLUMNS_MAX];
};

struct spex_prediction {
    double value;
    double low;  /* 95 % of single measurements lie between them; not below 0 */
    double high; /* INFINITY where there is no telling */
};

/* x^(twelfths / 12) · log2(x)^log; `log2x` is log2(x). */
double spex_exponents_apply(struct spex_exponents exponents, double x, double log2x);

/* What the constant (0) and the terms (1 and on) are multiplied by. */
void spex_model_columns(const struct spex_model *model, const double *parameters, double *columns);

double spex_model_value(const struct spex_model *model, const double *parameters);
struct spex_prediction spex_model_predict(const struct spex_model *model, const double *parameters);

const char *spex_model_class_name(enum spex_model_class class);

/* "0.0002 + 3.1e-06·n·log2(n)": as much of it as fits, always ended by a 0. */
void spex_model_text(const struct spex_model *model, const char *const *names, char *text,
                     size_t size);

#endif
