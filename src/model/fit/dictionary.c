/* SPDX-License-Identifier: MIT */
#include "model/fit/dictionary.h"

/* A function by its power in quarters or thirds (q/4, t/3), its power of the logarithm, and its
 * complexity. */
#define QUARTER(q, log, complexity)                                                                \
    { {(q)*3, log}, complexity }
#define THIRD(t, log, complexity)                                                                  \
    { {(t)*4, log}, complexity }

/* Powers are quarters and thirds up to 3, logarithms up to 2. Whole powers and the logarithm have
 * the least complexity, since they occur most often in programs; n log n is hardly told from n. What
 * decreases is work that is divided: by threads, mostly. */
static const struct spex_function dictionary[SPEX_FUNCTIONS] = {
    QUARTER(4, 0, 0),    QUARTER(0, 1, 0),    QUARTER(4, 1, 0.6),  QUARTER(8, 0, 0),
    QUARTER(12, 0, 0),   QUARTER(2, 0, 0.6),  QUARTER(-4, 0, 0.6), QUARTER(-2, 0, 1.2),
    QUARTER(-8, 0, 1.2), QUARTER(6, 0, 0.6),  QUARTER(0, 2, 0.7),  QUARTER(8, 1, 0.6),
    QUARTER(10, 0, 1),   QUARTER(2, 1, 1.2),  QUARTER(6, 1, 1.2),  QUARTER(12, 1, 1.2),
    QUARTER(4, 2, 1.2),  QUARTER(8, 2, 1.5),  QUARTER(10, 1, 1.5), THIRD(1, 0, 1.2),
    THIRD(2, 0, 1),      THIRD(4, 0, 1.2),    THIRD(5, 0, 1),      THIRD(7, 0, 1.2),
    THIRD(8, 0, 1.2),    QUARTER(1, 0, 1.2),  QUARTER(3, 0, 1),    QUARTER(5, 0, 1),
    QUARTER(7, 0, 1.2),  QUARTER(9, 0, 1.2),  QUARTER(11, 0, 1.2), QUARTER(1, 1, 2),
    QUARTER(3, 1, 2),    QUARTER(5, 1, 2),    QUARTER(7, 1, 2),    QUARTER(9, 1, 2),
    QUARTER(11, 1, 2),   THIRD(1, 1, 2),      THIRD(2, 1, 2),      THIRD(4, 1, 2),
    THIRD(5, 1, 2),      THIRD(7, 1, 2),      THIRD(8, 1, 2),      QUARTER(2, 2, 2.2),
    QUARTER(6, 2, 2.2),  QUARTER(10, 2, 2.2), QUARTER(12, 2, 2),   QUARTER(1, 2, 2.5),
    QUARTER(3, 2, 2.5),  QUARTER(5, 2, 2.5),  QUARTER(7, 2, 2.5),  QUARTER(9, 2, 2.5),
    QUARTER(11, 2, 2.5), THIRD(1, 2, 2.5),    THIRD(2, 2, 2.5),    THIRD(4, 2, 2.5),
    THIRD(5, 2, 2.5),    THIRD(7, 2, 2.5),    THIRD(8, 2, 2.5),
};

const struct spex_function *spex_functions(void) {
    return dictionary;
}
