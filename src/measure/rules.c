/* SPDX-License-Identifier: MIT */
#include "measure/rules.h"

const struct spex_rules spex_rules_default = {
    .trials_per_config = 1,
    .records_per_thread = 20,
    .warmup_seconds = -1,
    .startup_seconds = 60,
    .duration_seconds = 60,
    .seed = 1,
};
