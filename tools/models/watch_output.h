/* SPDX-License-Identifier: MIT */
/* The output of `spex watch`: a line when an anomaly begins and when it ends, and a summary at the
 * end; as text or JSON Lines. */
#ifndef SPEX_TOOLS_MODELS_WATCH_OUTPUT_H
#define SPEX_TOOLS_MODELS_WATCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "model/anomalies.h"
#include "observe/causes.h"

struct spex_watch_output {
    FILE *file;
    bool json;
    /* When the command began to watch, in seconds since the epoch. */
    double begin;
};

void spex_watch_output_event(const struct spex_watch_output *output, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly,
                             const struct spex_cause_found *cause);

struct spex_watch_account {
    const struct spex_anomalies_account *judged;
    double seconds;
    /* Records that were not judged, since their time or context is not the kernel's alone. */
    uint64_t left_out;
    uint64_t lost;
};

void spex_watch_output_account(const struct spex_watch_output *output,
                               const struct spex_watch_account *account);

#endif
