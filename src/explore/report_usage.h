/* SPDX-License-Identifier: MIT */
/* What trials have used, as JSON. */
#ifndef SPEX_REPORT_USAGE_H
#define SPEX_REPORT_USAGE_H

#include <jansson.h>

#include "trial.h"

/* Puts "usage", "load" and "note" into the object of a trial, which it returns. */
json_t *spex_report_usage(json_t *object, const struct spex_trial *trial);

#endif
