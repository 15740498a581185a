/* SPDX-License-Identifier: MIT */
/* Groups a parameter's values into bins, for pictures and tables. Each category is a bin; numbers
 * are grouped with their neighbours into bins that are equally wide on the parameter's scale. */
#ifndef SPEX_EXPLORE_FINDINGS_BINS_H
#define SPEX_EXPLORE_FINDINGS_BINS_H

#include <spex/policy.h>

struct spex_bins {
    const struct spex_parameter *parameter;
    size_t count;
    size_t *of_level; /* the bin of each level */
    size_t *first;    /* the first level of each bin, then the number of levels */
};

/* At most `most` bins for ordered values. 0 or -ENOMEM. */
int spex_bins_init(struct spex_bins *bins, const struct spex_parameter *parameter, size_t most);
void spex_bins_free(struct spex_bins *bins);

/* Writes the values of a bin as the space writes them, for programs: "16", or "10…20" for a bin of
 * several values. */
void spex_bin_plain(const struct spex_bins *bins, size_t bin, char *text, size_t size);

/* Writes them for people: "64 KiB…1 MiB", "1.5 M" for 1500000. */
void spex_bin_text(const struct spex_bins *bins, size_t bin, char *text, size_t size);

/* The value in the middle of the bin for people, for axes. */
void spex_bin_middle_text(const struct spex_bins *bins, size_t bin, char *text, size_t size);

#endif
