/* SPDX-License-Identifier: MIT */
/* A parameter's values in as few places as a picture or a table has room for. Categories keep a
 * place each; of numbers, neighbours share one, and places are equally wide on the parameter's
 * scale. */
#ifndef SPEX_EXPLORE_FINDINGS_BINS_H
#define SPEX_EXPLORE_FINDINGS_BINS_H

#include <spex/policy.h>

struct spex_bins {
    const struct spex_parameter *parameter;
    size_t count;
    size_t *of_level; /* the bin of each level, ascending */
    size_t *first;    /* the first level of each bin, and one past the last */
};

/* At most `most` bins where values have an order. 0 or -ENOMEM. */
int spex_bins_init(struct spex_bins *bins, const struct spex_parameter *parameter, size_t most);
void spex_bins_free(struct spex_bins *bins);

/* "16", or "10…20" for one of several values. */
void spex_bin_text(const struct spex_bins *bins, size_t bin, char *text, size_t size);

/* A value in its middle: for axes. */
void spex_bin_middle_text(const struct spex_bins *bins, size_t bin, char *text, size_t size);

#endif
