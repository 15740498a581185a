/* SPDX-License-Identifier: MIT */
/* Texts of criteria and figures for the user. */
#ifndef SPEX_EXPLORE_SPACE_VALUE_TEXT_H
#define SPEX_EXPLORE_SPACE_VALUE_TEXT_H

#include <stddef.h>

#include <spex/policy.h>

/* "812.3/s", "0.0012 s", "17"; "-" for NaN. */
void spex_value_text(const struct spex_criterion *criterion, double value, char *text, size_t size);

/* "790.1 to 834.5/s"; "-" when an end is NaN. */
void spex_interval_text(const struct spex_criterion *criterion, double low, double high, char *text,
                        size_t size);

/* "throughput of query:tpt [/s]" */
void spex_criterion_label(const struct spex_criterion *criterion, char *text, size_t size);

#endif
