/* SPDX-License-Identifier: MIT */
/* The functions of one parameter that a term may be made of, and how much simpler than others each is taken to be. */
#ifndef SPEX_MODEL_FIT_DICTIONARY_H
#define SPEX_MODEL_FIT_DICTIONARY_H

#include "model/model.h"

struct spex_function {
    struct spex_exponents exponents;
    double complexity; /* 0 and more */
};

/* The first few are what programs mostly have: products and pairs are made of them. */
enum { SPEX_FUNCTIONS = 56, SPEX_FUNCTIONS_SIMPLE = 6 };

/* All of them, the simplest first. */
const struct spex_function *spex_functions(void);

#endif
