/* SPDX-License-Identifier: MIT */
/* The functions of one parameter that terms are made of, each with its complexity. Complexity is
 * a penalty: spex_score() adds it, times a price, to the score of a form. */
#ifndef SPEX_MODEL_FIT_DICTIONARY_H
#define SPEX_MODEL_FIT_DICTIONARY_H

#include "model/model.h"

struct spex_function {
    struct spex_exponents exponents;
    /* 0 for the simplest functions. */
    double complexity;
};

/* The first SPEX_FUNCTIONS_SIMPLE occur most often in programs: products and pairs are made of them
 * alone. */
enum { SPEX_FUNCTIONS = 59, SPEX_FUNCTIONS_SIMPLE = 7 };

/* All SPEX_FUNCTIONS functions, the simple ones first. */
const struct spex_function *spex_functions(void);

#endif
