/* SPDX-License-Identifier: MIT */
/* What `spex watch` says: a line when an anomaly begins and when it ends, and an account; as text or JSON Lines. */
#ifndef SPEX_WATCH_OUTPUT_H
#define SPEX_WATCH_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "anomalies.h"
#include "causes.h"

struct spex_watch_output {
    FILE *file;
    bool json;
    double begin; /* of the watching: seconds since the epoch */
};

void spex_watch_output_event(const struct spex_watch_output *output, enum spex_anomaly_event event,
                             const struct spex_anomaly *anomaly,
                             const struct spex_cause_found *cause);

struct spex_watch_account {
    const struct spex_anomalies_account *judged;
    double seconds;
    uint64_t left_out; /* records whose time or context was not their own */
    uint64_t lost;
};

void spex_watch_output_account(const struct spex_watch_output *output,
                               const struct spex_watch_account *account);

#endif
