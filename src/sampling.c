/* SPDX-License-Identifier: MIT */
#include "sampling.h"

#include <stdio.h>

int spex_sampling_text(const struct spex_sampling *sampling, char *text, size_t size) {
    switch (sampling->kind) {
    case SPEX_SAMPLING_GEOMETRIC:
        return snprintf(text, size, "~%u", sampling->period);
    case SPEX_SAMPLING_BURSTY:
        return snprintf(text, size, "%ux%u", sampling->period, sampling->burst);
    case SPEX_SAMPLING_PROBING:
        return snprintf(text, size, "probed");
    default:
        return snprintf(text, size, "%u", sampling->period);
    }
}
