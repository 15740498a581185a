/* SPDX-License-Identifier: MIT */
/* docs/spaces.md has these values, too. A warm-up below 0 is looked for (measure.h). */
#include "measure/rules.h"

const struct spex_rules spex_rules_default = {
    .trials_per_config = 1,
    .records_per_thread = 20,
    .warmup_seconds = -1,
    .startup_seconds = 60,
    .duration_seconds = 60,
    .seed = 1,
};
