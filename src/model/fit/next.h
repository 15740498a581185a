/* SPDX-License-Identifier: MIT */
/* Where one more measurement is worth most: where the predicted time is least certain. */
#ifndef SPEX_MODEL_FIT_NEXT_H
#define SPEX_MODEL_FIT_NEXT_H

#include "model/fit/fit.h"

struct spex_next {
    double values[SPEX_MODEL_PARAMETERS_MAX];
    double seconds;
    /* Half of the time's 95 % interval, relative to the time. What single measurements vary by is
     * not in it, since no measurement makes that less. */
    double share;
};

/* The place between these values of the parameters where the time is least certain, by ratio. Between
 * whole numbers it is one. False: the interval is known nowhere. */
bool spex_fit_next(const struct spex_fit *fit, const double *low, const double *high,
                   struct spex_next *next);

#endif
