/* SPDX-License-Identifier: MIT */
/* What of a trace could not be read: lines for a person, of which the first are kept and the others
 * counted. */
#ifndef SPEX_TRACE_READ_PROBLEMS_H
#define SPEX_TRACE_READ_PROBLEMS_H

#include <stddef.h>

#include "text/error.h"

enum { SPEX_RECORDING_PROBLEMS_KEPT = 16 };

struct spex_recording_problems {
    struct spex_error kept[SPEX_RECORDING_PROBLEMS_KEPT];
    /* All of them; may be more than are kept. */
    size_t count;
};

/* Adds a line. */
#define spex_recording_problem(problems, ...)                                                      \
    do {                                                                                           \
        if ((problems)->count++ < SPEX_RECORDING_PROBLEMS_KEPT)                                    \
            spex_error_set(&(problems)->kept[(problems)->count - 1], __VA_ARGS__);                 \
    } while (0)

#endif
