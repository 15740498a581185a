/* SPDX-License-Identifier: MIT */
/* Names and limits of the kinds of sampling. */
#include "site/sampling.h"

#include <stdio.h>

#include <spex/site.h>

int spex_sampling_text(const struct spex_sampling *sampling, char *text, size_t size) {
    switch (sampling->kind) {
    case SPEX_SAMPLING_GEOMETRIC:
        return snprintf(text, size, "~%u", sampling->period);
    case SPEX_SAMPLING_BURSTY:
        return snprintf(text, size, "%ux%u", sampling->period, sampling->burst);
    case SPEX_SAMPLING_POLLING:
        return snprintf(text, size, "poll");
    default:
        return snprintf(text, size, "%u", sampling->period);
    }
}

uint32_t spex_sampling_longest(uint32_t kind, uint32_t burst) {
    if (kind == SPEX_SAMPLING_GEOMETRIC)
        return SPEX_GAP_PERIOD_MAX;
    if (kind == SPEX_SAMPLING_BURSTY)
        return SPEX_BURST_CYCLE_MAX / (burst ? burst : 1);
    return SPEX_CONTROL_PERIOD_MAX;
}

const char *spex_sampling_kind_name(uint32_t kind) {
    static const char *const names[] = {"periodic", "geometric", "bursty", "probing"};
    return names[kind < sizeof(names) / sizeof(names[0]) ? kind : SPEX_SAMPLING_PERIODIC];
}
