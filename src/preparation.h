/* SPDX-License-Identifier: MIT */
/* What a probe type needs before the first of its sites goes on. */
#ifndef SPEX_PREPARATION_H
#define SPEX_PREPARATION_H

#include <stdint.h>

#include "environment.h"

/* For all types to come. */
void spex_preparation_settings(const struct spex_settings *settings);

/* Once a type (and performance counter, `detail`): memory for its records, the counter that it reads,
 * and what it costs. One caller at a time; up to some milliseconds; not for signal handlers. */
void spex_preparation(uint32_t type, unsigned detail);

#endif
