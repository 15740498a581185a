/* SPDX-License-Identifier: MIT */
/* A configuration that was run, as a user names it: "best", "worst", "#17",
 * "threads=4,cache=16". */
#ifndef SPEX_EXPLORE_COMPARE_EXPLAIN_NAME_H
#define SPEX_EXPLORE_COMPARE_EXPLAIN_NAME_H

#include "explore/findings/study.h"

/* The group. 0; -EINVAL for what names none or several; -ENODATA for one without a result. */
int spex_explain_name(const struct spex_study *study, const char *name, size_t *group,
                      struct spex_error *error);

#endif
