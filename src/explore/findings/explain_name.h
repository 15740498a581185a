/* SPDX-License-Identifier: MIT */
/* Resolves the name of a configuration that was run: "best", "worst", "#17" (the configuration of
 * trial 17), or "threads=4,cache=16". */
#ifndef SPEX_EXPLORE_FINDINGS_EXPLAIN_NAME_H
#define SPEX_EXPLORE_FINDINGS_EXPLAIN_NAME_H

#include "explore/findings/study.h"

/* Sets *group. 0; -EINVAL when the name fits no or several configurations; -ENODATA when the
 * configuration has no result. */
int spex_explain_name(const struct spex_study *study, const char *name, size_t *group,
                      struct spex_error *error);

#endif
