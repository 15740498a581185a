/* SPDX-License-Identifier: MIT */
/* Whether the machine has changed during an exploration: by the trials of the reference configuration,
 * which policies repeat every so often. */
#ifndef SPEX_EXPLORE_FINDINGS_DRIFT_H
#define SPEX_EXPLORE_FINDINGS_DRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "measure/summary.h"

/* With no drift one is told with at most this probability. */
#define SPEX_DRIFT_LEVEL 0.01

/* Of fewer trials nothing is told. */
#define SPEX_DRIFT_LEAST 10

enum spex_drift_kind {
    SPEX_DRIFT_NONE,
    SPEX_DRIFT_STEP,    /* figures have been others since a time between `from` and `to` */
    SPEX_DRIFT_WHILE,   /* they were others from `from` to `to` */
    SPEX_DRIFT_GRADUAL, /* they changed from `from` to `to` */
};

struct spex_drift {
    enum spex_drift_kind kind;
    const size_t *levels; /* of the reference configuration; NULL: there is none */
    uint64_t trials;      /* of it, that have a result */
    double chance;        /* of so much change by chance */
    /* All else is undefined without drift. */
    double change; /* of the first objective, as a share: 0.12 is 12 % more */
    int64_t from, to;
};

/* The levels are those of a trial. 0 or -ENOMEM. */
int spex_drift_find(const struct spex_space *space, const struct spex_trials *trials,
                    struct spex_drift *drift);

/* One sentence: "the machine became 12 % slower between 14:02 and 14:10". Returns `text`. */
const char *spex_drift_text(const struct spex_drift *drift, const struct spex_space *space,
                            char *text, size_t size);

#endif
