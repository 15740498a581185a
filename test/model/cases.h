/* SPDX-License-Identifier: MIT */
/* Made-up measurements of functions whose running time is known: forms that programs have, over one
 * to three parameters, with noise that grows with the time, repetitions, outliers, parameters that
 * do not matter and times without any pattern. */
#ifndef SPEX_TEST_CASES_H
#define SPEX_TEST_CASES_H

#include <stdbool.h>

#include "model/fit/fit.h"

struct model_case {
    const char *name;
    size_t parameter_count;
    struct spex_model truth;                /* constant, terms and class */
    bool linear_too;                        /* n log n is hardly told from n */
    bool changes;                           /* the truth has parts, which the model may have */
    double noise;                           /* coefficient of variation of single measurements */
    double most[SPEX_MODEL_PARAMETERS_MAX]; /* of what was measured */
    struct spex_measurements measured;
    double *parameters;
    double *times;
};

/* How many kinds there are; of each as many different cases as there are seeds. */
size_t model_case_kinds(void);
void model_case_make(struct model_case *of, size_t kind, uint64_t seed);
void model_case_free(struct model_case *made);

/* How a fit compares with the truth. */
struct model_verdict {
    bool exact; /* the same parameters in the same terms, with the same largest exponents */
    bool
        lead; /* the same structure, exponents that make less than a quarter of a power, the class of the terms */
    bool class_right; /* that which the fit says */
    double beyond;    /* relative error at four times the measured range */
};

struct model_verdict model_verdict_of(const struct model_case *made, const struct spex_fit *fit);

#endif
