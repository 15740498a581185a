/* SPDX-License-Identifier: MIT */
/* What another exploration says of a space: its best configurations, as those of this space that are
 * most like them, to be tried first. It may be of another machine, input or version of the program,
 * or of another space that has some of the parameters. */
#ifndef SPEX_EXPLORE_PRIOR_H
#define SPEX_EXPLORE_PRIOR_H

#include <spex/policy.h>

#include "text/error.h"

/* So many at most. Where the other exploration misleads, they are what it costs. */
enum { SPEX_PRIOR_MOST = 5 };

/* Sets `levels`, with room for SPEX_PRIOR_MOST times parameter_count, to different configurations
 * that are allowed, the best first. 0; -EINVAL when the store has none; or what reading it says. */
int spex_prior_read(const char *store, const struct spex_space *space, size_t *levels,
                    size_t *count, struct spex_error *error);

#endif
