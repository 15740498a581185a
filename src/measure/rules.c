/* SPDX-License-Identifier: MIT */
/* docs/spaces.md has these values, too. A warm-up below 0 is looked for (measure.h). */
#include "measure/rules.h"

/* Errors come from batch means: eight batches at least (figure/batch_means.c), each of which should
 * be longer than what makes neighbouring records alike: a scheduler's tick and a collector's sleep
 * while a command measures, of up to 10 ms each. A program that makes 5,000 records in 5 ms would
 * also be measured while its rings are found full for the first time. */
#define LEAST_SECONDS 0.1

const struct spex_rules spex_rules_default = {
    .trials_per_config = 1,
    .records_per_thread = 20,
    .warmup_seconds = -1,
    .startup_seconds = 60,
    .duration_seconds = 60,
    .seed = 1,
    .least_seconds = LEAST_SECONDS,
};
