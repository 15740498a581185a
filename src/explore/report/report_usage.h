/* SPDX-License-Identifier: MIT */
/* What trials have used, as JSON, and what went wrong in them. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_USAGE_H
#define SPEX_EXPLORE_REPORT_REPORT_USAGE_H

#include <stdio.h>

#include <jansson.h>

#include "measure/trial.h"

/* Puts "usage", "load" and "note" into the object of a trial, which it returns. */
json_t *spex_report_usage(json_t *object, const struct spex_trial *trial);

/* How many trials have a note, and the first of these; nothing when there is none. */
void spex_report_notes(const struct spex_trials *trials, FILE *out);

#endif
