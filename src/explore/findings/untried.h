/* SPDX-License-Identifier: MIT */
/* What a model of the configurations that were tried expects of the others. */
#ifndef SPEX_EXPLORE_FINDINGS_UNTRIED_H
#define SPEX_EXPLORE_FINDINGS_UNTRIED_H

#include "explore/findings/accuracy.h"

/* The untried configuration from which most is expected, by expected improvement. */
struct spex_untried {
    size_t *levels;  /* NULL: all that was looked at is tried, or there is no model of so few */
    double expected; /* first objective */
    double low;      /* 95 % interval of its true mean */
    double high;
    double chance; /* that it is better than the best of those tried */
};

/* `best` is the estimate of the best of those tried. Looks at all configurations of a space, or at
 * some thousand of a large one. Of a space with limits there is no model. 0 or -ENOMEM; to be freed
 * in any case. */
int spex_untried_find(const struct spex_summary *summary, const struct spex_accuracy *accuracy,
                      double best, struct spex_untried *untried);
void spex_untried_free(struct spex_untried *untried);

#endif
