/* SPDX-License-Identifier: MIT */
/* The default rules of a space. */
#ifndef SPEX_MEASURE_RULES_H
#define SPEX_MEASURE_RULES_H

#include <spex/policy.h>

extern const struct spex_rules spex_rules_default;

#endif
