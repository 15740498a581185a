/* SPDX-License-Identifier: MIT */
/* Trials' use of resources as JSON, and their notes as text. */
#ifndef SPEX_EXPLORE_REPORT_REPORT_USAGE_H
#define SPEX_EXPLORE_REPORT_REPORT_USAGE_H

#include <stdio.h>

#include <jansson.h>

#include "measure/trial.h"

/* Adds "usage", "load" and "note" to the object of a trial; returns the object. */
json_t *spex_report_usage(json_t *object, const struct spex_trial *trial);

/* Prints how many trials have a note, and the first one; nothing when there is none. */
void spex_report_notes(const struct spex_trials *trials, FILE *out);

#endif
